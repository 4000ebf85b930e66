"""A file was edited above a function: the function is the same, but stands on other lines.

Its code object is another one then, and everything that was compiled of it knows the old one: as the key it is found
by, in its guards, and in the positions that errors and the selection tree show. All that is brought up to date, and
nothing is compiled again.
"""

from __future__ import annotations

from collections.abc import Collection
from types import CodeType
from typing import Any

from . import cache, doors, pairs
from .cache import Entry, Pair
from .calls import Call
from .ir import Pos

Move = tuple[Any, CodeType, CodeType]  # a function, the code it had and the code it has: the same but for the lines
Lines = dict[tuple[str, str, int], int]  # file, function, line: the line where that stands now


def follow(moves: Collection[Move]) -> None:
    """Let everything compiled of these functions be of their new code."""
    codes: dict[int, CodeType] = {}
    lines: Lines = {}
    for _, old, new in moves:
        _map(old, new, codes, lines)
    keys = {("code", id(function)) for function, _, _ in moves}
    with cache.compiling, cache.lock:
        for entry in cache.entries():
            own = entry.key[0] if isinstance(entry, Pair) else entry.code_key
            if own in codes or not keys.isdisjoint(entry.guards.parts):
                _rekey(entry, codes)
                _reline(entry, lines)


def _map(old: CodeType, new: CodeType, codes: dict[int, CodeType], lines: Lines) -> None:
    """Write down what an old code object and its lines are now, inner functions too."""
    codes[id(old)] = new
    for before, after in zip(old.co_positions(), new.co_positions(), strict=True):
        if before[0] is not None and after[0] is not None:
            lines[old.co_filename, old.co_name, before[0]] = after[0]
    lines[old.co_filename, old.co_name, old.co_firstlineno] = new.co_firstlineno
    for a, b in zip(old.co_consts, new.co_consts, strict=True):
        if isinstance(a, CodeType):
            _map(a, b, codes, lines)


def _rekey(entry: Entry, codes: dict[int, CodeType]) -> None:
    """Guards and keys."""

    def now(value: Any) -> Any:
        return codes.get(id(value), value) if isinstance(value, CodeType) else value

    entry.guards.translate(now)
    for made in entry.code:
        names = made.function.__globals__
        for name, value in list(names.items()):
            if isinstance(value, CodeType) and id(value) in codes:
                names[name] = codes[id(value)]
    if isinstance(entry, Pair):
        pairs.pairs.rekey(entry, codes)
    else:
        doors.rekey(entry, codes)


def _reline(entry: Entry, lines: Lines) -> None:
    """Positions."""
    known: dict[int, Pos | None] = {}

    def moved(pos: Pos | None) -> Pos | None:
        if pos is None:
            return None
        if id(pos) not in known:
            line = lines.get((pos.file, pos.function, pos.line), pos.line)
            end = lines.get((pos.file, pos.function, pos.end_line), pos.end_line + line - pos.line)
            known[id(pos)] = pos._replace(line=line, end_line=end, caller=moved(pos.caller))
        return known[id(pos)]

    for made in entry.code:
        made.positions[:] = [moved(pos) for pos in made.positions]
    if entry.tree is not None:
        _reline_tree(entry.tree, lines, set())


def _reline_tree(node: Call, lines: Lines, seen: set[int]) -> None:
    """A call stands in the function around it, whose name the tree does not say: any of the file's will do."""
    by_line = {(file, line): now for (file, _, line), now in lines.items()}
    todo = [node]
    while todo:
        call = todo.pop()
        if id(call) in seen:
            continue
        seen.add(id(call))
        if call.file is not None:
            call.line = by_line.get((call.file, call.line), call.line)
        todo += call.children

