"""Compiled derivatives, and what each of them depends on.

An entry holds every question that was put to the registry for it, with the answer (also "no rule", also when the
compilation failed), and the guards of what its code refers to. When rules change, only entries that asked about a
changed function are asked again, and an entry is dropped only if an answer is different now. When a function is
redefined or a global changes its type, a guard finds it at the next call.
"""

from __future__ import annotations

import threading
import types as pytypes
import weakref
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..rules import Change, Generation, display_name, registry
from . import types as T
from .calls import Call
from .generated import Generated, forget
from .guards import Guards

MISS = object()
MAX_PATH = 40  # calls within calls that are looked through to tell why something was dropped
compiling = threading.RLock()  # one thread compiles at a time; who holds it may take `lock`, never the other way round
lock = threading.RLock()  # of the tables of entries: held for moments, so that a change of rules waits for no compiler


@dataclass(eq=False)
class Entry:
    """One compiled derivative and what it depends on.

    Attributes:
        key: under which it is found.
        name: of the function differentiated.
        questions: what the registry was asked, with the answers.
        guards: what must still be so at every call.
        tree: the selection tree, as far as it is known without running.
        links: other entries whose code this one calls; callers: the entries that call this one's.
        asks: whether its code may ask the registry while it runs.
        kept: whether others may find it; False for what was compiled by rules that are no longer today's.
        checked: the number of the generation that last gave the same answers.
    """

    key: Any
    name: str
    questions: dict[Any, Any] = field(default_factory=dict)
    guards: Guards = field(default_factory=Guards)
    tree: Call | None = None
    links: set[Entry] = field(default_factory=set)
    callers: weakref.WeakSet[Entry] = field(default_factory=weakref.WeakSet)
    run: Any = None
    code: list[Generated] = field(default_factory=list)
    alive: bool = True
    asks: bool = False
    kept: bool = True
    checked: int = -1
    unknowns: int = 0
    seconds: float = 0.0
    code_key: int | None = None  # the id of the differentiated function's code
    keep: Any = None  # what must live as long as the key, which holds ids

    def everything(self) -> set[Entry]:
        """This entry and all those whose code it calls, directly or not."""
        found: set[Entry] = set()
        todo = [self]
        while todo:
            entry = todo.pop()
            if entry not in found:
                found.add(entry)
                todo += entry.links
        return found


@dataclass(eq=False)
class Pair(Entry):
    """A callee compiled on its own: forward and reverse."""

    forward: Any = None
    reverse: Any = None
    result_type: T.Type = T.NEVER
    saved_type: T.Type = T.UNKNOWN
    result_active: bool = True
    recursive: bool = False


class Identity:
    """A function as part of a question: compared by identity, held weakly where that is possible."""

    __slots__ = ("_ref", "key")

    def __init__(self, f: Any) -> None:
        self.key = (id(f.__func__), id(f.__self__)) if isinstance(f, pytypes.MethodType) else id(f)
        try:
            self._ref: Callable[[], Any] = weakref.ref(f)
        except TypeError:
            self._ref = lambda: f

    def get(self) -> Any:
        return self._ref()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.key == other.key


def summary(table: Any) -> Any:
    return None if table is None else frozenset(id(rule) for rule in table.rules())


class Dropped(NamedTuple):
    """A compiled derivative that a change has made void, for people.

    Attributes:
        name: of the function that was differentiated.
        path: from it, call by call, to what changed, as far as it is known without running.
    """

    name: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return " ← ".join(self.path) or self.name


def told(entry: Entry, functions: Iterable[Any]) -> Dropped:
    """A dropped entry, with the way from its function to one of those that changed."""
    names = {display_name(f) for f in functions}
    path = _path(entry.tree, names, 0) if entry.tree is not None else ()
    return Dropped(entry.name, path or (entry.name,))


def _path(node: Call, names: set[str], depth: int) -> tuple[str, ...]:
    if node.function in names:
        return (node.function,)
    if depth < MAX_PATH:
        for child in node.children:
            found = _path(child, names, depth + 1)
            if found:
                return (node.function, *found)
    return ()


# -- living with change

_entries: dict[Entry, None] = {}
_by_function: dict[Any, set[Entry]] = {}
_by_code: dict[int, set[Entry]] = {}
_counts = {"gradients": 0}
_dropped: list[Callable[[Entry], None]] = []


