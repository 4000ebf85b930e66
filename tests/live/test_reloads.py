"""Reloading again and again costs the same each time, whatever else is alive, and leaves nothing behind."""
from __future__ import annotations

import gc
import time
import weakref
from types import FunctionType
from typing import Any

from tests.live.modules import Modules
from zad_jupyter.live.execute import execute

TEXT = """
import functools
from dataclasses import dataclass
def deco(f):
    @functools.wraps(f)
    def wrapper(*args): return f(*args)
    return wrapper
class Base:
    def f(self): return {0}
class C(Base):
    @deco
    def f(self): return super().f() + {0}
    @property
    def p(self): return {0}
@dataclass
class P:
    x: float = {0}.0
@deco
def g(x): return x + {0}
table = {{C: [C(), P()], g: g}}
"""


def test_two_hundred_reloads_leave_nothing_behind_and_take_equal_time(modules: Modules) -> None:
    m = modules.write("m", TEXT.format(0))
    big = list(range(10 ** 6, 2 * 10 ** 6))

    def count() -> int:
        gc.collect()
        return sum(isinstance(thing, FunctionType | type) for thing in gc.get_objects())

    def reload(version: int) -> weakref.ref[Any]:
        batch = execute(m, TEXT.format(version), str(m.__file__))
        new = weakref.ref(vars(m)["C"])
        batch.commit()
        return new

    def best(versions: range) -> float:
        times = []
        for version in versions:
            start = time.perf_counter()
            reload(version)
            times.append(time.perf_counter() - start)
        return min(times)

    reload(1)
    before = count()
    first = best(range(2, 40))
    dead = [reload(version) for version in range(40, 162)]
    last = best(range(162, 200))
    assert count() <= before + 2
    assert all(reference() is None for reference in dead)
    assert m.C().f() == 2 * 199
    assert last < 2 * first + 0.002
    big.clear()
    assert last < 2 * best(range(200, 220)) + 0.002          # with the list or without
