"""Which names are still read later: what has to be carried over a branch or around a loop."""

from __future__ import annotations

from . import intrinsics as I
from .expressions import InnerDefinition
from .ir import (
    Assign,
    Block,
    Const,
    For,
    Function,
    If,
    Op,
    Pop,
    Push,
    Rewind,
    Stmt,
    Try,
    Var,
    While,
    defined_in,
    used_in,
    walk,
)

Live = frozenset[Var]


class Liveness:
    """For every `if` and `try` of a function the names read after it, for every loop those read at its head."""

    def __init__(self, function: Function) -> None:
        self.at: dict[Stmt, Live] = {}
        always = {function.result} if isinstance(function.result, Var) else set()
        for stmt in walk(function.body):  # an inner function may read its outer names whenever it is called
            if isinstance(stmt, Op) and isinstance(stmt.fn, Const) and stmt.fn.value is I.make_function:
                inner = stmt.args[0]
                if isinstance(inner, Const) and isinstance(inner.value, InnerDefinition):
                    always |= set(inner.value.outer.locals.values())
        self.always = frozenset(always)
        self._block(function.body, self.always)

    def _block(self, block: Block, live: Live) -> Live:
        now = set(live)
        for stmt in reversed(block):
            if isinstance(stmt, Op):
                now.discard(stmt.out)
                now |= {a for a in (stmt.fn, *stmt.args, *stmt.kwargs.values()) if isinstance(a, Var)}
            elif isinstance(stmt, Assign):
                now.discard(stmt.target)
                if isinstance(stmt.value, Var):
                    now.add(stmt.value)
            elif isinstance(stmt, Push):
                now |= {a for a in (stmt.log, *stmt.values) if isinstance(a, Var)}
            elif isinstance(stmt, Pop):
                now -= set(stmt.targets)
                now.add(stmt.log)
            else:
                now = set(self._compound(stmt, frozenset(now) | self.always))
            now |= self.always
        return frozenset(now)

    def _compound(self, stmt: Stmt, after: Live) -> Live:
        if isinstance(stmt, If):
            self.at[stmt] = after
            arms = self._block(stmt.then, after) | self._block(stmt.orelse, after)
            return arms | {stmt.test} if isinstance(stmt.test, Var) else arms
        if isinstance(stmt, For | Rewind | While):
            head = after
            while True:
                around = self._round(stmt, head, after)
                if around == head:
                    break
                head = around
            self.at[stmt] = head
            source = stmt.iter if isinstance(stmt, For) else stmt.log if isinstance(stmt, Rewind) else None
            return head | {source} if isinstance(source, Var) else head
        assert isinstance(stmt, Try)
        everything = after | frozenset(used_in([stmt]))
        parts = [stmt.body, *[[*h.cond, *h.body] for h in stmt.handlers], stmt.orelse, stmt.final]
        self.at[stmt] = frozenset(_crossing(parts, after))
        for inner in parts:
            self._block(inner, everything)
        for handler in stmt.handlers:
            self._block(handler.body, everything)
        return everything

    def _round(self, stmt: For | Rewind | While, head: Live, after: Live) -> Live:
        """What is live at the head of a loop, if `head` is live at the end of its body."""
        stop = None if isinstance(stmt, Rewind) else stmt.stop
        end = head | after | ({stop} if stop is not None else frozenset())
        begin = self._block(stmt.body, end)
        if isinstance(stmt, While):
            test = frozenset({stmt.test}) if isinstance(stmt.test, Var) else frozenset()
            begin = self._block(stmt.cond, begin | test | after)
        elif isinstance(stmt, For):
            begin = begin - {stmt.target}
        else:
            begin = begin - set(stmt.targets)
        return begin | after | head


def _crossing(parts: list[Block], after: Live) -> set[Var]:
    """The names of a `try` that one part of it, or what came before, hands on to another part or to what follows."""
    binding: dict[Var, int] = {}
    crossing: set[Var] = set()
    for number, part in enumerate(parts):
        for var in defined_in(part):
            if var in after or binding.setdefault(var, number) != number:
                crossing.add(var)
    for number, part in enumerate(parts):
        for var in used_in(part):
            if binding.get(var, number) != number:
                crossing.add(var)
    return crossing
