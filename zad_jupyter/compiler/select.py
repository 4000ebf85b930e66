"""Ask the registry, and write down the question with its answer: an entry of the cache is right as long as its
answers are.

An operator is several questions: the methods of the operands' classes in Python's own order, then the operator itself.
"""

from __future__ import annotations

import itertools
import operator
import types as pytypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import types as T
from .guards import static_attribute
from .ir import Function, Pos, Var
from .values import Val, const

if TYPE_CHECKING:
    from .context import Context
    from .resolve import Resolve

BINARY: dict[Callable[..., Any], str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv",
    operator.matmul: "matmul", operator.floordiv: "floordiv", operator.mod: "mod", operator.pow: "pow",
    operator.and_: "and", operator.or_: "or", operator.xor: "xor", operator.lshift: "lshift", operator.rshift: "rshift",
    operator.eq: "eq", operator.ne: "ne", operator.lt: "lt", operator.gt: "gt", operator.le: "le", operator.ge: "ge",
}  # fmt: skip
REFLECTED = {"eq": "__eq__", "ne": "__ne__", "lt": "__gt__", "gt": "__lt__", "le": "__ge__", "ge": "__le__"}
UNARY: dict[Callable[..., Any], str] = {
    operator.neg: "__neg__", operator.pos: "__pos__", abs: "__abs__", operator.getitem: "__getitem__", len: "__len__",
    operator.contains: "__contains__", operator.invert: "__invert__",
}  # fmt: skip


@dataclass
class Choice:
    """What the registry said of a call.

    Attributes:
        outcome: "hit", "opted-out", "none" or "ambiguous".
        rule: the rule that decided.
        binding: for each parameter of the rule, which argument it gets.
        function: the function the answer is about; the one to look into when there is no rule.
        args: the arguments in the order in which that function takes them.
        error: makes the error of an ambiguity.
    """

    outcome: str
    rule: Any
    binding: Any
    function: Any
    args: list[Val]
    error: Callable[[], Exception]


def classes_of(value: Val) -> tuple[type, ...]:
    """The classes that an argument may have; none if that is not known."""
    if value.type in T.POSSIBLE:
        return tuple(option.cls for option in T.POSSIBLE[value.type])
    cls = T.class_of(value.type)
    if cls is None and value.what is not None:
        cls = pytypes.FunctionType
    return () if cls is None else (cls,)


def ask(context: Context, f: Any, args: list[Val], kwargs: dict[str, Val]) -> Choice | None:
    """Which rule a call gets; None if that depends on what is only known at run time."""
    if _hashable(f) and f in BINARY and len(args) == 2:
        return _ask_operator(context, f, args)
    if _hashable(f) and f in UNARY and args:
        cls = T.class_of(args[0].type)
        method = _dunder(context, cls, UNARY[f])
        if method is not None:
            choice = question(context, method, args, kwargs)
            if choice is not None and (choice.outcome != "none" or isinstance(method, pytypes.FunctionType)):
                if choice.outcome != "none":
                    return choice
                general = question(context, f, args, kwargs)
                return choice if general is None or general.outcome == "none" else general
    return question(context, f, args, kwargs)


def _hashable(f: Any) -> bool:
    try:
        hash(f)
    except TypeError:
        return False
    return True


def _ask_operator(context: Context, f: Any, args: list[Val]) -> Choice | None:
    a, b = (T.class_of(arg.type) for arg in args)
    name = BINARY[f]
    reflected = REFLECTED.get(name, f"__r{name}__")
    if (a is None and args[0].type not in T.SCALARS) or (b is None and args[1].type not in T.SCALARS):
        return question(context, f, args, {})
    methods = [(_dunder(context, a, f"__{name}__"), args), (_dunder(context, b, reflected), args[::-1])]
    if (
        a is not None
        and b is not None
        and a is not b
        and issubclass(b, a)
        and getattr(b, reflected, None) is not getattr(a, reflected, None)
    ):
        methods.reverse()
    inside = None
    for method, ordered in methods:
        if method is None:
            continue
        choice = question(context, method, ordered, {})
        if choice is not None and choice.outcome != "none":
            return choice
        if inside is None and isinstance(method, pytypes.FunctionType):
            inside = choice
    choice = question(context, f, args, {})
    return inside if inside is not None and choice is not None and choice.outcome == "none" else choice


