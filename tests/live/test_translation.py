"""What a new execution made speaks of the functions and classes that live on, never of their new twins."""
from __future__ import annotations

import pytest

from tests.live.modules import Modules
from zad_jupyter.live.execute import execute
from zad_jupyter.live.report import Patched

# -------------------------------------------------------------------------------------------------- values of modules

def test_module_level_values_speak_of_the_classes_that_live_on(modules: Modules) -> None:
    text = ("import functools\nclass C:\n    def __init__(self, *parts): self.parts = parts\n"
            "    def run(self): return {}\ndef f(): return {}\n"
            "TABLE = {{'f': f, C: [C()], 'deep': ({{f}}, (C,))}}\ndefault = C(C(), f)\n"
            "run = default.run\ndef g(x=C, *, y=f): return x, y\npart = functools.partial(f)\n")
    m = modules.write("m", text.format(1, 1))
    C, f = m.C, m.f
    modules.edit(m, text.format(2, 2))
    assert m.C is C
    assert m.TABLE["f"] is f
    assert list(m.TABLE) == ["f", C, "deep"]
    assert type(m.TABLE[C][0]) is C
    assert m.TABLE["deep"] == ({f}, (C,))
    assert isinstance(m.default, C)
    assert type(m.default.parts[0]) is C
    assert m.default.parts[1] is f
    assert m.run.__func__ is C.run
    assert m.run() == 2
    assert m.g() == (C, f)
    assert m.part.func is f


def test_the_report_gives_the_old_object_of_a_new_one(modules: Modules) -> None:
    m = modules.write("m", "def f(): return 1\n")
    f = m.f
    batch = execute(m, "def f(): return 2\nkept = [f]\n", str(m.__file__))
    new = m.f
    report: Patched = batch.commit()[0]
    assert new is not f
    assert report.translation.of(new) is f is m.kept[0]
    assert report.translation.of(3) == 3


def test_instances_with_slots_and_of_list_classes_hold_what_lives_on(modules: Modules) -> None:
    text = ("class C:\n    k = {}\nclass S:\n    __slots__ = ('a', 'unset')\nclass L(list): pass\nclass D(dict): pass\n"
            "s, l, d = S(), L([C()]), D(c=C())\ns.a = C()\n")
    m = modules.write("m", text.format(1))
    modules.edit(m, text.format(2))
    assert [type(m.s), type(m.l), type(m.d)] == [m.S, m.L, m.D]
    assert [type(m.s.a), type(m.l[0]), type(m.d["c"])] == [m.C, m.C, m.C]


def test_classes_of_typing_are_patched_as_others_are(modules: Modules) -> None:
    text = ("from typing import Generic, Protocol, TypedDict, TypeVar, runtime_checkable\nT = TypeVar('T')\n"
            "class G(Generic[T]):\n    def f(self): return {0}\n@runtime_checkable\nclass P(Protocol):\n"
            "    def f(self): ...\nclass D(TypedDict):\n    x: int\nclass K(G[int]): pass\n")
    m = modules.write("m", text.format(1))
    old, g, k = [m.G, m.P, m.D, m.K], m.G(), m.K()
    report = modules.edit(m, text.format(2))
    assert [m.G, m.P, m.D, m.K] == old
    assert (g.f(), k.f(), isinstance(g, m.P)) == (2, 2, True)
    assert not report.unpatched


@pytest.mark.parametrize("alias", ["C | None", "list[C]", "Optional[C]", "G[C]", "G[int]", "Callable[[C], C]",
                                   "dict[str, list[C | G[C]]]"])
def test_type_expressions_speak_of_the_classes_that_live_on(modules: Modules, alias: str) -> None:
    text = ("from typing import Callable, Generic, Optional, TypeVar\nT = TypeVar('T')\n"
            "class G(Generic[T]):\n    k = {0}\nclass C:\n    k = {0}\nalias = " + alias + "\ndef f(x: alias): pass\n")
    m = modules.write("m", text.format(1))
    modules.edit(m, text.format(2))
    expected = eval(alias, vars(m))
    assert m.alias == expected
    assert m.f.__annotations__["x"] == expected
    assert "G" not in alias[0] or type(m.alias()) is m.G


def test_a_registry_kept_by_init_subclass_holds_the_classes_that_live_on(modules: Modules) -> None:
    text = ("class Base:\n    known = {{}}\n    def __init_subclass__(cls, **more):\n"
            "        Base.known[cls.__name__] = cls\n"
            "class D(Base):\n    k = {}\n")
    m = modules.write("m", text.format(1))
    D = m.D
    modules.edit(m, text.format(2))
    assert m.Base.known == {"D": D}
    assert D.k == 2


def test_functions_and_classes_that_come_new_speak_of_what_lives_on(modules: Modules) -> None:
    m = modules.write("m", "class C: pass\ndef f(): pass\n")
    C, f = m.C, m.f
    modules.edit(m, "import collections\nclass C: pass\ndef f(): pass\ndef g(x: C = C(), *, y=f) -> C: return x, y\n"
                    "g.kind = C\nclass E(C):\n    parts = (C, f)\ntable = collections.defaultdict(C)\n")
    assert (type(m.g()[0]), m.g()[1], m.g.kind, m.g.__annotations__) == (C, f, C, {"x": C, "return": C})
    assert (m.E.parts, m.E.__bases__) == ((C, f), (C,))
    assert (m.table.default_factory, type(m.table[1])) == (C, C)


def test_long_data_are_not_walked(modules: Modules) -> None:
    text = ("walks = []\nclass Data(list):\n    def __iter__(self):\n        walks.append(1)\n"
            "        return super().__iter__()\nshort, long = Data([1]), Data(range(20000))\n")
    m = modules.write("m", text)
    modules.edit(m, text)
    assert len(m.walks) == 1


def test_what_is_shared_many_times_is_walked_once(modules: Modules) -> None:
    text = "class C: pass\nt = [C()]\nfor _ in range(4): t = [t] * 1000\n"
    m = modules.write("m", text)
    modules.edit(m, text)
    assert type(m.t[0][0][0][0][0]) is m.C
