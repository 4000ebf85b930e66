"""Whole gradients: forward and reverse in one function, for a caller or in the middle of another function.

A gradient inside differentiated code is read by an inference of its own, in which everything that comes from outside
is an ordinary inactive input: what the inner gradient differentiates and what the outer one does can never be mixed up.
"""

from __future__ import annotations

import operator
import time
import types as pytypes
from collections.abc import Callable, Sequence
from typing import Any

from .. import cotangents as C
from ..rules import display_name, registry
from . import cache, derive, handlers, known, running, runtime
from . import types as T
from .asking import asks
from .cache import MISS, Entry
from .calls import Call
from .context import Context, Top
from .emit import Emitter
from .generated import Generated
from .infer import Inference
from .ir import Const, Function, Op, Pos, Var
from .pairs import Pairs, inactive, optimised, pairs
from .resolve import Resolve
from .simplify import drop_dead
from .values import Activation, Bound, Closure, Derived, Iterable, Pulled, Val, any_active, atom_of, const
from .whole import joint

Wanted = tuple[bool, ...]


# -- for a caller


def compile_joint(
    f: Any, args: Sequence[Any], kwargs: dict[str, Any], wanted: Wanted, value: bool, tracing: bool = False
) -> Entry:
    """Compile the gradient of f for arguments of these types.

    Args:
        f: what is differentiated.
        args, kwargs: the arguments of the call; only their types matter.
        wanted: for each positional argument whether its cotangent is wanted.
        value: give (value, gradient) instead of the gradient.
        tracing: count every call while the gradient runs.

    Returns:
        An entry whose `run(f, *args, *kwargs.values())` gives the result, or MISS if a guard does not hold.
    """
    began = time.perf_counter()
    registry.count("compilations")
    entry = Entry(None, display_name(f))
    context = Context(entry, Pairs(traced=True) if tracing else pairs, tracing=tracing)
    f_var = Var("f", T.UNKNOWN)
    context.top = innermost(f, f_var)
    top = context.top
    if isinstance(top.function, pytypes.FunctionType) and has_ruled_twin(top.function):
        entry.guards.own(top.path, top.function)
    params = [Var(f"x{i}" if len(args) > 1 else "x", T.type_of(a)) for i, a in enumerate(args)]
    for name, param in zip(_names(f), params, strict=False):
        param.name = name
    words = [Var(name, T.type_of(a)) for name, a in kwargs.items()]
    for param, want in zip(params, wanted, strict=True):
        param.active = want and T.differentiable(param.type)
    root = Call("recursed", display_name(f))
    inference = Inference(context, True, root)
    out = Var("out")
    pos = None
    whole = Function(
        display_name(f), [f_var, *params, *words],
        [Op(out, Const(f), list(params), dict(zip(kwargs, words, strict=True)), pos)], out,
    )  # fmt: skip
    values = [Val(p, p.type or T.UNKNOWN, p.active) for p in whole.params]
    resolved = inference.function(whole, values, {})
    resolved.params = whole.params
    entry.tree = root.children[0] if len(root.children) == 1 else root
    check_scalar(resolved, inference)
    done = joint(resolved, [p if w else None for p, w in zip(params, wanted, strict=True)])
    final, result = optimised(context, done, inactive(done.params))
    if not value and result.items is not None:  # else it always raises
        grads = result.items[1]
        holder = Inference(context, False, Call("inactive", "gradient"))
        holder.out = final.body
        final.result = holder.atom(grads)
        final.body = drop_dead(final.body, {final.result} if isinstance(final.result, Var) else set())
    made = guarded(final, entry, [type(arg) for arg in args])
    entry.asks = asks(final.body)
    asking = any(part.asks for part in entry.everything())
    entry.run, entry.code = scoped(made.function, entry) if asking else made.function, [*entry.code, made]
    entry.unknowns = context.unknowns
    entry.seconds = time.perf_counter() - began
    return entry


def scoped(run: Callable[..., Any], entry: Entry) -> Callable[..., Any]:
    """A gradient that asks the registry while it runs: always the same generation, which has to agree with its code."""

    def gradient(*given: Any) -> Any:
        with running.Scope() as asked:
            return run(*given) if cache.true_for(entry, asked) else MISS

    return gradient


def guarded(function: Function, entry: Entry, classes: Sequence[type]) -> Generated:
    """The Python function, which first checks that it fits: the arguments, and every guard of the entry and of those
    whose code it calls."""
    emitter = Emitter(function)
    emitter.namespace["MISS"] = MISS
    emitter.taken |= {"f", "MISS"}
    emitter.names[function.params[0]] = "f"
    guards = _argument_guards(function.params[1:], classes, emitter)
    for part in entry.everything():
        guards += part.guards.texts(emitter.constant)
    return emitter.compile(f"gradient {entry.name}", guards or ["True"])  # the first line is the check, always