def _dunder(context: Context, cls: type | None, name: str) -> Any:
    """A class's method behind an operator, or None; the answer holds as long as the class says so."""
    if cls is None:
        return None
    context.guard_attribute(cls, name, static_attribute(cls, name))
    return getattr(cls, name, None)


def question(context: Context, f: Any, args: list[Val], kwargs: dict[str, Val]) -> Choice | None:
    """One question to the registry, about one function; None if the answer depends on types that are not known."""
    options = [classes_of(arg) for arg in args]
    words = [(name, classes_of(value)) for name, value in kwargs.items()]
    unknown = not all(options) or not all(found for _, found in words)
    if unknown:
        if not context.has_one_rule_for_all(f):
            return None
        options = [found or (object,) for found in options]
        words = [(name, found or (object,)) for name, found in words]
    answers = []
    for classes in itertools.islice(itertools.product(*options), 16):
        for chosen in itertools.product(*[found for _, found in words]):
            keywords = tuple((name, cls) for (name, _), cls in zip(words, chosen, strict=True))
            answers.append(context.select(f, tuple(classes), keywords))
    first = answers[0]
    if any(answer != first for answer in answers[1:]):
        return None
    return Choice(first.outcome, first.rule, first.binding, f, args, first.error)


def bind(
    inference: Resolve,
    function: Function,
    args: list[Val],
    kwargs: dict[str, Val],
    defaults: list[Val],
    words: dict[str, Val],
    pos: Pos | None,
) -> dict[Var, Val]:
    """Give a call's arguments to a function's parameters, as Python does.

    Raises:
        TypeError: the arguments do not fit, told as Python tells it.
    """
    spec = function.signature
    names = [arg.arg for arg in [*spec.posonlyargs, *spec.args]]
    only = [arg.arg for arg in spec.kwonlyargs]
    given = dict(zip(names, args, strict=False))
    rest = args[len(names) :]
    if rest and spec.vararg is None:
        raise TypeError(f"{function.name}() takes {len(names)} positional arguments but {len(args)} were given")
    extra: dict[str, Val] = {}
    positional_only = {arg.arg for arg in spec.posonlyargs}
    for name, value in kwargs.items():
        if name in given and name not in positional_only:
            raise TypeError(f"{function.name}() got multiple values for argument '{name}'")
        if (name in names and name not in positional_only) or name in only:
            given[name] = value
        elif spec.kwarg is not None:
            extra[name] = value
        else:
            raise TypeError(f"{function.name}() got an unexpected keyword argument '{name}'")
    for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
        given.setdefault(name, value)
    for name, value in words.items():
        given.setdefault(name, value)
    missing = [name for name in [*names, *only] if name not in given]
    if missing:
        listed = " and ".join(f"'{name}'" for name in missing)
        raise TypeError(
            f"{function.name}() missing {len(missing)} required argument{'s' * (len(missing) > 1)}: {listed}"
        )
    order = [given[name] for name in names]
    if spec.vararg is not None:
        order.append(inference.build(tuple(rest), pos=pos))
    order += [given[name] for name in only]
    if spec.kwarg is not None:
        order.append(inference.dict_of(extra, pos))
    return dict(zip(function.params, order, strict=True))


__all__ = ["Choice", "ask", "bind", "const", "question"]


def takes_arrays(f: Any) -> bool:
    """Whether f is a function of NumPy's that takes lists for arrays."""
    if isinstance(f, np.ufunc):
        return True
    module = str(getattr(f, "__module__", None)).split(".")[0]
    return module == "numpy" and not isinstance(f, type) and f not in (np.array, np.asarray, np.concatenate, np.stack)


def is_numeric_list(value: Val) -> bool:
    """Whether a value is a list or tuple of numbers or arrays, also nested: what NumPy makes an array of."""
    if not isinstance(value.type, T.ListType | T.TupleType):
        return False
    if value.items is None:
        item = value.type.item if isinstance(value.type, T.ListType) else T.UNKNOWN
        return T.is_scalar(item) or isinstance(item, T.ArrayType)
    return all(T.is_scalar(i.type) or isinstance(i.type, T.ArrayType) or is_numeric_list(i) for i in value.items)
