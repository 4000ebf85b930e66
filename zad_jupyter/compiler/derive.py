"""The ways in which one operation is reversed: by a rule's expressions, a rule's pullback, its parts, or a callee.

`infer` writes the operation into forward and puts one of these on it; `reverse` comes by and lets it write the
operation's reverse.
"""

from __future__ import annotations

import operator
import types as pytypes
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import cotangents as C
from . import pullbacks, runtime
from . import types as T
from .generated import Late
from .instantiate import instantiate
from .ir import Atom, Const, Function, If, Op, Pos, Var
from .pure import never_raises, question_of
from .values import Closure, Val, any_active, atom_of, captured, const, var_of

if TYPE_CHECKING:
    from .cache import Pair
    from .resolve import Resolve
    from .reverse import Reverser
    from .select import Choice


@dataclass
class Parts:
    """A tuple, list or closure made of values: each gets its part of the cotangent."""

    atoms: list[Atom | None]
    offset: int = 0

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        for index, atom in enumerate(self.atoms):
            if isinstance(atom, Var) and atom.active and index >= self.offset:
                rev.add(atom, rev.emit(operator.getitem, g, Const(index - self.offset)), maybe=True)


@dataclass
class TupleItem:
    """One item of a tuple that is known as a whole."""

    whole: Atom
    index: int
    count: int

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        assert isinstance(self.whole, Var)
        rev.add(self.whole, rev.emit(C.only_item, Const(self.count), Const(self.index), g))


@dataclass
class Same:
    """A value passed on as it is: copies, conversions of a list."""

    source: Atom

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        rev.add(self.source, g)


@dataclass
class Sum:
    """The sum of two cotangents."""

    parts: list[Atom]

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        for part in self.parts:
            rev.add(part, g)


@dataclass
class Unchecked:
    """A pullback's result brought into the form of a tuple: what comes back is brought into the form it had."""

    result: Atom

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        rev.add(self.result, rev.emit(pullbacks.as_returned, self.result, g))


@dataclass
class LogItem:
    """An item read from a list under construction."""

    log: Var
    index: Atom

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        rev.scatter(self.log, self.index, g)


@dataclass
class IntoLog:
    """A cotangent added to a list of cotangents: its own cotangent is read off that list's."""

    log: Var
    index: Atom | None
    cotangent: Atom

    effect = True

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        if self.index is None:
            rev.add(self.cotangent, rev.emit(C.copied_log, rev.bar(self.log)), maybe=True)
        else:
            rev.add(self.cotangent, rev.emit(C.picked, rev.bar(self.log), self.index), maybe=True)


@dataclass
class Expression:
    """A rule whose cotangents are expressions of the arguments, the output and the cotangent."""

    rule: Any
    args: list[Atom | None]  # what each parameter of the rule gets; None: its default
    scalar: bool = True

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        if self.rule.mode == "cotangent":
            wanted = [isinstance(arg, Var) and arg.active for arg in self.args]
            cotangents = instantiate(rev, self.rule.function, [*self.values(), op.out, g], len(wanted), wanted)
            for arg, cotangent in zip(self.args, cotangents, strict=False):
                if isinstance(arg, Var) and arg.active:
                    rev.add(arg, self.projected(rev, arg, op, cotangent), maybe=False)
            return
        for arg, partial in zip(self.args, self.rule.partials, strict=False):
            if isinstance(arg, Var) and arg.active and partial is not None:
                factor = instantiate(rev, partial, [*self.values(), op.out], 1)[0]
                scaled = self.scaled(rev, g, factor)
                if scaled is None:
                    continue
                if not self.scalar and len([a for a in self.args if a is not None]) > 1:
                    scaled = rev.emit(C.sum_to, scaled, arg)
                rev.add(arg, self.projected(rev, arg, op, scaled))

    def values(self) -> list[Atom]:
        """The arguments as the rule's own parameters, defaults filled in."""
        return [
            Const(parameter.default) if arg is None else arg
            for arg, parameter in zip(self.args, self.rule.parameters.parameters, strict=True)
        ]

    def scaled(self, rev: Reverser, g: Atom, factor: Atom) -> Atom | None:
        if isinstance(factor, Const) and type(factor.value) in (int, float):
            if factor.value == 1:
                return g
            if factor.value == -1:
                return rev.emit(operator.neg, g)
            if factor.value == 0:
                return None
        return rev.emit(operator.mul, g, factor)

    def projected(self, rev: Reverser, arg: Var, op: Op, cotangent: Atom) -> Atom:
        """The cotangent of a real argument is real, also where the result is complex."""
        if isinstance(op.fn, Const) and runtime.is_ours(op.fn.value):
            return cotangent
        out = op.out.type
        is_complex = out == T.COMPLEX or (isinstance(out, T.ArrayType) and out.dtype in "FD") or out is T.UNKNOWN
        real = T.is_scalar(arg.type) or (isinstance(arg.type, T.ArrayType) and arg.type.dtype not in "FD")
        if is_complex and real:
            return rev.emit(C.real_part, cotangent)
        return cotangent


