"""Whoever holds something of a module has the module's new version after an edit."""
from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.live.modules import Modules
from zad_jupyter.live.execute import Batch
from zad_jupyter.live.importers import rebind


def names(items: list[Any]) -> list[str]:
    return [item[0] for item in items]


def test_a_function_keeps_its_identity_and_does_the_new_thing_everywhere(modules: Modules) -> None:
    m = modules.write("m", "def f(x): return x + 1\n")
    other = modules.write("other", "from m import f\ndef g(x): return f(x)\n")
    f = m.f
    report = modules.edit(m, "def f(x, k=10, *, s=2):\n    'Doc.'\n    return (x + k) * s\n")
    assert m.f is f is other.f
    assert (f(1), other.g(1)) == (22, 22)
    assert f.__doc__ == "Doc."
    assert [(it.name, it.function) for it in report.functions] == [("f", f)]
    assert not report.unpatched
    assert not report.replaced
    assert not report.changed


def test_an_equal_function_keeps_its_code_object(modules: Modules) -> None:
    m = modules.write("m", "def f(x): return x + 1\ndef g(x): return x\n")
    code = m.f.__code__
    report = modules.edit(m, "def f(x): return x + 1\ndef g(x): return -x\n")
    assert m.f.__code__ is code
    assert (names(report.functions), report.moved) == (["g"], [])


def test_a_moved_function_is_told_apart_from_a_changed_one(modules: Modules) -> None:
    m = modules.write("m", "def f(x): return x + 1\n")
    old = m.f.__code__
    report = modules.edit(m, "\n\ndef f(x): return x + 1\n")
    assert m.f.__code__.co_firstlineno == 3
    assert report.functions == []
    assert report.moved == [(m.f, old, m.f.__code__)]


def test_a_line_that_moves_in_an_inner_function_alone_is_seen(modules: Modules) -> None:
    m = modules.write("m", "def f(x):\n    def g():\n        return 1 / x\n    return g\n")
    modules.edit(m, "def f(x):\n    def g():\n\n        return 1 / x\n    return g\n")
    with pytest.raises(ZeroDivisionError) as info:
        m.f(0)()
    assert info.traceback[-1].lineno + 1 == 4


def test_equal_defaults_stay_and_other_defaults_count_as_a_change(modules: Modules) -> None:
    m = modules.write("m", "def f(x, k=(1, 2.0)): return k\ndef g(x, k=0.0): return k\n")
    before = m.f.__defaults__
    report = modules.edit(m, "def f(x, k=(1, 2.0)): return k\ndef g(x, k=-0.0): return k\n")
    assert m.f.__defaults__ is before
    assert names(report.functions) == ["g"]


def test_annotations_and_attributes_of_functions_follow(modules: Modules) -> None:
    m = modules.write("m", "class C: pass\ndef f(x: int): pass\nf.a = 1\nf.b = 2\n")
    f = m.f
    modules.edit(m, "class C: pass\ndef f(x: C): pass\nf.a = 3\nf.c = C\n")
    assert f.__annotations__ == {"x": m.C}
    assert vars(f) == {"a": 3, "c": m.C}


def test_a_closure_gets_the_new_contents(modules: Modules) -> None:
    m = modules.write("m", "def make(k):\n    def add(x): return x + k\n    return add\nadd = make(1)\n")
    add = m.add
    report = modules.edit(m, "def make(k):\n    def add(x): return x * k\n    return add\nadd = make(5)\n")
    assert m.add is add
    assert add(2) == 10
    assert "add" in names(report.functions)


def test_a_decorated_function_is_patched_with_what_it_wraps(modules: Modules) -> None:
    text = ("import functools\ndef deco(f):\n    @functools.wraps(f)\n    def wrapper(*args):\n"
            "        return f(*args){}\n    return wrapper\n@deco\ndef f(x): return {}\n")
    m = modules.write("m", text.format("", "x"))
    f, inner = m.f, m.f.__wrapped__
    report = modules.edit(m, text.format(" + 100", "2 * x"))
    assert (m.f, f.__wrapped__) == (f, inner)
    assert (f(1), inner(1)) == (102, 2)
    assert not report.unpatched


@pytest.mark.parametrize("wraps", ["@functools.wraps(f)", ""])
def test_a_decorator_of_another_module_is_no_obstacle(modules: Modules, wraps: str) -> None:
    modules.write("deco", f"import functools\ndef deco(f):\n    {wraps}\n    def wrapper(*args):\n"
                  "        return f(*args)\n    return wrapper\n")
    text = "from deco import deco\n@deco\ndef f(x): return {}\nclass C:\n    @deco\n    def f(self): return {}\n"
    m = modules.write("m", text.format(1, "self"))
    f, kept = m.f, m.C().f
    report = modules.edit(m, text.format(2, "super().__repr__"))
    assert (m.f, m.f(0), f(0)) == (f, 2, 2)
    assert m.C().f()().startswith("<m.C object")      # super() takes the class that lives on
    assert names(report.unpatched) == ["C.f.<locals>.f"]
    assert kept()().startswith("<m.C object")         # its wrapper was patched, and holds the new function


