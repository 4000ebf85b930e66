"""Which names may be read where nothing has been assigned to them.

A value that only one arm of a branch computes is kept for the reverse of that arm, and forward hands it on whichever
way it went. Such names start as None; nobody looks at that None.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import intrinsics as I
from .ir import Atom, Block, Const, For, Function, If, Op, Rewind, Stmt, Try, Var, While, defines, uses

LEAVING = {I.raise_, I.reraise, I.fail}


class Assigned:
    """Walks a function once; `missing` are the names that have to start as None."""

    def __init__(self, function: Function) -> None:
        self.missing: dict[Var, None] = {}
        end = self.block(function.body, set(function.params))
        self.read([function.result], end or set(function.params))

    def read(self, atoms: Iterable[Atom], defined: set[Var]) -> None:
        for atom in atoms:
            if isinstance(atom, Var) and atom not in defined:
                self.missing[atom] = None

    def block(self, block: Block, defined: set[Var]) -> set[Var] | None:
        """The names that are assigned at the end of a block; None if its end is never reached."""
        now: set[Var] | None = set(defined)
        for stmt in block:
            if now is None:
                return None
            now = self.stmt(stmt, now)
        return now

    def stmt(self, stmt: Stmt, defined: set[Var]) -> set[Var] | None:
        if isinstance(stmt, While):
            head = self.block(stmt.cond, defined) or defined
            self.read([stmt.test], head)
            self.loop(stmt.body, head, stmt.stop)
            return head
        self.read(uses(stmt) if not isinstance(stmt, For) else [stmt.iter], defined)
        if isinstance(stmt, If):
            arms = [
                arm for arm in (self.block(stmt.then, defined), self.block(stmt.orelse, defined)) if arm is not None
            ]
            return set.intersection(*arms) if arms else None
        if isinstance(stmt, For | Rewind):
            self.loop(stmt.body, defined | set(defines(stmt)), stmt.stop if isinstance(stmt, For) else None)
            return defined
        if isinstance(stmt, Try):
            return self.attempt(stmt, defined)
        if (
            isinstance(stmt, Op)
            and isinstance(stmt.fn, Const)
            and stmt.fn.value.__class__ is type(I.fail)
            and stmt.fn.value in LEAVING
        ):
            return None
        return defined | set(defines(stmt))

    def loop(self, body: Block, defined: set[Var], stop: Var | None) -> None:
        end = self.block(body, defined)
        if stop is not None and end is not None:
            self.read([stop], end)

    def attempt(self, stmt: Try, defined: set[Var]) -> set[Var] | None:
        body = self.block(stmt.body, defined)
        ends = [self.block(stmt.orelse, body) if body is not None else None]
        for handler in stmt.handlers:
            start = defined | ({handler.name} if handler.name is not None else set())
            ends.append(self.block(handler.body, self.block(handler.cond, start) or start))
        reached = [end for end in ends if end is not None]
        final = self.block(stmt.final, defined)
        if not reached or final is None:
            return None
        return set.intersection(*reached) | final