@dataclass
class Pullback:
    """A user's rule returned this pullback."""

    call: pullbacks.RuleCall
    pullback: Var
    args: list[Atom]

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        self.call.needed = tuple(isinstance(arg, Var) and arg.active for arg in self.args)
        if not (T.is_scalar(op.out.type or T.UNKNOWN) or isinstance(op.out.type, T.ArrayType)):
            g = rev.emit(C.finish, op.out, g)  # a rule never meets a zero that has no shape
        cotangents = rev.emit(pullbacks.apply_pullback, Const(self.call), self.pullback, g, *self.args)
        for index, arg in enumerate(self.args):
            if isinstance(arg, Var) and arg.active:
                rev.add(arg, rev.emit(operator.getitem, cotangents, Const(index)), maybe=True)


@dataclass
class Callee:
    """A callee compiled on its own, now or when its types are known: its reverse takes what forward has kept."""

    back: Var
    fn: Atom
    args: list[Atom]
    words: dict[str, Atom]
    reverse_function: Any = None  # None: chosen at run time

    def reverse(self, rev: Reverser, op: Op, g: Atom) -> None:
        if self.reverse_function is not None:
            cotangents = rev.emit(self.reverse_function, self.back, g)
            start = 0
        else:
            cotangents = rev.emit(runtime.call_back, self.back, g)
            start = 1
            if isinstance(self.fn, Var) and self.fn.active:
                rev.add(self.fn, rev.emit(operator.getitem, cotangents, Const(0)), maybe=True)
        for index, arg in enumerate([*self.args, *self.words.values()]):
            if isinstance(arg, Var) and arg.active:
                rev.add(arg, rev.emit(operator.getitem, cotangents, Const(start + index)), maybe=True)


# -- written by `infer`


