"""What a class is built on (bases, metaclass, slots) changes as far as Python allows, and else is named."""
from __future__ import annotations

import abc
from typing import Any

import pytest

from tests.live.modules import Modules


def names(items: list[Any]) -> list[str]:
    return [item[0] for item in items]


def test_bases_change_in_place(modules: Modules) -> None:
    text = "class A:\n    def f(self): return 'A'\nclass B:\n    def f(self): return 'B'\nclass C({}): pass\n"
    m = modules.write("m", text.format("A"))
    c, A, B, C = m.C(), m.A, m.B, m.C
    report = modules.edit(m, text.format("B"))
    assert C.__mro__ == (C, B, object)
    assert (c.f(), isinstance(c, m.B), isinstance(c, A)) == ("B", True, False)
    assert not report.unpatched


def test_bases_that_python_will_not_change_leave_the_old_class_and_name_it(modules: Modules) -> None:
    m = modules.write("m", "class A: pass\nclass C: pass\n")
    notebook = {"C": m.C}
    report = modules.edit(m, "class A: pass\nclass C(A): pass\nclass D(C): pass\n")
    assert [item.name for item in report.unpatched] == ["C"]
    assert "base" in report.unpatched[0].why
    assert report.replaced == [("C", notebook["C"], m.C)]
    assert m.D.__mro__ == (m.D, m.C, m.A, object)
    assert type(m.A()) is m.A


@pytest.mark.parametrize(("before", "after", "why"), [
    ("class C:\n    __slots__ = ('a',)", "class C:\n    __slots__ = ('a', 'b')", "slots"),
    ("class C:\n    __slots__ = ('a',)", "class C:\n    pass", "slots"),
    ("class C:\n    __slots__ = ()", "class C:\n    pass", "slots"),
    ("class C: pass", "class M(type): pass\nclass C(metaclass=M): pass", "metaclass"),
    ("import enum\nclass C(enum.Enum):\n    A = 1", "import enum\nclass C(enum.Enum):\n    A = 2", "enum"),
    ("from collections import namedtuple\nC = namedtuple('C', 'x y')",
     "from collections import namedtuple\nC = namedtuple('C', 'x y z')", "fields"),
])
def test_what_cannot_be_patched_is_replaced_and_named(modules: Modules, before: str, after: str, why: str) -> None:
    m = modules.write("m", before + "\n")
    old = m.C
    report = modules.edit(m, after + "\n")
    assert m.C is not old
    assert report.replaced == [("C", old, m.C)]
    assert names(report.unpatched) == ["C"]
    assert why in report.unpatched[0].why


def test_slots_that_stay_are_no_obstacle(modules: Modules) -> None:
    m = modules.write("m", "class C:\n    __slots__ = ('a', 'b')\n    def f(self): return self.a\n")
    c = m.C()
    c.a, c.b = 1, 2
    report = modules.edit(m, "class C:\n    __slots__ = ('b', 'a')\n    def f(self): return self.b\n")
    assert c.f() == 2
    assert c.a == 1
    assert not report.unpatched


def test_a_metaclass_of_the_module_is_patched_with_its_classes(modules: Modules) -> None:
    text = "class C: pass\nclass M(type):\n    def f(cls): return {}\nclass K(metaclass=M): pass\n"
    m = modules.write("m", text.format(1))
    K, M = m.K, m.M
    report = modules.edit(m, text.format(2))
    assert (m.K, m.M, type(m.K)) == (K, M, M)
    assert K.f() == 2
    assert not report.unpatched


def test_abstract_classes_follow_with_what_they_register(modules: Modules) -> None:
    head = "from abc import ABC, abstractmethod\n"
    m = modules.write("m", head + "class A(ABC):\n    @abstractmethod\n    def f(self): pass\nclass V: pass\n"
                                  "class B(A):\n    def f(self): pass\n")
    v, B = m.V(), m.B
    assert not isinstance(v, m.A)
    modules.edit(m, head + "class A(ABC):\n    @abstractmethod\n    def g(self): pass\nclass V: pass\n"
                           "class B(A):\n    def g(self): pass\nA.register(V)\nA.register(complex)\n")
    assert isinstance(v, m.A)
    assert isinstance(1j, m.A)
    assert m.A.__abstractmethods__ == {"g"}
    assert m.B is B
    assert not B.__abstractmethods__
    assert isinstance(B(), m.A)
    with pytest.raises(TypeError, match="abstract"):
        m.A()


def test_a_subclass_hook_that_changed_answers_anew(modules: Modules) -> None:
    text = ("from abc import ABC\nclass A(ABC):\n    @classmethod\n    def __subclasshook__(cls, other):\n"
            "        return other is {}\n")
    m = modules.write("m", text.format("int"))
    assert isinstance(1, m.A)
    modules.edit(m, text.format("str"))
    assert isinstance("", m.A)
    assert not isinstance(1, m.A)
    assert isinstance(m.A, abc.ABCMeta)


def test_a_metaclass_that_refuses_changes_is_not_asked(modules: Modules) -> None:
    text = ("class M(type):\n    def __setattr__(cls, name, value): raise AttributeError(name)\n"
            "class A(metaclass=M): pass\nclass B(metaclass=M): pass\nclass C({}):\n    k = {}\n")
    m = modules.write("m", text.format("A", 1))
    C = m.C
    report = modules.edit(m, text.format("B", 2))
    assert (m.C, C.k, C.__bases__) == (C, 2, (m.B,))
    assert not report.unpatched


@pytest.mark.parametrize("more", [
    "",
    "class A: pass\nA.other = D\n",                         # an attribute leads to a class before its base is known
    "def uses(cls):\n    def deco(f):\n        @functools.wraps(f)\n        def w(): return cls, f()\n"
    "        return w\n    return deco\n@uses(D)\ndef f(): return 1\n",        # and so does a closure
])
def test_a_class_is_patched_after_its_base_wherever_it_is_found(modules: Modules, more: str) -> None:
    text = "import functools\nA = D = f = None\nclass C:\n    k = {}\nclass D(C): pass\n" + more
    m = modules.write("m", text.format(1))
    C, D = m.C, m.D
    report = modules.edit(m, text.format(2))
    assert (m.C, m.D, D.__mro__, D.k) == (C, D, (D, C, object), 2)
    assert ("D", D) in report.classes                     # by its own name
