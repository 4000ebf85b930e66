"""Functions, globals and closures that are replaced: the next gradient sees it, and a new number compiles nothing."""

from __future__ import annotations

import pytest

from tests.compiler.counting import compiling, nothing_compiled
from zad_jupyter import gradient


def test_a_helper_that_is_defined_again_is_used(notebook):
    notebook.run("def helper(x): return x * x\ndef f(x): return helper(x) + x")
    assert notebook("grad(f)(3.0)") == 7.0
    notebook.run("def helper(x): return x * x * x")
    assert notebook("grad(f)(3.0)") == 28.0
    notebook.run("helper = math.exp")
    assert notebook("grad(f)(0.0)") == 2.0


def test_a_helper_of_a_helper_that_is_defined_again_is_used(notebook):
    notebook.run("""
        def deep(x): return x * x
        def middle(x): return deep(x) * 2
        def f(x):
            s = 0.0
            for _ in range(3):
                s = s + middle(x)
            return s
    """)
    assert notebook("grad(f)(3.0), grad(grad(f))(3.0)") == (36.0, 12.0)
    notebook.run("def deep(x): return x * x * x")
    assert notebook("grad(f)(3.0), grad(grad(f))(3.0)") == (162.0, 108.0)


def test_code_that_is_swapped_is_noticed(notebook):
    notebook.run("""
        def helper(x): return x * x
        def other(x): return x * x * x
        def f(x): return helper(x) + x
    """)
    assert notebook("grad(f)(3.0), grad(helper)(3.0)") == (7.0, 6.0)
    notebook.run("helper.__code__ = other.__code__")
    assert notebook("grad(f)(3.0), grad(helper)(3.0)") == (28.0, 27.0)


def test_code_that_is_swapped_is_noticed_in_recursion_and_closures(notebook):
    notebook.run("""
        def helper(x): return x * x
        def other(x): return x * x * x
        def f(x, n): return helper(x) if n == 0 else f(x, n - 1)
        def g(x): return (lambda t: helper(t) * x)(x)
    """)
    assert notebook("grad(f)(2.0, 2), grad(g)(2.0)") == (4.0, 12.0)
    notebook.run("helper.__code__ = other.__code__")
    assert notebook("grad(f)(2.0, 2), grad(g)(2.0)") == (12.0, 32.0)


def test_defaults_that_are_changed_are_noticed(notebook):
    notebook.run("def helper(x, k=2.0): return x * k\ndef f(x): return helper(x) + x")
    assert notebook("grad(f)(3.0), grad(helper)(1.0)") == (3.0, 2.0)
    notebook.run("helper.__defaults__ = (5.0,)")
    assert notebook("grad(f)(3.0), grad(helper)(1.0)") == (6.0, 5.0)


def test_a_method_that_is_replaced_is_noticed(notebook):
    notebook.run("""
        class Model:
            def predict(self, x): return x * x
        model = Model()
        def f(x): return model.predict(x)
    """)
    assert notebook("grad(f)(3.0)") == 6.0
    notebook.run("Model.predict = lambda self, x: x * x * x")
    assert notebook("grad(f)(3.0)") == 27.0


def test_a_module_attribute_that_is_replaced_is_noticed(notebook):
    notebook.run("""
        import types
        tools = types.ModuleType("tools")
        tools.h = lambda x: x * x
        def f(x): return tools.h(x)
    """)
    assert notebook("grad(f)(3.0)") == 6.0
    notebook.run("tools.h = lambda x: x * x * x")
    assert notebook("grad(f)(3.0)") == 27.0


def test_a_global_that_hides_a_builtin_is_noticed(notebook):
    notebook.run("def f(x): return abs(x) + x")
    assert notebook("grad(f)(3.0)") == 2.0
    notebook.run("def abs(x): return 10 * x")
    assert notebook("grad(f)(3.0)") == 11.0


def test_a_global_number_is_read_each_time_and_compiles_nothing(notebook):
    notebook.run("k = 2.0\ndef f(x): return k * x * x")
    assert notebook("grad(f)(3.0)") == 12.0
    with nothing_compiled():
        for k in (3.0, -1.0, 0.0, 1.0):
            notebook["f"].__globals__["k"] = k
            assert notebook("grad(f)(3.0)") == 6.0 * k


def test_a_global_that_changes_its_type_is_right_and_compiles_once(notebook):
    notebook.run("k = 2.0\ndef f(x): return np.sum(k * x * x)")
    assert notebook("grad(f)(3.0)") == 12.0
    notebook.run("k = np.array([1.0, 2.0])")
    with compiling(at_least=1):
        assert notebook("grad(f)(3.0)") == pytest.approx(18.0)
    with nothing_compiled():
        assert notebook("grad(f)(2.0)") == pytest.approx(12.0)
    notebook.run("k = 3")
    assert notebook("grad(f)(3.0)") == pytest.approx(18.0)


def test_a_global_in_a_condition_and_as_a_length(notebook):
    notebook.run("""
        deep, n = False, 2
        def f(x):
            y = x
            for _ in range(n):
                y = y * x
            return -y if deep else y
    """)
    assert notebook("grad(f)(2.0)") == 12.0
    notebook.run("deep, n = True, 3")
    assert notebook("grad(f)(2.0)") == -32.0


def test_closures_made_anew_compile_once(notebook):
    notebook.run("def make(k): return lambda x: k * x * x")
    assert gradient(notebook["make"](2.0), 3.0) == (12.0,)
    with nothing_compiled():
        for k in range(3, 30):
            assert gradient(notebook["make"](float(k)), 3.0) == (6.0 * k,)
    assert gradient(notebook["make"](2), 3.0) == (12.0,)


def test_closures_over_different_functions_are_told_apart(notebook):
    notebook.run("""
        def through(g): return lambda x: g(x) * x
        fs = [through(g) for g in (math.sin, math.exp, lambda t: t * t, lambda t: t)]
    """)
    fs = notebook["fs"]
    for _ in range(2):
        assert gradient(fs[0], 0.0)[0] == pytest.approx(0.0)
        assert gradient(fs[1], 0.0)[0] == pytest.approx(1.0)
        assert gradient(fs[2], 2.0)[0] == pytest.approx(12.0)
        assert gradient(fs[3], 2.0)[0] == pytest.approx(4.0)


def test_a_closure_cell_that_is_written_later_is_read_again(notebook):
    notebook.run("""
        def make():
            k = 1.0
            def f(x): return k * x
            def put(v):
                nonlocal k
                k = v
            return f, put
        f, put = make()
    """)
    assert notebook("grad(f)(3.0)") == 1.0
    notebook("put(7.0)")
    assert notebook("grad(f)(3.0)") == 7.0
    notebook("put(np.float64(2.5))")
    assert notebook("grad(f)(3.0)") == 2.5


def test_an_attribute_that_is_written_later_is_read_again(notebook):
    notebook.run("""
        class Box: pass
        box = Box()
        box.k = 2.0
        def f(x): return box.k * x
    """)
    assert notebook("grad(f)(3.0)") == 2.0
    notebook.run("box.k = 5")
    assert notebook("grad(f)(3.0)") == 5.0
    notebook.run("box.k = np.ones(())")
    assert notebook("grad(f)(3.0)") == 1.0
