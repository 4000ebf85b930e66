"""``%zad``: what each word shows, and what it says when it cannot."""

import warnings

import pytest
from IPython.core.error import UsageError

from zad_jupyter.notebook.arguments import without_comment
from zad_jupyter.notebook.zad import COMMANDS
from zad_jupyter.rules import registry


@pytest.fixture
def nb(nb):
    """The shell with two rules for det."""
    nb.ok("%%rrule det\ndef _(a: np.ndarray):\n    return det(a), lambda y: y\ndef _(a: Tri): return None", "one")
    return nb


def test_rules_lists_what_the_person_wrote(nb):
    lines = nb.ok("%zad rules").out.splitlines()
    assert any("det(a: ndarray)" in line and "cell 2:2" in line for line in lines)
    assert any("det(a: Tri) → opt out" in line for line in lines)


def test_rules_of_a_function_without_any_says_so(nb):
    nb.ok("def alone(x): return x")
    assert "there is no rule for alone" in nb.ok("%zad rules alone").out


def test_rules_have_an_html_face_that_escapes(nb):
    assert "<td" in nb.ok("%zad rules").value._repr_html_()
    assert "→ opt out" in nb.ok("%zad rules").value._repr_html_()


def test_which_shows_the_choice_without_making_the_call(nb):
    nb.ok("def det(a): raise RuntimeError('called')", "other")
    ran = nb.ok("%zad which np.linalg.norm(np.eye(2))")
    assert ran.value.outcome in ("none", "hit")
    assert "norm" in ran.out


def test_which_names_the_winner_and_its_place(nb):
    ran = nb.ok("%zad which det(np.eye(2).view(Tri))   # {why}")
    assert ran.value.outcome == "opted-out"
    assert "cell 2:4" in ran.out


def test_which_takes_an_operator_for_the_call_it_is(nb):
    assert "matmul(ndarray, ndarray)" in nb.ok("%zad which np.eye(2) @ np.eye(2)").out


def test_arguments_may_be_starred(nb):
    nb.ok("args, more = [np.eye(2)], {'k': 1}\ndef f(a, k): return a")
    assert "f(ndarray" in nb.ok("%zad which f(*args, **more)").out


def test_off_takes_a_rule_out_and_on_brings_it_back(nb):
    det, tri = nb["det"], nb["Tri"]
    nb.ok("%zad off det(a: Tri)")
    assert registry.select(det, (tri,)).rule.signature == "(a: ndarray)"
    assert "off" in nb.ok("%zad rules det").out
    nb.ok("%zad on det(a:Tri)")
    assert registry.select(det, (tri,)).outcome == "opted-out"


def test_a_rule_may_be_named_by_its_place(nb):
    nb.ok("%zad off cell 2:4")
    assert registry.select(nb["det"], (nb["Tri"],)).rule.signature == "(a: ndarray)"


def test_a_function_with_one_rule_names_it(nb):
    nb.ok("def one(a): return a\n")
    nb.ok("%%rrule one\ndef _(a: float): return None")
    nb.ok("%zad off one")
    assert registry.select(nb["one"], (float,)).outcome == "none"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nothing", "there is no subcommand 'nothing'"),
        ("which", "write a call behind it"),
        ("which det", "is not a call"),
        ("which det(", "cannot read"),
        ("which dett(1)", "did you mean det?"),
        ("off", "name a rule"),
        ("off det", "could be any of these"),
        ("on det(a: float)", "there is no rule det(a: float)"),
        ("help nothing", "there is no subcommand 'nothing'"),
        ("rules --all", "there is no option --all"),
    ],
)
def test_a_line_that_cannot_be_understood_is_a_usage_error(nb, line, said):
    ran = nb(f"%zad {line}")
    assert isinstance(ran.error, UsageError), ran
    assert said in str(ran.error)


def test_an_error_in_an_argument_is_the_persons_own(nb):
    assert isinstance(nb("%zad which det(1 / 0)").error, ZeroDivisionError)
    nb.ok("def inner(): return undefined_name")
    assert isinstance(nb("%zad which det(inner())").error, NameError)


@pytest.mark.parametrize("word", COMMANDS)
def test_every_word_explains_itself(nb, word):
    assert f"%zad {word}" in nb.ok(f"%zad {word} -h").out
    assert f"%zad {word}" in nb.ok("%zad").out


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("%zad ", {*COMMANDS, "-h"}),
        ("%zad wh", {"which"}),
        ("%%zad t", {"trace"}),
        ("%%rrule -", {"-h", "--help"}),
    ],
)
def test_words_complete(nb, line, found):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # IPython calls its own API provisional
        completions = {c.text for c in nb.shell.Completer.completions(line, len(line))}
    assert completions == found


def test_rules_complete(nb):
    line = "%zad off det(a: T"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (found,) = nb.shell.Completer.completions(line, len(line))
    assert line[: found.start] + found.text == "%zad off det(a: Tri)"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("which f(x)  # why", "which f(x)"),
        ("which f('#')", "which f('#')"),
        ("# only", ""),
        ("which f((  # open", "which f(("),
        ("", ""),
    ],
)
def test_a_trailing_comment_is_left_out(line, kept):
    assert without_comment(line) == kept


def test_tracing_a_call_by_keyword_is_tracing_the_call(nb):
    nb.ok("def cube(x): return x * x * x\nfrom zad_jupyter import gradient")
    traced = nb.ok("%zad trace cube(x=3.0)").value
    assert traced.gradient == (27.0,)


def test_a_lambda_under_time_has_its_source(nb):
    nb.ok("from zad_jupyter import gradient")
    nb.ok("%%time\nslope = gradient(lambda x: x * x * x, 2.0)\ndef f(x):\n    return x * x\nother = gradient(f, 3.0)")
    assert (nb["slope"], nb["other"]) == ((12.0,), (6.0,))
