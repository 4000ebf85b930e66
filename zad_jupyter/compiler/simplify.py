"""Drop what nobody needs, but keep everything that can raise or has an effect.

A statement is needed if it acts on the world, if it may raise, or if a needed statement reads what it binds; this is
computed forward from the needed ones, so that cotangents which only feed each other around a loop go too.

One exception is itself exactly an exception: `sin(x)` may go if a needed `cos(x)` stands beside it, for both refuse the
same numbers with the same error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from .. import cotangents as C
from . import intrinsics as I
from .ir import Assign, Atom, Block, Const, For, If, Op, Pop, Push, Rewind, Stmt, Try, Var, While, used_in

DROPPABLE = {
    I.build_tuple, I.build_list, I.new_log, I.new_list, I.build_dict, C.add, C.scatter, C.gathered, C.picked, C.sum_to,
    C.own_log, C.broadcast_like, C.real_part, C.seed_like, C.finish, C.distinct, C.zero_like,
}  # fmt: skip
INTO_LOG = {C.add_to_log, C.add_at}
SAME_DOMAIN = {math.sin: "finite", math.cos: "finite", math.tan: "finite"}


def droppable(op: Op) -> bool:
    return op.pure or (isinstance(op.fn, Const) and _hashable(op.fn.value) and op.fn.value in DROPPABLE)


def _hashable(value: object) -> bool:
    return not isinstance(value, list | dict | set | np.ndarray)


class _Marker:
    """Finds the needed names; statements are visited until nothing new turns up."""

    def __init__(self, roots: Iterable[Var]) -> None:
        self.needed: set[Var] = set(roots)
        self.changed = False

    def need(self, atom: Atom) -> None:
        if isinstance(atom, Var) and atom not in self.needed:
            self.needed.add(atom)
            self.changed = True

    def keeps(self, op: Op) -> bool:
        """Whether an operation is needed: for its result, for its effect, or because it may raise."""
        if isinstance(op.fn, Const) and _hashable(op.fn.value) and op.fn.value in INTO_LOG:
            return op.args[0] in self.needed
        return not droppable(op) or op.out in self.needed

    def block(self, block: Block) -> bool:
        """Mark what a block needs; says whether any statement of it is needed."""
        any_needed = False
        for stmt in reversed(block):
            any_needed = self.stmt(stmt) or any_needed
        return any_needed

    def stmt(self, stmt: Stmt) -> bool:
        if isinstance(stmt, Op):
            if not self.keeps(stmt):
                return False
            for atom in (stmt.fn, *stmt.args, *stmt.kwargs.values()):
                self.need(atom)
            return True
        if isinstance(stmt, Assign):
            if stmt.target not in self.needed:
                return False
            self.need(stmt.value)
            return True
        if isinstance(stmt, Push):
            if stmt.log not in self.needed:
                return False
            for atom in stmt.values:
                self.need(atom)
            return True
        if isinstance(stmt, Pop):
            if not any(target in self.needed for target in stmt.targets) and stmt.log not in self.needed:
                return False
            self.need(stmt.log)
            return True
        return self.compound(stmt)

    def compound(self, stmt: Stmt) -> bool:
        if isinstance(stmt, If):
            kept = self.block(stmt.then) | self.block(stmt.orelse)
            if kept:
                self.need(stmt.test)
            return kept
        if isinstance(stmt, For):
            kept = self.block(stmt.body)
            if kept or stmt.target in self.needed:
                self.need(stmt.iter)
            if stmt.stop is not None and kept:
                self.need(stmt.stop)
            return kept
        if isinstance(stmt, While):  # may run for ever: always kept
            self.block(stmt.body)
            self.block(stmt.cond)
            self.need(stmt.test)
            if stmt.stop is not None:
                self.need(stmt.stop)
            return True
        if isinstance(stmt, Rewind):
            kept = self.block(stmt.body)
            if kept:
                self.need(stmt.log)
            return kept
        assert isinstance(stmt, Try)
        kept = False
        for block in (
            stmt.final,
            stmt.orelse,
            *[h.body for h in stmt.handlers],
            *[h.cond for h in stmt.handlers],
            stmt.body,
        ):
            kept = self.block(block) or kept
        for handler in stmt.handlers:
            if handler.kinds is not None:
                self.need(handler.kinds)
        return True


def drop_dead(block: Block, roots: Iterable[Var]) -> Block:
    """The block without what neither the roots nor any effect needs."""
    roots = set(roots)
    block = _drop(block, roots)
    return _drop(block, roots) if _mark_twins(block, roots) else block


def _drop(block: Block, roots: set[Var]) -> Block:
    marker = _Marker(roots)
    while True:
        marker.changed = False
        marker.block(block)
        if not marker.changed:
            return _sweep(block, marker)


def _sweep(block: Block, marker: _Marker) -> Block:
    kept: Block = []
    needed = marker.needed
    for stmt in block:
        if isinstance(stmt, Op):
            if marker.keeps(stmt):
                kept.append(stmt)
        elif isinstance(stmt, Assign):
            if stmt.target in needed:
                kept.append(stmt)
        elif isinstance(stmt, Push | Pop):
            if stmt.log in needed:
                kept.append(stmt)
        elif isinstance(stmt, If):
            then, orelse = _sweep(stmt.then, marker), _sweep(stmt.orelse, marker)
            if then or orelse:
                kept.append(If(stmt.test, then, orelse, stmt.pos))
        elif isinstance(stmt, For):
            body = _sweep(stmt.body, marker)
            if body or stmt.target in needed:
                stop = stmt.stop if stmt.stop is not None and stmt.stop in needed else None
                kept.append(For(stmt.target, stmt.iter, body, stop, stmt.pos))
        elif isinstance(stmt, While):
            kept.append(While(_sweep(stmt.cond, marker), stmt.test, _sweep(stmt.body, marker), stmt.stop, stmt.pos))
        elif isinstance(stmt, Rewind):
            body = _sweep(stmt.body, marker)
            if body:
                kept.append(Rewind(stmt.targets, stmt.log, body))
        else:
            for handler in stmt.handlers:
                handler.cond, handler.body = _sweep(handler.cond, marker), _sweep(handler.body, marker)
            kept.append(
                Try(
                    _sweep(stmt.body, marker),
                    stmt.handlers,
                    _sweep(stmt.orelse, marker),
                    _sweep(stmt.final, marker),
                    stmt.pos,
                )
            )
    return kept


def _mark_twins(block: Block, roots: set[Var]) -> bool:
    """Let an unneeded `sin(x)` go that stands in one block with `cos(x)`: both raise for the same x."""
    groups: dict[tuple[str, Atom], list[Op]] = {}
    for stmt in block:
        if isinstance(stmt, Op) and isinstance(stmt.fn, Const) and len(stmt.args) == 1 and _hashable(stmt.fn.value):
            domain = SAME_DOMAIN.get(stmt.fn.value)
            if domain is not None:
                groups.setdefault((domain, stmt.args[0]), []).append(stmt)
    marked = False
    reads = roots | set(used_in(block))
    for ops in groups.values():
        unread = [op for op in ops if op.out not in reads]
        for op in unread[: len(ops) - 1]:
            op.pure = marked = True
    return marked