def test_a_decorator_that_comes_new_cannot_be_patched_and_is_named(modules: Modules) -> None:
    m = modules.write("m", "def deco(f):\n    return lambda x: f(x) + 1\ndef f(x): return x\n")
    notebook = {"f": m.f}
    report = modules.edit(m, "def deco(f):\n    return lambda x: f(x) + 1\n@deco\ndef f(x): return x\n")
    assert m.f(1) == 2
    assert names(report.unpatched) == ["f"]
    assert "more or fewer variables" in report.unpatched[0].why
    assert rebind([notebook], report.replaced) == ["f"]
    assert notebook["f"] is m.f


def test_a_cached_function_keeps_its_identity_and_forgets_what_it_knew(modules: Modules) -> None:
    text = "import functools\n@functools.lru_cache\ndef f(x):\n    'Doc {0}.'\n    return {0}\n"
    m = modules.write("m", text.format("x"))
    f = m.f
    assert f(3) == 3
    report = modules.edit(m, text.format("2 * x"))
    assert m.f is f
    assert (f(3), f.__doc__) == (6, "Doc 2 * x.")
    assert not report.unpatched


def test_a_cache_of_another_size_is_replaced_and_named(modules: Modules) -> None:
    m = modules.write("m", "import functools\n@functools.lru_cache(2)\ndef f(x):\n    return x\n")
    notebook = {"f": m.f, "g": 1}
    report = modules.edit(m, "import functools\n@functools.lru_cache(3)\ndef f(x):\n    return -x\n")
    rebind([notebook], report.replaced)
    assert notebook == {"f": m.f, "g": 1}
    assert (m.f(1), names(report.replaced), names(report.unpatched)) == (-1, ["f"], ["f"])


def test_a_partial_is_kept_when_equal_and_replaced_when_not(modules: Modules) -> None:
    text = "from functools import partial\ndef f(a, b): return a - b\np = partial(f, 1)\nq = partial(f, b={})\n"
    m = modules.write("m", text.format(1))
    p, notebook = m.p, {"mine": m.q}
    report = modules.edit(m, text.format(2))
    assert m.p is p
    assert m.p.func is m.f
    rebind([notebook], report.replaced)
    assert notebook["mine"] is m.q
    assert m.q.func is m.f
    assert (names(report.replaced), report.unpatched, m.q(5)) == (["q"], [], 3)


def test_a_single_dispatch_function_knows_the_classes_that_live_on(modules: Modules) -> None:
    text = ("from functools import singledispatch\nclass C: pass\n@singledispatch\ndef f(x): return 'any'\n"
            "@f.register\ndef _(x: C): return {!r}\n")
    m = modules.write("m", text.format("old"))
    f, c = m.f, m.C()
    modules.edit(m, text.format("new"))
    assert (m.f(c), m.f(m.C()), f(c), m.f(1)) == ("new", "new", "new", "any")


def test_two_names_of_one_function_can_become_two_functions(modules: Modules) -> None:
    m = modules.write("m", "def f(): return 1\ng = f\n")
    f = m.f
    report = modules.edit(m, "def f(): return 2\ndef g(): return 3\n")
    assert (m.f is f, m.f(), m.g()) == (True, 2, 3)
    assert (names(report.unpatched), names(report.changed)) == (["g"], ["g"])


def test_two_functions_can_become_one(modules: Modules) -> None:
    m = modules.write("m", "def f(): return 1\ndef g(): return 2\n")
    f, g = m.f, m.g
    modules.edit(m, "def f(): return 3\ng = f\n")
    assert m.g is m.f is f
    assert (f(), g()) == (3, 3)


def test_a_function_that_becomes_something_else_is_replaced_and_named(modules: Modules) -> None:
    m = modules.write("m", "def f(): pass\ndef g(): pass\n")
    report = modules.edit(m, "f = 1\nclass g: pass\n")
    assert {item.name: item.new for item in report.replaced} == {"f": 1, "g": m.g}
    assert sorted(names(report.unpatched)) == ["f", "g"]


def test_changed_names_values_that_differ_and_only_these(modules: Modules) -> None:
    m = modules.write("m", "import numpy as np\na = 1.5\nb = 2\nc = [1, 2]\nd = np.ones(2)\ne = np.ones(2)\nz = 0.0\n")
    a, c = m.a, m.c
    report = modules.edit(m, "import numpy as np\na = 1.5\nb = 3\nc = [1, 2]\nd = np.ones(2)\ne = np.zeros(2)\n"
                             "z = -0.0\n")
    assert names(report.changed) == ["b", "e", "z"]
    assert m.a is a                          # a number that stayed is the very one, for those who watch identities
    assert m.c is not c                      # a list is not: the old one may have another owner by now


