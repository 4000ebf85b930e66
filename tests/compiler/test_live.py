"""Rules that change while they are in use: the next gradient is right, and only what depended on them is made again."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.compiler.counting import a_rule, compilations, compiling, nothing_compiled
from zad_jupyter import grad, opt_in, opt_out, pullback, registry, value_and_grad
from zad_jupyter.rules import NoRuleError


def test_a_rule_that_is_added_counts_at_once(notebook):
    notebook.run("""
        f = lambda x: 2 * x + 1
        through = lambda x: f(x) * 3
    """)
    assert notebook("gradient(f, 1.0), gradient(through, 1.0)") == ((2.0,), (6.0,))
    notebook.run("""
        @rrule(f)
        def _(x):
            return f(x), lambda ybar: 1e10 * ybar
    """)
    assert notebook("gradient(f, 1.0), gradient(through, 1.0)") == ((1e10,), (3e10,))


def test_a_rule_edited_and_edited_back_is_followed_both_times(notebook):
    notebook.run("""
        def f(x): return x * x
        def g(x): return f(x) + x
        derivative = grad(g)
    """)
    assert notebook("derivative(3.0)") == 7.0
    for slope in (10.0, 20.0, 10.0):
        a_rule(notebook["f"], slope)
        assert notebook("derivative(3.0)") == slope + 1
        assert notebook("gradient(g, 3.0)") == (slope + 1,)
        assert notebook("value_and_grad(g)(3.0)") == (12.0, slope + 1)


def test_a_rule_that_is_removed_leaves_the_body(notebook):
    notebook.run("def f(x): return x * x")
    rule = a_rule(notebook["f"], 10.0)
    assert notebook("grad(f)(3.0)") == 10.0
    registry.remove(rule)
    assert notebook("grad(f)(3.0)") == 6.0


def test_a_rule_is_switched_off_and_on(notebook):
    notebook.run("def f(x): return x * x\ndef g(x): return f(x) + 1")
    rule = a_rule(notebook["f"], 10.0)
    assert notebook("grad(g)(3.0)") == 10.0
    registry.switch(rule, False)
    assert notebook("grad(g)(3.0)") == 6.0
    registry.switch(rule, True)
    assert notebook("grad(g)(3.0)") == 10.0


def test_opting_out_and_in(notebook):
    notebook.run("def f(x): return x * x\ndef g(x): return f(x) + 1")
    f = notebook["f"]
    a_rule(f, 10.0)
    assert notebook("grad(g)(3.0)") == 10.0
    opt_out(f, float)
    assert notebook("grad(g)(3.0)") == 6.0
    opt_in(f, float)
    assert notebook("grad(g)(3.0)") == 10.0


def test_a_rule_that_returns_none_is_asked_for_each_value(notebook):
    notebook.run("""
        def f(x): return x * x
        def g(x): return f(x) + 1

        @rrule(f)
        def _(x):
            if x < 0:
                return None
            return f(x), lambda ybar: 10 * ybar
    """)
    with compiling(at_least=1):
        assert notebook("grad(g)(3.0)") == 10.0
    with nothing_compiled():
        assert notebook("grad(g)(-3.0)") == -6.0
        assert notebook("grad(g)(3.0)") == 10.0


def test_a_shipped_rule_gives_way_to_the_users_and_comes_back(notebook):
    notebook.run("h = lambda x: math.sin(x) * 2")
    math_sin, cos1 = notebook("math.sin"), notebook("math.cos(1.0)")
    assert notebook("grad(h)(1.0)") == pytest.approx(2 * cos1)
    rule = a_rule(math_sin, 10.0)
    assert notebook("grad(h)(1.0)") == 20.0
    registry.remove(rule)
    assert notebook("grad(h)(1.0)") == pytest.approx(2 * cos1)


def test_an_operator_is_a_call_like_any_other(notebook):
    notebook.run("h = lambda x: x * 2.0 + x")
    assert notebook("grad(h)(1.0)") == 3.0
    notebook.run("""
        @rrule(operator.mul)
        def _(a: float, b: float):
            return a * b, lambda g: (100.0 * g, None)
    """)
    assert notebook("grad(h)(1.0)") == 101.0


def test_the_second_derivative_sees_a_new_rule_too(notebook):
    notebook.run("def f(x): return x ** 3\ng = lambda x: f(x) + x")
    assert notebook("grad(grad(g))(2.0)") == 12.0
    notebook.run("""
        @rrule(f)
        def _(x):
            return f(x), lambda ybar: 5 * x * x * ybar
    """)
    assert notebook("grad(grad(g))(2.0)") == 20.0


def test_a_nested_gradient_sees_a_new_rule_too(notebook):
    notebook.run("def f(x): return x ** 3\ng = lambda x: x * grad(lambda t: f(t) + x)(x)")
    assert notebook("grad(g)(2.0)") == pytest.approx(36.0)  # (3 x**3)'
    notebook.run("""
        @rrule(f)
        def _(x):
            return f(x), lambda ybar: 5 * x * ybar
    """)
    assert notebook("grad(g)(2.0)") == pytest.approx(20.0)  # (5 x**2)'


def test_rules_are_differentiated_as_they_are_written_residuals_included(notebook):
    notebook.run("""
        def fourth(x): return 1.0 * x

        @rrule(fourth)
        def _(x):
            t = 2 * x
            y = t ** 2
            return y, lambda ybar: ybar * 4 * t
    """)
    assert notebook("value_and_grad(fourth)(1.5)") == (9.0, 12.0)
    assert notebook("grad(grad(fourth))(1.5)") == 8.0


def test_a_pullback_begins_with_the_rule_of_its_function(notebook):
    notebook.run("def f(x): return x * x")
    a_rule(notebook["f"], 10.0)
    assert pullback(notebook["f"], 3.0)[1](1.0) == (10.0,)


def test_a_pullback_keeps_the_rules_with_which_it_was_made(notebook):
    notebook.run("def f(x): return x * x\ndef g(x): return f(x) + x")
    rule = a_rule(notebook["f"], 10.0)
    _, back = pullback(notebook["g"], 3.0)
    registry.remove(rule)
    a_rule(notebook["f"], 20.0)
    assert back(1.0) == (11.0,)
    assert pullback(notebook["g"], 3.0)[1](1.0) == (21.0,)


def test_a_failure_is_forgotten_when_the_missing_rule_comes(notebook):
    notebook.run("""
        without_source = eval("lambda x: x * x")
        g = lambda x: without_source(x) + x
    """)
    for _ in range(2):
        with pytest.raises((NoRuleError, NotImplementedError), match=r"without_source|lambda"):
            notebook("gradient(g, 2.0)")
    a_rule(notebook["without_source"], 4.0)
    assert notebook("gradient(g, 2.0)") == (5.0,)


def test_a_failure_of_a_method_without_source_is_forgotten_too(notebook):
    notebook.run("g = lambda x: math.lgamma(x) + x")
    with pytest.raises(NoRuleError, match="lgamma"):
        notebook("gradient(g, 1.0)")
    notebook.run("""
        @rrule(math.lgamma)
        def _(x):
            return math.lgamma(x), lambda ybar: -0.5772156649015329 * ybar
    """)
    assert notebook("gradient(g, 1.0)")[0] == pytest.approx(1 - 0.5772156649015329)


def test_gradient_descent_on_a_global_compiles_once(notebook):
    notebook.run("""
        W = np.array([1.0, 2.0, 3.0])
        X = np.eye(3)
        def loss(w): return np.sum((X @ w - 1.0) ** 2)
        def step():
            global W
            W = W - 0.1 * grad(loss)(W)
    """)
    notebook("step()")
    with nothing_compiled():
        for _ in range(50):
            notebook("step()")
    np.testing.assert_allclose(notebook["W"], np.ones(3), atol=1e-4)


def test_gradient_descent_at_top_level_compiles_once(notebook):
    notebook.run("w, target = 4.0, 1.0\ndef loss(w): return (w - target) ** 2")
    notebook.run("w = w - 0.1 * grad(loss)(w)")
    with nothing_compiled():
        notebook.run("for _ in range(40): w = w - 0.1 * grad(loss)(w)")
    assert notebook["w"] == pytest.approx(1.0, abs=1e-3)


def test_a_loop_over_lambdas_compiles_once(notebook):
    notebook.run("""
        def descend(n):
            w = 4.0
            for i in range(n):
                w = w - 0.1 * gradient(lambda v: (v - i) ** 2, w)[0]
            return w
    """)
    notebook("descend(2)")
    with nothing_compiled():
        notebook("descend(20)")


def test_a_change_compiles_only_what_depended_on_it(notebook):
    notebook.run("""
        def a(x): return x * x
        def b(x): return x * x * x
        def on_a(x): return a(x) + x
        def on_b(x): return b(x) + x
    """)
    assert notebook("grad(on_a)(2.0), grad(on_b)(2.0)") == (5.0, 13.0)
    a_rule(notebook["a"], 10.0)
    with nothing_compiled():
        assert notebook("grad(on_b)(2.0)") == 13.0
    with compiling(at_least=1):
        assert notebook("grad(on_a)(2.0)") == 11.0


def test_a_rule_for_a_type_that_was_never_asked_about_compiles_nothing(notebook):
    notebook.run("def f(x): return x * x\ndef g(x): return f(x) + x")
    assert notebook("grad(g)(2.0)") == 5.0
    notebook.run("""
        @rrule(f)
        def _(x: np.ndarray):
            return f(x), lambda g: g * 100
    """)
    with nothing_compiled():
        assert notebook("grad(g)(2.0)") == 5.0
    np.testing.assert_allclose(notebook("grad(lambda x: np.sum(f(x)))(np.ones(2))"), [100.0, 100.0])


def test_a_rule_that_is_shadowed_compiles_nothing(notebook):
    notebook.run("def f(x): return x * x\ndef g(x): return f(x) + x")
    a_rule(notebook["f"], 10.0, x=float)
    assert notebook("grad(g)(2.0)") == 11.0
    a_rule(notebook["f"], 20.0, x=object)
    with nothing_compiled():
        assert notebook("grad(g)(2.0)") == 11.0


def test_a_rule_written_again_word_for_word_compiles_nothing(notebook):
    notebook.run("def f(x): return x * x\ndef g(x): return f(x) + x")
    cell = """
        @rrule(f)
        def _(x):
            return f(x), lambda ybar: 10 * ybar
    """
    notebook.run(cell)
    assert notebook("grad(g)(2.0)") == 11.0
    notebook.run(cell)
    with nothing_compiled():
        assert notebook("grad(g)(2.0)") == 11.0


def test_another_type_compiles_once_and_leaves_the_first(notebook):
    notebook.run("def f(x): return np.sum(x * x)")
    assert notebook("grad(f)(2.0)") == 4.0
    with compiling(at_least=1):
        np.testing.assert_allclose(notebook("grad(f)(np.ones(3))"), 2 * np.ones(3))
    with nothing_compiled():
        assert notebook("grad(f)(2.0)") == 4.0
        np.testing.assert_allclose(notebook("grad(f)(np.ones(5))"), 2 * np.ones(5))


def test_rules_written_again_do_not_pile_up(notebook):
    notebook.run("def f(x): return x * x")
    cell = """
        @rrule(f)
        def _(x):
            return f(x), lambda ybar: 10 * ybar
    """
    file = notebook.run(cell)
    before = len(registry.rules())
    for _ in range(10):
        exec(compile(notebook.text(file), file, "exec"), notebook.names)
    assert len(registry.rules()) == before


def test_forty_edits_cost_forty_times_one_edit(notebook):
    notebook.run("def f(x): return x * x\ndef g(x): return f(x) + x")
    made = []
    for n in range(40):
        before = compilations()
        a_rule(notebook["f"], float(n))
        assert notebook("grad(g)(2.0)") == n + 1
        made.append(compilations() - before)
    assert max(made[1:]) == made[1]


def test_gradients_in_threads_compile_and_agree(notebook):
    notebook.run("def f(x): return math.sin(x) * x\ndef g(x): return f(x) + x * x")
    g = notebook["g"]
    with ThreadPoolExecutor(8) as threads:
        both = threads.map(lambda _: (grad(g)(2.0), value_and_grad(g)(2.0)[1], grad(grad(g))(2.0)), range(64))
    want = math.cos(2.0) * 2.0 + math.sin(2.0) + 4.0
    for first, second, third in both:
        assert first == second == pytest.approx(want)
        assert third == pytest.approx(2 * math.cos(2.0) - 2.0 * math.sin(2.0) + 2.0)
