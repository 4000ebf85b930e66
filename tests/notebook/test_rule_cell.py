"""``%%rrule``: which definitions are rules, whose they are, and what a failing cell leaves behind."""

import inspect
import traceback

import pytest
from IPython.core.error import UsageError

from zad_jupyter.rules import registry

RULE = """\
%%rrule det
def _(a: np.ndarray):
    def pullback(ybar):
        return {factor} * ybar * a
    return det(a), pullback
"""


def names(nb, f="det"):
    return [rule.name for rule in registry.rules(nb[f])]


# -- which definitions are rules ---------------------------------------------------------------------------------------


def test_with_a_target_definitions_named_underscore_or_like_it_are_rules(nb):
    nb.ok("""%%rrule det
def _(a: np.ndarray): return None
def det(a: Tri): return None
def helper(a): return 1
""")
    assert names(nb) == ["det(a: ndarray)", "det(a: Tri)"]
    assert nb["helper"](0) == 1


def test_without_a_target_definitions_that_mean_a_callable_are_rules_for_it(nb):
    nb.ok("""%%rrule
def helper(a): return 1
def det(a: Tri): return None
""")
    assert names(nb) == ["det(a: Tri)"]
    assert nb["helper"](0) == 1


def test_a_builtin_is_a_callable_that_a_name_may_mean(nb):
    nb.ok("%%rrule\ndef divmod(a: Tri, b): return None")
    assert any(rule.signature == "(a: Tri, b)" for rule in registry.rules(divmod))


@pytest.mark.parametrize("target", ["np.linalg.det", "getattr(np.linalg, 'det')", "Tri.trace", "Tri"])
def test_a_target_may_be_any_expression(nb, target):
    nb.ok(f"%%rrule {target}\ndef _(a: Tri): return None")
    assert any(rule.signature == "(a: Tri)" for rule in registry.rules(eval(target, dict(nb.shell.user_ns))))


def test_rules_bind_no_name(nb):
    det = nb["det"]
    before = set(nb.shell.user_ns)
    nb.ok("%%rrule\ndef det(a: Tri): return None")
    nb.ok("%%rrule det\ndef _(a: Tri): return None")
    assert nb["det"] is det
    assert {name for name in set(nb.shell.user_ns) - before if not name.startswith("_")} == set()


def test_running_a_cell_again_does_not_take_its_helper_for_a_target(nb):
    cell = "%%rrule\ndef helper(a): return {n}\ndef det(a: Tri): return None"
    for n in (1, 2, 3):
        nb.ok(cell.format(n=n), cell_id="one")
        assert nb["helper"](0) == n
    assert registry.rules(nb["helper"]) == []


def test_the_helper_of_one_cell_may_get_a_rule_in_another(nb):
    nb.ok("%%rrule\ndef helper(a): return 1\ndef det(a: Tri): return None", cell_id="one")
    nb.ok("%%rrule\ndef helper(a: Tri): return None", cell_id="two")
    assert names(nb, "helper") == ["helper(a: Tri)"]


def test_without_cell_ids_a_helper_is_known_again_by_its_parameters(nb):
    nb.ok("%%rrule\ndef helper(a): return 1\ndef det(a: Tri): return None")
    nb.ok("%%rrule\ndef helper(a): return 2\ndef det(a: Tri): return None")
    assert nb["helper"](0) == 2
    nb.ok("%%rrule\ndef helper(a: Tri): return None")
    assert names(nb, "helper") == ["helper(a: Tri)"]


# -- the cell is a cell ------------------------------------------------------------------------------------------------


def test_other_statements_run_as_usual_and_the_last_value_is_shown(nb):
    ran = nb.ok("%%rrule det\nK = 20\ndef _(a: Tri): return None\nK + 1")
    assert nb["K"] == 20
    assert "21" in ran.out


def test_magics_work_inside(nb):
    nb.ok("%%rrule det\nhere = %pwd\ndef _(a: Tri): return None")
    assert nb["here"]


def test_braces_are_not_expanded_and_a_comment_may_follow(nb):
    nb.ok("table = {1: det}")
    nb.ok("%%rrule {1: det}[1]   # the {rule} of det\ndef _(a: Tri): return None")
    assert names(nb) == ["det(a: Tri)"]


@pytest.mark.parametrize("blank", ["", "\n", "\n\n\n"])
def test_a_rule_has_its_source_and_the_line_in_the_cell_as_typed(nb, blank):
    nb.ok(blank + "%%rrule det\n\ndef _(a: Tri):\n    return None\n")
    (rule,) = registry.rules(nb["det"])
    assert str(rule.place) == f"cell 2:{3 + len(blank)}"
    assert inspect.getsource(rule.function) == "def _(a: Tri):\n    return None\n"


def test_a_traceback_shows_the_line_of_the_cell(nb):
    nb.ok("%%rrule det\n\ndef _(a: Tri):\n    raise ValueError('not today')\n")
    (rule,) = registry.rules(nb["det"])
    with pytest.raises(ValueError, match="not today") as caught:
        rule.function(None)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.lineno, last.line) == (4, "raise ValueError('not today')")


def test_help_runs_nothing(nb):
    assert "TARGET" in nb.ok("%%rrule -h\ndef det(a: Tri): return None").out
    assert names(nb) == []


