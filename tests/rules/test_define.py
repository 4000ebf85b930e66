"""What is refused where it is written, what is accepted, and how a rule can end."""
import contextlib
import math
from typing import Protocol, runtime_checkable

import pytest

from zad_jupyter.rules import (
    OPT_OUT,
    MissingReturnError,
    NoRuleError,
    RuleDefinitionError,
    RuleResultError,
    call_rule,
    expression_rule,
    non_differentiable,
    opt_in,
    opt_out,
    registry,
    rrule,
    scalar_rule,
)


def det(a):
    return a


def refusal(define, *args):
    with pytest.raises(RuleDefinitionError) as caught:
        define(*args)
    assert registry.rules(det) == []
    return str(caught.value)


def test_a_rule_knows_its_name_place_and_signature():
    @rrule(det)
    def _(a: float, *, n: int = 2): return a, lambda g: g
    assert _.target is det
    assert (_.name, _.signature) == ("det(a: float, *, n: int = 2)", "(a: float, *, n: int = 2)")
    assert str(_.place) == f"test_define.py:{_.function.__code__.co_firstlineno}"
    assert (_.kind, _.layer, _.owner.kind, _.enabled) == ("rrule", "user", "file", True)


def test_one_function_can_be_the_rule_of_several():
    def other(a): return a
    @rrule(det)
    @rrule(other)
    def _(a: float): return a, lambda g: g
    assert [len(registry.rules(f)) for f in (det, other)] == [1, 1]


def test_annotations_as_strings_are_resolved_where_they_are_written():
    class Local:
        pass
    @rrule(det)
    def _(a: "Local | None"): return a, lambda g: g
    assert registry.select(det, (Local,)).rule is _
    assert registry.select(det, (type(None),)).rule is _


def test_a_string_that_means_nothing_is_refused():
    def rule(a: "Nowhere"): return a, lambda g: g   # noqa: F821
    line = rule.__code__.co_firstlineno
    assert refusal(rrule(det), rule) == (
        f"a of the rule of det at test_define.py:{line}: the annotation 'Nowhere' means nothing here "
        "(NameError: name 'Nowhere' is not defined).\n"
        "  Define or import it above the rule, or leave the annotation out to accept every argument.")


def test_parametric_types_are_refused():
    def rule(a: list[int]): return a, lambda g: g
    line = rule.__code__.co_firstlineno
    assert refusal(rrule(det), rule) == (
        f"a of the rule of det at test_define.py:{line}: a rule is chosen by the argument's class, which does not "
        "know about the parameters in list[int].\n  Write `list`.")


def test_a_value_is_no_annotation():
    def rule(a: 3): return a, lambda g: g
    assert "3 is not a class" in refusal(rrule(det), rule)


class HasSize(Protocol):
    size: int


@runtime_checkable
class HasSizeAtRuntime(Protocol):
    size: int


@runtime_checkable
class Closes(Protocol):
    def close(self): ...


@pytest.mark.parametrize("protocol", [HasSize, HasSizeAtRuntime])
def test_protocols_with_data_members_are_refused(protocol):
    def rule(a: protocol): return a, lambda g: g
    assert "cannot be told from the class" in refusal(rrule(det), rule)


def test_protocols_of_methods_are_annotations():
    @rrule(det)
    def _(a: Closes): return a, lambda g: g
    class File:
        def close(self): ...
    assert registry.select(det, (File,)).rule is _
    assert registry.select(det, (int,)).outcome == "none"


def test_what_cannot_be_called_has_no_rule():
    assert "'det' cannot be called" in refusal(rrule, "det")
    assert "fget" in refusal(rrule, property(det))


def test_a_generator_or_coroutine_is_no_rule():
    def generator(a): yield a
    async def coroutine(a): return a
    for function in (generator, coroutine):
        assert "is a generator or a coroutine" in refusal(rrule(det), function)
    assert "is no function" in refusal(rrule(det), len)


# ------------------------------------------------------------------------------------------------- how a rule can end

