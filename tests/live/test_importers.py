"""Whoever took a value from a module that has another now is found."""
from __future__ import annotations

import sys

from tests.live.modules import Modules
from zad_jupyter.live.importers import importers, rebind


def test_importers_of_a_changed_object_are_found_by_identity(modules: Modules) -> None:
    m = modules.write("m", "TABLE = [1]\nOTHER = [1]\n")
    modules.write("takes", "from m import TABLE as mine\n")
    modules.write("leaves", "import m\nfrom m import OTHER\nTABLE = [1]\n")
    report = modules.edit(m, "TABLE = [2]\nOTHER = [1]\n")
    assert importers({"m": report.changed}) == [sys.modules["takes"]]
    assert importers({"m": report.changed, "takes": []}) == []               # executed again with it


def test_importers_of_a_changed_number_are_found_by_their_text(modules: Modules) -> None:
    m = modules.write("pkg.m", "RATE = 1\n")
    takes = [modules.write("absolute", "from pkg.m import RATE\n"),
             modules.write("pkg.relative", "from .m import RATE\n"),
             modules.write("star", "from pkg.m import *\n")]
    leaves = modules.write("leaves", "RATE = 1\nimport pkg.m\n")
    report = modules.edit(m, "RATE = 2\n")
    assert importers({"pkg.m": report.changed}, [leaves, *takes]) == takes
    assert importers({"pkg.m": report.changed}) == []


def test_rebinding_leaves_equal_values_alone(modules: Modules) -> None:
    m = modules.write("m", "K = 1\nL = [1]\n")
    notebook = {"one": 1, "mine": [1], "theirs": m.L}
    report = modules.edit(m, "K = 2\nL = [2]\n")
    assert rebind([notebook], report.changed) == ["theirs"]
    assert notebook == {"one": 1, "mine": [1], "theirs": m.L}
