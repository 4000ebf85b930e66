"""What users of other systems ran into with their rules, and the right answer."""

from __future__ import annotations

import numpy as np
import pytest

from zad_jupyter.rules import AmbiguousRuleError, CotangentError


def test_a_rule_for_getitem_of_a_class_stands_for_its_getitem(notebook):
    notebook.run("""
        class Foo(list):
            def __getitem__(self, i):
                raise AssertionError("never called")

        @rrule(Foo.__getitem__)
        def _(self: Foo, i: int):
            return 99.0, lambda ybar: ([42.0 * ybar for _ in range(len(self))], None)

        foo = Foo([1.0])
    """)
    assert notebook("value_and_grad(lambda xs: xs[0])(foo)") == (99.0, [42.0])


def test_a_rule_that_does_not_take_a_keyword_is_no_candidate(notebook):
    notebook.run("""
        def cat(xs, init=0.0):
            total = init
            for x in xs:
                total = total + x
            return total

        @rrule(cat)
        def _(xs):
            return cat(xs), lambda ybar: [100.0 * ybar for _ in xs]
    """)
    assert notebook("gradient(lambda xs: cat(xs), [1.0, 2.0])") == ([100.0, 100.0],)
    assert notebook("gradient(lambda xs, y: cat(xs, init=y), [1.0, 2.0], 3.0)") == ([1.0, 1.0], 1.0)
    assert "init" in notebook("str(which_rule(cat, [1.0], init=2.0))")


def test_a_differentiated_value_may_go_in_by_keyword(notebook):
    notebook.run("""
        def square(x): return x * x

        @rrule(square)
        def _(x):
            return square(x), lambda ybar: 10 * ybar
    """)
    assert notebook("gradient(lambda y: square(x=y), 3.0)") == (10.0,)
    assert notebook("gradient(lambda y: square(**{'x': y}), 3.0)") == (10.0,)


def test_a_cotangent_of_the_wrong_shape_is_refused_by_name_and_place(notebook):
    notebook.run("""
        def f(x): return x * x

        @rrule(f)
        def _(x):
            return f(x), lambda ybar: ybar * np.ones(10)
    """)
    with pytest.raises(CotangentError, match=r"(?s)cell 1:\d.*") as caught:
        notebook("gradient(lambda x: f(x) + 1, 3.0)")
    for word in ("f(", "x", "(10,)"):
        assert word in str(caught.value)


def test_not_implemented_is_an_error_where_it_is_needed_and_never_zero(notebook):
    notebook.run("""
        def f(x, y): return x * y

        @rrule(f)
        def _(x, y):
            return f(x, y), lambda ybar: (ybar * y, NotImplemented)
    """)
    with pytest.raises((CotangentError, NotImplementedError, TypeError), match="y") as caught:
        notebook("gradient(lambda x, y: f(x, y), 2.0, 3.0)")
    assert "cell 1" in str(caught.value)



def test_not_implemented_is_no_error_where_it_is_not_needed(notebook):
    notebook.run("""
        def f(x, y): return x * y

        @rrule(f)
        def _(x, y):
            return f(x, y), lambda ybar: (ybar * y, NotImplemented)
    """)
    assert notebook("gradient(lambda x: f(x, 3.0), 2.0)") == (3.0,)


def test_an_ambiguity_is_an_error_that_names_both_rules_and_the_way_out(notebook):
    notebook.run("""
        def f(x, y): return x * y

        @rrule(f)
        def first(x: float, y: object):
            return f(x, y), lambda g: (10 * g, None)

        @rrule(f)
        def second(x: object, y: float):
            return f(x, y), lambda g: (20 * g, None)
    """)
    for _ in range(2):
        with pytest.raises(AmbiguousRuleError, match=r"f\(float, float\)") as caught:
            notebook("gradient(lambda x: f(x, 2.0), 1.0)")
        assert str(caught.value).count("cell 1:") >= 2
    notebook.run("""
        @rrule(f)
        def _(x: float, y: float):
            return f(x, y), lambda g: (30 * g, None)
    """)
    assert notebook("gradient(lambda x: f(x, 2.0), 1.0)") == (30.0,)


