"""What following edits costs: from a save to the new rule, a cell when nothing changed, many gradients, many reloads.

Real files, really saved, beside a real engine with its watcher. Every edit changes the slope of a rule, and every slope
is checked: an edit that did not arrive is not timed.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.live.saves import Save, by_replace, from_elsewhere, in_place, vim
from zad_jupyter import gradient
from zad_jupyter.live.engine import Live
from zad_jupyter.live.files import RACY
from zad_jupyter.rules import Change, registry, rrule

from .measure import expect

WAYS: tuple[Save, ...] = (in_place, by_replace, vim, from_elsewhere)
GAP = 0.1  # seconds between saves: the events of the last one have come by then

RULES = """
from zad_jupyter import rrule

def cube(x):
    return x * x * x

@rrule(cube)
def _(x: float):
    return cube(x), lambda ybar: {slope} * ybar
"""


class Notebook:
    """A folder of modules, and the engine that follows them.

    Attributes:
        folder: where the modules are.
        live: the engine. It has no kernel: who measures says when it looks.
    """

    def __init__(self, folder: Path, on_wake: Callable[[], None]) -> None:
        self.folder = folder
        self.live = Live(folder=lambda: str(folder), on_wake=on_wake)

    def module(self, name: str, text: str) -> ModuleType:
        """Write a module and import it."""
        (self.folder / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        return importlib.import_module(name)


@contextmanager
def notebook(on_wake: Callable[[], None] = lambda: None) -> Iterator[Notebook]:
    """A notebook in a new folder; its modules and their rules are gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve() / "notebook"  # in a folder of its own: `from_elsewhere` needs another
        folder.mkdir()
        made = Notebook(folder, on_wake)
        sys.path.insert(0, str(folder))
        made.live.start()
        try:
            yield made
        finally:
            made.live.stop()
            sys.path.remove(str(folder))
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None)).startswith(str(folder)):
                    del sys.modules[name]
            for rule in registry.rules():
                if rule.owner.kind == "file" and rule.owner.key.startswith(str(folder)):
                    registry.remove(rule)


# -- from a save to the registry


def saves(times: int = 20, ways: Sequence[Save] = WAYS, text: str = RULES, deadline: float = 5.0) -> list[float]:
    """Seconds from just before a save until subscribers of the registry are told, with an idle kernel.

    Args:
        times: how often the file is saved in each of the ways; they take turns.
        ways: of saving.
        text: of the file, with a place for the slope.
        deadline: seconds after which a save has not arrived.

    Raises:
        TimeoutError: a save did not arrive.
        ValueError: a rule arrived that is not the one saved.
    """
    return asyncio.run(_saves(times, ways, text, deadline))


async def _saves(times: int, ways: Sequence[Save], text: str, deadline: float) -> list[float]:
    loop = asyncio.get_running_loop()  # as a kernel does: the watcher wakes it, and the files load in its thread
    told: list[float] = []
    arrived = asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(here.live.check, "idle")

    def tell(change: Change) -> None:
        told.append(time.perf_counter())
        arrived.set()

    found = []
    with notebook(wake) as here:
        module = here.module("rules", text.format(slope=0.0))
        here.live.after_cell()
        expect(gradient(module.cube, 2.0), (0.0,))
        path = here.folder / "rules.py"
        unsubscribe = registry.subscribe(tell)
        try:
            for i in range(times * len(ways)):
                save, slope = ways[i % len(ways)], i + 1.0
                await asyncio.sleep(GAP)
                told.clear()
                arrived.clear()
                began = time.perf_counter()
                save(path, text.format(slope=slope))
                try:
                    await asyncio.wait_for(arrived.wait(), deadline)
                except TimeoutError:
                    raise TimeoutError(f"a save by {save.__name__} did not arrive in {deadline} s: not timed") from None
                found.append(told[0] - began)
                [rule] = registry.rules(module.cube)
                expect(rule.call(2.0)[1](1.0), slope)
        finally:
            unsubscribe()
    return found


# -- a cell when nothing changed