# -- again, otherwise, not at all --------------------------------------------------------------------------------------


def test_the_cell_says_what_became_of_its_rules(nb):
    two = RULE.format(factor=1) + "def _(a: Tri): return None\n"
    first = nb.ok(two, cell_id="one")
    assert [line.split()[0] for line in first.out.splitlines()] == ["added", "added"]
    again = nb.ok(two, cell_id="one")
    assert [line.split()[0] for line in again.out.splitlines()] == ["unchanged", "unchanged"]
    edited = nb.ok(RULE.format(factor=2), cell_id="one")
    assert [line.split()[:3] for line in edited.out.splitlines()] == [
        ["changed", "det(a:", "ndarray)"],
        ["removed", "det(a:", "Tri)"],
    ]


def test_what_the_cell_no_longer_defines_is_removed(nb):
    nb.ok(RULE.format(factor=1) + "def _(a: Tri): return None\n", cell_id="one")
    nb.ok("%%rrule det\ndef _(a: Tri): return None\n", cell_id="one")
    assert names(nb) == ["det(a: Tri)"]


def test_an_equal_rule_is_no_change(nb):
    nb.ok(RULE.format(factor=1), cell_id="one")
    changes = []
    unsubscribe = registry.subscribe(changes.append)
    nb.ok(RULE.format(factor=1), cell_id="one")
    nb.ok("\n" + RULE.format(factor=1), cell_id="one")
    unsubscribe()
    assert changes == []


def test_without_cell_ids_the_same_signature_replaces(nb):
    nb.ok(RULE.format(factor=1))
    nb.ok(RULE.format(factor=2))
    (rule,) = registry.rules(nb["det"])
    assert "2 * ybar" in inspect.getsource(rule.function)


def test_opt_outs_in_the_cell_are_its_own_too(nb):
    nb.ok("from zad_jupyter.rules import opt_out")
    nb.ok(RULE.format(factor=1) + "opt_out(det, Tri)", cell_id="one")
    assert len(names(nb)) == 2
    nb.ok(RULE.format(factor=1), cell_id="one")
    assert names(nb) == ["det(a: ndarray)"]


def test_statements_after_a_rule_see_it_and_those_before_do_not(nb):
    nb.ok("from zad_jupyter.rules import registry")
    nb.ok("""%%rrule det
before = len(registry.rules(det))
def _(a: np.ndarray): return None
between = registry.select(det, (Tri,)).rule.signature
def _(a: Tri): return None
after = registry.select(det, (Tri,)).rule.signature
""")
    assert (nb["before"], nb["between"], nb["after"]) == (0, "(a: ndarray)", "(a: Tri)")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("def _(a: np.ndarray): return 1, lambda y: y\n1 / 0\n", ZeroDivisionError),
        ("1 / 0\ndef _(a: Tri): return None\n", ZeroDivisionError),
        ("def _(a: Tri): return None\nraise KeyboardInterrupt\n", KeyboardInterrupt),
        ("def _(a: Tri) return None\n", SyntaxError),
        ("def _(a: 'Nowhere'): return None\n", TypeError),
        ("def _(a: np.ndarray):\n    y = 1\n", TypeError),
        ("def other(a: np.ndarray): return None\n", UsageError),
        ("x = 1\n", UsageError),
    ],
)
def test_a_failing_cell_raises_and_leaves_the_registry_as_it_was(nb, body, error):
    nb.ok(RULE.format(factor=1), cell_id="one")
    (before,) = registry.rules(nb["det"])
    ran = nb("%%rrule det\n" + body, cell_id="one")
    assert isinstance(ran.error, error), ran
    (after,) = registry.rules(nb["det"])
    assert after is before
    assert registry.select(nb["det"], (nb["Tri"],)).rule is before


def test_a_failing_cell_gives_back_what_it_had_replaced_in_another_cell(nb):
    nb.ok("%%rrule det\ndef _(a: Tri): return None\n")
    (before,) = registry.rules(nb["det"])
    assert nb("%%rrule det\ndef _(a: Tri): return 1, lambda y: y\n1 / 0").error is not None
    assert registry.rules(nb["det"]) == [before]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("dett", "did you mean det?"),
        ("np.linalg.nothing", "has no attribute"),
        ("3", "is a int, and a rule belongs to something callable"),
        ("det(", "cannot read"),
        ("--strict det", "there is no option --strict"),
        ("", "means no callable yet"),
    ],
)
def test_a_line_that_cannot_be_understood_is_a_usage_error(nb, line, said):
    ran = nb(f"%%rrule {line}\ndef nobody(a): return None")
    assert isinstance(ran.error, UsageError)
    assert said in str(ran.error)


def test_a_rule_cell_from_which_every_rule_was_deleted_has_none(nb):
    nb.ok("%%rrule det\ndef _(a: np.ndarray): return det(a), lambda y: 7.0 * a", "the cell")
    nb.ok("%%rrule det\n# def _(a: np.ndarray): return det(a), lambda y: 7.0 * a", "the cell")
    assert not [rule for rule in registry.rules(nb["det"]) if rule.layer == "user"]
    assert isinstance(nb("%%rrule det\n1", "another").error, UsageError)
