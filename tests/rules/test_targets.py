"""What rules can be for: classes, methods, aliases, functions of C; what a class overrides; what is held weakly."""
import gc
import operator
import weakref

import numpy as np
import pytest

from tests.rules.lattice import Animal, Dog, Fish, Swims, chosen, rule_for
from zad_jupyter.rules import registry


@pytest.fixture
def f():
    def f(a, b=None, *, key=None): return a
    return f


# ----------------------------------------------------------------------------------------------- classes and methods

def test_a_rule_for_a_class_means_exactly_that_class():
    class Base:
        def __init__(self, x): self.x = x
    class Derived(Base):
        pass
    rule = rule_for(Base, float)
    assert chosen(Base, float) is rule
    assert chosen(Derived, float) is None


def test_a_rule_for_a_method_has_self_first_and_a_bound_one_is_another_target():
    class Quad:
        def area(self, x): return x
    rule = rule_for(Quad.area, Quad, float)
    assert chosen(Quad.area, Quad, float) is rule
    one, two = Quad(), Quad()
    bound = rule_for(one.area, float)
    assert chosen(one.area, float) is bound
    assert chosen(one.area, float) is bound
    assert chosen(two.area, float) is None


def test_aliases_share_one_table():
    def plus(a, b): return a
    def add(a, b): return a
    before = rule_for(plus, int, int)
    registry.alias(plus, add)
    assert chosen(add, int, int) is before
    later = rule_for(plus, float, float)
    assert chosen(add, float, float) is later
    assert registry.canonical(plus) is add


def test_abc_register_is_noticed_after_the_question_was_asked(f):
    rule = rule_for(f, Swims)
    assert chosen(f, Fish) is None
    class Duck:
        pass
    assert chosen(f, Duck) is None
    Swims.register(Duck)
    assert chosen(f, Duck) is rule


# -------------------------------------------------------------------------------------- what a class itself overrides

class Plain(np.ndarray):
    pass


class Overrides(np.ndarray):
    def __lshift__(self, other): return "mine"


class OverridesUfuncs(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs): return "mine"


class OverridesFunctions(np.ndarray):
    def __array_function__(self, *args, **kwargs): return "mine"


def test_a_shipped_rule_is_no_candidate_where_the_class_overrides_the_dunder():
    rule = rule_for(operator.lshift, np.ndarray, object, shipped=True)
    assert chosen(operator.lshift, Plain, float) is rule
    assert chosen(operator.lshift, Overrides, float) is None
    assert chosen(operator.lshift, OverridesUfuncs, float) is None
    assert chosen(operator.lshift, np.ndarray, OverridesUfuncs) is None


def test_a_dunder_counts_for_its_own_argument_only():
    class Reflected:
        def __rlshift__(self, other): return other
    class Index:
        def __getitem__(self, i): return i
    shift = rule_for(operator.lshift, float, object, shipped=True)
    get = rule_for(operator.getitem, list, object, shipped=True)
    assert chosen(operator.lshift, float, Reflected) is None
    assert chosen(operator.lshift, float, int) is shift
    assert chosen(operator.getitem, list, Index) is get


def test_numpy_functions_heed_array_function_and_ufuncs_array_ufunc():
    function, ufunc = rule_for(np.sort, np.ndarray, shipped=True), rule_for(np.exp2, np.ndarray, shipped=True)
    assert chosen(np.sort, Plain) is function
    assert chosen(np.sort, OverridesFunctions) is None
    assert chosen(np.exp2, OverridesFunctions) is ufunc
    assert chosen(np.exp2, OverridesUfuncs) is None


def test_a_rule_of_the_user_is_asked_even_where_the_class_overrides():
    rule = rule_for(operator.lshift, Overrides, object)
    assert chosen(operator.lshift, Overrides, float) is rule


def test_a_rule_for_getitem_on_a_subclass_comes_before_shipped_ones():
    class Foo(list):
        def __getitem__(self, i): raise RuntimeError
    rule_for(operator.getitem, list, object, shipped=True)
    assert chosen(operator.getitem, Foo, int) is None
    rule = rule_for(operator.getitem, Foo, object)
    assert chosen(operator.getitem, Foo, int) is rule


# ----------------------------------------------------------------------------------------------- holding weakly

def test_a_function_that_is_gone_takes_its_rules_along():
    def make():
        def f(a): return a
        rule = rule_for(f, int)
        registry.select(f, (int,))
        return weakref.ref(f), rule
    ref, rule = make()
    gc.collect()
    assert ref() is None
    assert rule.target is None
    assert rule not in registry.rules()


def test_a_new_function_at_an_old_address_does_not_inherit():
    for _ in range(200):
        def f(a): return a
        now = registry.snapshot()
        for select in (registry.select, now.select, registry.select, now.select):
            assert select(f, (int,)).outcome == "none"
        rule_for(f, int)
        assert registry.select(f, (int,)).outcome == "hit"
        assert registry.snapshot().select(f, (int,)).outcome == "hit"
        del f


def test_an_old_generation_takes_no_new_function_for_an_old_one():
    held = registry.snapshot()
    for n in range(200):
        def f(a): return a
        if n % 2:
            assert held.select(f, (int,)).outcome == "none"
            del f
            continue
        registry.add(rule_for(f, int))
        held = registry.snapshot()
        assert held.select(f, (int,)).outcome == "hit"
        del f


def test_equal_answers_are_equal_and_different_ones_are_not(f):
    rule_for(f, Animal)
    before = registry.select(f, (Dog,))
    registry.remove(before.rule)
    assert registry.select(f, (Dog,)) != before
    rule_for(f, Animal)
    assert registry.select(f, (Dog,)) != before        # its pullback is another object, made elsewhere


def test_answers_are_remembered_misses_too(f):
    registry.select(f, (Dog,))
    before = registry.statistics()["selections"]
    assert registry.select(f, (Dog,)) is registry.select(f, (Dog,))
    assert registry.statistics()["selections"] == before