def unchanged(modules: int = 350, cells: int = 200) -> float:
    """Seconds that the engine takes before and after a cell, the median, when no file changed."""
    with notebook() as here:
        for i in range(modules):
            text = f"def f(x):\n    return {i}.0 * x\n\n\ndef g(x):\n    return f(x) + x\n"
            made = here.module(f"helper_{i}", text)
        live = here.live
        live.after_cell()
        expect(len(live.sources.by_path), modules)
        time.sleep(RACY / 1e9 + 0.1)  # what was saved just now is read at each look; after that it is not
        found = []
        for _ in range(modules // 100 + 1 + cells):
            began = time.perf_counter()
            live.before_cell()
            live.after_cell()
            found.append(time.perf_counter() - began)
        expect(len(live.changes.events), 0)
        Path(str(made.__file__)).write_text("def f(x):\n    return -1.0 * x\n")
        for _ in range(modules // 100 + 1):  # it looks indeed
            live.before_cell()
            live.after_cell()
        expect(gradient(made.f, 1.0), (-1.0,))
        return statistics.median(found[-cells:])


# -- many gradients, few of which depend on what changes


@dataclass(frozen=True)
class Drop:
    """A change of a rule on which few of many compiled gradients depend.

    Attributes:
        seconds: that the change took, subscribers and the engine's account of it included; the median.
        dropped: how many gradients each change dropped.
    """

    seconds: float
    dropped: int


def drops(gradients: int = 10_000, depend: int = 10, times: int = 7) -> Drop:
    """Time a change of a rule. All gradients are taken after each: as many are compiled again as depend on it.

    Raises:
        ValueError: a gradient is wrong, or another number of them was dropped or compiled again.
    """
    lines = ["def scaled(x):\n    return x", RULES.format(slope=1.0)]
    every = max(1, gradients // depend)
    uses = ["scaled" if i % every == 0 and i // every < depend else "cube" for i in range(gradients)]
    lines += [f"def f{i}(x):\n    return {use}(x * {i % 7}.0)" for i, use in enumerate(uses)]
    owner = "benchmarks of edits"
    changes: list[Change] = []
    found = []
    with notebook() as here:
        module = here.module("many", "\n".join(lines) + "\n")
        functions = [getattr(module, f"f{i}") for i in range(gradients)]
        unsubscribe = registry.subscribe(changes.append)
        try:
            for slope in [0.0, *map(float, range(1, times + 1))]:
                before = registry.statistics()
                began = time.perf_counter()
                with registry.transaction(owner):
                    rrule(module.scaled)(_rule(module.scaled, slope))
                found.append(time.perf_counter() - began)
                after = registry.statistics()
                for i, (f, use) in enumerate(zip(functions, uses, strict=True)):
                    expect(gradient(f, 1.0), (i % 7 * (slope if use == "scaled" else 1.0),))
                compiled = registry.statistics()["compilations"] - after["compilations"]
                if slope:  # the first time there was nothing to drop
                    expect(after["drops"] - before["drops"], len(changes[-1].dropped))
                    expect((len(changes[-1].dropped), compiled), (depend, depend))
        finally:
            unsubscribe()
            with registry.transaction(owner):
                pass
    return Drop(statistics.median(found[1:]), depend)


def _rule(f: Any, slope: float) -> Any:
    def rule(x: float) -> Any:
        return f(x), lambda ybar: slope * ybar

    rule.__annotations__ = {"x": float}
    return rule


# -- many reloads


def reloads(count: int = 200, beside: int = 5_000_000, sample: int = 20, text: str = RULES) -> tuple[float, float]:
    """Seconds of the processor that the first gradient after an edit takes: reload, compilation and all.

    Waiting until a save has settled is not part of it: it is always the same, and would hide what grows.

    Args:
        count: how often the file is edited.
        beside: how long a list is alive meanwhile, which a collector of garbage would have to walk through.
        sample: how many reloads, the first and the last, are looked at.
        text: of the file, with a place for the slope.

    Returns:
        The medians of the first and of the last reloads.
    """
    found = list(_reloads(count, beside, text))
    return statistics.median(found[:sample]), statistics.median(found[-sample:])


def growth(count: int = 200, beside: int = 5_000_000, begin: int = 20, text: str = RULES) -> int:
    """The bytes of Python's memory that were added between the reload `begin` and the last; as `reloads` otherwise."""
    memory = {}
    for i, _ in enumerate(_reloads(count, beside, text, traced=True), 1):
        if i in (begin, count):
            gc.collect()
            memory[i] = tracemalloc.get_traced_memory()[0]
    return memory[count] - memory[begin]


def _reloads(count: int, beside: int, text: str, traced: bool = False) -> Iterator[float]:
    big = list(range(beside))
    with notebook() as here:
        module = here.module("rules", text.format(slope=0.0))
        here.live.after_cell()
        expect(gradient(module.cube, 2.0), (0.0,))
        if traced:
            tracemalloc.start()
        try:
            for i in range(count):
                in_place(here.folder / "rules.py", text.format(slope=i + 1.0))
                began = time.thread_time()
                got = gradient(module.cube, 2.0)
                took = time.thread_time() - began
                expect(got, (i + 1.0,))
                yield took
        finally:
            if traced:
                tracemalloc.stop()
    expect(len(big), beside)
