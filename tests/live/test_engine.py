"""Edit a file, and the next gradient is right: real files, saved the way editors save, and real gradients."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.live import saves
from tests.live.modules import rules
from zad_jupyter import gradient
from zad_jupyter.live import engine as engine_module
from zad_jupyter.live.engine import Live
from zad_jupyter.rules import registry


def compilations() -> int:
    return registry.statistics()["compilations"]


def compiled(action: Callable[[], Any]) -> int:
    before = compilations()
    action()
    return compilations() - before


def slope(module: ModuleType, x: float = 2.0) -> float:
    return float(gradient(module.cube, x)[0])


@pytest.mark.parametrize("save", saves.ALL.values(), ids=list(saves.ALL))
def test_the_gradient_right_after_a_save_of_any_style_is_right(live, modules, save):
    module = modules.write("rules_a", rules(1.0))
    assert slope(module) == 1.0
    path = Path(module.__file__)
    for factor in (2.0, 3.0, 4.0):
        save(path, rules(factor))
        assert slope(module) == factor


def test_a_file_saved_unchanged_is_not_executed_again(live, modules):
    module = modules.write("rules_b", "runs = []\n" + rules(1.0))
    assert slope(module) == 1.0
    runs = module.runs
    os.utime(module.__file__)
    modules.save("rules_b", "runs = []\n" + rules(1.0))
    assert compiled(lambda: slope(module)) == 0
    assert module.runs is runs


def test_an_edit_elsewhere_in_the_file_compiles_nothing_again_and_errors_show_the_new_lines(live, modules):
    module = modules.write("rules_c", rules(1.0) + "\ndef g(x):\n    return cube(x) / (x - 2.0)\n")
    assert gradient(module.g, 4.0) == pytest.approx((1.0 / 2.0 - 64.0 / 4.0,))
    modules.save("rules_c", "\n\n# a remark\n\n" + rules(1.0) + "\ndef g(x):\n    return cube(x) / (x - 2.0)\n")
    assert compiled(lambda: gradient(module.g, 4.0)) == 0
    with pytest.raises(ZeroDivisionError) as caught:
        gradient(module.g, 2.0)
    last = caught.traceback[-1]
    assert "cube(x) / (x - 2.0)" in str(last.statement)
    assert Path(str(last.path)).name == "rules_c.py"


def test_an_edited_function_is_followed_by_whoever_imported_it(live, modules):
    module = modules.write("functions", "def f(x):\n    return x * x\n\ndef other(x):\n    return 5.0 * x\n")
    namespace: dict[str, Any] = {}
    exec("from functions import f, other", namespace)
    live.check("cell")
    assert gradient(namespace["f"], 3.0) == (6.0,)
    assert gradient(namespace["other"], 3.0) == (5.0,)
    modules.save("functions", "def f(x):\n    return x * x * x\n\ndef other(x):\n    return 5.0 * x\n")
    assert compiled(lambda: gradient(namespace["other"], 3.0)) == 0
    assert compiled(lambda: gradient(namespace["f"], 3.0)) == 1
    assert gradient(namespace["f"], 3.0) == (27.0,)
    assert gradient(module.f, 3.0) == (27.0,)


def test_a_constant_that_changes_is_read_anew_without_compiling(live, modules):
    module = modules.write("constants", "K = 2.0\ndef f(x):\n    return K * x\n")
    live.check("cell")
    assert gradient(module.f, 1.0) == (2.0,)
    modules.save("constants", "K = 3.0\ndef f(x):\n    return K * x\n")
    assert compiled(lambda: gradient(module.f, 1.0)) == 0
    assert gradient(module.f, 1.0) == (3.0,)


def test_a_module_that_took_a_changed_value_is_executed_with_it(live, modules):
    modules.write("base", "SCALES = [2.0]\n")
    module = modules.write("user", "from base import SCALES\nK = SCALES[0]\ndef f(x):\n    return K * x\n")
    live.check("cell")
    assert gradient(module.f, 1.0) == (2.0,)
    modules.save("base", "SCALES = [7.0]\n")
    assert gradient(module.f, 1.0) == (7.0,)


def test_files_that_change_together_are_loaded_imports_first(live, modules):
    modules.write("lower", "def scale(x):\n    return 2.0 * x\n")
    module = modules.write("higher", "import lower\ndef f(x):\n    return lower.scale(x)\n")
    live.check("cell")
    assert gradient(module.f, 1.0) == (2.0,)
    modules.save("higher", "import lower\nK = lower.NEW\ndef f(x):\n    return K * lower.scale(x)\n")
    modules.save("lower", "NEW = 10.0\ndef scale(x):\n    return 3.0 * x\n")
    assert gradient(module.f, 1.0) == (30.0,)


def test_instances_made_before_an_edit_go_on_hitting_their_rule(live, modules):
    text = """
import numpy as np
from zad_jupyter import rrule

