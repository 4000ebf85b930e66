"""From a resolved function to its reverse: statements backwards, each by the way that `infer` has chosen for it.

Every active name has one cotangent variable. What is known about it while writing the reverse is one of three things:
it is ZERO (nothing was added yet: no code), it is SET, or it is MAYBE (it holds None where nothing was added). Branches
are reversed as branches under the same test. A loop appends the values that its reverse needs to a log, one record a
round, and is reversed by rewinding that log. What comes out is in the small language again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import cotangents as C
from . import intrinsics as I
from . import types as T
from .ir import (
    Assign,
    Atom,
    Block,
    Const,
    For,
    Function,
    If,
    Op,
    Pop,
    Pos,
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

SET, MAYBE = "set", "maybe"
Status = dict[Any, str]


class Reverser:
    def __init__(self, function: Function) -> None:
        self.out: Block = []
        self.read = read_logs(function.body)
        self.bars: dict[Any, Var] = {}
        self.status: Status = {}
        self.defs: dict[Var, Op] = {}
        self.dense: set[Var] = set()  # logs whose scalar cotangents are numbers, never None
        self.pos: Pos | None = None

    # -- writing

    def emit(
        self, fn: Callable[..., Any] | Const, *args: Atom, name: str = "t", kwargs: dict[str, Atom] | None = None
    ) -> Var:
        out = Var(name)
        op = Op(out, fn if isinstance(fn, Const) else Const(fn), list(args), kwargs or {}, self.pos)
        self.out.append(op)
        self.defs[out] = op
        return out

    @contextmanager
    def into(self) -> Iterator[Block]:
        saved, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = saved

    def bar(self, key: Any) -> Var:
        if key not in self.bars:
            name = key.name if isinstance(key, Var) else key[1].name
            self.bars[key] = Var(f"{name}_bar" if isinstance(key, Var) else f"{name}_items_bar")
        return self.bars[key]

    # -- cotangents

    def add(self, atom: Atom | None, cotangent: Atom, maybe: bool = False) -> None:
        """Add to the cotangent of a name; constants and inactive names have none."""
        if not isinstance(atom, Var) or not atom.active:
            return
        if isinstance(cotangent, Const) and cotangent.value is None:
            return
        made = self.defs.get(cotangent) if isinstance(cotangent, Var) else None
        if made is not None and self._is_item_of(made, atom):
            self._scatter(atom, made)
            return
        if made is not None and isinstance(made.fn, Const) and made.fn.value is C.picked:
            maybe = True  # a container of cotangents may hold None
        bar, status = self.bar(atom), self.status.get(atom)
        if isinstance(atom.type, T.LogType):
            if status is not None:
                self.emit(C.add_to_log, bar, cotangent)
                return
            value: Atom = self.emit(C.own_log, cotangent, atom)
            maybe = False
        elif status is None:
            value = cotangent
        else:
            value = self.emit(C.add, bar, cotangent)
            maybe = maybe and status == MAYBE
        self.out.append(Assign(bar, value))
        self.status[atom] = MAYBE if maybe else SET

    def _is_item_of(self, made: Op, atom: Var) -> bool:
        """Whether a cotangent is one item's place in an otherwise zero container: then it can be added in place."""
        fn = made.fn.value if isinstance(made.fn, Const) else None
        if fn is C.gathered:
            inner = self.defs.get(made.args[1]) if isinstance(made.args[1], Var) else None
            return inner is not None and self._is_item_of(inner, atom)
        empty = made.args[0] if made.args else None
        return fn is C.scatter and isinstance(empty, Const) and empty.value is None and made.args[1] is atom

    def _scatter(self, atom: Var, made: Op) -> None:
        if isinstance(made.fn, Const) and made.fn.value is C.gathered:
            assert isinstance(made.args[1], Var)
            made = self.defs[made.args[1]]
        self.scatter(atom, made.args[2], made.args[3])

    def scatter(self, container: Var, index: Atom, cotangent: Atom) -> None:
        """Add the cotangent of `container[index]`, in a buffer that belongs to the reverse alone."""
        if isinstance(container.type, T.LogType):
            assert container in self.status
            self.emit(C.add_at, self.bar(container), index, cotangent)
            return
        key = ("items", container)
        bar, status = self.bar(key), self.status.get(key)
        old: Atom = bar if status is not None else Const(None)
        self.out.append(Assign(bar, self.emit(C.scatter, old, container, index, cotangent)))
        self.status[key] = status or SET

    def take(self, var: Var) -> tuple[Atom, bool] | None:
        """The whole cotangent of a name, which is thereby used up, and whether it may be None; None for zero."""
        items = self.status.pop(("items", var), None)
        status = self.status.pop(var, None)
        if items is not None:
            part: Atom = self.bar(("items", var))
            if not isinstance(var.type, T.ArrayType | T.ListType):
                part = self.emit(C.gathered, var, part)
            if status is None:
                return part, items == MAYBE
            return self.emit(C.add, self.bar(var), part), items == MAYBE and status == MAYBE
        return None if status is None else (self.bar(var), status == MAYBE)

    def zero(self, key: Any) -> tuple[Atom, str]:
        """The zero that stands in a cotangent variable which may be added to later."""
        if isinstance(key, Var):
            if isinstance(key.type, T.LogType):
                return self.emit(I.new_log), SET
            if T.is_scalar(key.type):
                return Const(0.0), SET
        return Const(None), MAYBE

    # -- statements, backwards

    def block(self, block: Block) -> Block:
        """Write the reverse of a block into `self.out`; gives the block as forward has to run it."""
        for stmt in block:  # logs whose items are read while they grow: their cotangents need all places at once
            if isinstance(stmt, Op) and stmt.out in self.read and stmt.out.active:
                self.out.append(Assign(self.bar(stmt.out), self.emit(C.own_log, Const(None), stmt.out)))
                self.status[stmt.out] = SET
        forward: list[list[Stmt]] = []
        for stmt in reversed(block):
            forward.append(METHODS[type(stmt)](self, stmt))
        return [stmt for part in reversed(forward) for stmt in part]

    def op(self, op: Op) -> list[Stmt]:
        if getattr(op.derive, "effect", False):
            if op.derive.log in self.status:
                op.derive.reverse(self, op, Const(None))
        elif op.derive is not None and op.out.active:
            got = self.take(op.out)
            if got is not None:
                self.pos = op.pos
                self.guarded(got, lambda g: op.derive.reverse(self, op, g))
        return [op]

    def guarded(self, got: tuple[Atom, bool], write: Callable[[Atom], None]) -> None:
        """Do something with a cotangent, at run time only if it is there."""
        g, maybe = got
        if not maybe:
            write(g)
            return
        test = self.emit(operator.is_not, g, Const(None))
        before = dict(self.status)
        with self.into() as then:
            write(g)
        after, self.status = self.status, before
        with self.into() as orelse:
            pass
        self.meet(after, then, self.status, orelse)
        self.out.append(If(test, then, orelse, self.pos))

    def meet(self, first: Status, one: Block, second: Status, other: Block) -> None:
        """After two arms: what only one of them has added to becomes a written zero in the other."""
        merged: Status = {}
        for key in {**first, **second}:
            a, b = first.get(key), second.get(key)
            for status, block in ((a, one), (b, other)):
                if status is None:
                    with self.into() as extra:
                        value, new = self.zero(key)
                        extra.append(Assign(self.bar(key), value))
                    block += extra
                    if status is a:
                        a = new
                    else:
                        b = new
            merged[key] = SET if a == b == SET else MAYBE
        self.status = merged

    def assign(self, stmt: Assign) -> list[Stmt]:
        if stmt.target.active:
            got = self.take(stmt.target)
            if got is not None:
                self.add(stmt.value, got[0], got[1])
        return [stmt]

    def branch(self, stmt: If) -> list[Stmt]:
        before = dict(self.status)
        with self.into() as then:
            first = self.block(stmt.then)
        after, self.status = self.status, before
        with self.into() as orelse:
            second = self.block(stmt.orelse)
        self.meet(after, then, self.status, orelse)
        if then or orelse:
            self.out.append(If(stmt.test, then, orelse, stmt.pos))
        return [If(stmt.test, first, second, stmt.pos)]

    # -- loops

    def loop(self, stmt: For | While | Rewind) -> list[Stmt]:
        inside = defined_in(stmt.body)
        slots = [s.target for s in stmt.body if isinstance(s, Assign) and s.target.active]
        pushed = [s.log for s in walk(stmt.body) if isinstance(s, Push | Pop)]
        pushed += [s.derive.log for s in walk(stmt.body) if isinstance(s, Op) and getattr(s.derive, "effect", False)]
        written = {*slots, *pushed, *[v for v in inside if v in self.status]}
        if not any(var in self.status or ("items", var) in self.status for var in written):
            return [stmt]
        outer = [
            v for v in {**used_in(stmt.body), **dict.fromkeys(slots)} if v.active and (v not in inside or v in slots)
        ]
        before = dict(self.status)
        popped = {s.log for s in walk(stmt.body) if isinstance(s, Pop)}
        assumed = self._assume(outer, slots, popped, before)
        self.status = dict(assumed)
        with self.into() as body:
            forward = self.block(stmt.body)
            if isinstance(stmt, Rewind):
                self._push_records(stmt)
            touched = self._settle(assumed, body)
        with self.into() as start:
            for key in touched:
                if key not in before:
                    value, _ = self.zero(key)
                    start.append(Assign(self.bar(key), value))
                elif before[key] == MAYBE and assumed[key] == SET:
                    start.append(Assign(self.bar(key), self._real(key)))
        self.status = {**before, **{key: assumed[key] for key in touched}}
        body = drop_dead(body, set(self.bars.values()))
        self.out += start
        log = self._record(stmt, forward, body)
        return [Op(log, Const(I.new_log), [], {}, None), _with_body(stmt, forward)]

    def _assume(self, outer: list[Var], slots: list[Var], popped: set[Var], before: Status) -> Status:
        """What is taken to hold of every cotangent from outside at the head of the reversed loop."""
        assumed: Status = {}
        for var in outer:
            if isinstance(var.type, T.LogType):
                if var in before or var in popped:
                    assumed[var] = SET
            else:
                known = before.get(var) == SET and var not in slots
                assumed[var] = SET if known or T.is_scalar(var.type) else MAYBE
                if not T.is_scalar(var.type):
                    assumed[("items", var)] = MAYBE
        return {**{key: status for key, status in before.items() if key not in assumed}, **assumed}

    def _settle(self, assumed: Status, body: Block) -> list[Any]:
        """Make the end of the reversed body agree with what was assumed at its head; gives what it touches."""
        bound = {var for stmt in walk(body) for var in (defined_in([stmt]))} | set(used_in(body))
        touched = []
        for key, status in assumed.items():
            if self.bars.get(key) not in bound:
                self.status[key] = status
                continue
            touched.append(key)
            now = self.status.get(key)
            if now is None:
                value, _ = self.zero(key)
                body.append(Assign(self.bar(key), value))
            elif now == MAYBE and status == SET:
                with self.into() as extra:
                    extra.append(Assign(self.bar(key), self._real(key)))
                body += extra
        return touched

    def _real(self, key: Any) -> Atom:
        """A number's cotangent with 0.0 in the place of None."""
        return self.emit(C.add, self.bar(key), Const(0.0))

    def _record(self, stmt: For | While | Rewind, forward: Block, body: Block) -> Var:
        """Push what the reversed body needs at the end of every round of `forward`; write the rewinding loop."""
        made = defined_in(forward)
        if not isinstance(stmt, While):
            made.update(dict.fromkeys([stmt.target] if isinstance(stmt, For) else stmt.targets))
        inner = set(self.bars.values())
        needed = [var for var in used_in(body) if var in made and var not in inner]
        values: list[Atom] = list(needed) if needed else [Const(None)]
        log = Var("log")
        forward.append(Push(log, values))
        self.out.append(Rewind(needed or [Var("none")], log, body))
        return log

    def _push_records(self, stmt: Rewind) -> None:
        """The reverse of unpacking a record: a record of cotangents."""
        log = stmt.log
        if not isinstance(log, Var) or not log.active:
            return
        values: list[Atom] = []
        for target in stmt.targets:
            got = self.take(target) if target.active else None
            if got is None:
                values.append(Const(0.0) if target.active and T.is_scalar(target.type) else Const(None))
            else:
                values.append(got[0])
        records = self.bars.setdefault(("records", log), Var("popped"))
        self.out.append(Push(records, values))

    def rewind(self, stmt: Rewind) -> list[Stmt]:
        log = stmt.log
        if not isinstance(log, Var) or not log.active:
            return self.loop(stmt)
        records = Var("popped")
        self.bars[("records", log)] = records
        at = len(self.out)
        forward = self.loop(stmt)
        if forward == [stmt]:
            return forward
        self.out.insert(at, Op(records, Const(I.new_log), [], {}, None))
        bar, status = self.bar(log), self.status.get(log)
        value: Atom = records if status is None else self.emit(C.add, bar, records)
        self.out.append(Assign(bar, value))
        self.status[log] = SET
        self.holds_numbers(log)
        return forward

    def holds_numbers(self, log: Var) -> None:
        """The cotangents of this log's scalars are all numbers, unless places were made before they were known."""
        if log not in self.read:
            self.dense.add(log)

    def push(self, stmt: Push) -> list[Stmt]:
        if stmt.log in self.status:
            targets = [Var("t") for _ in stmt.values]
            self.out.append(Pop(targets, self.bar(stmt.log)))
            for value, target in zip(stmt.values, targets, strict=True):
                sure = stmt.log in self.dense and isinstance(value, Var) and T.is_scalar(value.type)
                self.add(value, target, maybe=not sure)
        return [stmt]

    def pop(self, stmt: Pop) -> list[Stmt]:
        if stmt.log.active:
            if stmt.log not in self.status:
                self.out.append(Assign(self.bar(stmt.log), self.emit(I.new_log)))
                self.status[stmt.log] = SET
            values: list[Atom] = []
            for target in stmt.targets:
                got = self.take(target) if target.active else None
                zero = Const(0.0) if target.active and T.is_scalar(target.type) else Const(None)
                values.append(zero if got is None else got[0])
            self.out.append(Push(self.bar(stmt.log), values))
            self.holds_numbers(stmt.log)
        return [stmt]

    def attempt(self, stmt: Try) -> list[Stmt]:
        if not any(
            (isinstance(inner, Op) and inner.derive is not None) or (isinstance(inner, Assign) and inner.target.active)
            for inner in walk([stmt])
        ):
            return [stmt]
        from .steps import reverse_steps

        return reverse_steps(self, stmt)