def apply_rule(inf: Resolve, f: Any, choice: Choice, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """Write a call that a rule has been chosen for."""
    rule = choice.rule
    if rule.kind == "non_differentiable":
        return inf.emit(f, args, kwargs, inf.result_type(f, args, kwargs), False, pos)
    ordered = choice.args
    bound = [_bound(inf, part, ordered, kwargs, pos) for part in choice.binding]
    if rule.kind == "expression":
        type_ = inf.result_type(f, args, kwargs)
        atoms = [None if value is None else inf.atom(value) for value in bound]
        pure = T.is_pure(f) and never_raises(f, args, type_) and not kwargs
        question = question_of(f, args, kwargs) if T.is_pure(f) else None
        known: Val | None = inf.answer(question)
        if known is not None:
            return known
        value = inf.emit(f, args, kwargs, type_, True, pos, pure=pure)
        types = [arg.type for arg in args] + [arg.type for arg in kwargs.values()]
        scalar = type_ in T.SCALARS and all(t in T.SCALARS for t in types)
        inf.last_op().derive = Expression(rule, atoms, scalar=scalar)
        if question is not None and type_ in T.SCALARS:
            inf.known[-1][question] = value
        return value
    return _user_rule(inf, choice, bound, args, kwargs, pos)


def _bound(inf: Resolve, part: Any, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val | None:
    if part is None:
        return None
    if isinstance(part, tuple):
        items = tuple(args[i] if isinstance(i, int) else kwargs[i] for i in part)
        return Val(None, T.UNKNOWN, any_active(items), items, pullbacks.Spread())
    return args[part] if isinstance(part, int) else kwargs[part]


def settled(inf: Resolve, value: Val) -> Val:
    """A value that has an atom: closures and tuples known only in parts are written out, once."""
    atom = inf.atom(value)
    active = atom.active if isinstance(atom, Var) else any_active([value])
    return Val(atom, value.type, active, value.items)


def _user_rule(
    inf: Resolve, choice: Choice, bound: list[Val | None], args: list[Val], kwargs: dict[str, Val], pos: Pos | None
) -> Val:
    """A rule of the general kind: call it, keep its pullback; if it may opt out, branch on that."""
    rule = choice.rule
    call = pullbacks.RuleCall(rule, pos, choice.binding)
    given = [settled(inf, value) for value in call.arguments(bound)]
    head = Val(Const(call), T.UNKNOWN)
    made = Val(None, T.UNKNOWN) if call.keywords else inf.dry_type(rule.function, given, {})
    whole = made.type.item if isinstance(made.type, T.OptionalType) else made.type
    type_ = whole.items[0] if isinstance(whole, T.TupleType) and len(whole.items) == 2 else T.UNKNOWN
    pair_type = T.TupleType((type_, T.UNKNOWN))
    pair = inf.emit(pullbacks.apply_rule, [head, *given], {}, T.UNKNOWN, True, pos, name="pair")
    if not (rule.may_opt_out or rule.may_fall_off):
        return _result(inf, call, pair, pair_type, given, pos)
    test = inf.emit(pullbacks.opted_out, [pair], {}, T.BOOL, False, pos, pure=True)
    with inf.arm() as inside:
        other = Val(Const(None), T.NEVER)
        other = inf.look_inside(choice.function, replace(choice, outcome="opted-out"), choice.args, kwargs, pos)
    dead, inf.dead = inf.dead, False
    with inf.arm() as hit:
        value = _result(inf, call, pair, pair_type, given, pos)
    merged = value if dead else inf.merge("y", other, value, inside, hit)
    inf.out.append(If(atom_of(test), inside, hit, pos))
    return merged


def _result(
    inf: Resolve, call: pullbacks.RuleCall, pair: Val, type_: T.TupleType, args: list[Val], pos: Pos | None
) -> Val:
    pair = Val(pair.atom, type_, True)
    back = inf.emit(operator.getitem, [pair, const(1)], {}, T.UNKNOWN, True, pos, pure=True, name="pullback")
    value = inf.emit(operator.getitem, [pair, const(0)], {}, type_.items[0], True, pos, pure=True, name="y")
    inf.last_op().derive = Pullback(call, var_of(back), [inf.atom(arg) for arg in args])
    return value


def link(inf: Resolve, f: pytypes.FunctionType, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """A callee that is compiled on its own: recursive, or too large to be written in place."""
    if kwargs:
        return inf.at_run_time(const(f), args, kwargs, pos)
    entry = inf.context.pair(f, args)
    if entry is None:
        return inf.at_run_time(const(f), args, kwargs, pos)
    return _linked(inf, entry, Const(f), args, pos)


def _linked(inf: Resolve, entry: Pair, fn: Atom, args: list[Val], pos: Pos | None) -> Val:
    args = [settled(inf, arg) for arg in args]
    if entry.tree is not None and not isinstance(entry.forward, Late) and inf.select:
        inf.node.children += entry.tree.children
    pair = inf.emit(entry.forward, args, {}, T.UNKNOWN, True, pos, name="pair")
    if entry.result_type is T.NEVER:  # the recursion itself: its type is what the other branches say
        return Val(pair.atom, T.NEVER, True)
    back = inf.emit(operator.getitem, [pair, const(1)], {}, T.UNKNOWN, True, pos, pure=True, name="kept")
    value = inf.emit(
        operator.getitem, [pair, const(0)], {}, entry.result_type, entry.result_active, pos, pure=True, name="y"
    )
    if entry.result_active:
        inf.last_op().derive = Callee(var_of(back), fn, [inf.atom(arg) for arg in args], {}, entry.reverse)
    return value


def link_closure(
    inf: Resolve, closure: Closure, function: Function, args: list[Val], kwargs: dict[str, Val], pos: Pos | None
) -> Val | None:
    """An inner function that calls itself: compiled on its own, with what it closes over as further arguments."""
    from .select import bind

    seen = [value for value in captured(closure) if value.what is not closure]
    if any(value.what is not None or value.maybe_unbound for value in seen):
        return None
    bound = bind(inf, function, args, kwargs, closure.defaults, closure.keyword_defaults, pos)
    ordered = [bound[param] for param in function.params]
    if any(value.what is not None for value in ordered):
        return None
    given = [*seen, *ordered]
    entry = inf.context.pair_closure(closure, function, seen, ordered)
    return _linked(inf, entry, Const(closure.inner), given, pos)


def at_run_time(inf: Resolve, fn: Val, args: list[Val], kwargs: dict[str, Val], pos: Pos | None) -> Val:
    """A call site whose types are known only when it runs."""
    active = [fn.active, *[any_active([a]) for a in args], *[any_active([a]) for a in kwargs.values()]]
    site = runtime.Site(
        tuple(active),
        tuple(kwargs),
        pos,
        inf.node if inf.select else None,
        inf.context.pairs if inf.context.tracing else None,
    )
    fn, *args = [settled(inf, value) for value in (fn, *args)]
    kwargs = {name: settled(inf, value) for name, value in kwargs.items()}
    pair = inf.emit(
        runtime.call_forward,
        [Val(Const(site), T.UNKNOWN), fn, *args, *kwargs.values()],
        {},
        T.UNKNOWN,
        True,
        pos,
        name="pair",
    )
    pair = Val(pair.atom, T.TupleType((T.UNKNOWN, T.UNKNOWN)), True)
    back = inf.emit(operator.getitem, [pair, const(1)], {}, T.UNKNOWN, True, pos, pure=True, name="back")
    value = inf.emit(operator.getitem, [pair, const(0)], {}, T.UNKNOWN, True, pos, pure=True, name="y")
    words = {name: inf.atom(arg) for name, arg in kwargs.items()}
    inf.last_op().derive = Callee(var_of(back), inf.atom(fn), [inf.atom(arg) for arg in args], words)
    return value