def test_a_rule_that_never_returns_is_refused():
    def nothing(a):
        def pullback(g): return g
    def bare(a):
        if a:
            return
    def empty(a): pass
    for function in (nothing, bare, empty):
        line = function.__code__.co_firstlineno
        assert refusal(rrule(det), function) == (
            f"the rule det(a) at test_define.py:{line} returns nothing, whatever happens.\n"
            "  End it with `return y, pullback`; to opt out, write `return None`.")


def test_a_rule_that_only_raises_is_one():
    @rrule(det)
    def _(a): raise ValueError("singular")
    assert (_.may_opt_out, _.may_fall_off) == (False, False)
    with pytest.raises(ValueError, match="singular"):
        _.call(1.0)


def test_a_rule_that_always_returns_a_pair_needs_no_test():
    @rrule(det)
    def _(a):
        if a > 0:
            return a, lambda g: g
        else:
            while True:
                try:
                    return -a, lambda g: -g
                finally:
                    pass
    assert (_.may_opt_out, _.may_fall_off) == (False, False)
    assert _.checked_function is _.function


def test_return_none_opts_out_for_these_values():
    @rrule(det)
    def _(a):
        if a < 0:
            return None
        return a, lambda g: g
    assert (_.kind, _.may_opt_out, _.may_fall_off) == ("rrule", True, False)
    assert _.call(-1.0) is OPT_OUT
    assert _.call(2.0)[0] == 2.0


def test_a_missing_return_is_an_error_that_names_the_rule():
    @rrule(det)
    def _(a):
        if a > 0:
            return a, lambda g: g
    assert (_.may_opt_out, _.may_fall_off) == (False, True)
    with pytest.raises(MissingReturnError) as caught:
        _.call(-1.0)
    assert str(caught.value) == (
        f"the rule det(a) ({_.place}) ended without returning anything.\n"
        "  To opt out, write `return None`; otherwise end with `return y, pullback`.")


def test_a_missing_return_and_return_none_are_told_apart_in_one_rule():
    scale = 3.0
    @rrule(det)
    def _(a, b=2.0, *, c=1.0):
        """A rule with everything: closure, defaults, both kinds of nothing."""
        def pullback(g):
            return
        if a == 0:
            return None
        for _ in range(3):
            if a == 1:
                return
        with contextlib.suppress(ValueError):
            if a == 2:
                raise ValueError
            return scale * a * b * c, pullback
    assert (_.may_opt_out, _.may_fall_off) == (True, True)
    assert _.call(0) is OPT_OUT
    for value in (1, 2):
        with pytest.raises(MissingReturnError):
            _.call(value)
    assert _.call(5, c=2.0)[0] == 60.0
    assert _.call(5)[1](1.0) is None                   # the inner function's own bare return is left alone


def test_the_twin_keeps_the_lines_of_the_original():
    @rrule(det)
    def _(a):
        if a == 0:
            return None
        if a == 1:
            return a, lambda g: 1 / 0 * g
        if a == 2:
            raise KeyError("here")
    with pytest.raises(KeyError) as caught:
        _.call(2)
    assert caught.traceback[-1].lineno + 1 == _.place.line + 6      # the decorator's line counts as the first
    assert str(caught.traceback[-1].path).endswith("test_define.py")


def test_a_helper_that_gives_none_counts_as_opting_out():
    def helper(a): return None
    @rrule(det)
    def _(a): return helper(a)
    assert _.may_opt_out
    assert _.call(1.0) is OPT_OUT


def test_without_source_none_is_an_opt_out():
    scope = {}
    exec("def rule(a):\n    if a: return a, abs", scope)
    rule = rrule(det)(scope["rule"])
    assert (rule.may_opt_out, rule.may_fall_off) == (True, False)
    assert rule.call(0) is OPT_OUT


def test_two_lambdas_and_equal_code_in_other_places_are_told_apart(notebook):
    notebook.run(1, "def f(a): return a\n@rrule(f)\ndef one(a: int):\n    if a: return a, abs\n    return None")
    notebook.run(2, "@rrule(f)\ndef two(a: str):\n    if a: return a, abs\n    return")
    assert (notebook["one"].may_opt_out, notebook["one"].may_fall_off) == (True, False)
    assert (notebook["two"].may_opt_out, notebook["two"].may_fall_off) == (False, True)


