"""Which rule wins: claims on small lattices of classes."""
import collections.abc
import numbers
import operator

import numpy as np
import pytest

from tests.rules.lattice import Animal, Dives, Dog, Fish, Mammal, Platypus, Swims, chosen, rule_for
from zad_jupyter.rules import AmbiguousRuleError, non_differentiable, opt_in, opt_out, registry, rrule, scalar_rule


@pytest.fixture
def f():
    def f(a, b=None, *, key=None): return a
    return f


def test_without_rules_there_is_none(f):
    answer = registry.select(f, (int,))
    assert (answer.outcome, answer.rule, answer.binding) == ("none", None, None)


def test_the_class_earlier_in_the_mro_wins(f):
    animal, mammal = rule_for(f, Animal), rule_for(f, Mammal)
    assert chosen(f, Dog) is mammal
    assert chosen(f, Fish) is animal
    assert chosen(f, int) is None


def test_a_rule_for_a_class_says_nothing_of_its_sibling(f):
    rule_for(f, Mammal)
    assert registry.select(f, (Fish,)).outcome == "none"


def test_a_class_comes_before_an_abc_and_object_last(f):
    anything, abc_rule, mammal = rule_for(f, object), rule_for(f, Swims), rule_for(f, Mammal)
    assert chosen(f, Platypus) is mammal
    registry.remove(mammal)
    assert chosen(f, Platypus) is abc_rule
    assert chosen(f, Dog) is anything


def test_among_abcs_the_subclass_wins(f):
    rule_for(f, Swims)
    dives = rule_for(f, Dives)
    assert chosen(f, Platypus) is dives


def test_unrelated_abcs_are_ambiguous(f):
    rule_for(f, collections.abc.Sized)
    rule_for(f, collections.abc.Iterable)
    assert registry.select(f, (str,)).outcome == "ambiguous"


def test_the_smaller_union_wins(f):
    wide, narrow = rule_for(f, Dog | Fish | int), rule_for(f, Dog | Fish)
    assert chosen(f, Dog) is narrow
    assert chosen(f, int) is wide
    single = rule_for(f, Dog)
    assert chosen(f, Dog) is single


def test_overlapping_unions_are_ambiguous(f):
    rule_for(f, Dog | Fish)
    rule_for(f, Dog | int)
    assert registry.select(f, (Dog,)).outcome == "ambiguous"
    assert registry.select(f, (Fish,)).outcome == "hit"


def test_none_is_an_annotation(f):
    rule = rule_for(f, None)
    assert chosen(f, type(None)) is rule
    assert chosen(f, int) is None


def test_float_takes_an_int_after_everything_else(f):
    real = rule_for(f, float)
    assert chosen(f, int) is real
    number = rule_for(f, numbers.Real)
    assert chosen(f, int) is number
    registry.remove(number)
    anything = rule_for(f, object)
    assert chosen(f, int) is anything
    assert chosen(f, float) is real


def test_a_bool_matches_only_bool_and_object(f):
    rule_for(f, int), rule_for(f, float), rule_for(f, numbers.Number)
    assert chosen(f, bool) is None
    anything = rule_for(f, object)
    assert chosen(f, bool) is anything
    truth = rule_for(f, bool)
    assert chosen(f, bool) is truth


def test_only_supplied_arguments_count_then_fewer_defaults(f):
    @rrule(f)
    def broad(a: Animal, b=None, *, key=None): return a, lambda g: (g, None)
    @rrule(f)
    def narrow(a: Mammal): return a, lambda g: g
    @rrule(f)
    def same_as_broad(a: Animal): return a, lambda g: g
    assert chosen(f, Dog) is narrow
    assert chosen(f, Fish) is same_as_broad
    assert chosen(f, Dog, int) is broad


def test_a_rule_without_star_args_comes_before_one_with(f):
    @rrule(f)
    def star(*args): return args, lambda g: g
    @rrule(f)
    def plain(a): return a, lambda g: g
    assert chosen(f, int) is plain
    assert chosen(f, int, int) is star
    assert registry.select(f, (int, int)).binding == ((0, 1),)


