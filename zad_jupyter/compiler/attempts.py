"""Reading a `try`: what it binds is kept in one variable that is written at once, for any statement may be the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import intrinsics as I
from . import types as T
from .ir import Assign, Block, Const, Handler, Try, Var, defined_in
from .values import Val, any_active

if TYPE_CHECKING:
    from .infer import Inference


def read(inf: Inference, stmt: Try) -> None:
    """Whatever a `try` binds and somebody reads later is kept in one variable that is written at once."""
    if inf.select and inf.loops and inf.context.order >= 2:
        raise inf.unsupported("a third derivative of a `try` in a loop", stmt.pos)
    act = inf.act
    live = act.liveness.at[stmt]
    names = [var for var in defined_in([stmt]) if var in live]
    slots = {}
    for var in names:
        before = act.env.get(var) or Val(Const(I.UNBOUND), T.NEVER, maybe_unbound=True)
        slots[var] = Var(var.name, before.type, any_active([before]))
        inf.out.append(Assign(slots[var], inf.atom(before)))
        act.set(var, Val(slots[var], before.type, slots[var].active, maybe_unbound=before.maybe_unbound))
    unbound = {var for var in names if act.env[var].maybe_unbound}
    children = len(inf.node.children)
    while True:
        inf.dead = False
        mark = T.LogType.mark()
        types = [(slot.type, slot.active) for slot in slots.values()]
        done = _once(inf, stmt, slots, unbound)
        if not T.LogType.grown_since(mark) and types == [(slot.type, slot.active) for slot in slots.values()]:
            break
        del inf.node.children[children:]
    inf.out.append(done)
    outer = [frame for owner, frame in inf.slots if owner is act]
    for var, slot in slots.items():
        value = Val(slot, slot.type or T.UNKNOWN, slot.active, maybe_unbound=var in unbound)
        frames = [frame for frame in outer if var in frame]
        if frames and not value.maybe_unbound:
            inf.store(var, value, frames)
        else:
            act.set(var, value)


def _once(inf: Inference, stmt: Try, slots: dict[Var, Var], unbound: set[Var]) -> Try:
    act = inf.act
    inf.slots.append((act, slots))

    def begin() -> None:
        """A part may start after any statement of an earlier one: it reads what the slots hold then."""
        for var, slot in slots.items():
            copy = Var(var.name, slot.type, slot.active)
            inf.out.append(Assign(copy, slot))
            act.set(var, Val(copy, slot.type or T.UNKNOWN, slot.active, maybe_unbound=var in unbound))

    def part(block: Block) -> tuple[Block, bool]:
        with inf.arm() as out:
            begin()
            inf.block(block)
        dead, inf.dead = inf.dead, False
        return out, dead

    act.journal.append({})
    body, dead = part(stmt.body)
    handlers = []
    alive = False
    for handler in stmt.handlers:
        with inf.arm() as cond:
            begin()
            inf.block(handler.cond)
            kinds = None if handler.kinds is None else inf.atom(inf.read(handler.kinds))
        name = None
        with inf.arm() as out:
            begin()
            if handler.name is not None:
                name = Var(handler.name.name, T.UNKNOWN)
                name.active = inf.context.exceptions_carry
                act.set(handler.name, Val(name, T.UNKNOWN, name.active))
            inf.block(handler.body)
        alive = alive or not inf.dead
        inf.dead = False
        handlers.append(Handler(kinds, name, cond, out))
    orelse, dead_else = part(stmt.orelse)
    final, dead_final = part(stmt.final)
    act.rollback()
    inf.slots.pop()
    inf.dead = dead_final or ((dead or dead_else) and not alive)
    return Try(body, handlers, orelse, final, stmt.pos)
