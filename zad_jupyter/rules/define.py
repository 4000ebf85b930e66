"""The doors by which rules come in: `rrule`, `opt_out`, `scalar_rule`, `non_differentiable`, and what libraries use.

Each resolves the target, reads the signature, refuses what cannot be a rule where it is written, and hands a `Rule`
to the registry. What a rule looks like is told in `rrule`.
"""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter as P
from types import FrameType, FunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Literal

from .errors import RuleDefinitionError
from .places import Owner, Place, module_frame
from .registry import Registry, registry
from .returns import endings_of
from .rule import Kind, Rule
from .signature import (
    EMPTY,
    Members,
    Parameter,
    Signature,
    members_of,
    members_text,
    own_signature,
    same_members,
    signature_of,
)
from .targets import display_name

Layer = Literal["user", "shipped"]


def _caller() -> FrameType | None:
    """The frame outside of this module that called a door."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return frame


def _place(frame: FrameType | None) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else Place(None, 0)


def _callable(target: Any, place: Place) -> Any:
    """The function that a rule for `target` is for; refuses what cannot be called."""
    if isinstance(target, staticmethod | classmethod):
        return target.__func__
    if isinstance(target, property):
        raise RuleDefinitionError(f"the rule at {place}: a property is not called.\n"
                                  "  Write the rule for its function: @rrule(Class.name.fget).")
    if not callable(target):
        raise RuleDefinitionError(f"the rule at {place}: {target!r} cannot be called, so it can have no rule.\n"
                                  "  Give the function itself: @rrule(det), not a name, and not a result.")
    return target


def rrule(target: Any, *, layer: Layer = "user", owner: Owner | None = None,
          into: Registry = registry) -> Callable[[Any], Rule]:
    """Define the rule of a function, for arguments of the classes that the rule's annotations name.

    The rule returns the value of the call, and a *pullback*: a function from the cotangent of that value to the
    cotangents of the rule's parameters. `return None` means: opt out for these values, differentiate the body.

    Args:
        target: the function, class (its construction) or method the rule is for.
        layer: "user", or "shipped" for the rules of a library.
        owner: whose rule it is; found from where it is written, if not given.

    Returns:
        A decorator, which gives the `Rule`.

    Raises:
        RuleDefinitionError: where the rule cannot be one; the message says what to write.

    >>> def cube(x): return x ** 3
    >>> @rrule(cube)
    ... def _(x: float):
    ...     def pullback(ybar):
    ...         return ybar * 3 * x ** 2
    ...     return x ** 3, pullback
    >>> _.name
    'cube(x: float)'
    """
    frame = _caller()
    target = _callable(target, _place(frame))

    def define(function: Any) -> Rule:
        if isinstance(function, Rule):               # decorators stacked: one function, several targets
            function = function.function
        return into.add(make_rrule(target, function, layer=layer, owner=owner, frame=frame, into=into))
    return define


def make_rrule(target: Any, function: Any, *, layer: Layer = "user", owner: Owner | None = None,
               frame: FrameType | None = None, into: Registry = registry) -> Rule:
    """The rule that `function` is for `target`, not yet in any registry. Arguments and errors as for `rrule`."""
    if type(function) is not FunctionType:
        raise RuleDefinitionError(f"the rule of {display_name(target)} at {_place(frame)} is {function!r}, which is no "
                                  "function.\n  A rule is written as a def (or a lambda).")
    place = Place(function.__code__.co_filename, function.__code__.co_firstlineno)
    name = display_name(target)
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) \
            or inspect.isasyncgenfunction(function):
        raise RuleDefinitionError(f"the rule of {name} at {place} is a generator or a coroutine.\n"
                                  "  A rule is a plain function that ends with `return y, pullback`.")
    parameters = signature_of(function, f"the rule of {name} at {place}", frame.f_locals if frame is not None else {})
    if isinstance(target, MethodDescriptorType | WrapperDescriptorType):
        parameters = parameters.of_method(target.__objclass__)
    endings = endings_of(function)
    if endings.says_nothing:
        raise RuleDefinitionError(f"the rule {name}{parameters} at {place} returns nothing, whatever happens.\n"
                                  "  End it with `return y, pullback`; to opt out, write `return None`.")
    kind: Kind = "opt_out" if endings.only_none else "rrule"
    return Rule(into.handle(target), kind, parameters, place, owner or into.owner_for(frame), layer,
                function=function, endings=endings)


def opt_out(target: Any, *types: Any, layer: Layer = "user", owner: Owner | None = None,
            into: Registry = registry) -> Rule:
    """Have the body of `target` differentiated for arguments of these classes, whatever broader rules say.

    Args:
        target: the function.
        types: one class (or union, or None) for each leading positional argument; parameters after them are free.
            Without any, every call is opted out.

    Raises:
        RuleDefinitionError: if a required argument is left without a class.

    >>> def total(xs, scale=1.0): return scale * sum(xs)
    >>> opt_out(total, list).name
    'total(xs: list, ...)'
    """
    frame = _caller()
    place = _place(frame)
    target = _callable(target, place)
    parameters = _typed_parameters(target, types, place)
    return into.add(Rule(into.handle(target), "opt_out", parameters, place, owner or into.owner_for(frame), layer))


class _Left:
    """Stands for the default of a parameter that an opt-out by types says nothing of."""

    def __repr__(self) -> str:
        return "..."


_LEFT = _Left()


def _typed_parameters(target: Any, types: Sequence[Any], place: Place) -> Signature:
    """The signature of an opt-out written by types: those, then the function's other parameters, left free."""
    name = display_name(target)
    annotated = [members_of(t, f"type {i + 1} of the opt-out of {name} at {place}") for i, t in enumerate(types)]
    own = own_signature(target)
    if not types or own is None:
        typed = [Parameter(f"_{i}", P.POSITIONAL_ONLY, m) for i, m in enumerate(annotated)]
        return Signature((*typed, Parameter("args", P.VAR_POSITIONAL), Parameter("kwargs", P.VAR_KEYWORD)), len(types))
    parameters: list[Parameter] = []
    left = list(annotated)
    for p in own.parameters.values():
        if left and p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD):
            parameters.append(Parameter(p.name, p.kind, left.pop(0)))
        elif left and p.kind is P.VAR_POSITIONAL:
            parameters = [Parameter(q.name, P.POSITIONAL_ONLY, q.members) for q in parameters]
            parameters += [Parameter(f"{p.name}_{i}", P.POSITIONAL_ONLY, m) for i, m in enumerate(left)]
            left = []
            parameters.append(Parameter(p.name, p.kind))
        elif p.kind in (P.VAR_POSITIONAL, P.VAR_KEYWORD):
            parameters.append(Parameter(p.name, p.kind))
        elif p.default is EMPTY and p.kind is not P.KEYWORD_ONLY:
            raise RuleDefinitionError(
                f"the opt-out of {name} at {place} has no class for {p.name}, which every call of {name} gives.\n"
                f"  Write opt_out({name}, {', '.join([*map(members_text, annotated), 'object'])}) to accept any.")
        else:
            parameters.append(Parameter(p.name, p.kind, default=_LEFT))
    if left:
        raise RuleDefinitionError(f"the opt-out of {name} at {place} gives {len(annotated)} classes, and {name}{own} "
                                  f"takes {len(annotated) - len(left)}.")
    return Signature(tuple(parameters), len(types))