_ruled: tuple[int, frozenset[int]] = (-1, frozenset())


def has_ruled_twin(f: pytypes.FunctionType) -> bool:
    """Whether a rule exists for f or for another function made by the same line: then entries must tell them apart."""
    global _ruled
    generation = registry.generation
    if _ruled[0] != generation:
        codes = (getattr(rule.target, "__code__", None) for rule in registry.rules() if rule.layer == "user")
        _ruled = generation, frozenset(id(code) for code in codes if code is not None)
    return id(f.__code__) in _ruled[1]


def innermost(f: Any, param: Var) -> Top:
    """The function inside of any number of `grad`s."""
    depth = 0
    while handlers.is_derivative(f):
        f, depth = f.f, depth + 1
    return Top(f, param, depth)


def _names(f: Any) -> list[str]:
    code = getattr(f, "__code__", None)
    return list(code.co_varnames[: code.co_argcount]) if code is not None else []


def _argument_guards(params: Sequence[Var], classes: Sequence[type], emitter: Emitter) -> list[str]:
    """The classes of the arguments, and what they do not say: dtype and dimensions, and what containers hold."""
    from .guards import matches

    texts = []
    for param, cls in zip(params, classes, strict=False):  # keyword arguments follow; their classes are in the key
        texts.append(f"type({emitter.name(param)}) is {emitter.constant(cls)}")
    for param in params:
        type_, name = param.type, emitter.name(param)
        if isinstance(type_, T.ArrayType):
            texts.append(f"{name}.ndim == {type_.ndim} and {name}.dtype.char == {type_.dtype!r}")
        elif isinstance(type_, T.TupleType | T.ListType):
            texts.append(f"{emitter.constant(matches)}({name}, {emitter.constant(type_)})")
    return texts


def check_scalar(function: Function, inference: Inference) -> None:
    """A gradient is of a scalar: where the type does not say that it is one, generated code checks."""
    result = inference.result
    assert result is not None
    if result.type in T.SCALARS or result.type is T.NEVER:
        return
    inference.out = function.body
    if isinstance(result.type, T.TupleType | T.ListType):
        inference.emit(not_scalar, [result], {}, T.NONE, False, None)
        return
    made = handle_scalar_only(inference, [Val(function.result, result.type, result.active)], {}, None)
    function.result = atom_of(made)


def scalar_only(value: Any) -> Any:
    """The value, if a gradient can start from it.

    Raises:
        TypeError: it has more than one number in it, or none.
    """
    import numpy as np

    if isinstance(value, np.ndarray) and value.size != 1:
        raise TypeError(
            f"gradient needs a function with a scalar value; this one gave an array of shape {value.shape}. "
            f"Sum it up, or use jacobian(f)(x) for all its derivatives."
        )
    if not isinstance(value, float | int | complex | np.generic | np.ndarray):
        not_scalar(value)
    if np.iscomplexobj(value):
        raise TypeError(
            "gradient needs a function with a real value; this one gave a complex number. "
            "Take abs(z), z.real or the like of it."
        )
    return value