class Weights:
    def __init__(self, value):
        self.value = value
    def __repr__(self):
        return "{name}"

def total(w, x):
    return w.value * x

@rrule(total)
def _(w: Weights, x: float):
    return total(w, x), lambda ybar: (None, 100.0 * ybar)
"""
    module = modules.write("classes", text.format(name="old"))
    weights = module.Weights(3.0)
    f = lambda x: module.total(weights, x)
    assert gradient(f, 1.0) == (100.0,)
    modules.save("classes", text.format(name="new"))
    assert gradient(f, 1.0) == (100.0,)
    assert repr(weights) == "new"
    assert isinstance(weights, module.Weights)
    assert gradient(lambda x: module.total(module.Weights(3.0), x), 1.0) == (100.0,)
    assert len(registry.rules(module.total)) == 1


def test_a_rule_that_is_deleted_from_its_file_is_gone(live, modules):
    module = modules.write("rules_d", rules(1.0))
    assert slope(module) == 1.0
    modules.save("rules_d", rules(1.0).split("@rrule")[0])
    assert slope(module) == 12.0
    assert registry.rules(module.cube) == []
    modules.save("rules_d", rules(5.0))
    assert slope(module) == 5.0


def test_ten_reloads_leave_as_many_rules_as_there_were(live, modules):
    module = modules.write("rules_e", rules(0.0))
    for factor in range(10):
        modules.save("rules_e", rules(float(factor)))
        assert slope(module) == factor
        assert len(registry.rules(module.cube)) == 1


@pytest.mark.parametrize("broken", ["def f(:\n", "raise ValueError('told')\n", "import no_such_module_anywhere\n",
                                    "raise SystemExit\n", "x = undefined\n"])  # fmt: skip
def test_a_broken_edit_leaves_the_last_good_version_in_force_and_is_told_until_it_is_mended(live, modules, broken):
    module = modules.write("rules_f", rules(1.0))
    assert slope(module) == 1.0
    modules.save("rules_f", rules(2.0) + broken)
    assert slope(module) == 1.0
    [line] = live.standing()
    assert line.startswith("running rules differ from rules_f.py: ")
    assert f"line {rules(2.0).count(chr(10)) + 1}, since " in line
    assert slope(module) == 1.0
    assert len(live.changes.events) == 2  # the rule's own coming, and one event for the failure
    modules.save("rules_f", rules(3.0))
    assert slope(module) == 3.0
    assert live.standing() == []


def test_a_broken_edit_that_is_taken_back_is_no_longer_told(live, modules):
    module = modules.write("rules_g", rules(1.0))
    assert slope(module) == 1.0
    modules.save("rules_g", rules(2.0) + "(")
    assert slope(module) == 1.0
    modules.save("rules_g", rules(1.0))
    assert slope(module) == 1.0
    assert live.standing() == []


def test_a_broken_import_that_is_repaired_elsewhere_loads_at_the_next_cell(live, modules):
    module = modules.write("rules_h", rules(1.0))
    assert slope(module) == 1.0
    modules.save("rules_h", "import helper_h\n" + rules(2.0))
    assert slope(module) == 1.0
    modules.save("helper_h", "value = 1\n")
    live.before_cell()
    assert slope(module) == 2.0
    assert live.standing() == []


def test_a_batch_with_one_broken_file_changes_nothing_of_the_others(live, modules):
    one, two = modules.write("one", rules(1.0)), modules.write("two", rules(1.0))
    assert (slope(one), slope(two)) == (1.0, 1.0)
    modules.save("one", rules(2.0))
    modules.save("two", rules(2.0) + "(")
    assert (slope(one), slope(two)) == (1.0, 1.0)
    modules.save("two", rules(2.0))
    assert (slope(one), slope(two)) == (2.0, 2.0)


def test_a_vanished_file_keeps_its_rules_for_a_while_and_has_them_again_when_it_is_back(live, modules, monkeypatch):
    monkeypatch.setattr(engine_module, "GRACE", 0.3)
    module = modules.write("rules_i", rules(1.0))
    path = Path(module.__file__)
    assert slope(module) == 1.0
    away = path.with_suffix(".away")
    path.rename(away)
    assert slope(module) == 1.0
    time.sleep(0.35)
    assert slope(module) == 12.0
    assert "rules_i.py is gone, and its rules with it" in live.changes.text()
    away.rename(path)
    assert slope(module) == 1.0


def test_a_file_that_was_edited_between_import_and_the_first_gradient_is_never_half_old(live, modules):
    module = modules.write("early", "def f(x):\n    return 2.0 * x\n\ndef g(x):\n    return 2.0 * f(x)\n")
    modules.save("early", "def f(x):\n    return 3.0 * x\n\ndef g(x):\n    return 3.0 * f(x)\n")
    live.check("cell")
    assert gradient(module.g, 1.0) == (9.0,)


def test_a_module_reached_by_a_symlink_follows_its_file(live, modules, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "real.py"
    elsewhere.write_text(rules(1.0))
    (modules.folder / "linked.py").symlink_to(elsewhere)
    module = __import__("linked")
    assert slope(module) == 1.0
    saves.by_replace(elsewhere, rules(2.0))
    assert slope(module) == 2.0


def test_a_package_is_followed_with_its_relative_imports(live, modules):
    (modules.folder / "pkg").mkdir()
    modules.save("pkg.__init__", "from .inner import cube\n")
    modules.save("pkg.inner", rules(1.0))
    module = __import__("pkg")
    assert slope(module) == 1.0
    modules.save("pkg.inner", rules(2.0))
    assert slope(module) == 2.0
    modules.save("pkg.__init__", "from .inner import cube\nK = 1\n")
    assert slope(module) == 2.0
    assert module.K == 1


def test_a_watched_file_may_be_asked_for_from_anywhere(live, modules, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("far")
    monkeypatch.syspath_prepend(str(folder))
    (folder / "far_away.py").write_text("def f(x):\n    return 2.0 * x\n")
    module = __import__("far_away")
    try:
        live.watch(str(folder / "far_away.py"))
        assert gradient(module.f, 1.0) == (2.0,)
        (folder / "far_away.py").write_text("def f(x):\n    return 4.0 * x\n")
        assert gradient(module.f, 1.0) == (4.0,)
        assert live.unwatch(str(folder)) == [str(folder / "far_away.py")]
        (folder / "far_away.py").write_text("def f(x):\n    return 5.0 * x\n")
        live.check("cell")
        assert module.f(1.0) == 4.0
    finally:
        del sys.modules["far_away"]
    with pytest.raises(FileNotFoundError):
        live.watch(str(folder / "nothing.py"))


def test_a_file_edited_while_a_gradient_runs_takes_effect_at_the_next_one(live, modules):
    module = modules.write("rules_j", rules(1.0))
    assert slope(module) == 1.0

    def f(x):
        y = module.cube(x)
        modules.save("rules_j", rules(2.0))
        return y + module.cube(x)

    assert gradient(f, 1.0) == (2.0,)
    assert gradient(lambda x: module.cube(x), 1.0) == (2.0,)


def test_an_edit_drops_exactly_the_gradients_that_depended_on_it_and_says_so(live, modules):
    module = modules.write("rules_k", rules(1.0) + "\ndef square(x):\n    return x * x\n")

    def layer(x):
        return 2.0 * module.cube(x)

    def loss(x):
        return layer(x) + 1.0

    def other(x):
        return module.square(x)

    assert (gradient(loss, 1.0), gradient(other, 1.0)) == ((2.0,), (2.0,))
    modules.save("rules_k", rules(3.0) + "\ndef square(x):\n    return x * x\n")
    assert compiled(lambda: gradient(other, 1.0)) == 0
    assert compiled(lambda: gradient(loss, 1.0)) == 1
    event = live.changes.events[-1]
    assert [str(each) for each in event.dropped] == ["loss ← layer ← cube"]
    assert "edit of rule cube(x: float) at rules_k.py:6" in event.text()
    assert f"dropped 1 of {event.kept + 1} gradient" in event.text()


def test_nothing_is_looked_at_by_gradients_where_nothing_is_watched(modules):
    live = Live()
    live.start()
    try:
        gradient(lambda x: x * x, 1.0)
        from zad_jupyter.compiler import doors

        assert doors.state.first is None
    finally:
        live.stop()


def test_idle_edits_arrive_by_themselves(modules):
    woken = []
    live = Live(folder=lambda: str(modules.folder), on_wake=lambda: woken.append(1))
    live.start()
    try:
        module = modules.write("rules_l", rules(1.0))
        assert slope(module) == 1.0
        modules.save("rules_l", rules(2.0))
        deadline = time.monotonic() + 5
        while not woken and time.monotonic() < deadline:
            time.sleep(0.01)
        assert woken
        live.check("idle")
        [rule] = registry.rules(module.cube)
        assert rule.call(1.0)[1](1.0) == 2.0
    finally:
        live.stop()
        for rule in registry.rules():
            if rule.layer == "user":
                registry.remove(rule)


def test_a_rule_of_another_owner_is_told_to_be_written_for_an_older_function(live, modules):
    from zad_jupyter import rrule

    module = modules.write("plain", "def f(x):\n    return x * x\n")
    live.check("cell")
    with registry.transaction("a cell"):

        @rrule(module.f)
        def _(x: float) -> Any:
            return module.f(x), lambda ybar: 2.0 * x * ybar

    assert gradient(module.f, 3.0) == (6.0,)
    modules.save("plain", "def f(x):\n    return x * x * x\n")
    assert gradient(module.f, 3.0) == (6.0,)
    assert registry.rules(module.f)[0].status == "written for an older f"
    assert "was written for an older f" in live.changes.text()
    assert np.isclose(module.f(2.0), 8.0)