def test_an_opt_out_for_a_subclass_sends_the_call_to_the_body(notebook):
    notebook.run("""
        class Weights(list): pass

        def total(f, xs):
            s = 0.0
            for i in range(len(f)):
                s = s + f[i] * xs[i]
            return s

        @rrule(total)
        def _(f: object, xs: list):
            return total(f, xs), lambda g: (None, None)

        w = Weights([3.0, 4.0])
    """)
    assert notebook("gradient(lambda xs: total(xs, w), [1.0, 2.0])") == ([0.0, 0.0],)
    notebook.run("opt_out(total, list, Weights)")
    assert notebook("value_and_grad(lambda xs: total(xs, w))([1.0, 2.0])") == (11.0, [3.0, 4.0])


def test_the_body_after_an_opt_out_chooses_its_own_rules(notebook):
    notebook.run("""
        class MyMat(np.ndarray): pass

        def inner(a, b): return np.sum(a * b)
        def product(a, b): return inner(a, b) * 1.0

        @rrule(product)
        def _(a: np.ndarray, b: np.ndarray):
            return product(a, b), lambda g: (g * 100 * b, g * 100 * a)

        @rrule(inner)
        def _(a, b):
            return inner(a, b), lambda g: (g * 7 * np.asarray(b), g * 7 * np.asarray(a))

        opt_out(product, MyMat, np.ndarray)
        a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        m = a.view(MyMat)
    """)
    np.testing.assert_allclose(notebook("gradient(lambda b: product(a, b), b)[0]"), [100.0, 200.0])
    np.testing.assert_allclose(notebook("gradient(lambda b: product(m, b), b)[0]"), [7.0, 14.0])


def test_a_narrow_rule_beats_a_broad_one_with_more_defaults(notebook):
    notebook.run("""
        def f(x, n=1, m=1): return x * n * m

        @rrule(f)
        def _(x: object, n=1, m=1):
            return f(x, n, m), lambda g: (100 * g, None, None)

        @rrule(f)
        def _(x: float):
            return f(x), lambda g: 10 * g
    """)
    assert notebook("gradient(lambda x: f(x), 1.0)") == (10.0,)
    assert notebook("gradient(lambda x: f(x, 2), 1.0)") == (100.0,)


def test_a_rule_for_one_class_says_nothing_about_its_sibling(notebook):
    notebook.run("""
        class Base(float): pass
        class One(Base): pass
        class Two(Base): pass

        def f(x): return x * x

        @rrule(f)
        def _(x: One):
            return f(x), lambda g: 100 * g
    """)
    assert notebook("gradient(lambda x: f(x), One(3.0))") == (100.0,)
    assert notebook("gradient(lambda x: f(x), Two(3.0))") == (6.0,)


def test_a_rule_on_a_method_has_self_first(notebook):
    notebook.run("""
        class Quad:
            def __init__(self, p): self.p = p
            def value(self, x): return self.p * x * x

        @rrule(Quad.value)
        def _(self, x):
            return self.value(x), lambda g: (None, 100 * g)

        q = Quad(1.0)
    """)
    assert notebook("gradient(lambda x: q.value(x), 3.0)") == (100.0,)
    notebook.run("opt_out(Quad.value, Quad, float)")
    assert notebook("gradient(lambda x: q.value(x), 3.0)") == (6.0,)


def test_a_pullback_that_forgot_its_return_is_told(notebook):
    notebook.run("""
        def f(x): return x * x

        @rrule(f)
        def _(x):
            def pullback(ybar):
                ybar * 2 * x
            return f(x), pullback
    """)
    with pytest.raises(CotangentError, match="ended without a `return`") as caught:
        notebook("gradient(f, 2.0)")
    assert "cell 1" in str(caught.value)
    notebook.run("""
        @rrule(f)
        def _(x):
            def pullback(ybar):
                return None
            return f(x), pullback
    """)
    assert notebook("gradient(f, 2.0)") == (0.0,)


def test_non_differentiable_stands_above_a_function(notebook):
    notebook.run("""
        from zad_jupyter import non_differentiable

        @non_differentiable
        def steps(x): return x * 3.0
    """)
    assert notebook("gradient(lambda x: steps(x) * x, 2.0)") == (6.0,)


def test_a_rule_for_a_method_is_for_its_class_alone(notebook):
    notebook.run("""
        import numpy as np

        @rrule(np.ndarray.__getitem__)
        def _(a, i):
            return a[i], lambda ybar: (42.0 * np.ones(a.shape), None)
    """)
    assert notebook("gradient(lambda a: a[0], np.ones(2))")[0].tolist() == [42.0, 42.0]
    assert notebook("gradient(lambda xs: xs[0], [1.0, 2.0])") == ([1.0, 0.0],)