@handlers.handles(scalar_only)
def handle_scalar_only(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    value = args[0]
    if value.type in T.SCALARS:
        return value
    made = inf.emit(scalar_only, args, {}, value.type, value.active, pos)
    if value.active:
        op = inf.last_op()
        op.derive = derive.Same(op.args[0])
    return made


def not_scalar(value: Any) -> None:
    raise TypeError(
        f"gradient needs a function with a scalar value; this one gave {_article(type(value).__name__)}. "
        f"Return one number, or use jacobian(f)(x) for all its derivatives."
    )


def _article(name: str) -> str:
    return "None: does it end with `return`?" if name == "NoneType" else f"a{'n' if name[0] in 'aeiou' else ''} {name}"


# -- in the middle of another function


class Proxy(Activation):
    """The names of an outer function as an inner gradient sees them: inputs through which nothing of its own flows."""

    def __init__(self, real: Activation, inputs: Inputs) -> None:
        super().__init__(real.function, real.globals)
        self.real = real
        self.inputs = inputs

    def get(self, var: Var) -> Val | None:
        value = self.real.get(var)
        return None if value is None else self.inputs.proxy(value)


class Inputs:
    """Collects what an inner gradient takes from outside, as parameters of its code."""

    def __init__(self) -> None:
        self.params: list[Var] = []
        self.values: list[Val] = []
        self.made: dict[Any, Val] = {}

    def proxy(self, value: Val) -> Val:
        what: Any = value.what
        if isinstance(what, Closure):
            if what not in self.made:
                defaults = [self.proxy(v) for v in what.defaults]
                words = {name: self.proxy(v) for name, v in what.keyword_defaults.items()}
                self.made[what] = Val(
                    None, value.type, False, None, Closure(what.inner, Proxy(what.activation, self), defaults, words)
                )
            return self.made[what]
        if isinstance(what, Bound):
            return Val(None, value.type, False, None, Bound(what.function, self.proxy(what.owner)))
        if isinstance(what, Derived):
            return Val(
                None,
                value.type,
                False,
                None,
                Derived(what.door, self.proxy(what.function), what.argnums, what.with_value),
            )
        if isinstance(what, Iterable):
            return Val(None, value.type, False, None, Iterable(what.kind, [self.proxy(v) for v in what.parts]))
        if value.items is not None:
            items = tuple(self.proxy(item) for item in value.items)
            return Val(None if value.atom is None else self._input(value), value.type, False, items)
        if value.atom is None or isinstance(value.atom, Const):
            return Val(value.atom, value.type, False, None, what, value.maybe_unbound)
        return Val(self._input(value), value.type, False, None, what, value.maybe_unbound)

    def _input(self, value: Val) -> Var:
        if value.atom not in self.made:
            param = Var(value.atom.name if isinstance(value.atom, Var) else "t", value.type)
            self.params.append(param)
            self.values.append(value)
            self.made[value.atom] = Val(param, value.type)
        made = self.made[value.atom].atom
        assert isinstance(made, Var)
        return made


def nested(inf: Resolve, fn: Val, args: list[Val], kwargs: dict[str, Val], wanted: Wanted, pos: Pos | None) -> Val:
    """(value, gradient) of a function, inside a function that is being read."""
    inputs = Inputs()
    target = inputs.proxy(fn)
    node = Call("recursed", f"gradient({_name(fn)})", tuple(T.name_of(a.type) for a in args), None,
                *((pos.file, pos.line) if pos else (None, 0)))  # fmt: skip
    if inf.select:
        inf.node.children.append(node)
    inner = Inference(inf.context, True, node)
    inner.dry = inf.dry
    params: list[Var | None] = []
    values: list[Val] = []
    for arg, want in zip(args, wanted, strict=True):
        if arg.what is not None or not want or not T.differentiable(arg.type):
            values.append(inputs.proxy(arg))
            params.append(None)
            continue
        param = Var("x", arg.type, want)
        params.append(param)
        values.append(Val(param, arg.type, want))
    shell = Activation(Function("gradient", [], [], Const(None)), {})
    shell.liveness = None
    inner.activations = [*[Activation(act.function, act.globals, origin=act.origin) for act in inf.activations], shell]
    inner.here = pos
    values = [inner.with_items(v, pos) for v in values]
    inf.context.order += 1
    try:
        result = inner.call(target, values, {name: inputs.proxy(v) for name, v in kwargs.items()}, pos)
    finally:
        inf.context.order -= 1
    resolved = Function(_name(fn), [], inner.out, inner.atom(result))
    inner.result = result
    if inner.dead:
        done = Function(_name(fn), [], inner.out, Const(None))  # it always raises
    else:
        check_scalar(resolved, inner)
        done = joint(resolved, params)
    act = Activation(done, {}, None)
    act.env.update(zip(inputs.params, inputs.values, strict=True))
    act.env.update({param: arg for param, arg in zip(params, args, strict=True) if param is not None})
    if inf.context.top is not None:  # what it closes over is read from the function itself, wherever that is done
        act.env[inf.context.top.param] = Val(inf.context.top.param, T.UNKNOWN)
    outer_node = inf.node
    inf.node = Call("recursed", f"derivative of {_name(fn)}")
    try:
        given = inf.body(act)
    finally:
        inf.node = outer_node
    return Val(Const(None), T.NEVER) if inner.dead else given


def _name(fn: Val) -> str:
    if isinstance(fn.what, Closure):
        return fn.what.inner.name
    return display_name(fn.atom.value) if isinstance(fn.atom, Const) else "f"


def positions(argnums: Any, count: int) -> Wanted:
    """Which arguments `argnums` names."""
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for number in chosen:
        if not -count <= number < count:
            raise TypeError(f"argnums={argnums!r}, but the call has {count} argument{'s' * (count != 1)}")
    chosen = tuple(number % count for number in chosen)
    return tuple(i in chosen for i in range(count))


def register(gradient: Any, pullback: Any, doors: Sequence[tuple[Any, bool]], kind_of: Callable[[Any], Any]) -> None:
    """Teach the compiler the door `gradient` and the objects that `grad` and `value_and_grad` make.

    Args:
        gradient: the function `gradient(f, *args, **kwargs)`.
        pullback: the function `pullback(f, *args)`.
        doors: `grad` and its kin, each with whether it gives the value too.
        kind_of: gives (f, argnums, with value) of a derivative object, or None for anything else.
    """

    def handle_gradient(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
        if not args or not must_expand(inf, args, kwargs):
            return None
        result = nested(inf, args[0], args[1:], kwargs, (True,) * (len(args) - 1), pos)
        if result.type is T.NEVER:
            return result
        assert result.items is not None
        return result.items[1]

    def make(door: Any, with_value: bool) -> handlers.Handler:
        def handle(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
            argnums = kwargs.get("argnums", args[1] if len(args) > 1 else const(0))
            if "has_aux" in kwargs or len(args) > 2 or not isinstance(argnums.atom, Const):
                return None
            return Val(None, T.UNKNOWN, False, None, Derived(door, args[0], argnums.atom.value, with_value))

        return handle

    handlers.handles(gradient)(handle_gradient)
    handlers.handles(pullback)(handle_pullback)
    handlers.set_pulled(call_pulled)
    handlers.set_doors(gradient, pullback)
    for door, with_value in doors:
        handlers.handles(door)(make(door, with_value))
    handlers.set_derivatives(
        lambda inf, f, args, kwargs, pos: _call_derivative(inf, f, kind_of, args, kwargs, pos), kind_of
    )


def handle_pullback(inf: Resolve, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    """`pullback(f, *args)` inside differentiated code: a call site that chooses when it runs, and its way back."""
    if not args or kwargs or not any_active(args):
        return None
    fn, *given = args
    active = (True, *(T.differentiable(v.type) for v in given))
    site = Val(Const(runtime.Site(active, (), pos, None)), T.UNKNOWN)
    pair = inf.with_items(inf.call(const(runtime.call_forward), [site, fn, *given], {}, pos), pos)
    y, back = (inf.call(const(operator.getitem), [pair, const(i)], {}, pos) for i in (0, 1))
    pulled = Val(back.atom, back.type, back.active, None, Pulled(back, given))
    return Val(None, T.TupleType((y.type, back.type)), True, (y, pulled))


def call_pulled(inf: Resolve, pulled: Pulled, ybar: Val, pos: Pos | None) -> Val:
    """The cotangents that a pullback gives inside differentiated code."""
    parts = inf.call(const(runtime.call_back), [pulled.back, ybar], {}, pos)
    found = [inf.call(const(operator.getitem), [parts, const(i + 1)], {}, pos) for i in range(len(pulled.args))]
    items = tuple(inf.call(const(C.finish), [arg, part], {}, pos) for arg, part in zip(pulled.args, found, strict=True))
    return Val(None, T.TupleType(tuple(i.type for i in items)), any_active(items), items)


def must_expand(inf: Resolve, args: list[Val], kwargs: dict[str, Val]) -> bool:
    """Whether an inner gradient has to be read here: if the outer one differentiates it."""
    values = [*args, *kwargs.values()]
    return inf.dry or any_active(values) or any(isinstance(v.what, Closure | Derived) for v in values)


def _call_derivative(
    inf: Resolve,
    derivative: Any,
    kind_of: Callable[[Any], Any],
    args: list[Val],
    kwargs: dict[str, Val],
    pos: Pos | None,
) -> Val | None:
    if isinstance(derivative, Derived):
        f, argnums, with_value = derivative.function, derivative.argnums, derivative.with_value
    else:
        f, argnums, with_value = kind_of(derivative)
    fn = f if isinstance(f, Val) else const(f)
    if not must_expand(inf, [fn, *args], kwargs):
        return None
    result = nested(inf, fn, args, kwargs, positions(argnums, len(args)), pos)
    if result.type is T.NEVER:
        return result
    assert result.items is not None
    value, grads = result.items
    grads = inf.with_items(grads, pos)
    chosen = argnums if isinstance(argnums, int) else tuple(argnums)
    assert grads.items is not None
    given = (
        grads.items[chosen] if isinstance(chosen, int) else inf.build(tuple(grads.items[i] for i in chosen), pos=pos)
    )
    return inf.build((value, given), pos=pos) if with_value else given


__all__ = ["compile_joint", "known", "nested", "register"]