def opt_in(target: Any, *types: Any, into: Registry = registry) -> list[Rule]:
    """Take back `opt_out(target, *types)`; returns the opt-outs removed.

    Raises:
        RuleDefinitionError: if there is no such opt-out; the message lists those there are.
    """
    place = _place(_caller())
    target = _callable(target, place)
    wanted = [members_of(t, f"type {i + 1}") for i, t in enumerate(types)]
    outs = [r for r in into.rules(target) if r.kind == "opt_out" and r.layer == "user"]
    found = [r for r in outs if _same_typed(r, wanted)]
    if not found:
        name = display_name(target)
        listed = "".join(f"\n    {r.name}  {r.place}" for r in outs) or " none"
        raise RuleDefinitionError(f"there is no opt-out {name}({', '.join(map(members_text, wanted))}) to take back "
                                  f"({place}).\n  The opt-outs of {name}:{listed}")
    for rule in found:
        into.remove(rule)
    return found


def _same_typed(rule: Rule, wanted: list[Members]) -> bool:
    have = rule.parameters.parameters
    if rule.parameters.typed >= 0:
        have = have[:rule.parameters.typed]
    return len(have) == len(wanted) and all(same_members(p.members, m) for p, m in zip(have, wanted, strict=True))


def scalar_rule(target: Any, *partials: Callable[..., Any] | None, types: Sequence[Any] | None = None,
                layer: Layer = "user", owner: Owner | None = None, into: Registry = registry) -> Rule:
    """Define a rule of a scalar function by its partial derivatives, as expressions: these get inlined.

    Args:
        target: the function.
        partials: for each argument a function (args..., out) that gives the partial derivative; None for an argument
            that has no cotangent.
        types: the arguments' classes; float (which takes int too) unless given.

    >>> import math
    >>> rule = scalar_rule(math.sinh, lambda x, out: math.cosh(x))
    >>> rule.name, rule.mode
    ('math.sinh(x: float)', 'partial')
    """
    frame = _caller()
    place = _place(frame)
    target = _callable(target, place)
    name = display_name(target)
    first = next((p for p in partials if p is not None), None)
    if first is None:
        raise RuleDefinitionError(f"scalar_rule({name}) at {place} has no partial derivative.\n"
                                  f"  Write scalar_rule({name}, lambda x, out: ...), one function an argument.")
    for i, partial in enumerate(partials):
        if partial is not None and (type(partial) is not FunctionType or _arity(partial) != len(partials) + 1):
            raise RuleDefinitionError(
                f"scalar_rule({name}) at {place}: partial derivative {i + 1} must be a function of "
                f"{len(partials) + 1} parameters, the {len(partials)} argument{'s' * (len(partials) > 1)} and the "
                f"value.\n  Write `lambda {', '.join([*_letters(len(partials)), 'out'])}: ...`.")
    parameters = _expression_parameters(first, 1, types or (float,) * len(partials), {}, name, place)
    return into.add(Rule(into.handle(target), "expression", parameters, place, owner or into.owner_for(frame), layer,
                         partials=tuple(partials), mode="partial"))


