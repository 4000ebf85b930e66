"""Read a function with the types of its arguments: follow values through it, choose a rule at every call.

This is an abstract interpreter. It runs the small language on `Val`s instead of values and writes, as it goes, the
same program again: every name bound once (except where branches and loops meet), every call resolved, callees written
in place of their calls. It runs twice for each order of differentiation: once over a function, choosing rules, and
once over the derivative that `reverse` has made of it, as the optimiser.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from . import attempts, derive
from . import intrinsics as I
from . import types as T
from .calls import Call
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
)
from .iterate import loop_over
from .live import Liveness
from .resolve import Resolve
from .values import Activation, Val, any_active, const, same

MAX_NESTED = 6  # tuples within tuples that a loop carries around with all their types


class Inference(Resolve):
    """Statements; calls are resolved by the base class."""

    def function(
        self, function: Function, args: list[Val], globals_: dict[str, Any], free: dict[Var, Val] | None = None
    ) -> Function:
        """Read a function for given arguments and write it again, resolved.

        Args:
            function: in the small language, as the user wrote it or as the compiler did.
            args: one `Val` for each parameter; their atoms become the parameters of the result.
            globals_: the module in which the function's global names live.
            free: values of the function's free variables.
        """
        params = [value.atom for value in args if isinstance(value.atom, Var)]
        act = Activation(function, globals_)
        act.env = dict(free or {})
        act.env.update(zip(function.params, [self.with_items(value, None) for value in args], strict=True))
        value = self.body(act)
        result = self.atom(value)
        self.result = value
        return Function(function.name, params, self.out, result, function.file, function.line, code=function.code)

    def body(self, act: Activation) -> Val:
        """Read a function's body in an activation; gives its result."""
        self.activations.append(act)
        act.liveness = self.context.liveness(act.function)
        try:
            self.block(act.function.body)
            return self.read(act.function.result)
        finally:
            self.activations.pop()

    def block(self, block: Block) -> None:
        for stmt in block:
            if self.dead:
                return
            METHODS[type(stmt)](self, stmt)

    # -- names

    def read(self, atom: Atom) -> Val:
        if isinstance(atom, Const):
            return const(atom.value)
        value = self.act.get(atom)
        if value is None:
            value = Val(Const(I.UNBOUND), T.NEVER, maybe_unbound=True)
        if value.maybe_unbound:
            if atom.user:
                return self.check_bound(atom, value)
            if value.type is not T.NEVER:  # our own name: read only where it is bound
                return replace(value, maybe_unbound=False)
        return value

    def check_bound(self, var: Var, value: Val) -> Val:
        """Python's UnboundLocalError, at the line where it belongs."""
        checked = self.emit(I.check_bound, [value, const(var.name)], {}, value.type, value.active, self.here)
        checked.items, checked.what = value.items, value.what
        if value.active:
            self.last_op().derive = derive.Same(self.atom(value))
        if value.type is T.NEVER:
            self.dead = True
        if var not in self.act.links:
            self.act.set(var, checked)
        return checked

    # -- straight-line statements

    def stmt_op(self, op: Op) -> None:
        act = self.act
        pos = op.pos
        if act.call_pos is not None and pos is not None:
            pos = called_from(pos, act.call_pos)
        self.here = pos
        args = [self.read(arg) for arg in op.args]
        kwargs = {name: self.read(arg) for name, arg in op.kwargs.items()} if op.kwargs else {}
        value = self.call(self.read(op.fn), args, kwargs, pos)
        act.set(op.out, value)
        if isinstance(op.fn, Const) and op.fn.value is operator.is_not and isinstance(op.args[0], Var):
            self.tests[op.out] = op.args[0]

    def stmt_assign(self, stmt: Assign) -> None:
        if stmt.pos is not None:
            self.here = called_from(stmt.pos, self.act.call_pos) if self.act.call_pos is not None else stmt.pos
        value = self.read(stmt.value)
        frames = [slots for act, slots in self.slots if act is self.act and stmt.target in slots]
        if frames:
            self.store(stmt.target, value, frames)
        else:
            self.act.set(stmt.target, value)

    def store(self, var: Var, value: Val, frames: list[dict[Var, Var]]) -> None:
        """Inside a `try`, a name that is read outside is also written to its slot, at once."""
        atom = self.atom(value)
        for frame in frames:
            slot = frame[var]
            slot.type = T.join(slot.type or T.NEVER, value.type)
            slot.active = slot.active or any_active([value])
            self.out.append(Assign(slot, atom))
        self.act.set(var, value)

    def stmt_push(self, stmt: Push) -> None:
        log = self.read(stmt.log)
        values = [self.read(value) for value in stmt.values]
        if not isinstance(log.type, T.LogType) or not isinstance(log.atom, Var):
            raise self.unsupported("a list whose appends the compiler cannot follow")
        if log.type.items is not None:
            log.type.items = [*log.type.items, values[0]] if self.out is log.type.block else None
        log.type.push([value.type for value in values], [any_active([value]) for value in values])
        self.out.append(Push(log.atom, [self.atom(value) for value in values]))

    def stmt_pop(self, stmt: Pop) -> None:
        log = self.read(stmt.log)
        assert isinstance(log.atom, Var)
        targets = self.unpack_record(stmt.targets, log)
        self.out.append(Pop(targets, log.atom))

    def unpack_record(self, names: list[Var], log: Val) -> list[Var]:
        known = isinstance(log.type, T.LogType) and len(log.type.records) == len(names)
        targets = []
        for index, name in enumerate(names):
            type_ = log.type.records[index] if known and isinstance(log.type, T.LogType) else T.UNKNOWN
            active = log.type.active[index] if known and isinstance(log.type, T.LogType) else log.active
            target = Var(name.name, type_, active)
            targets.append(target)
            self.act.set(name, Val(target, type_, active))
        return targets

    # -- branches

    @contextmanager
    def arm(self) -> Iterator[Block]:
        """A block that may not run: what it computes is not known outside of it."""
        saved, self.out = self.out, []
        self.known.append({})
        try:
            yield self.out
        finally:
            self.out = saved
            self.known.pop()

    def stmt_if(self, stmt: If) -> None:
        test = self.read(stmt.test)
        truth = self.truth(test)
        if truth is not None:
            self.block(stmt.then if truth else stmt.orelse)
            return
        act, arms, ends = self.act, [], []
        for chosen, body in ((True, stmt.then), (False, stmt.orelse)):
            act.journal.append({})
            with self.arm() as block:
                if chosen:
                    self.narrow(stmt.test)
                self.block(body)
            arms.append(block)
            ends.append((act.rollback(), self.dead))
            self.dead = False
        live = act.liveness.at.get(stmt, frozenset())
        (first, dead1), (second, dead2) = ends
        self.dead = dead1 and dead2
        for var in {**first, **second}:
            if var not in live:
                continue
            before = act.env.get(var)
            a, b = first.get(var, before), second.get(var, before)
            if dead1 or dead2:
                chosen_value = b if dead1 else a
                if chosen_value is not None:
                    act.set(var, chosen_value)
                continue
            if not var.user and (a is None or b is None):  # our own name: read only where it is bound
                only = a or b
                assert only is not None
                act.set(var, only)
                continue
            act.set(var, self.merge(var.name, a, b, arms[0], arms[1]))
        if arms[0] or arms[1]:
            self.out.append(If(self.atom(test), arms[0], arms[1], self.here))

    def narrow(self, test: Atom) -> None:
        var = self.tests.get(test) if isinstance(test, Var) else None
        value = self.act.get(var) if var is not None else None
        if var is not None and value is not None and isinstance(value.type, T.OptionalType):
            self.act.set(var, Val(value.atom, value.type.item, value.active))

    def merge(self, name: str, a: Val | None, b: Val | None, first: Block, second: Block) -> Val:
        """The value of a name after two branches that meet, with a copy at the end of each where they differ."""
        unbound = Val(Const(I.UNBOUND), T.NEVER, maybe_unbound=True)
        a, b = a or unbound, b or unbound
        if same(a, b):
            return a
        maybe_unbound = a.maybe_unbound or b.maybe_unbound
        if (
            a.items is not None
            and b.items is not None
            and len(a.items) == len(b.items)
            and T.join(a.type, b.type) is not T.UNKNOWN
        ):
            items = tuple(self.merge(name, x, y, first, second) for x, y in zip(a.items, b.items, strict=True))
            if isinstance(a.type, T.TupleType):
                return Val(None, T.TupleType(tuple(i.type for i in items)), any(i.active for i in items), items)
        joined = Var(name, T.join(a.type, b.type), any_active([a, b]))
        for value, block in ((a, first), (b, second)):
            saved, self.out = self.out, block
            block.append(Assign(joined, self.atom(value)))
            self.out = saved
        return Val(joined, joined.type or T.UNKNOWN, joined.active, maybe_unbound=maybe_unbound)

    # -- loops

    def stmt_for(self, stmt: For) -> None:
        loop_over(self, stmt, self.read(stmt.iter))

    def loop(
        self,
        stmt: For | While | Rewind,
        begin: Callable[[], None],
        build: Callable[[Block, Block, Atom | None, Var | None], Stmt],
    ) -> None:
        """Read a loop until the types of what it carries around have settled.

        Args:
            stmt: the loop.
            begin: binds what each round starts with.
            build: makes the resolved loop of the resolved parts.
        """
        act = self.act
        head = act.liveness.at[stmt]
        # our own names are never read in a round before they are bound in it, so an unbound one is not carried
        carried = {
            var: act.env.get(var)
            for var in defined_in([stmt])
            if var in head and var not in act.links and (var.user or var in act.env)
        }
        slots: dict[Var, Var] = {}
        for var, value in carried.items():
            if value is None:
                value = Val(Const(I.UNBOUND), T.NEVER, maybe_unbound=True)
                carried[var] = value
            slots[var] = Var(var.name, value.type, any_active([value]))
            self.out.append(Assign(slots[var], self.atom(value)))
        known_lists, self.known = self.known, [*self.known, {}]
        children = len(self.node.children)
        while True:
            cond, body, test, settled = self.round(stmt, begin, carried, slots)
            if settled:
                break
            del self.node.children[children:]
        self.known = known_lists
        for var, slot in slots.items():
            value = carried[var]
            unbound = value is not None and value.maybe_unbound
            act.set(var, Val(slot, slot.type or T.UNKNOWN, slot.active, maybe_unbound=unbound))
        stop = None if isinstance(stmt, Rewind) or stmt.stop is None else slots.get(stmt.stop)
        self.out.append(build(cond, body, test, stop))

    def round(
        self,
        stmt: For | While | Rewind,
        begin: Callable[[], None],
        carried: dict[Var, Val | None],
        slots: dict[Var, Var],
    ) -> tuple[Block, Block, Atom | None, bool]:
        """Read a loop's body once; says whether what comes out at its end is what was assumed at its head."""
        act, saved, mark = self.act, self.out, T.LogType.mark()
        self.loops += 1
        act.journal.append({})
        body: Block = []
        cond: Block = []
        test: Atom | None = None
        self.out = cond if isinstance(stmt, While) else body
        self.known[-1] = {}
        for var, slot in slots.items():
            value, begins = carried[var], slot
            if not isinstance(stmt, While):  # a condition reads the slots themselves: it is not recorded
                begins = Var(var.name, slot.type, slot.active)
                body.append(Assign(begins, slot))
            unbound = value is not None and value.maybe_unbound
            act.set(var, Val(begins, slot.type or T.UNKNOWN, slot.active, maybe_unbound=unbound))
        if isinstance(stmt, While):
            act.journal.append({})
            self.block(stmt.cond)
            test = self.atom(self.read(stmt.test))
            for var, value in act.rollback().items():
                act.set(var, value)
            self.out = body
            self.known[-1] = {}
            for var, slot in slots.items():
                now = act.env[var]
                if now.atom is slot:
                    copy = Var(var.name, slot.type, slot.active)
                    body.append(Assign(copy, slot))
                    act.set(var, Val(copy, copy.type or T.UNKNOWN, copy.active, maybe_unbound=now.maybe_unbound))
        begin()
        self.block(stmt.body)
        dead, self.dead = self.dead, False
        settled = True
        ends = {var: act.env[var] for var in slots}
        if not dead:
            for var, slot in slots.items():
                end = ends[var]
                type_, active = T.join(slot.type or T.UNKNOWN, end.type), slot.active or any_active([end])
                type_ = T.limited(type_, MAX_NESTED)  # `node = (x, node)` would never settle
                if T.key(type_) != T.key(slot.type or T.UNKNOWN) or active != slot.active:
                    settled = False
                    slot.type, slot.active = type_, active
                self.out.append(Assign(slot, self.atom(end)))
        act.rollback()
        self.loops -= 1
        self.out = saved
        return cond, body, test, settled and not T.LogType.grown_since(mark)

    def stmt_while(self, stmt: While) -> None:
        def build(cond: Block, body: Block, test: Atom | None, stop: Var | None) -> Stmt:
            return While(cond, test or Const(True), body, stop, stmt.pos)

        self.loop(stmt, lambda: None, build)

    def stmt_rewind(self, stmt: Rewind) -> None:
        log = self.read(stmt.log)
        targets: list[Var] = []

        def begin() -> None:
            targets[:] = self.unpack_record(stmt.targets, log)

        self.loop(stmt, begin, lambda cond, body, test, stop: Rewind(list(targets), self.atom(log), body))

    # -- exceptions

    def stmt_try(self, stmt: Try) -> None:
        attempts.read(self, stmt)


def called_from(pos: Pos, call: Pos) -> Pos:
    """The position of inlined code, with the call that it was inlined into at the end of its chain."""
    caller = call if pos.caller is None else called_from(pos.caller, call) if pos.caller is not call else call
    return Pos(pos.file, pos.line, pos.col, pos.end_line, pos.end_col, pos.function, caller)


METHODS: dict[type, Callable[[Inference, Any], None]] = {
    Op: Inference.stmt_op, Assign: Inference.stmt_assign, If: Inference.stmt_if, For: Inference.stmt_for,
    While: Inference.stmt_while, Rewind: Inference.stmt_rewind, Push: Inference.stmt_push, Pop: Inference.stmt_pop,
    Try: Inference.stmt_try,
}  # fmt: skip

__all__ = ["Call", "Inference", "Liveness"]
