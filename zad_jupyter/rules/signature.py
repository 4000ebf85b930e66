"""What arguments does a rule accept, and which of two rules is the more specific?

A `Signature` is a rule's parameters with resolved annotations. An annotation is kept as the tuple of classes it
accepts (a union has several). `Asked` is a call after binding to the called function's own signature, so that f(x)
and f(a=x) ask alike; `Signature.bind` gives each of its arguments to a parameter of the rule.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter as P
from typing import Any

from .errors import RuleDefinitionError
from .succession import same_class

EMPTY = P.empty
Source = int | str                       # of an argument, as the caller wrote it: the i-th positional, or a keyword
Members = tuple[type, ...]               # the classes that an annotation accepts


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a rule: name, kind (as in `inspect`), the classes accepted, and the default or EMPTY."""

    name: str
    kind: Any
    members: Members = (object,)
    default: Any = EMPTY

    def __str__(self) -> str:
        star = {P.VAR_POSITIONAL: "*", P.VAR_KEYWORD: "**"}.get(self.kind, "")
        text = f"{star}{self.name}"
        if self.members != (object,):
            text += f": {members_text(self.members)}"
        if self.default is not EMPTY:
            value = repr(self.default)
            text += f"{' = ' if ':' in text else '='}{value if len(value) <= 20 else '...'}"
        return text


def members_text(members: Members) -> str:
    """An annotation as people write it: 'int | str', 'None'."""
    return " | ".join("None" if m is type(None) else m.__name__ for m in members)


@dataclass(frozen=True, slots=True)
class Asked:
    """A call, bound to the called function's own signature: what comes by position, and what by name."""

    positional: tuple[Source, ...]
    named: tuple[tuple[str, Source, int | None], ...]     # name, source, its position in the function if it has one


def ask(own: inspect.Signature | None, count: int, keywords: Sequence[str]) -> Asked | None:
    """Bind a call with `count` positional arguments and these keywords; None if the function cannot be called so."""
    if own is None or not keywords:
        if own is not None:
            try:
                own.bind_partial(*range(count))
            except TypeError:
                return None
        return Asked(tuple(range(count)), tuple((k, k, None) for k in keywords))
    try:
        bound = own.bind_partial(*range(count), **{k: k for k in keywords}).arguments
    except TypeError:
        return None
    positional: list[Source] = []
    named: list[tuple[str, Source, int | None]] = []
    gap = False
    for position, (name, parameter) in enumerate(own.parameters.items()):
        if name not in bound:
            gap = True
        elif parameter.kind is P.VAR_POSITIONAL:
            positional.extend(bound[name])
        elif parameter.kind is P.VAR_KEYWORD:
            named.extend((k, k, None) for k in bound[name])
        elif parameter.kind is P.KEYWORD_ONLY:
            named.append((name, bound[name], None))
        elif gap:
            named.append((name, bound[name], position))
        else:
            positional.append(bound[name])
    return Asked(tuple(positional), tuple(named))


def own_signature(f: Any) -> inspect.Signature | None:
    """f's signature, or None where Python does not know it."""
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class Fit:
    """A call bound to a rule: `binding` as the compiler wants it, and which classes stand for which argument.

    `binding` has one entry for each parameter of the rule: an int i for the i-th positional argument, a str for that
    keyword, None where it is left to its default; for *args and **kwargs a tuple of these.
    """

    binding: tuple[Any, ...]
    members: Mapping[Source, Members]
    parameters: Mapping[Source, str]
    filled: int                          # parameters left to their defaults