def test_an_ambiguity_names_both_rules_and_the_signature_that_settles_it():
    def f(a, b): return a
    @rrule(f)
    def _(a: int, b): return a, lambda g: (g, None)
    first = _
    @rrule(f)
    def _(a, b: int): return a, lambda g: (g, None)
    answer = registry.select(f, (int, int))
    assert answer.outcome == "ambiguous"
    assert set(answer.contenders) == {first, _}
    error = answer.error()
    assert isinstance(error, AmbiguousRuleError)
    assert str(error) == (
        "f(int, int) is ambiguous: two rules apply and neither is more specific\n"
        f"    f(a: int, b)  test_selection.py:{first.place.line}\n"
        f"    f(a, b: int)  test_selection.py:{_.place.line}\n"
        "  To settle it, define f(int, int):\n"
        "    @rrule(f)\n"
        "    def _(a: int, b: int): ...")
    rule_for(f, int, int)
    assert registry.select(f, (int, int)).outcome == "hit"


def test_a_shipped_rule_and_a_user_opt_out_that_cross_are_settled_by_layer():
    class Array2D:
        pass
    class MyMat(Array2D):
        pass
    def matmul(a, b): return a
    shipped = rule_for(matmul, Array2D, Array2D, shipped=True)
    out = opt_out(matmul, MyMat, Array2D)
    assert registry.select(matmul, (MyMat, Array2D)).outcome == "opted-out"
    assert registry.select(matmul, (MyMat, Array2D)).rule is out
    assert chosen(matmul, Array2D, MyMat) is shipped


def test_the_same_two_in_one_layer_are_settled_by_class():
    def total(fn, xs): return sum(xs)
    class Weights(list):
        pass
    broad = rule_for(total, object, list)
    out = opt_out(total, list, Weights)
    assert chosen(total, list, Weights) is out
    assert chosen(total, list, list) is broad


# ----------------------------------------------------------------------------------------------- layers

def test_users_rules_come_first_however_broad(f):
    shipped = rule_for(f, Dog, shipped=True)
    user = rule_for(f, Animal)
    assert chosen(f, Dog) is user
    registry.remove(user)
    assert chosen(f, Dog) is shipped


def test_an_opt_out_never_falls_through_to_a_broader_rule_or_a_lower_layer(f):
    rule_for(f, Animal), rule_for(f, Dog, shipped=True)
    opt_out(f, Mammal)
    assert registry.select(f, (Dog,)).outcome == "opted-out"


def test_a_more_specific_rule_beats_a_broader_opt_out(f):
    opt_out(f, Animal)
    dog = rule_for(f, Dog)
    assert chosen(f, Dog) is dog
    assert registry.select(f, (Fish,)).outcome == "opted-out"


def test_the_last_executed_of_one_signature_wins_and_the_other_returns():
    def f(a): return a
    with registry.transaction("cell A"):
        first = rule_for(f, Animal)
    with registry.transaction("cell B"):
        second = rule_for(f, Animal)
    assert chosen(f, Dog) is second
    assert first.status == f"shadowed by the rule at {second.place}"
    assert first in registry.rules(f)
    registry.remove(second)
    assert chosen(f, Dog) is first
    assert first.status == ""


def test_running_an_unchanged_cell_again_makes_its_rule_the_last(changes):
    def f(a): return a
    def first(a: Animal): return 1, lambda g: g
    def second(a: Animal): return 2, lambda g: g
    for owner, function in [("A", first), ("B", second), ("A", first)]:
        with registry.transaction(owner):
            rrule(f)(function)
    assert chosen(f, Dog).function is first
    assert changes[-1].functions == (f,)
    assert (changes[-1].added, changes[-1].removed) == ((), ())


def test_a_rule_switched_off_is_as_if_it_were_not_there(f):
    animal, mammal = rule_for(f, Animal), rule_for(f, Mammal)
    registry.switch(mammal, False)
    assert chosen(f, Dog) is animal
    assert (mammal.enabled, mammal.status) == (False, "switched off")
    registry.switch(mammal, True)
    assert chosen(f, Dog) is mammal
    assert (mammal.enabled, mammal.status) == (True, "")