def _letters(n: int) -> list[str]:
    return ["x", "y", "z"][:n] if n <= 3 else [f"x{i + 1}" for i in range(n)]


def _arity(function: Any) -> int:
    return int(function.__code__.co_argcount)


def expression_rule(target: Any, types: Sequence[Any], function: Callable[..., Any], *,
                    defaults: Mapping[str, Any] | None = None, layer: Layer = "user", owner: Owner | None = None,
                    into: Registry = registry) -> Rule:
    """Define a rule by one expression for all cotangents: function(args..., out, g) gives a tuple of them.

    Args:
        target: the function.
        types: the arguments' classes, one each.
        function: takes the arguments, the value, and the value's cotangent.
        defaults: of the last parameters, by name, for calls that leave them out.
    """
    frame = _caller()
    place = _place(frame)
    target = _callable(target, place)
    name = display_name(target)
    if type(function) is not FunctionType or _arity(function) != len(types) + 2:
        raise RuleDefinitionError(f"expression_rule({name}) at {place}: the expression must be a function of "
                                  f"{len(types) + 2} parameters: one for each type, the value, and its cotangent.")
    parameters = _expression_parameters(function, 2, types, defaults or {}, name, place)
    return into.add(Rule(into.handle(target), "expression", parameters, place, owner or into.owner_for(frame), layer,
                         function=function, mode="cotangent"))


def _expression_parameters(function: Any, after: int, types: Sequence[Any], defaults: Mapping[str, Any], name: str,
                           place: Place) -> Signature:
    names = function.__code__.co_varnames[: _arity(function) - after]
    if len(names) != len(types):
        raise RuleDefinitionError(f"the rule of {name} at {place} has {len(types)} types for {len(names)} arguments.")
    unknown = [n for n in defaults if n not in names]
    if unknown:
        raise RuleDefinitionError(f"the rule of {name} at {place} has a default for {unknown[0]}, which it does not "
                                  "take.")
    return Signature(tuple(
        Parameter(n, P.POSITIONAL_OR_KEYWORD, members_of(t, f"{n} of the rule of {name} at {place}"),
                  defaults.get(n, EMPTY)) for n, t in zip(names, types, strict=True)))


def non_differentiable(*targets: Any, layer: Layer = "user", owner: Owner | None = None,
                       into: Registry = registry) -> Any:
    """Say that nothing differentiable comes out of these functions: they are simply called.

    Returns:
        The first of them: so it can stand above a function as `@non_differentiable`.

    >>> non_differentiable(len, layer="shipped") is len
    True
    """
    frame = _caller()
    place = _place(frame)
    anything = Signature((Parameter("args", P.VAR_POSITIONAL), Parameter("kwargs", P.VAR_KEYWORD)))
    for target in targets:
        target = _callable(target, place)
        whose = owner or into.owner_for(frame)
        into.add(Rule(into.handle(target), "non_differentiable", anything, place, whose, layer))
    return targets[0] if targets else None


def shipping_owner() -> Owner:
    """The owner of the module that calls: for a library's `with registry.transaction(shipping_owner())`."""
    frame = module_frame(_caller())
    return registry.owner_for(frame)