@dataclass(frozen=True)
class Signature:
    """The parameters of a rule."""

    parameters: tuple[Parameter, ...]
    # An opt-out written by types says nothing of the parameters after them: they count for nothing in the order.
    typed: int = -1

    def __str__(self) -> str:
        parts: list[str] = []
        starred = False
        if self.typed >= 0:
            more = ["..."] if len(self.parameters) > self.typed else []
            return f"({', '.join([*map(str, self.parameters[:self.typed]), *more])})"
        for i, p in enumerate(self.parameters):
            if p.kind is P.KEYWORD_ONLY and not starred:
                parts.append("*")
                starred = True
            starred = starred or p.kind is P.VAR_POSITIONAL
            parts.append(str(p))
            if p.kind is P.POSITIONAL_ONLY and (
                    i + 1 == len(self.parameters) or self.parameters[i + 1].kind is not P.POSITIONAL_ONLY):
                parts.append("/")
        return f"({', '.join(parts)})"

    @functools.cached_property
    def key(self) -> Any:
        """A hashable that equal signatures share, so that one is found among a thousand; `same` has the last word."""
        return self.typed, tuple(
            (_class_of_kind(p), p.default is EMPTY, p.name if p.kind is P.KEYWORD_ONLY else None,
             frozenset((m.__module__, m.__qualname__) for m in p.members)) for p in self.parameters)

    @functools.cached_property
    def defaults(self) -> int:
        return 0 if self.typed >= 0 else sum(p.default is not EMPTY for p in self.parameters)

    @functools.cached_property
    def variadic(self) -> bool:
        return self.typed < 0 and any(p.kind is P.VAR_POSITIONAL for p in self.parameters)

    def of_method(self, cls: type) -> Signature:
        """The signature of a rule for a method of this class: unless it says otherwise, its first argument is one."""
        first, *rest = self.parameters or (None,)
        positional = (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)
        if first is None or first.members != (object,) or first.kind not in positional:
            return self
        return replace(self, parameters=(replace(first, members=(cls,)), *rest))

    def translated(self, of: Callable[[Any], Any]) -> Signature:
        """The signature with other classes in the places of some."""
        if all(of(member) is member for p in self.parameters for member in p.members):
            return self
        return replace(self, parameters=tuple(
            replace(p, members=tuple(of(member) for member in p.members)) for p in self.parameters))

    def same(self, other: Signature) -> bool:
        """The same signature: parameters of one kind that accept the same, whatever the positional ones are called."""
        if len(self.parameters) != len(other.parameters) or self.typed != other.typed:
            return False
        return all(_class_of_kind(a) == _class_of_kind(b) and (a.default is EMPTY) == (b.default is EMPTY)
                   and (a.kind is not P.KEYWORD_ONLY or a.name == b.name) and same_members(a.members, b.members)
                   for a, b in zip(self.parameters, other.parameters, strict=True))

    def bind(self, asked: Asked) -> Fit | str:
        """Give each argument of the call to a parameter, or say why that cannot be."""
        binding: dict[str, Any] = {}
        members: dict[Source, Members] = {}
        names: dict[Source, str] = {}
        places = [p for p in self.parameters if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
        by_name = {p.name: p for p in self.parameters if p.kind in (P.POSITIONAL_OR_KEYWORD, P.KEYWORD_ONLY)}
        rest = next((p for p in self.parameters if p.kind is P.VAR_POSITIONAL), None)
        extra = next((p for p in self.parameters if p.kind is P.VAR_KEYWORD), None)

        def give(parameter: Parameter, source: Source) -> None:
            members[source] = parameter.members
            names[source] = parameter.name
            if parameter is rest or parameter is extra:
                binding[parameter.name] = (*binding.get(parameter.name, ()), source)
            else:
                binding[parameter.name] = source

        for i, source in enumerate(asked.positional):
            if i < len(places):
                give(places[i], source)
            elif rest is not None:
                give(rest, source)
            elif isinstance(source, str):
                return f"does not take {source}"
            else:
                return f"takes {_count(len(places))}, not {len(asked.positional)}"
        for name, source, position in asked.named:
            parameter = by_name.get(name)
            if parameter is None and position is not None and position < len(places):
                parameter = places[position]        # the rule may call it otherwise
            if parameter is None:
                parameter = extra
            if parameter is None:
                return f"does not take {name}"
            if parameter is not extra and parameter.name in binding:
                return f"gets {parameter.name} twice"
            give(parameter, source)
        filled = 0
        for p in self.parameters:
            if p.name in binding or p is rest or p is extra:
                continue
            if p.default is EMPTY:
                return f"needs {p.name}"
            filled += 1
        whole = tuple(binding.get(p.name, () if p is rest or p is extra else None) for p in self.parameters)
        return Fit(whole, members, names, 0 if self.typed >= 0 else filled)


def _count(n: int) -> str:
    return f"{n} positional argument{'' if n == 1 else 's'}"


def _class_of_kind(p: Parameter) -> Any:
    return P.POSITIONAL_OR_KEYWORD if p.kind is P.POSITIONAL_ONLY else p.kind


def same_members(a: Members, b: Members) -> bool:
    """Whether two annotations accept the same classes, in any order."""
    return a == b or (len(a) == len(b) and all(any(same_class(m, n) for n in b) for m in a))


# ------------------------------------------------------------------------------------------------ accepting a class

@dataclass(frozen=True, slots=True)
class Match:
    """How an annotation accepts a class: the lower the tier (and, in tier 0, the place in the MRO), the closer."""

    tier: int                            # 0: a class of the MRO, 1: an ABC, 2: object, 3: float for an int
    position: int
    member: type
    members: Members


def match(cls: type, members: Members) -> Match | None:
    """How `members` accept an argument whose class is `cls`, or None if they do not.

    >>> match(int, (float,)).tier, match(bool, (int,))
    (3, None)
    """
    best: Match | None = None
    for member in members:
        found = _match_one(cls, member, members)
        if found is not None and (best is None or _closer(found, best)):
            best = found
    return best


def _match_one(cls: type, member: type, members: Members) -> Match | None:
    if member is object:
        return Match(2, 0, member, members)
    for position, base in enumerate(cls.__mro__):
        if base is member or (base.__name__ == member.__name__ and same_class(base, member)):
            return Match(0, position, member, members) if cls is not bool or position == 0 else None
    if cls is bool:
        return None                      # True is no number here: it has no cotangent
    if issubclass(cls, member):
        return Match(1, 0, member, members)
    if member is float and issubclass(cls, int):
        return Match(3, 0, member, members)
    return None


def _closer(a: Match, b: Match) -> bool:
    def alone(m: Match) -> Match:
        return Match(m.tier, m.position, m.member, (m.member,))
    return compare(alone(a), alone(b)) == -1


def compare(a: Match, b: Match) -> int | None:
    """-1 if a is the more specific match of one argument, 1 if b is, 0 if they are alike, None if neither."""
    if a.tier != b.tier:
        return -1 if a.tier < b.tier else 1
    if a.position != b.position:
        return -1 if a.position < b.position else 1
    if a.member is not b.member and a.tier == 1:
        below, above = issubclass(a.member, b.member), issubclass(b.member, a.member)
        if below != above:
            return -1 if below else 1
        if not below:
            return None
    below, above = _within(a.members, b.members), _within(b.members, a.members)
    if below and above:
        return 0
    return -1 if below else 1 if above else None


def _within(a: Members, b: Members) -> bool:
    return all(any(issubclass(m, n) or same_class(m, n) for n in b) for m in a)


# ------------------------------------------------------------------------------------------- reading the annotations

def members_of(annotation: Any, where: str) -> Members:
    """The classes that an annotation accepts; raises RuleDefinitionError for what is no annotation of a rule.

    Args:
        annotation: a class, an ABC, a union, None, or nothing (`inspect.Parameter.empty`).
        where: what to call it in the message, such as "x of the rule at cell 4:1".
    """
    if annotation is EMPTY or annotation is Any:
        return (object,)
    if annotation is None or annotation is type(None):
        return (type(None),)
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        members: list[type] = []
        for part in typing.get_args(annotation):
            members += [m for m in members_of(part, where) if m not in members]
        return (object,) if object in members else tuple(members)
    origin = typing.get_origin(annotation)
    if origin is not None:
        name = getattr(origin, "__name__", str(origin))
        raise RuleDefinitionError(
            f"{where}: a rule is chosen by the argument's class, which does not know about the parameters in "
            f"{_name(annotation)}.\n  Write `{name}`.")
    if isinstance(annotation, type):
        if getattr(annotation, "_is_protocol", False):
            _check_protocol(annotation, where)
        return (annotation,)
    raise RuleDefinitionError(
        f"{where}: {annotation!r} is not a class.\n  Annotate with a class, an ABC, a union of them, or None.")


def _name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)


