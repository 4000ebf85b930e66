"""Callees compiled on their own: a forward and a reverse for each function, types of arguments, and activity.

A pair is made when the compiler comes to a callee that cannot be written in place, or at run time, when a call site
learns which types it has; that choice is `lookup`, which generated code reaches as `runtime.call_forward`.
"""

from __future__ import annotations

import time
import types as pytypes
from typing import Any, TypeGuard

from ..rules import Generation, registry
from . import cache, generated, running, runtime
from . import types as T
from .asking import asks
from .cache import Entry, Pair
from .calls import Call
from .context import Context, is_active
from .emit import Emitter
from .generated import Late
from .infer import Inference
from .ir import Atom, Const, Function, Op, Var
from .normal import inner_function, normal_form
from .simplify import drop_dead
from .values import Activation, Closure, Val
from .whole import split


def ir_of(f: Any, count: int) -> tuple[Function, dict[str, Any]]:
    """The small-language function of any callable, and the module of its names."""
    form = generated.form_of(f) if isinstance(f, pytypes.FunctionType) else None
    if form is not None:
        return form, {}
    if (
        isinstance(f, pytypes.FunctionType)
        and f.__code__.co_flags & 0x0C == 0
        and f.__code__.co_argcount == count
        and not f.__code__.co_kwonlyargcount
    ):
        return normal_form(f.__code__), f.__globals__
    params = [Var(f"x{i}") for i in range(count)]
    out = Var("y")
    if isinstance(f, runtime.Attribute):
        return Function(f.__name__, params, [Op(out, Const(getattr), [params[0], Const(f.name)], {}, None)], out), {}
    if isinstance(f, runtime.Asked):
        return Function(f.__name__, params, [Op(out, Const(f.function), list(params), {}, None)], out), {}
    if isinstance(f, runtime.KeywordCall):
        cut = count - len(f.names)
        words: dict[str, Atom] = dict(zip(f.names, params[cut:], strict=True))
        return Function(f.__name__, params, [Op(out, Const(f.function), list(params[:cut]), words, None)], out), {}
    return Function(
        getattr(f, "__name__", type(f).__name__), params, [Op(out, Const(f), list(params), {}, None)], out
    ), {}


def optimised(context: Context, function: Function, args: list[Val]) -> tuple[Function, Val]:
    """Read a derivative once more, with nothing active: fold, inline, drop."""
    inference = Inference(context, False, Call("inactive", function.name))
    done = inference.function(function, args, {})
    assert inference.result is not None
    roots = {done.result} if isinstance(done.result, Var) else set()
    done.body = drop_dead(done.body, roots)
    return done, inference.result


def inactive(params: list[Var]) -> list[Val]:
    return [Val(Var(p.name, p.type), p.type or T.UNKNOWN) for p in params]


