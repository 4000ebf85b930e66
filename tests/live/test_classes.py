"""Instances, subclasses and bound methods made before an edit are of the new version after it."""
from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.live.modules import Modules


def names(items: list[Any]) -> list[str]:
    return [item[0] for item in items]


def test_instances_and_bound_methods_made_before_do_the_new_thing(modules: Modules) -> None:
    m = modules.write("m", "class C:\n    def f(self): return 1\n")
    C, c, kept = m.C, m.C(), m.C().f
    report = modules.edit(m, "class C:\n    def f(self): return 2\n    def g(self): return 3\n")
    assert m.C is C
    assert (c.f(), kept(), c.g()) == (2, 2, 3)
    assert isinstance(c, m.C)
    assert isinstance(m.C(), C)
    assert report.classes == [("C", C)]
    assert names(report.functions) == ["C.f"]


def test_methods_that_did_not_change_are_not_reported(modules: Modules) -> None:
    text = "class C:\n    def f(self): return super().__repr__()\n    def g(self, k={}): return k\n"
    m = modules.write("m", text.format(1))
    f = m.C.f
    code = f.__code__
    report = modules.edit(m, text.format(2))
    assert m.C.f is f
    assert f.__code__ is code
    assert names(report.functions) == ["C.g"]


def test_subclasses_in_other_modules_inherit_the_new_version(modules: Modules) -> None:
    m = modules.write("m", "class C:\n    def f(self): return 1\n")
    other = modules.write("other", "from m import C\nclass D(C):\n    def g(self): return super().f()\n")
    d = other.D()
    modules.edit(m, "class C:\n    def f(self): return 2\n")
    assert (d.f(), d.g()) == (2, 2)
    assert issubclass(other.D, m.C)
    assert isinstance(d, m.C)


@pytest.mark.parametrize(("written", "called"), [
    ("@property\n    def f(self): return {}", "c.f"),
    ("@classmethod\n    def f(cls): return cls and {}", "c.f()"),
    ("@staticmethod\n    def f(): return {}", "c.f()"),
    ("@functools.cached_property\n    def f(self): return {}", "c.f"),
    ("f = {}", "c.f"),
    ("class Inner:\n        def f(self): return {}", "inner.f()"),
    ("@deco\n    def f(self): return {}", "c.f()"),
    ("@functools.lru_cache\n    def f(self): return {}", "c.f()"),
    ("f = functools.partialmethod(lambda self, x: x, {})", "c.f()"),
    ("f = lambda self: {}", "c.f()"),
    ("async def g(self): return {}\n    def f(self):\n        try: self.g().send(None)\n"
     "        except StopIteration as end: return end.value", "c.f()"),
])
def test_every_kind_of_attribute_follows(modules: Modules, written: str, called: str) -> None:
    head = ("import functools\ndef deco(f):\n    @functools.wraps(f)\n    def wrapper(*args): return f(*args)\n"
            "    return wrapper\nclass C:\n    ")
    m = modules.write("m", head + written.format(1) + "\n")
    c = m.C()
    inner = m.C.Inner() if "Inner" in written else None
    assert "cached_property" in written or eval(called, {"c": c, "inner": inner}) == 1
    report = modules.edit(m, head + written.format(2) + "\n")
    assert eval(called, {"c": c, "inner": inner}) == 2
    assert not report.unpatched
    assert not report.replaced


def test_a_property_gains_a_setter_and_keeps_its_getter(modules: Modules) -> None:
    m = modules.write("m", "class C:\n    @property\n    def p(self): return 1\n")
    getter, c = m.C.p.fget, m.C()
    modules.edit(m, "class C:\n    @property\n    def p(self): return 1\n"
                    "    @p.setter\n    def p(self, x): self.q = x\n")
    c.p = 5
    assert c.q == 5
    assert m.C.p.fget is getter


def test_attributes_that_are_gone_are_gone(modules: Modules) -> None:
    m = modules.write("m", "class C:\n    'Doc.'\n    x: int = 1\n    def f(self): pass\n")
    c = m.C()
    modules.edit(m, "class C:\n    pass\n")
    assert not hasattr(c, "f")
    assert not hasattr(c, "x")
    assert m.C.__doc__ is None
    assert m.C.__annotations__ == {}


def test_super_without_arguments_takes_the_class_that_lives_on(modules: Modules) -> None:
    m = modules.write("m", "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return super().f()\n")
    b, kept = m.B(), m.B().f
    report = modules.edit(m, "class A:\n    def f(self): return 2\n"
                             "class B(A):\n    def f(self): return super().f() + 10\n"
                             "    def g(self): return super().f() + __class__.k\n    k = 100\n")
    assert (b.f(), kept(), b.g(), m.B().f()) == (12, 12, 102, 12)
    assert not report.unpatched


def test_super_that_comes_new_works_for_instances_and_the_kept_method_is_named(modules: Modules) -> None:
    m = modules.write("m", "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return 5\n")
    b = m.B()
    report = modules.edit(m, "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return super().f()\n")
    assert b.f() == 1
    assert names(report.unpatched) == ["B.f"]


