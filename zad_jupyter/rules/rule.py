"""A rule: what to do for calls of one function with certain classes of arguments.

`Rule.call` runs a rule that the user wrote, and gives `(y, pullback)` or `OPT_OUT`. Whether two rules say the same is
decided by what they say (code, defaults, closure, annotations), not by which objects they are: executing a cell again
without an edit makes new function objects, and must drop no gradient.
"""
from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Final, Literal, cast

from .errors import AmbiguousRuleError, MissingReturnError, NoRuleError, RuleResultError
from .places import Owner, Place
from .returns import MISSING, UNKNOWN, Endings, checked_twin, same_code
from .signature import EMPTY, Signature
from .targets import Handle, display_name

Kind = Literal["rrule", "expression", "opt_out", "non_differentiable"]


class _OptOut:
    """The type of `OPT_OUT`, what `Rule.call` gives when the rule returned None for these values."""

    def __repr__(self) -> str:
        return "OPT_OUT"

    def __reduce__(self) -> str:
        return "OPT_OUT"


OPT_OUT: Final = _OptOut()


@dataclass(eq=False)
class Rule:
    """One rule. Made by the doors in `define`; compared by identity (`same_as` compares what rules say).

    Attributes:
        kind: "rrule" (the user's function), "expression" (a shipped formula), "opt_out", "non_differentiable".
        function: the rule function, or the one function of a "cotangent" expression rule; else None.
        partials: of a "partial" expression rule, one function (args..., out) for each argument.
        mode: of an expression rule: "partial", or "cotangent": function(args..., out, g) gives the cotangents.
        layer: "user" or "shipped".
        place, owner: where it is written, and whose it is.
        enabled, status: what holds now in the registry; status is a sentence for people, empty when all is ordinary.
        written_for_older: its target was redefined, with another body, since the rule was written.
    """

    handle: Handle
    kind: Kind
    parameters: Signature
    place: Place
    owner: Owner
    layer: str = "user"
    function: Callable[..., Any] | None = None
    partials: tuple[Callable[..., Any] | None, ...] = ()
    mode: Literal["partial", "cotangent"] | None = None
    endings: Endings = UNKNOWN
    enabled: bool = True
    status: str = ""
    serial: int = 0                      # when the registry took it, later is greater
    written_for_older: bool = field(default=False)
    earlier: weakref.WeakSet[Rule] = field(default_factory=weakref.WeakSet, repr=False)   # equal ones that it replaced

    @property
    def target(self) -> Any:
        """The function the rule is for; None when nobody holds it any more."""
        return self.handle.get()

    @property
    def signature(self) -> str:
        """The signature as text, such as "(a: ndarray)"."""
        return str(self.parameters)

    @property
    def name(self) -> str:
        """The rule's name for people, such as "det(a: ndarray)"."""
        return f"{self.handle.name}{self.parameters}"

    @property
    def may_opt_out(self) -> bool:
        """Whether some path may return None, so that the result must be tested at every call."""
        return self.kind == "rrule" and self.endings.may_opt_out

    @property
    def may_fall_off(self) -> bool:
        """Whether some path ends without returning anything, which is an error at the call."""
        return self.kind == "rrule" and self.endings.may_fall_off

    def adopt(self, rule: Rule) -> None:
        """An equal rule was executed in its place: stand where that one stands, for errors to show.

        So do the equal ones before it: compiled code may hold any of them.
        """
        for one in (self, *self.earlier):
            one.function, one.partials, one.place = rule.function, rule.partials, rule.place
            one.__dict__.pop("checked_function", None)
            rule.earlier.add(one)

    def translate(self, of: Callable[[Any], Any], retarget: Callable[[Any], Any]) -> None:
        """Speak of the objects that stand for those it was written with: its module was executed again."""
        self.parameters = self.parameters.translated(of)
        self.function, self.partials = retarget(self.function), retarget(self.partials)

    @functools.cached_property
    def checked_function(self) -> Callable[..., Any] | None:
        """The rule function; if it can both return None and fall off its end, a twin that says which (`...`)."""
        if self.function is not None and self.may_opt_out and self.may_fall_off:
            return checked_twin(cast(FunctionType, self.function), self.endings) or self.function
        return self.function

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Run a rule of kind "rrule" on the arguments of *its* signature.

        Returns:
            `(y, pullback)`, or `OPT_OUT` if the rule returned None for these values.

        Raises:
            MissingReturnError: the rule ended without a return.
            RuleResultError: it returned something else.

        A rule for which neither `may_opt_out` nor `may_fall_off` holds always returns a tuple or raises: its
        `function` can be called directly. Where a rule's source cannot be had, None counts as an opt-out.
        """
        function = self.checked_function
        if function is None:
            raise TypeError(f"{self.name} has no function to call: it is of kind {self.kind!r}")
        result = function(*args, **kwargs)
        if result is None:
            if self.may_opt_out:
                return OPT_OUT
            raise MissingReturnError(self)
        if result is MISSING:
            raise MissingReturnError(self)
        if type(result) is not tuple or len(result) != 2 or not callable(result[1]):
            raise RuleResultError(
                f"the rule {self.name} ({self.place}) returned {_describe(result)}.\n"
                "  A rule ends with `return y, pullback`: the value of the call, and a function from the "
                "cotangent of y\n  to those of the arguments. To opt out, write `return None`.")
        return result

    def same_as(self, other: Rule | None) -> bool:
        """Whether both rules say the same about the same function, wherever they stand now."""
        return self is other or (other is not None and (
            self.handle is other.handle and self.kind == other.kind and self.layer == other.layer
            and self.mode == other.mode
            and self.parameters.same(other.parameters) and _same_parameters(self.parameters, other.parameters)
            and self.endings.may_opt_out == other.endings.may_opt_out
            and self.endings.may_fall_off == other.endings.may_fall_off
            and same_value(self.function, other.function) and same_value(self.partials, other.partials)))

    def __repr__(self) -> str:
        return f"<{self.layer} {self.kind} {self.name} at {self.place}>"


def _describe(result: Any) -> str:
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}" if len(result) != 2 else f"({_a(result[0])}, {_a(result[1])})"
    return _a(result)


def _a(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _same_parameters(a: Signature, b: Signature) -> bool:
    return all(p.name == q.name and same_value(p.default, q.default)
               for p, q in zip(a.parameters, b.parameters, strict=True))


_PLAIN = (bool, int, str, bytes, float, complex, type(None), type(EMPTY))


def same_value(a: Any, b: Any, depth: int = 0) -> bool:
    """Whether two defaults or closure values are interchangeable for ever: one object, or equal immutable ones.

    Mutable objects are the same only if they are one object: they may differ tomorrow.

    >>> same_value(1, True), same_value((1, "a"), (1, "a")), same_value([1], [1])
    (False, True, False)
    """
    if a is b:
        return True
    if type(a) is not type(b) or depth > 20:
        return False
    if type(a) in (float, complex):
        return repr(a) == repr(b)        # nan is nan, and 0.0 is not -0.0
    if type(a) in _PLAIN:
        return bool(a == b)
    if type(a) is tuple:
        return len(a) == len(b) and all(same_value(x, y, depth + 1) for x, y in zip(a, b, strict=True))
    if type(a) is FunctionType:
        return (a.__globals__ is b.__globals__ and same_code(a.__code__, b.__code__)
                and same_value(a.__defaults__, b.__defaults__, depth + 1)
                and _same_keywords(a.__kwdefaults__, b.__kwdefaults__, depth + 1)
                and not a.__dict__ and not b.__dict__
                and same_value(_cells(a), _cells(b), depth + 1))
    return False


def _same_keywords(a: dict[str, Any] | None, b: dict[str, Any] | None, depth: int) -> bool:
    return same_value(tuple(sorted((a or {}).items(), key=operator.itemgetter(0))),
                      tuple(sorted((b or {}).items(), key=operator.itemgetter(0))), depth)


def _cells(function: FunctionType) -> tuple[Any, ...]:
    values = []
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            values.append(EMPTY)
    return tuple(values)


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """What the registry says about a call. Equal to another if the outcome is, and the rules say the same.

    Attributes:
        outcome: "hit", "opted-out", "none" or "ambiguous".
        rule: the winner, for "hit" and "opted-out"; else None.
        binding: for each parameter of the rule's signature: int i = the i-th positional argument, a str = that
            keyword, None = left to its default; for *args and **kwargs a tuple of these.
        contenders: for "ambiguous", the rules between which there is no choice.
    """

    outcome: Literal["hit", "opted-out", "none", "ambiguous"]
    rule: Rule | None = None
    binding: tuple[Any, ...] | None = None
    contenders: tuple[Rule, ...] = ()
    message: str = ""
    suggestion: str = ""

    def error(self) -> Exception:
        """The error to raise when this answer is of no use: AmbiguousRuleError, or NoRuleError."""
        if self.outcome == "ambiguous":
            return AmbiguousRuleError(self.message, self.contenders, self.suggestion)
        return NoRuleError(self.message)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Answer) and (
            self.outcome == other.outcome and self.binding == other.binding
            and (self.rule is other.rule or (self.rule is not None and self.rule.same_as(other.rule)))
            and len(self.contenders) == len(other.contenders)
            and all(a.same_as(b) for a, b in zip(self.contenders, other.contenders, strict=True))))

    def __hash__(self) -> int:
        return hash((self.outcome, self.binding))

    def __iter__(self) -> Any:
        """Unpacking an answer is a mistake; the error says what the answer was."""
        if self.outcome == "hit":
            raise TypeError("an Answer does not unpack: call its rule, `y, pullback = answer.rule.call(...)`")
        raise self.error()


@dataclass(frozen=True, slots=True)
class Change:
    """One step from a generation to the next.

    Attributes:
        functions: the callables whose answers may differ now.
        added, removed: rules that are new, and rules that are gone. Equal rules are in neither.
        reason: a sentence for people.
        generation: the number of the generation it led to.
        time: seconds since the epoch.
        dropped: what subscribers have thrown away for it, as they tell.
    """

    functions: tuple[Any, ...]
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    reason: str
    generation: int
    time: float
    dropped: list[Any] = field(default_factory=list, compare=False)


__all__ = ["OPT_OUT", "Answer", "Change", "Kind", "Rule", "display_name", "same_value"]
