"""A person types cells into a real kernel: every change of a rule is in the very next gradient, and nothing is compiled
again that did not depend on it.

Each test is told twice: with cell ids, as JupyterLab and Notebook send them, and without, as a console does.
"""

from __future__ import annotations

import ast

import pytest

from tests.notebook.kernel import Kernel, running_kernel

RULE = """\
%%rrule cube
def _(x: float):
    def pullback(ybar):
        return {factor} * ybar
    return x ** 3, pullback
"""


class Person:
    """Types cells by name; the name is the cell's id, or only ours."""

    def __init__(self, kernel: Kernel, ids: bool) -> None:
        self.kernel, self.ids = kernel, ids
        self.ok("start", "%load_ext zad_jupyter\nfrom zad_jupyter import gradient, opt_in, opt_out, registry")
        self.ok("cube", "def cube(x):\n    return x * x * x")
        self.ok("loss", "def loss(x):\n    return 2 * cube(x)\ndef other(x):\n    return 5 * x")

    def __call__(self, name: str, code: str):
        return self.kernel(code, name if self.ids else None)

    def ok(self, name: str, code: str) -> str:
        return self.kernel.ok(code, name if self.ids else None)

    def gradient(self, f: str = "loss", x: float = 2.0) -> float:
        (value,) = ast.literal_eval(self.ok("gradient", f"tuple(float(g) for g in gradient({f}, {x}))"))
        return value

    def compilations(self) -> int:
        return int(self.ok("count", "registry.statistics()['compilations']"))

    def compiled_by(self, act) -> int:
        before = self.compilations()
        act()
        return self.compilations() - before


@pytest.fixture(scope="module")
def kernel():
    with running_kernel() as kernel:
        yield kernel


@pytest.fixture(params=[True, False], ids=["with cell ids", "without"])
def person(request, kernel):
    kernel.ok("%reset -f")
    yield Person(kernel, request.param)
    kernel.ok("from zad_jupyter import registry\n[registry.remove(r) for r in registry.rules() if r.layer == 'user'];")


def test_a_rule_is_used_at_once_even_where_the_gradient_was_taken_before(person):
    assert person.gradient() == 2 * 3 * 2.0**2
    person.ok("rule", RULE.format(factor=100))
    assert person.gradient() == 200


def test_nothing_is_compiled_twice(person):
    assert person.compiled_by(person.gradient) > 0
    assert person.compiled_by(person.gradient) == 0


def test_an_edit_is_seen_and_only_what_depends_on_it_is_compiled_again(person):
    person.ok("rule", RULE.format(factor=100))
    assert (person.gradient(), person.gradient("other")) == (200, 5)
    person.ok("rule", RULE.format(factor=7))
    assert person.compiled_by(lambda: person.gradient("other")) == 0
    assert person.gradient() == 14


def test_an_equal_rule_drops_no_gradient(person):
    person.ok("rule", RULE.format(factor=100))
    person.gradient()
    said = person.ok("rule", RULE.format(factor=100))
    assert "dropped" not in said
    assert person.compiled_by(person.gradient) == 0


def test_the_cell_says_how_many_gradients_it_dropped(person):
    person.ok("rule", RULE.format(factor=100))
    person.gradient()
    assert "dropped" in person.ok("rule", RULE.format(factor=3))


def test_opting_out_and_back(person):
    person.ok("rule", RULE.format(factor=100))
    assert person.gradient() == 200
    person.ok("out", "opt_out(cube, float)")
    assert person.gradient() == 24
    person.ok("in", "opt_in(cube, float)")
    assert person.gradient() == 200


def test_deleting_a_rule_brings_the_body_back(person):
    person.ok("rule", RULE.format(factor=100))
    assert person.gradient() == 200
    if person.ids:
        assert "removed the rule cube(x: float)" in person.ok("rule", "'the rule is deleted'")
    else:
        person.ok("rule", "registry.remove(registry.rules(cube)[0])")
    assert person.gradient() == 24


def test_switching_off_and_on(person):
    person.ok("rule", RULE.format(factor=100))
    person.ok("off", "%zad off cube(x: float)")
    assert person.gradient() == 24
    person.ok("on", "%zad on cube")
    assert person.gradient() == 200


def test_running_the_cell_of_a_function_again_changes_its_gradient(person):
    assert person.gradient() == 24
    person.ok("cube", "def cube(x):\n    return x * x")
    assert person.gradient() == 2 * 2 * 2.0


def test_a_rule_follows_its_function_when_the_cell_of_that_is_run_again(person):
    person.ok("rule", RULE.format(factor=100))
    person.gradient()
    person.ok("cube", "def cube(x):\n    return x * x * x")
    assert person.gradient() == 200


def test_a_gradient_in_the_cell_of_a_rule_sees_it(person):
    person.gradient()
    assert "(20.0,)" in person.ok("rule", RULE.format(factor=10) + "tuple(float(g) for g in gradient(loss, 2.0))")


def test_a_cell_that_fails_changes_nothing(person):
    person.ok("rule", RULE.format(factor=100))
    person.gradient()
    reply = person("rule", RULE.format(factor=3) + "gradient(loss, 2.0)\n1 / 0\n")
    assert (reply.status, reply.error) == ("error", "ZeroDivisionError: division by zero")
    assert person.gradient() == 200


def test_an_error_in_a_rule_shows_the_text_of_its_cell(person):
    person.ok("rule", "%%rrule cube\ndef _(x: float):\n    raise ValueError('not today')\n")
    reply = person("gradient", "gradient(loss, 2.0)")
    assert reply.error == "ValueError: not today"
    assert "----> 3     raise ValueError('not today')" in reply.text


def test_training_in_a_loop_compiles_once(person):
    person.ok("weights", "W = 5.0")
    person.ok("gradient", "gradient(lambda w: loss(w) ** 2, W)")
    step = "W = W - 1e-5 * gradient(other, W)[0]"
    first = person.compiled_by(lambda: person.ok("step", step))
    assert first > 0
    assert person.compiled_by(lambda: [person.ok("step", step) for _ in range(5)]) == 0
    assert person.compiled_by(lambda: person.ok("all", f"for _ in range(50):\n    {step}")) == 0


def test_a_global_that_is_rebound_is_read_anew_and_compiles_nothing(person):
    person.ok("scale", "scale = 3.0")
    person.ok("scaled", "def scaled(x):\n    return scale * x")
    assert person.gradient("scaled") == 3
    person.ok("scale", "scale = 4.0")
    assert person.compiled_by(lambda: person.gradient("scaled")) == 0
    assert person.gradient("scaled") == 4


def test_the_tree_is_shown_in_text_and_html(person):
    reply = person("trace", "%zad trace loss(2.0)")
    assert "recursed   loss(float)" in reply.text
    assert any("<details" in html for html in reply.html)
    person.ok("rule", RULE.format(factor=100))
    assert "hit        cube(float)" in person.ok("trace", "%zad trace loss(2.0)")


def test_a_cell_can_be_traced(person):
    said = person.ok("trace", "%%zad trace\ny = 2.0\ngradient(loss, y)")
    assert "recursed   loss(float)" in said


def test_the_panel_is_offered_while_the_extension_is_loaded(person):
    there = "get_ipython().kernel.comm_manager.targets.keys() >= {'zad_jupyter'}"
    assert person.ok("comm", there).strip() == "True"
    person.ok("unload", "%unload_ext zad_jupyter")
    assert person.ok("comm", there).strip() == "False"
    person.ok("load", "%load_ext zad_jupyter")
    assert person.ok("comm", there).strip() == "True"
