"""The reverse of a `try`: step by step, since it may be left after any of them.

Inside a `try` nothing is known about which statements have run, so each leaves a record when it has: its number in one
log, and what its reverse needs in a log of its own. Going back, the numbers are read from the end, and each step is
reversed under a test of its number. Loops and branches inside need nothing more.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from . import intrinsics as I
from . import types as T
from .ir import (
    Assign,
    Atom,
    Block,
    Const,
    For,
    Handler,
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
from .simplify import drop_dead

if TYPE_CHECKING:
    from .reverse import Reverser

SET, MAYBE = "set", "maybe"


def reverse_steps(rev: Reverser, stmt: Try) -> list[Stmt]:
    """Write the reverse of a `try` into `rev.out`; gives what forward has to run in its place."""
    return Steps(rev, stmt).run()


class Steps:
    def __init__(self, rev: Reverser, stmt: Try) -> None:
        self.rev = rev
        self.stmt = stmt
        self.order = Var("steps")
        self.logs: list[Var] = []
        self.undo: list[Block] = []
        self.records: list[list[Var]] = []
        self.made = set(defined_in([stmt]))
        self.assumed: dict[Any, str] = {}

    def run(self) -> list[Stmt]:
        rev = self.rev
        before = dict(rev.status)
        for var in {**used_in([self.stmt]), **defined_in([self.stmt])}:
            if var.active and not isinstance(var.type, T.LogType):
                known = before.get(var) == SET and var not in self.made
                self.assumed[var] = SET if known or T.is_scalar(var.type) else MAYBE
                if not T.is_scalar(var.type):
                    self.assumed[("items", var)] = MAYBE
            elif isinstance(var.type, T.LogType) and var in before:
                self.assumed[var] = SET
        forward = self.rewrite(self.stmt)
        rev.status = dict(before)
        touched = self.touched()
        for key in touched:
            if key not in before:
                value, _ = rev.zero(key)
                rev.out.append(Assign(rev.bar(key), value))
        body: Block = []
        number = Var("step")
        for index, undo in enumerate(self.undo):
            test = Var("t")
            body.append(Op(test, Const(operator.eq), [number, Const(index)], {}, None, pure=True))
            with rev.into() as block:
                if self.records[index]:
                    block.append(Pop(self.records[index], self.logs[index]))
                block += undo
            body.append(If(test, block, []))
        rev.out.append(Rewind([number], self.order, body))
        rev.status = {**before, **{key: self.assumed[key] for key in touched}}
        start: list[Stmt] = [Op(self.order, Const(I.new_log), [], {}, None)]
        start += [
            Op(log, Const(I.new_log), [], {}, None)
            for log, record in zip(self.logs, self.records, strict=True)
            if record
        ]
        return [*start, forward]

    def touched(self) -> list[Any]:
        names: set[Var] = set()
        for undo in self.undo:
            names |= set(defined_in(undo)) | set(used_in(undo))
        return [key for key in self.assumed if self.rev.bars.get(key) in names]

    def rewrite(self, stmt: Stmt) -> Stmt:
        """The statement as forward runs it, a record after each step."""
        if isinstance(stmt, Try):
            handlers = [Handler(h.kinds, h.name, h.cond, self.block(h.body)) for h in stmt.handlers]
            return Try(self.block(stmt.body), handlers, self.block(stmt.orelse), self.block(stmt.final), stmt.pos)
        if isinstance(stmt, If):
            return If(stmt.test, self.block(stmt.then), self.block(stmt.orelse), stmt.pos)
        if isinstance(stmt, For):
            return For(stmt.target, stmt.iter, self.block(stmt.body), stmt.stop, stmt.pos)
        if isinstance(stmt, While):
            return While(self.block(stmt.cond), stmt.test, self.block(stmt.body), stmt.stop, stmt.pos)
        if isinstance(stmt, Rewind):
            return Rewind(stmt.targets, stmt.log, self.block(stmt.body))
        return stmt

    def block(self, block: Block) -> Block:
        done: Block = []
        for stmt in block:
            if isinstance(stmt, Op | Assign | Push | Pop):
                done += self.step(stmt)
            else:
                done.append(self.rewrite(stmt))
        return done

    def step(self, stmt: Stmt) -> list[Stmt]:
        """One statement, with its own record if it has something to reverse."""
        rev = self.rev
        rev.status = dict(self.assumed)
        with rev.into() as undo:
            forward = rev.block([stmt])
            self.settle(stmt, undo)
        undo = drop_dead(undo, set(rev.bars.values()))
        if not undo:
            return [stmt]
        bars = set(rev.bars.values())
        needed = [var for var in used_in(undo) if var in self.made and var not in bars]
        index = len(self.undo)
        log = Var("log")
        self.undo.append(undo)
        self.logs.append(log)
        self.records.append(needed)
        record: list[Stmt] = [Push(log, list[Atom](needed))] if needed else []
        return [*forward, *record, Push(self.order, [Const(index)])]

    def settle(self, stmt: Stmt, undo: Block) -> None:
        """A cotangent that this step has used up starts again from zero, for the next time round."""
        rev = self.rev
        for var in defined_in([stmt]):
            for key in (var, ("items", var)):
                if key in self.assumed and key not in rev.status:
                    value, _ = rev.zero(key)
                    undo.append(Assign(rev.bar(key), value))
        names = {v for s in walk(undo) for v in defined_in([s])}
        for key, status in rev.status.items():
            if self.assumed.get(key) == SET and status == MAYBE and rev.bars.get(key) in names:
                self.assumed[key] = MAYBE