def _check_protocol(protocol: type, where: str) -> None:
    try:
        issubclass(object, protocol)
    except TypeError as error:
        raise RuleDefinitionError(
            f"{where}: whether a class follows the protocol {protocol.__name__} cannot be told from the class "
            f"({error}).\n  Use an ABC, or a runtime_checkable protocol that has only methods.") from None


def signature_of(function: Callable[..., Any], where: str, namespace: Mapping[str, Any] | None = None) -> Signature:
    """The signature of a rule function, with its annotations resolved.

    Args:
        function: the rule function.
        where: what to call the rule in messages.
        namespace: further names that strings among the annotations may mean (the locals at the definition).
    """
    parameters = []
    for p in inspect.signature(function, follow_wrapped=False).parameters.values():
        what = f"{p.name} of {where}"
        annotation = p.annotation
        if isinstance(annotation, str):
            annotation = _resolve(annotation, function, what, namespace or {})
        parameters.append(Parameter(p.name, p.kind, members_of(annotation, what), p.default))
    return Signature(tuple(parameters))


def _resolve(text: str, function: Any, what: str, namespace: Mapping[str, Any]) -> Any:
    names = dict(namespace)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):        # not assigned yet
            names[name] = cell.cell_contents
    try:
        return eval(text, function.__globals__, names)
    except Exception as error:
        raise RuleDefinitionError(
            f"{what}: the annotation {text!r} means nothing here ({type(error).__name__}: {error}).\n"
            f"  Define or import it above the rule, or leave the annotation out to accept every argument.") from None
