"""Inner functions: read where they are called, and made real objects where the compiler cannot follow them."""

from __future__ import annotations

import types as pytypes
from typing import TYPE_CHECKING

from . import derive, runtime
from . import types as T
from .calls import Call, place_parts
from .ir import Atom, Const, Pos
from .known import compiled
from .normal import inner_function
from .select import bind
from .values import MAX_DEPTH, Activation, Closure, Val, any_active, atom_of, captured, const

if TYPE_CHECKING:
    from .resolve import Resolve


def call(inf: Resolve, closure: Closure, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """A call of an inner function: its body is read here, with the names that it sees as they are now."""
    function = inner_function(closure.inner)
    if any(act.function is function for act in inf.activations) or len(inf.activations) > MAX_DEPTH:
        linked = derive.link_closure(inf, closure, function, args, kwargs, pos)
        if linked is not None:
            return linked
        made = Val(
            materialise(inf, closure),
            T.Exact(pytypes.FunctionType),
            any_active([Val(None, T.UNKNOWN, what=closure)]),
        )
        return inf.at_run_time(made, args, kwargs, pos)
    act = Activation(function, closure.activation.globals, pos)
    try:
        act.env.update(bind(inf, function, args, kwargs, closure.defaults, closure.keyword_defaults, pos))
    except TypeError as error:
        return inf.fail(error, pos)
    outer = closure.inner.outer
    for name, var in function.free.items():
        target = outer.locals.get(name) or outer.free[name]
        act.links[var] = (closure.activation, target)
    hidden = Call("recursed", closure.inner.name, tuple(T.name_of(a.type) for a in args), None, *place_parts(pos))
    if inf.select and any_active(args):
        inf.node.children.append(hidden)
    return inf.into(hidden, lambda: inf.body(act))


def materialise(inf: Resolve, closure: Closure) -> Atom:
    """An inner function as a real object, for when it goes where the compiler cannot follow it."""
    function = inner_function(closure.inner)
    outer = closure.inner.outer
    if function.code is None:
        raise inf.unsupported(f"the inner function `{closure.inner.name}`")
    counts = outer.bindings()
    again = [name for name in function.free if counts.get(name, 0) > 1]
    if again:
        raise inf.unsupported(
            f"`{closure.inner.name}`, which closes over `{again[0]}`, a name that is bound more than once,"
        )
    function.free = {name: function.free[name] for name in function.code.co_freevars}  # in the order of the cells
    seen = captured(closure)
    own = next((i for i, value in enumerate(seen) if value.what is closure), -1)
    values = [Val(Const(None), T.NONE) if i == own else value for i, value in enumerate(seen)]
    if any_active([*closure.defaults, *closure.keyword_defaults.values()]):
        raise inf.unsupported(f"`{closure.inner.name}`, a function as a value whose default is differentiated,")
    if own >= 0 and any_active(values):
        raise inf.unsupported(
            f"`{closure.inner.name}`, an inner function that calls itself and is used as a value,"
        )
    globals_ = runtime.Globals(closure.activation.globals)
    head = [Val(Const(function.code), T.UNKNOWN), Val(Const(globals_), T.UNKNOWN)]
    head += [inf.build(tuple(closure.defaults)), const(own)]
    return atom_of(compiled.make_closure(inf, [*head, *values], {}, inf.here))