def test_dataclasses_get_new_fields(modules: Modules) -> None:
    head = "from dataclasses import dataclass, field, fields\n"
    m = modules.write("m", head + "@dataclass\nclass P:\n    x: float\n@dataclass(frozen=True)\nclass Q:\n    p: P\n")
    p, P, Q = m.P(1.0), m.P, m.Q
    report = modules.edit(m, head + "@dataclass\nclass P:\n    x: float\n    y: float = 2.0\n"
                          "@dataclass(frozen=True)\nclass Q:\n    p: P = field(default_factory=P)\n"
                          "origin = Q(P(0.0))\n")
    assert (m.P, m.Q) == (P, Q)
    assert (p.y, m.P(1.0), repr(m.P(3.0, 4.0))) == (2.0, p, "P(x=3.0, y=4.0)")
    assert P.__match_args__ == ("x", "y")
    assert [f.name for f in m.fields(p)] == ["x", "y"]
    assert (m.fields(Q)[0].type, m.fields(Q)[0].default_factory, Q.__init__.__annotations__["p"]) == (P, P, P)
    assert (type(m.origin), type(m.origin.p)) == (Q, P)
    assert not report.unpatched


def test_named_tuples_keep_their_class_while_the_fields_stay(modules: Modules) -> None:
    text = ("from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    def f(self): return self.x + {0}\n"
            "p = P({0})\n")
    m = modules.write("m", text.format(1))
    p, P = m.p, m.P
    report = modules.edit(m, text.format(10))
    assert m.P is P
    assert (p.f(), m.p.f(), type(m.p), P(1) == p) == (11, 20, P, True)
    assert not report.unpatched


def test_exceptions_made_before_are_caught_by_the_new_version(modules: Modules) -> None:
    m = modules.write("m", "class E(ValueError): pass\n")
    error = m.E("x")
    modules.edit(m, "class E(ValueError):\n    def __str__(self): return 'new'\n")
    with pytest.raises(m.E, match="new"):
        raise error


def test_a_renamed_class_is_one_that_went_and_one_that_came(modules: Modules) -> None:
    m = modules.write("m", "class C:\n    def f(self): return 1\n")
    c = m.C()
    report = modules.edit(m, "class D:\n    def f(self): return 2\n")
    assert (report.removed, report.added) == (["C"], ["D"])
    assert c.f() == 1


def test_the_new_versions_of_patched_classes_die(modules: Modules) -> None:
    text = "class A:\n    class In: pass\nclass B(A):\n    k = {}\n    def f(self): return super(), A.In\n"
    m = modules.write("m", text.format(1))
    modules.edit(m, text.format(2))
    gc.collect()
    assert m.A.__subclasses__() == [m.B]
    assert {cls for cls in object.__subclasses__() if cls.__module__ == "m"} == {m.A, m.A.In}


def test_class_attributes_and_inner_classes_speak_of_what_lives_on(modules: Modules) -> None:
    text = ("def f(): return {0}\nclass C:\n    class In:\n        k = {0}\n    class Sub(In): pass\n"
            "    table = [In, f]\n    call = staticmethod(f)\nclass D(C.Sub): pass\nC.me = C\n")
    m = modules.write("m", text.format(1))
    f, C, In, Sub, D = m.f, m.C, m.C.In, m.C.Sub, m.D
    report = modules.edit(m, text.format(2))
    assert (m.C, C.In, C.Sub, m.D, C.me, C.table) == (C, In, Sub, D, C, [In, f])
    assert (In.k, D.k, C.call(), C.call) == (2, 2, 2, f)
    assert D.__mro__ == (D, Sub, In, object)
    assert not report.unpatched


def test_descriptors_and_numbers_that_stay_are_the_very_ones(modules: Modules) -> None:
    text = ("class C:\n    k = 1.5\n    @property\n    def p(self): return {0}\n"
            "    @staticmethod\n    def s(): return {0}\n    @classmethod\n    def c(cls): return {0}\n")
    m = modules.write("m", text.format(1))
    before = {name: vars(m.C)[name] for name in "kpsc"}
    modules.edit(m, text.format(2))
    assert all(vars(m.C)[name] is value for name, value in before.items())
    assert (m.C().p, m.C.s(), m.C.c()) == (2, 2, 2)


def test_a_name_that_means_a_class_of_another_name_follows(modules: Modules) -> None:
    m = modules.write("m", "def make():\n    class Old: pass\n    return Old\nC = make()\n")
    C = m.C
    modules.edit(m, "def make():\n    class New: pass\n    return New\nC = make()\n")
    assert (m.C, C.__name__, C.__qualname__) == (C, "New", "make.<locals>.New")


@pytest.mark.parametrize("written", ["@functools.cached_property", "@functools.lru_cache", "@classmethod", "@property"])
def test_super_works_in_every_kind_of_method_that_comes_new(modules: Modules, written: str) -> None:
    m = modules.write("m", "class C:\n    pass\n")
    c = m.C()
    modules.edit(m, f"import functools\nclass C:\n    {written}\n    def g(self): return super().__init__\n")
    assert callable(c.g if "property" in written else c.g())