def add_entry(entry: Entry) -> None:
    """Remember an entry, and by which functions' rules it can be made wrong."""
    with lock:
        _entries[entry] = None
        _counts["gradients"] += not isinstance(entry, Pair)
        for function, _, _ in entry.questions:
            _by_function.setdefault(function, set()).add(entry)
        if entry.code_key is not None:
            _by_code.setdefault(entry.code_key, set()).add(entry)
        for other in entry.links:
            other.callers.add(entry)


def by_code(entry: Entry, code_key: int) -> None:
    """Find an entry by another code object of its function."""
    if entry.code_key is not None:
        _by_code.get(entry.code_key, set()).discard(entry)
    entry.code_key = code_key
    _by_code.setdefault(code_key, set()).add(entry)


def on_drop(callback: Callable[[Entry], None]) -> None:
    _dropped.append(callback)


def usable(entry: Entry, f: Any = None) -> bool:
    """Whether everything that an entry's code refers to is still what it was; f: of which it is the gradient."""
    return entry.alive and all(part.alive and part.guards.hold(f) for part in entry.everything())


def drop(entry: Entry) -> list[Entry]:
    """Forget an entry and every one that calls its code; gives those that were alive."""
    with lock:
        return _drop(entry)


def _drop(entry: Entry) -> list[Entry]:
    dropped, todo = [], [entry]
    while todo:
        gone = todo.pop()
        if not gone.alive:
            continue
        gone.alive = False
        dropped.append(gone)
        registry.count("drops")
        if _entries.pop(gone, gone) is None:
            _counts["gradients"] -= not isinstance(gone, Pair)
        for function, _, _ in gone.questions:
            found = _by_function.get(function)
            if found is not None:
                found.discard(gone)
                if not found:
                    del _by_function[function]
        if gone.code_key is not None:
            _by_code.get(gone.code_key, set()).discard(gone)
        for made in gone.code:
            forget(made.filename)
        for callback in _dropped:
            callback(gone)
        todo += gone.callers
    return dropped


def true_for(entry: Entry, now: Generation) -> bool:
    """Whether a generation answers the questions of an entry, and of all whose code it calls, as they were answered."""
    if entry.checked == now.number:
        return True
    if not all(still_true(part, now) for part in entry.everything()):
        return False
    entry.checked = now.number
    return True


def still_true(entry: Entry, now: Generation) -> bool:
    """Ask an entry's questions again."""
    for (function, types, keywords), answer in entry.questions.items():
        f = function.get()
        if f is None:
            continue
        again = summary(now.table(f)) if types is None else now.select(f, types, keywords)
        if again != answer:
            return False
    return True


def gradients() -> int:
    """How many compiled gradients are alive, callees that were compiled on their own not counted."""
    return _counts["gradients"]


def entries() -> list[Entry]:
    """Every compiled derivative that is alive."""
    return list(_entries)


def changed(functions: tuple[Any, ...]) -> list[Entry]:
    """The registry has changed what it says of some functions: drop exactly the entries that now would differ."""
    with lock:
        return _changed(functions)


def _changed(functions: tuple[Any, ...]) -> list[Entry]:
    now = registry.snapshot()
    asked: dict[Entry, None] = {}
    for f in functions:
        for entry in _by_function.get(Identity(f), ()):
            asked[entry] = None
    dropped: list[Entry] = []
    for f in functions:  # entries made for another function of the same code never asked about this one
        for entry in list(_by_code.get(id(getattr(f, "__code__", None)), ())):
            if entry not in asked:
                dropped += drop(entry)
    for entry in asked:
        if entry.alive and not still_true(entry, now):
            dropped += drop(entry)
    return dropped


def patched(functions: Collection[tuple[Any, pytypes.CodeType]]) -> list[Dropped]:
    """Functions got other code in place: drop what was compiled of them, and tell what that was.

    Args:
        functions: each with the code it had.
    """
    keys = {("code", id(f)) for f, _ in functions}
    codes = {id(code) for _, code in functions}
    dropped: list[Entry] = []
    with lock:
        for entry in list(_entries):
            if entry.code_key in codes or not keys.isdisjoint(entry.guards.parts):
                dropped += drop(entry)
    return [told(entry, [f for f, _ in functions]) for entry in dropped if not isinstance(entry, Pair)]


def _rules_changed(change: Change) -> None:
    for entry in changed(change.functions):
        if not isinstance(entry, Pair):
            change.dropped.append(told(entry, change.functions))


registry.subscribe(_rules_changed)