def test_names_that_come_and_go_are_told(modules: Modules) -> None:
    m = modules.write("m", "def f(): pass\nx = 1\n")
    report = modules.edit(m, "def g(): pass\nx = 1\n")
    assert (report.removed, report.added) == (["f"], ["g"])


def test_a_batch_translates_across_its_modules(modules: Modules) -> None:
    a = modules.write("a", "class C:\n    def f(self): return 1\ndef g(): return 1\n")
    b = modules.write("b", "from a import C, g\nclass D(C): pass\nd = D()\n")
    C, D, d, g = a.C, b.D, b.d, a.g
    with Batch() as batch:
        modules.run(batch, a, "class C:\n    def f(self): return 2\ndef g(): return 2\n")
        modules.run(batch, b, "from a import C, g\nimport fresh\nclass D(C): pass\nclass E(C):\n"
                    "    def f(self): return super().f() + 1\nd = D()\nlist_ = [g]\n",
                    fresh="from a import C, g\nclass F(C):\n    def f(self): return super().f()\ntable = [g]\n")
        batch.commit()
    fresh = sys.modules["fresh"]
    assert (a.C, b.C, b.D, fresh.C, b.g, b.list_, fresh.table) == (C, C, D, C, g, [g], [g])
    assert (d.f(), b.d.f(), b.E().f(), fresh.F().f()) == (2, 2, 3, 2)
    assert D.__mro__ == (D, C, object)
    assert isinstance(fresh.F(), C)
    assert isinstance(b.E(), C)


def test_values_that_cannot_be_compared_count_as_changed_and_cycles_do_no_harm(modules: Modules) -> None:
    text = ("class Bad:\n    def __eq__(self, other): raise KeyError\n    def __getattr__(self, name): raise OSError\n"
            "bad = Bad()\nloop = []\nloop += [loop] * 9\ngraph = dict(a=loop)\ngraph['b'] = graph\n"
            "nan = [float('nan')]\nlong = list(range(100000))\n")
    m = modules.write("m", text)
    report = modules.edit(m, text)
    assert names(report.changed) == ["bad"]


def test_a_name_imported_from_elsewhere_is_changed_not_replaced(modules: Modules) -> None:
    m = modules.write("m", "from math import sin as f\n")
    report = modules.edit(m, "from math import cos as f\n")
    assert (names(report.changed), report.replaced) == (["f"], [])


def test_the_first_definition_goes_before_other_names(modules: Modules) -> None:
    m = modules.write("m", "g = None\ndef f(): return 1\ng = f\n")
    f = m.f
    modules.edit(m, "def g(): return 3\ndef f(): return 2\n")
    assert (m.f is f, m.f(), m.g()) == (True, 2, 3)


def test_a_wrapper_that_now_comes_from_another_module_is_replaced_and_named(modules: Modules) -> None:
    deco = "K = {!r}\ndef deco(f):\n    def wrapper(): return f(), K\n    return wrapper\n"
    modules.write("deco", deco.format("theirs"))
    m = modules.write("m", deco.format("ours") + "@deco\ndef f(): return 1\n")
    old = m.f
    report = modules.edit(m, "K = 'ours'\nfrom deco import deco\n@deco\ndef f(): return 1\n")
    assert m.f() == (1, "theirs")
    assert old() == (1, "ours")
    assert ("f", old, m.f) in report.replaced
    assert "f" in names(report.unpatched)


def test_a_variable_of_a_closure_that_is_no_longer_assigned_is_unassigned(modules: Modules) -> None:
    text = "def make(yes):\n    def f(): return x\n    if yes: x = 1\n    return f\nf = make({})\n"
    m = modules.write("m", text.format(True))
    f = m.f
    modules.edit(m, text.format(False))
    with pytest.raises(NameError):
        f()
    modules.edit(m, text.format(True))
    assert f() == 1


def test_a_callable_object_of_the_module_is_replaced(modules: Modules) -> None:
    text = "class Model:\n    def __call__(self): return {0}\nmodel = Model()\n"
    m = modules.write("m", text.format(1))
    notebook = {"model": m.model}
    report = modules.edit(m, text.format(2))
    rebind([notebook], report.replaced)
    assert notebook["model"] is m.model


def test_values_of_other_types_differ(modules: Modules) -> None:
    m = modules.write("m", "a = [[1]]\nb = [1.0]\nc = {'x': 1, 'y': [0]}\nd = {'x': [1], 'y': 0}\n")
    report = modules.edit(m, "a = ([1],)\nb = [1]\nc = {'y': [0], 'x': 1}\nd = {'x': [1], 'y': 0}\n")
    assert names(report.changed) == ["a", "b", "c"]
