"""The examples in the documentation of the public functions do what they say."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

from zad_jupyter.rules import registry

MODULES = [
    "zad_jupyter",
    "zad_jupyter.api",
    "zad_jupyter.cotangents",
    "zad_jupyter.rules.define",
    "zad_jupyter.rules.explain",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    before = set(registry.rules())
    failed, tried = doctest.testmod(module, extraglobs={"np": np}, optionflags=doctest.ELLIPSIS)
    for rule in set(registry.rules()) - before:  # an example's rule is not for the other tests
        registry.remove(rule)
    assert failed == 0
    assert tried > 0


def test_every_door_has_an_example() -> None:
    api = importlib.import_module("zad_jupyter.api")
    for name in (
        "gradient", "grad", "value_and_grad", "pullback", "jacobian", "hessian", "stop_gradient", "adjoint_source",
    ):  # fmt: skip
        assert ">>>" in getattr(api, name).__doc__, name