def test_what_is_no_pair_is_an_error_that_says_what_came():
    @rrule(det)
    def _(a): return a * 2.0
    with pytest.raises(RuleResultError) as caught:
        _.call(1.0)
    assert str(caught.value).startswith(f"the rule det(a) ({_.place}) returned a float.\n  A rule ends with")


# -------------------------------------------------------------------------------------------------------- other doors

def test_an_opt_out_needs_a_class_for_each_required_argument():
    def total(fn, xs): return xs
    with pytest.raises(RuleDefinitionError) as caught:
        opt_out(total, list)
    assert str(caught.value).endswith(
        "has no class for xs, which every call of total gives.\n  Write opt_out(total, list, object) to accept any.")
    with pytest.raises(RuleDefinitionError, match=r"gives 2 classes, and det\(a\) takes 1"):
        opt_out(det, int, int)


def test_taking_back_an_opt_out_that_is_not_there_lists_those_that_are():
    rule = opt_out(det, int)
    with pytest.raises(RuleDefinitionError) as caught:
        opt_in(det, str)
    assert str(caught.value).endswith(f"The opt-outs of det:\n    det(a: int)  {rule.place}")


def test_a_scalar_rule_has_one_partial_derivative_for_each_argument():
    rule = scalar_rule(math.atan2, lambda y, x, out: x / (x * x + y * y), None)
    assert (rule.kind, rule.mode, rule.signature) == ("expression", "partial", "(y: float, x: float)")
    with pytest.raises(RuleDefinitionError) as caught:
        scalar_rule(math.sin, lambda x: math.cos(x))
    assert "Write `lambda x, out: ...`" in str(caught.value)


def test_an_expression_rule_has_defaults_for_what_calls_leave_out():
    def total(a, axis=None): return a
    rule = expression_rule(total, (list, object), lambda a, axis, out, g: (g, None), defaults={"axis": None})
    assert rule.signature == "(a: list, axis=None)"
    assert registry.select(total, (list,)).binding == (0, None)
    assert registry.select(total, (list,), (("axis", int),)).binding == (0, "axis")
    with pytest.raises(RuleDefinitionError, match="function of 3 parameters"):
        expression_rule(total, (list,), lambda a: a)


def test_non_differentiable_takes_several_functions():
    def other(a): return a
    assert non_differentiable(det, other, layer="shipped") is det
    rules = [registry.rules(f)[0] for f in (det, other)]
    assert [(r.target, r.layer, r.kind) for r in rules] == [
        (det, "shipped", "non_differentiable"), (other, "shipped", "non_differentiable")]


def test_a_rule_looked_up_by_hand_gives_value_and_pullback_or_an_error_that_says_why():
    with pytest.raises(NoRuleError, match=r"^no rule for det\(float\)\n"):
        y, pullback = call_rule(det, 2.0)
    @rrule(det)
    def _(a: float): return 3 * a, lambda g: 3 * g
    y, pullback = call_rule(det, a=2.0)
    assert (y, pullback(1.0)) == (6.0, 3.0)
    out = opt_out(det, float)
    with pytest.raises(NoRuleError) as caught:
        y, pullback = call_rule(det, 2.0)
    assert str(caught.value) == f"no rule for det(float); opted out at {out.place}"
    with pytest.raises(NoRuleError, match="opted out at"):
        y, pullback = registry.select(det, (float,))


def test_no_rule_shows_what_there_is_and_what_does_not_fit():
    @rrule(det)
    def _(a: list): return a, lambda g: g
    error = registry.select(det, (float,)).error()
    assert str(error) == (
        "no rule for det(float)\n"
        f"    det(a: list)  {_.place}  ✗ a: wants list, got float\n"
        "  To give it one:\n"
        "    @rrule(det)\n"
        "    def _(a: float):\n"
        "        y = det(a)\n"
        "        def pullback(ybar):\n"
        "            return ...\n"
        "        return y, pullback")
