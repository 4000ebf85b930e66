"""Calls of a user's rule and of its pullback, from generated code: how arguments are passed, and what must come back.

A pullback gives one cotangent for each positional parameter of the *rule*, defaults included; cotangents of
keyword-only parameters come as a dict in the last place. Count, structure and shape are always checked.
"""

from __future__ import annotations

import inspect
import types as pytypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..rules.errors import CotangentError
from ..rules.places import Place
from ..rules.returns import endings_of
from ..rules.rule import OPT_OUT as OPT_OUT
from .ir import Pos
from .values import Val


class Slot(NamedTuple):
    """One argument as it is passed to a rule.

    Attributes:
        name: the parameter's name, for people.
        keyword: the name by which it is passed, or "".
        place: which of the positional cotangents is its own; -1: it comes in the dict; -2: it has none.
    """

    name: str
    keyword: str
    place: int


class RuleCall:
    """A user's rule together with the call that it was chosen for.

    Attributes:
        slots: the arguments in the order in which they are passed.
        expected: how many positional cotangents the pullback has to give.
        names: of the rule's positional parameters.
        needed: for each slot, whether its cotangent is used.
    """

    def __init__(self, rule: Any, pos: Pos | None, binding: tuple[Any, ...]) -> None:
        self.rule = rule
        self.pos = pos
        self.direct = not (rule.may_opt_out or rule.may_fall_off)
        self.slots: list[Slot] = []
        self.names: list[str] = []
        self.needed: tuple[bool, ...] = ()
        self.expected = 0
        skipped = False
        for parameter, part in zip(inspect.signature(rule.function).parameters.values(), binding, strict=True):
            kind, name = parameter.kind, parameter.name
            if kind is parameter.VAR_POSITIONAL:
                for number in range(len(part)):
                    self.slots.append(Slot(f"{name}[{number}]", "", self.expected))
                    self.expected += 1
            elif kind is parameter.VAR_KEYWORD:
                self.slots += [Slot(word, word, -2) for word in part]
            elif kind is parameter.KEYWORD_ONLY:
                if part is not None:
                    self.slots.append(Slot(name, name, -1))
            else:
                self.names.append(name)
                if part is None:
                    skipped = True  # left to its default: what follows goes by keyword
                else:
                    self.slots.append(Slot(name, name if skipped else "", self.expected))
                self.expected += 1
        self.positional = sum(1 for slot in self.slots if not slot.keyword)
        self.keywords = tuple(slot.keyword for slot in self.slots if slot.keyword)

    def arguments(self, bound: list[Val | None]) -> list[Val]:
        """The values of a call one for each slot: starred ones spread out."""
        given: list[Val] = []
        for value in bound:
            if value is not None:
                given += list(value.items or ()) if isinstance(value.what, Spread) else [value]
        return given


class Spread:
    """Marks the values that a `*args` parameter of a rule gets."""


def apply_rule(call: RuleCall, *args: Any) -> Any:
    """Run a user's rule: `(y, pullback)`, or OPT_OUT."""
    rule = call.rule
    if call.keywords:
        count = call.positional
        return rule.call(*args[:count], **dict(zip(call.keywords, args[count:], strict=True)))
    if call.direct:
        pair = rule.function(*args)
        if type(pair) is tuple and len(pair) == 2:
            return pair
    return rule.call(*args)


def opted_out(pair: Any) -> bool:
    """Whether a rule has said "not for these values"."""
    return pair is OPT_OUT or pair is None


def apply_pullback(call: RuleCall, pullback: Callable[[Any], Any], ybar: Any, *args: Any) -> tuple[Any, ...]:
    """Run a user's pullback and check what it returns, for every argument of the call."""
    result = pullback(ybar)
    if type(result) is float and call.expected == 1 and len(args) == 1 and type(args[0]) is float:
        return (result,)
    if result is None and isinstance(pullback, pytypes.FunctionType) and endings_of(pullback).may_fall_off:
        raise wrong(
            call, "ended without a `return`",
            "end it with `return …_bar`; where there is no cotangent, write `return None`",
        )  # fmt: skip
    return checked(call, result, *args)