# ----------------------------------------------------------------------------------------------- opting out

def test_an_opt_out_can_be_taken_back(f):
    animal = rule_for(f, Animal)
    opt_out(f, Mammal)
    assert registry.select(f, (Dog,)).outcome == "opted-out"
    opt_in(f, Mammal)
    assert chosen(f, Dog) is animal


def test_an_opt_out_by_types_leaves_the_parameters_after_them_free():
    def f(a, scale=1.0, *, key=None): return a
    @rrule(f)
    def _(a: Animal, scale=1.0, *, key=None): return a, lambda g: g
    out = opt_out(f, Mammal)
    assert chosen(f, Dog, float) is out
    assert chosen(f, Dog, key=int) is out
    assert chosen(f, Dog, scale=float) is out
    assert chosen(f, Fish, float) is _


def test_between_an_opt_out_and_a_rule_that_says_the_same_the_last_written_wins():
    def f(a, scale=1.0): return a
    out = opt_out(f, Mammal)
    rule = rule_for(f, Mammal)
    assert chosen(f, Dog) is rule
    out = opt_out(f, Mammal)
    assert chosen(f, Dog) is out


def test_a_rule_whose_whole_body_is_return_none_is_an_opt_out_by_type(f):
    @rrule(f)
    def _(a: Dog):
        """Not for dogs."""
        return None
    assert _.kind == "opt_out"
    assert registry.select(f, (Dog,)).outcome == "opted-out"


def test_opting_out_without_types_opts_out_every_call(f):
    rule_for(f, object, shipped=True)
    opt_out(f)
    assert registry.select(f, (int, int), (("key", str),)).outcome == "opted-out"


def test_non_differentiable_takes_any_call(f):
    non_differentiable(f)
    rule, = registry.rules(f)
    assert chosen(f, int, int, key=str) is rule


# ----------------------------------------------------------------------------------------------- binding

def test_positional_and_keyword_calls_ask_alike():
    def sq(x, y=1): return x * x
    @rrule(sq)
    def _(a: float, b=1): return a * a, lambda g: (g, None)
    assert registry.select(sq, (float,)).binding == (0, None)
    assert registry.select(sq, (), (("x", float),)).binding == ("x", None)
    assert registry.select(sq, (float,), (("y", int),)).binding == (0, "y")
    assert registry.select(sq, (), (("y", int), ("x", float))).binding == ("x", "y")


def test_an_argument_passed_by_keyword_behind_a_gap_finds_its_parameter():
    def f(a, b=1, c=2): return a
    @rrule(f)
    def by_position(u, v=1, w: float = 2): return u, lambda g: g
    assert registry.select(f, (int,), (("c", float),)).binding == (0, None, "c")
    assert registry.select(f, (int,), (("c", str),)).outcome == "none"


def test_a_rule_that_cannot_take_a_keyword_is_no_candidate():
    def cat(xs, init=None): return xs
    rule_for(cat, object)
    assert registry.select(cat, (list,)).outcome == "hit"
    assert registry.select(cat, (list,), (("init", float),)).outcome == "none"


def test_keyword_only_and_double_star_parameters_are_bound():
    def f(a, *, key=None, **more): return a
    @rrule(f)
    def _(a, *, key: int, **rest): return a, lambda g: g
    assert registry.select(f, (int,), (("key", int), ("m", str))).binding == (0, "key", ("m",))
    assert registry.select(f, (int,)).outcome == "none"


def test_a_call_that_the_function_would_refuse_gets_no_rule():
    def f(a): return a
    @rrule(f)
    def _(a, b=None): return a, lambda g: g
    assert registry.select(f, (int, int)).outcome == "none"


def test_functions_of_c_have_rules_too():
    rule = scalar_rule(operator.truediv, lambda x, y, out: 1 / y, lambda x, y, out: -out / y)
    assert chosen(operator.truediv, float, int) is rule
    ufunc = rule_for(np.cbrt, np.ndarray)
    assert chosen(np.cbrt, np.ndarray) is ufunc
