"""What generated code calls: rules and their pullbacks, and call sites whose types are known only when they run."""

from __future__ import annotations

import inspect
import sys
import types as pytypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ..rules.errors import CotangentError, UnsupportedError
from ..rules.places import Place
from ..rules.rule import OPT_OUT as OPT_OUT
from .calls import Call
from .ir import Pos
from .values import Val

PACKAGE = __name__.split(".")[0] + "."


def is_ours(f: Any) -> bool:
    """Whether a function belongs to zad itself: such calls are not the user's and are not shown."""
    module = getattr(f, "__module__", None)
    return isinstance(module, str) and module.startswith(PACKAGE)


def is_rule_code(f: Any) -> bool:
    """Whether a function is part of a shipped rule, to be read rather than called."""
    module = getattr(f, "__module__", None)
    return isinstance(module, str) and module.startswith(PACKAGE + "library.")


LIBRARIES = {"numpy", "scipy", "autograd", "IPython", "ipykernel"}


def is_readable(f: Any) -> bool:
    """Whether a function is one of those whose bodies are looked into: the user's, and those of shipped rules."""
    root = str(getattr(f, "__module__", None)).split(".")[0]
    return is_rule_code(f) or not (is_ours(f) or root in LIBRARIES or root in sys.stdlib_module_names)