def checked(call: RuleCall, result: Any, *args: Any) -> tuple[Any, ...]:
    """A pullback's result as one cotangent for each argument of the call.

    Raises:
        CotangentError: it does not fit; says what was expected and what came.
    """
    words: dict[str, Any] = {}
    if type(result) is tuple and len(result) == call.expected + 1 and type(result[-1]) is dict:
        words, result = result[-1], result[:-1]
    if type(result) is not tuple:
        if call.expected != 1:
            raise wrong(
                call, f"returned one cotangent ({describe(result)}) for {call.expected} arguments", _listing(call)
            )
        result = (result,)
    if len(result) != call.expected:
        given = f"{len(result)} cotangent{'s' * (len(result) != 1)}"
        raise wrong(call, f"returned {given} for {call.expected} argument{'s' * (call.expected != 1)}", _listing(call))
    cotangents = []
    for slot, value, needed in zip(call.slots, args, call.needed, strict=True):
        part = words.get(slot.name) if slot.place == -1 else None if slot.place < 0 else result[slot.place]
        if part is NotImplemented and not needed:
            part = None
        cotangents.append(fit(call, slot.name, part, value))
    return tuple(cotangents)


def as_returned(result: Any, cotangents: tuple[Any, ...]) -> Any:
    """The cotangent of what a pullback returned: bare if that was bare."""
    return cotangents if type(result) is tuple else cotangents[0]


def as_returned_back(result: Any, cotangent: Any) -> Any:
    """The reverse of `as_returned`."""
    return cotangent if type(result) is tuple else (cotangent,)


NUMBERS = (np.ndarray, np.generic, float, int, complex)


def fit(call: RuleCall, name: str, cotangent: Any, value: Any) -> Any:
    """A cotangent checked against the value that it belongs to."""
    if cotangent is None or (type(cotangent) is float and type(value) is float):
        return cotangent
    if cotangent is NotImplemented:
        raise wrong(
            call, f"gives NotImplemented for argument {name}", f"write the cotangent of {name}, or None if it has none"
        )
    if isinstance(cotangent, str | bool | type | pytypes.ModuleType):
        raise wrong(
            call, f"gives {describe(cotangent)} for argument {name}", "a cotangent is a number or an array, or None"
        )
    if isinstance(value, bool | str | bytes) or value is None:
        return None
    if isinstance(value, NUMBERS):
        return _fit_number(call, name, cotangent, value)
    if isinstance(value, tuple | list):
        if not isinstance(cotangent, tuple | list) or len(cotangent) != len(value):
            what = f"a {type(value).__name__} of {len(value)}"
            raise wrong(call, f"gives {describe(cotangent)} for argument {name}, {what}", f"give {what} cotangents")
        parts = [fit(call, f"{name}[{i}]", c, v) for i, (c, v) in enumerate(zip(cotangent, value, strict=True))]
        return tuple(parts) if isinstance(value, tuple) else parts
    return cotangent


def _fit_number(call: RuleCall, name: str, cotangent: Any, value: Any) -> Any:
    if not isinstance(cotangent, NUMBERS):
        raise wrong(
            call, f"gives {describe(cotangent)} for argument {name}, which is {describe(value)}",
            "a cotangent has the structure of the argument that it belongs to",
        )  # fmt: skip
    shape, given = np.shape(value), np.shape(cotangent)
    if shape != given:
        expected = "a scalar" if shape == () else f"shape {shape}"
        raise wrong(
            call, f"gives a cotangent of shape {given} for argument {name}: expected {expected}",
            f"bring it to the shape of {name}; where {name} was stretched or used several times, sum over that axis",
        )  # fmt: skip
    if isinstance(cotangent, int):
        return float(cotangent)
    if not np.iscomplexobj(value) and np.iscomplexobj(cotangent):
        return np.real(cotangent)
    return cotangent


def _listing(call: RuleCall) -> str:
    names = ", ".join(f"{name}_bar" for name in call.names)
    return f"return one for each positional parameter of the rule, None where there is none: `return {names}`"


def wrong(call: RuleCall, what: str, instead: str) -> CotangentError:
    """The error of a pullback, with the rule, its place, and the place of the call."""
    rule = call.rule
    where = f"\n  The call is at {Place(call.pos.file, call.pos.line)}." if call.pos else ""
    return CotangentError(f"the pullback of the rule {rule.name} ({rule.place}) {what}.\n  Instead: {instead}.{where}")


def describe(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, bool | str) or not isinstance(value, NUMBERS):
        return f"a {type(value).__name__}"
    return "a scalar"