class Pairs:
    """Forward and reverse of callees, by function, types and which arguments are active."""

    def __init__(self, traced: bool = False, kept: bool = False) -> None:
        self.entries: dict[Any, Pair] = {}
        self.traced = traced  # of one traced gradient: every call is counted
        self.kept = kept  # until a rule changes

    def get(
        self, f: Any, types: list[T.Type], active: list[bool], cells: int, compiling: frozenset[Any] = frozenset(),
        closure: Closure | None = None, site: Any = None,
    ) -> Pair:  # fmt: skip
        """The pair of a function for these types, compiled if it is not yet.

        Args:
            f: the function, or the definition of the inner function that `closure` is.
            types, active: of what a function closes over (the first `cells` of them) and of its arguments.
            cells: how many values f closes over.
            compiling: what is being compiled now, for recursion.
            closure: an inner function of code that is being read.
            site: the call, where each has to have a pair of its own, to count its calls.
        """
        function, names = (
            ir_of(f, len(types) - cells)
            if closure is None
            else (inner_function(closure.inner), closure.activation.globals)
        )
        own = f if closure is not None else function.code or f
        key = (id(own), tuple(T.key(t) for t in types), tuple(active), cells, site)
        asked = running.generation()
        if self._fits(found := self.entries.get(key), asked):
            return found
        if self.kept and asked is not registry.snapshot():
            return _of(asked).get(f, types, active, cells, compiling, closure, site)
        with cache.compiling:
            found = self.entries.get(key)
            if found is not None and isinstance(found.forward, Late):  # this thread is compiling it: a recursion
                found.recursive = True
                return found
            if self._fits(found, asked):  # compiled by another thread while this one waited
                return found
            entry = Pair(key, getattr(f, "__name__", str(f)))
            entry.keep = (own, f if not isinstance(f, pytypes.FunctionType) else None)
            entry.forward, entry.reverse = Late(entry.name), Late(entry.name)
            self.entries[key] = entry
            try:
                self.compile(entry, f, function, names, types, active, cells, compiling | {own}, closure)
            except BaseException:
                self.entries.pop(key, None)
                raise
            if self.kept:
                cache.add_entry(entry)
        return entry

    def rekey(self, entry: Pair, codes: dict[int, pytypes.CodeType]) -> None:
        """The function of a pair has another code object, which is the same but for its lines."""
        new = codes.get(entry.key[0])
        if new is not None and self.entries.get(entry.key) is entry:
            del self.entries[entry.key]
            entry.key, entry.keep = (id(new), *entry.key[1:]), (new, entry.keep)
            self.entries[entry.key] = entry

    def _fits(self, found: Pair | None, asked: Generation) -> TypeGuard[Pair]:
        if found is None or isinstance(found.forward, Late):
            return False
        return cache.usable(found) and cache.true_for(found, asked)

    def compile(
        self, entry: Pair, f: Any, function: Function, names: dict[str, Any], types: list[T.Type], active: list[bool],
        cells: int, compiling: frozenset[Any], closure: Closure | None,
    ) -> None:  # fmt: skip
        began = time.perf_counter()
        registry.count("compilations")
        params = [Var(n, t, a) for n, t, a in zip(_param_names(f, function, cells), types, active, strict=True)]
        resolved = self.read(entry, function, names, params, cells, compiling, closure)
        entry.forward.result_type = entry.result_type
        forward, reverse = split(resolved, list(params))
        context = Context(entry, pairs if self.traced else self, compiling)
        done, value = optimised(context, forward, inactive(forward.params))
        done.result_type = value.type
        saved_type = value.items[1].type if value.items is not None else T.UNKNOWN
        seed = (
            entry.result_type
            if T.is_scalar(entry.result_type) or isinstance(entry.result_type, T.ArrayType)
            else T.UNKNOWN
        )
        if seed in (T.INT, T.REAL, T.FLOATING):
            seed = T.FLOATING
        back, _ = optimised(
            context, reverse, [Val(Var("saved", saved_type), saved_type), Val(Var("seed_bar", seed), T.UNKNOWN)]
        )
        entry.saved_type = saved_type
        for late, form, title in ((entry.forward, done, "forward"), (entry.reverse, back, "reverse")):
            made = Emitter(form).compile(f"{title} {entry.name}")
            generated.keep_form(made, form)
            entry.code.append(made)
            late.resolve(made.function)
        entry.forward, entry.reverse = entry.forward.target, entry.reverse.target
        entry.asks = asks(done.body) or asks(back.body)
        entry.unknowns = context.unknowns
        entry.seconds = time.perf_counter() - began

    def read(
        self, entry: Pair, function: Function, names: dict[str, Any], params: list[Var], cells: int,
        compiling: frozenset[Any], closure: Closure | None,
    ) -> Function:  # fmt: skip
        """The function resolved for its parameters; a recursive one is read until its result's type has settled."""
        outside = [Val(p, p.type or T.UNKNOWN, p.active) for p in params[:cells]]
        for attempt in range(8):
            assumed = entry.result_type
            context = Context(entry, self, compiling, tracing=self.traced)
            inference = Inference(context, True, Call("recursed", entry.name))
            entry.tree = inference.node
            free = (
                _inner_names(closure, function, outside)
                if closure
                else dict(zip(function.free.values(), outside, strict=False))
            )
            resolved = inference.function(
                function, [Val(p, p.type or T.UNKNOWN, p.active) for p in params[cells:]], names, free
            )
            resolved.params = params
            assert inference.result is not None
            entry.result_active = is_active(inference.result)
            found = inference.result.type
            if not entry.recursive:
                entry.result_type = found
                break
            found = T.limited(found)  # what the recursion gives is what its own code assumes of it
            if found == assumed or assumed is T.UNKNOWN:
                break
            entry.result_type = found if attempt < 6 else T.UNKNOWN
        return resolved


def _inner_names(closure: Closure, function: Function, outside: list[Val]) -> dict[Var, Val]:
    """What the free names of an inner function mean inside its own pair; its own name means itself."""
    outer, shell = closure.inner.outer, Activation(function, closure.activation.globals)
    itself = Val(
        None,
        T.Exact(pytypes.FunctionType),
        False,
        None,
        Closure(closure.inner, shell, closure.defaults, closure.keyword_defaults),
    )
    values, found = iter(outside), {}
    for name, var in function.free.items():
        target = outer.locals.get(name) or outer.free[name]
        real = closure.activation.get(target)
        value = itself if real is not None and real.what is closure else next(values)
        shell.env[target] = found[var] = value
    return found


def _param_names(f: Any, function: Function, cells: int) -> list[str]:
    return [*list(function.free)[:cells], *[p.name for p in function.params]]


def _of(asked: Generation) -> Pairs:
    """The pairs of a generation that is no longer today's."""
    store = running.private(asked)
    found: Pairs = store.setdefault("pairs", Pairs())
    return found


pairs = Pairs(kept=True)


def _forget(entry: Entry) -> None:
    if isinstance(entry, Pair) and pairs.entries.get(entry.key) is entry:
        del pairs.entries[entry.key]


cache.on_drop(_forget)