class Globals:
    """A module's names, as a constant of generated code."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names


class RuleCall:
    """A user's rule together with the call that it was chosen for."""

    def __init__(self, rule: Any, pos: Pos | None) -> None:
        self.rule = rule
        self.pos = pos
        self.order: tuple[Any, ...] = ()
        self.keywords: tuple[str, ...] = ()
        self.direct = not (rule.may_opt_out or rule.may_fall_off)

    def with_binding(self, binding: tuple[Any, ...]) -> RuleCall:
        """Work out how the rule's own parameters are passed."""
        parameters = list(inspect.signature(self.rule.function).parameters.values())
        order, keywords, skipped = [], [], False
        for parameter, part in zip(parameters, binding, strict=True):
            if part is None:
                skipped = True  # left to its default: what follows goes by keyword
            elif parameter.kind is parameter.VAR_POSITIONAL:
                order.append("*")
            elif parameter.kind is parameter.VAR_KEYWORD:
                if part:
                    raise UnsupportedError(f"the rule {self.rule.name} ({self.rule.place}) takes `**{parameter.name}`, which is "
                                           f"not supported yet. Name the keywords that it needs.")  # fmt: skip
            else:
                by_name = skipped or parameter.kind is parameter.KEYWORD_ONLY
                order.append(parameter.name if by_name else "")
                if by_name:
                    keywords.append(parameter.name)
        self.order, self.keywords = tuple(order), tuple(keywords)
        self.positions = sum(1 for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD, p.VAR_POSITIONAL))
        self.names = [p.name for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        self.filled = [part is not None for p, part in zip(parameters, binding, strict=True) if p.name in self.names]
        return self

    def arguments(self, bound: list[Val | None]) -> tuple[list[Val], list[Val]]:
        """The call's arguments one by one, starred ones spread out, and the same without keyword-only ones."""
        given = [value for value in bound if value is not None]
        spread: list[Val] = []
        for value, how in zip(given, self.order, strict=False):
            if how == "*":
                spread += list(value.items or ())
            else:
                spread.append(value)
        return spread, spread


def apply_rule(call: RuleCall, *args: Any) -> Any:
    """Run a user's rule: `(y, pullback)`, or OPT_OUT."""
    rule = call.rule
    if call.keywords:
        count = len(args) - len(call.keywords)
        return rule.call(*args[:count], **dict(zip(call.keywords, args[count:], strict=True)))
    if call.direct:
        pair = rule.function(*args)
        if type(pair) is tuple and len(pair) == 2:
            return pair
    return rule.call(*args)


def apply_pullback(call: RuleCall, pullback: Callable[[Any], Any], ybar: Any, *args: Any) -> tuple[Any, ...]:
    """Run a user's pullback and check what it returns: count, structure and shape, for every argument."""
    result = pullback(ybar)
    count = len(args)
    if type(result) is float and count == 1 and not call.keywords and type(args[0]) in (float, int):
        return (result,)
    return checked(call, result, args)


def checked(call: RuleCall, result: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A pullback's result as one cotangent for each argument of the call, or an error that says what was expected."""
    rule = call.rule
    words: dict[str, Any] = {}
    only = _keyword_only(rule)
    if type(result) is tuple and only and result and type(result[-1]) is dict and len(result) == call.positions + 1:
        words, result = result[-1], result[:-1]
    positional = _positional(call, args)
    if type(result) is not tuple:
        if call.positions == 1 or len(positional) == 1:
            result = (result,)
        else:
            raise wrong(call, f"returned one cotangent ({describe(result)}) for {len(positional)} arguments",
                        f"return ({', '.join(n + '_bar' for n in call.names)}), one for each parameter of the rule")  # fmt: skip
    filled = call.filled + [True] * (len(result) - len(call.filled))
    expected = len(call.names) + max(0, len(positional) - sum(call.filled))
    if len(result) != expected:
        raise wrong(call, f"returned {len(result)} cotangents for {expected} arguments",
                    f"return one for each parameter of the rule, None where there is none: ({', '.join(n + '_bar' for n in call.names)})")  # fmt: skip
    parts = [part for part, there in zip(result, filled, strict=False) if there]
    names = [name for name, there in zip(call.names, call.filled, strict=True) if there]
    values = dict(zip(_order_names(call, names, len(args)), args, strict=True))
    cotangents = {}
    for position, (part, value) in enumerate(zip(parts, positional, strict=True)):
        name = names[position] if position < len(names) else f"argument {position + 1}"
        cotangents[position] = fit(call, name, part, value)
    ordered = [cotangents[i] for i in range(len(positional))]
    for name in call.keywords:
        if name in only:
            ordered.append(fit(call, name, words.get(name), values[name]))
    return tuple(ordered)


def checked_again(call: RuleCall, result: Any, *args: Any) -> tuple[Any, ...]:
    """`checked`, for generated code that has called the pullback itself."""
    return checked(call, result, args)


def as_returned(result: Any, cotangents: tuple[Any, ...]) -> Any:
    """The cotangent of what a pullback returned: bare if that was bare."""
    return cotangents if type(result) is tuple else cotangents[0]


def as_returned_back(result: Any, cotangent: Any) -> Any:
    """The reverse of `as_returned`."""
    return cotangent if type(result) is tuple else (cotangent,)


def _keyword_only(rule: Any) -> set[str]:
    code = rule.function.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return set(names)


def _positional(call: RuleCall, args: tuple[Any, ...]) -> tuple[Any, ...]:
    only = _keyword_only(call.rule)
    count = sum(1 for name in call.keywords if name in only)
    return args[: len(args) - count] if count else args


def _order_names(call: RuleCall, names: list[str], count: int) -> list[str]:
    only = [name for name in call.keywords if name in _keyword_only(call.rule)]
    listed = names + [f"argument {i + 1}" for i in range(len(names), count - len(only))]
    return listed[: count - len(only)] + only


def fit(call: RuleCall, name: str, cotangent: Any, value: Any) -> Any:
    """A cotangent checked against the value that it belongs to."""
    if cotangent is None or type(cotangent) is float and type(value) is float:
        return cotangent
    if cotangent is NotImplemented:
        raise wrong(call, f"gives NotImplemented for argument {name}", f"write the cotangent of {name}, or None if {name} has none")
    if isinstance(cotangent, str | bool | type) or (callable(cotangent) and not isinstance(cotangent, pytypes.FunctionType)):
        raise wrong(call, f"gives {describe(cotangent)} for argument {name}", "a cotangent is a number or an array, or None for none")
    if isinstance(value, np.ndarray | float | int | complex | np.generic) and not isinstance(value, bool):
        if not isinstance(cotangent, np.ndarray | float | int | complex | np.generic):
            raise wrong(call, f"gives {describe(cotangent)} for argument {name}, which is {describe(value)}",
                        "a cotangent has the structure of the argument that it belongs to")  # fmt: skip
        shape, given = np.shape(value), np.shape(cotangent)
        if shape != given:
            raise wrong(call, f"gives a cotangent of shape {given} for argument {name}: expected {described_shape(shape)}",
                        "sum over the axes along which the argument was stretched")  # fmt: skip
        if isinstance(cotangent, int):
            return float(cotangent)
        return cotangent
    if isinstance(value, tuple | list):
        if not isinstance(cotangent, tuple | list) or len(cotangent) != len(value):
            raise wrong(call, f"gives {describe(cotangent)} for argument {name}, a {type(value).__name__} of {len(value)}",
                        f"give a {type(value).__name__} of {len(value)} cotangents")  # fmt: skip
        return type(value)(fit(call, f"{name}[{i}]", c, v) for i, (c, v) in enumerate(zip(cotangent, value, strict=True)))
    return cotangent


def wrong(call: RuleCall, what: str, instead: str) -> CotangentError:
    rule = call.rule
    where = f"\n  The call is at {Place(call.pos.file, call.pos.line)}." if call.pos else ""
    return CotangentError(f"the pullback of the rule {rule.name} ({rule.place}) {what}.\n  Instead: {instead}.{where}")


def describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, float | int | complex | np.generic) and not isinstance(value, bool):
        return "a scalar"
    return f"a {type(value).__name__}"


def described_shape(shape: tuple[int, ...]) -> str:
    return "a scalar" if shape == () else f"shape {shape}"


# -- closures and methods as objects


def make_closure(code: pytypes.CodeType, names: dict[str, Any], defaults: tuple[Any, ...], own: int, *values: Any) -> Any:
    """An inner function as an object; `own` says which of its cells holds the function itself."""
    cells = tuple(pytypes.CellType(value) for value in values)
    function = pytypes.FunctionType(code, names, code.co_name, defaults or None, cells)
    if own >= 0:
        cells[own].cell_contents = function
    return function


def bound_method(function: Any, owner: Any) -> Any:
    return pytypes.MethodType(function, owner) if isinstance(function, pytypes.FunctionType) else function.__get__(owner, type(owner))


# -- call sites that choose when they run


class Site:
    """A place in the user's code where a function is called whose arguments' types the compiler does not know."""

    def __init__(self, active: tuple[bool, ...], keywords: tuple[str, ...], pos: Pos | None, node: Call | None) -> None:
        self.active = active
        self.keywords = keywords
        self.pos = pos
        self.node = node


class KeywordCall:
    """A function that takes some of f's keywords as its last positional arguments."""

    def __init__(self, function: Any, names: tuple[str, ...]) -> None:
        self.function = function
        self.names = names
        self.__name__ = getattr(function, "__name__", "f")

    def __call__(self, *args: Any) -> Any:
        count = len(args) - len(self.names)
        return self.function(*args[:count], **dict(zip(self.names, args[count:], strict=True)))


class Back:
    """What `call_forward` keeps for the way back: the reverse function and what forward has saved.

    `cells` says how many of the leading cotangents are those of a closure's variables; `method` that the function was
    a bound method, whose cotangent is that of its object.
    """

    __slots__ = ("cells", "method", "reverse", "saved", "saved_type")

    def __init__(self, reverse: Any, saved: Any, saved_type: Any, cells: int = 0, method: bool = False) -> None:
        self.reverse = reverse
        self.saved = saved
        self.saved_type = saved_type
        self.cells = cells
        self.method = method

    def grouped(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """The function's own cotangent, then those of its arguments."""
        if self.method:
            return (parts[0], *parts[1:])
        return (tuple(parts[: self.cells]) if self.cells else None, *parts[self.cells :])


lookup: Callable[..., Any]  # set by `cache`: the compiled pair for a function and arguments


def call_forward(site: Site, fn: Any, *args: Any) -> tuple[Any, Back | None]:
    """Run a call forward by the pair that belongs to the types it turns out to have."""
    return lookup(site, fn, args)  # type: ignore[no-any-return]


def call_back(back: Back | None, ybar: Any) -> tuple[Any, ...]:
    """The cotangents of a call made by `call_forward`: of the function, then of each argument."""
    if back is None or ybar is None:
        return NOTHING
    return back.grouped(back.reverse(back.saved, ybar))


class _Nothing(tuple):  # type: ignore[type-arg]
    """As many absent cotangents as somebody asks for."""

    def __getitem__(self, index: Any) -> None:
        return None


NOTHING = _Nothing()


# -- tracing


def tick(call: Call) -> None:
    """A call of the selection tree has run once more."""
    call.count += 1