def _with_body(stmt: For | While | Rewind, body: Block) -> Stmt:
    if isinstance(stmt, For):
        return For(stmt.target, stmt.iter, body, stmt.stop, stmt.pos)
    if isinstance(stmt, While):
        return While(stmt.cond, stmt.test, body, stmt.stop, stmt.pos)
    return Rewind(stmt.targets, stmt.log, body)


READS = {C.picked, C.copied_log, operator.getitem, list, tuple}


def _is_one_of(value: Any, functions: set[Any]) -> bool:
    return any(value is function for function in functions)


def read_logs(block: Block) -> set[Var]:
    """The logs that are not only pushed and rewound: a user's lists, and those whose items are read or added to."""
    found: set[Var] = set()
    for stmt in walk(block):
        if not isinstance(stmt, Op) or not isinstance(stmt.fn, Const):
            continue
        if stmt.fn.value is I.new_list:
            found.add(stmt.out)
        elif getattr(stmt.derive, "effect", False):
            found.add(stmt.derive.log)
        else:
            log = stmt.args[0] if stmt.args else None
            reads = isinstance(log, Var) and isinstance(log.type, T.LogType) and _is_one_of(stmt.fn.value, READS)
            if reads and isinstance(log, Var):
                found.add(log)
    return found


METHODS: dict[type, Callable[[Reverser, Any], list[Stmt]]] = {
    Op: Reverser.op, Assign: Reverser.assign, If: Reverser.branch, For: Reverser.loop, While: Reverser.loop,
    Rewind: Reverser.rewind, Push: Reverser.push, Pop: Reverser.pop, Try: Reverser.attempt,
}  # fmt: skip
