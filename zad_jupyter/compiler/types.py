"""What the compiler knows of a value before it runs: its type, as far as selection and derivatives need it.

A type is a promise about the exact class of a value. `UNKNOWN` promises nothing: there the choice of a rule is left
to run time. Result types of pure library functions are not tabulated but *tried*: the function is called once with
small arguments of the right types, which is right by construction for all of NumPy's promotion rules.
"""

from __future__ import annotations

import math
import operator
import types as pytypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


class Type:
    """A promise about a value."""


@dataclass(frozen=True)
class Exact(Type):
    """An instance of exactly this class."""

    cls: type

    def __repr__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True)
class ArrayType(Type):
    """A plain `numpy.ndarray` with this dtype and number of dimensions."""

    dtype: str
    ndim: int

    def __repr__(self) -> str:
        return f"ndarray[{self.dtype},{self.ndim}]"


@dataclass(frozen=True)
class TupleType(Type):
    items: tuple[Type, ...]


@dataclass(frozen=True)
class ListType(Type):
    """A list whose items all have this type."""

    item: Type


@dataclass(frozen=True)
class _Named(Type):
    name: str

    def __repr__(self) -> str:
        return self.name


UNKNOWN = _Named("unknown")
NEVER = _Named("never")  # no value gets here: the other side decides a join
FLOATING = _Named("floating")  # a float, Python's or NumPy's
REAL = _Named("real")  # one of these, or an int


@dataclass(frozen=True)
class ListItems(Type):
    """A list that is known item by item: only used to try a function with."""

    items: tuple[Type, ...]


@dataclass(frozen=True)
class OptionalType(Type):
    """A cotangent that may still be None, which means zero."""

    item: Type


class LogType(Type):
    """The records of a log: grown while the code that pushes is read, complete when it is rewound."""

    items: list[Any] | None = None  # the values pushed, while all of them were pushed in straight-line code
    block: Any = None
    learned: ClassVar[list[int]] = []  # which logs turned out to hold more than was known, in order
    made: ClassVar[int] = 0

    def __init__(self, width: int = -1) -> None:
        LogType.made += 1
        self.serial = LogType.made
        self._same: LogType | None = None  # the older log that this one has turned out to be, in some branch
        self._records: list[Type] = [NEVER] * max(width, 0)
        self._active: list[bool] = [False] * max(width, 0)

    def root(self) -> LogType:
        """The one that knows: logs which meet in one variable share what they hold."""
        return self if self._same is None else self._same.root()

    @property
    def records(self) -> list[Type]:
        """The type of each value of a record."""
        return self.root()._records

    @property
    def active(self) -> list[bool]:
        """Whether derivatives flow through each value of a record."""
        return self.root()._active

    def push(self, items: list[Type], active: list[bool]) -> None:
        """A record like this is appended somewhere."""
        root = self.root()
        if not root._records:
            root._records, root._active = [NEVER] * len(items), [False] * len(items)
        records = [join(old, new) for old, new in zip(root._records, items, strict=True)]
        flows = [old or new for old, new in zip(root._active, active, strict=True)]
        if [key(r) for r in records] != [key(r) for r in root._records] or flows != root._active:
            LogType.learned.append(root.serial)
        root._records, root._active = records, flows

    def unite(self, other: LogType) -> LogType:
        """Both may be in one variable: from now on they are one."""
        old, new = sorted((self.root(), other.root()), key=lambda log: log.serial)
        if old is not new:
            if new._records:
                old.push(new._records, new._active)
            new._same = old
        return old

    @classmethod
    def mark(cls) -> tuple[int, int]:
        """The state of all logs, to ask later whether one of those was added to: a loop is then read again."""
        return len(cls.learned), cls.made

    @classmethod
    def grown_since(cls, mark: tuple[int, int]) -> bool:
        return any(serial <= mark[1] for serial in cls.learned[mark[0] :])

    def activated(self) -> LogType:
        """The same records, with derivatives flowing through all of them."""
        copy = LogType(len(self.records))
        copy._records, copy._active = list(self.records), [True] * len(self.records)
        return copy

    def key(self) -> tuple[Any, ...]:
        return ("log", tuple(key(item) for item in self.records))


INT, FLOAT, BOOL, COMPLEX, STR, NONE = (Exact(cls) for cls in (int, float, bool, complex, str, type(None)))
FLOAT64 = Exact(np.float64)
SCALARS = (INT, FLOAT, FLOAT64, FLOATING, REAL)
POSSIBLE = {FLOATING: (FLOAT, FLOAT64), REAL: (INT, FLOAT, FLOAT64)}


def key(type_: Type) -> Any:
    """Something hashable that is equal for equal promises."""
    if isinstance(type_, TupleType):
        return ("tuple", tuple(key(item) for item in type_.items))
    return type_.key() if isinstance(type_, LogType) else type_


def join(a: Type, b: Type) -> Type:
    """What holds of a value that comes from either of two places."""
    if a is NEVER or a == b:
        return b
    if b is NEVER:
        return a
    if a == NONE or b == NONE:
        other = b if a == NONE else a
        return other if isinstance(other, OptionalType) or other is UNKNOWN else OptionalType(other)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = join(*[t.item if isinstance(t, OptionalType) else t for t in (a, b)])
        return inner if inner is UNKNOWN else OptionalType(inner)
    if a in SCALARS and b in SCALARS:
        return REAL if INT in (a, b) or REAL in (a, b) else FLOATING
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.items) == len(b.items):
        return TupleType(tuple(map(join, a.items, b.items)))
    if isinstance(a, ListType) and isinstance(b, ListType):
        return ListType(join(a.item, b.item))
    if isinstance(a, LogType) and isinstance(b, LogType):
        fits = len(a.records) == len(b.records) or not a.records or not b.records
        return a.unite(b) if fits else UNKNOWN
    return UNKNOWN


def limited(type_: Type, depth: int = 3) -> Type:
    """The same promise, but none about what lies deeper: what a recursion keeps would otherwise grow without end."""
    if isinstance(type_, TupleType):
        return TupleType(tuple(limited(item, depth - 1) for item in type_.items)) if depth else UNKNOWN
    if isinstance(type_, OptionalType):
        item = limited(type_.item, depth)
        return UNKNOWN if item is UNKNOWN else OptionalType(item)
    if isinstance(type_, LogType):
        return type_ if depth else UNKNOWN
    return type_


def is_scalar(type_: Type) -> bool:
    """A Python or NumPy real number whose zero is simply 0.0."""
    return type_ in SCALARS


def type_of(value: Any, depth: int = 0) -> Type:
    """The promise that a value fulfils: containers are looked into, a few levels deep."""
    cls = type(value)
    if cls is np.ndarray:
        return ArrayType(value.dtype.char, value.ndim)
    if cls is tuple and depth < 4 and len(value) <= 64:
        return TupleType(tuple(type_of(item, depth + 1) for item in value))
    if cls is list and depth < 4:
        item: Type = NEVER
        for part in value:
            item = join(item, type_of(part, depth + 1))
            if item is UNKNOWN:
                break
        return ListType(item)
    return Exact(cls)


def class_of(type_: Type) -> type | None:
    """The class that `type(value)` will give, or None when that is not known."""
    if isinstance(type_, Exact):
        return type_.cls
    if isinstance(type_, ArrayType):
        return np.ndarray
    if isinstance(type_, TupleType):
        return tuple
    if isinstance(type_, ListType | LogType):
        return list
    return None


def name_of(type_: Type) -> str:
    cls = class_of(type_)
    return cls.__name__ if cls is not None else str(type_)


def differentiable(type_: Type) -> bool:
    """Whether a value of this type can carry a derivative."""
    if isinstance(type_, ArrayType):
        return type_.dtype not in "?SUVMmO"
    if isinstance(type_, TupleType):
        return any(differentiable(item) for item in type_.items)
    if isinstance(type_, Exact):
        return not issubclass(
            type_.cls, bool | str | bytes | type(None) | range | slice | np.bool_ | pytypes.ModuleType | type
        )
    return True


# -- result types, by trying

NO_TRY = {"random", "testing", "ctypeslib", "lib"}


def _pure_builtins() -> set[Any]:
    found: set[Any] = {
        abs, min, max, sum, round, float, int, bool, complex, len, divmod, pow, isinstance, str, repr, tuple, list,
        sorted, any, all, hash, range,
    }  # fmt: skip
    found |= {value for value in vars(math).values() if callable(value)}
    changing = {"setitem", "delitem", "attrgetter", "itemgetter", "methodcaller", "call"}
    found |= {f for name, f in vars(operator).items() if callable(f) and name not in changing and name[:1] != "i"}
    return found | {operator.is_, operator.is_not, operator.inv, operator.invert, operator.index}


PURE: set[Any] = _pure_builtins()
IMPURE_NUMPY = {
    "seterr", "seterrcall", "save", "savez", "load", "loadtxt", "savetxt", "copyto", "put", "place", "putmask",
    "fill_diagonal", "put_along_axis", "fromfile", "set_printoptions", "errstate", "empty", "empty_like",
}  # fmt: skip


def is_pure(f: Any) -> bool:
    """Whether calling f twice with the same numbers is the same as calling it once."""
    try:
        if f in PURE:
            return True
    except TypeError:
        return False
    if isinstance(f, np.ufunc):
        return True
    module = getattr(f, "__module__", None) or ""
    if isinstance(f, pytypes.MethodDescriptorType):
        return f.__objclass__ is np.ndarray and f.__name__ not in (
            "sort",
            "fill",
            "resize",
            "put",
            "partition",
            "setflags",
            "tofile",
        )
    if isinstance(f, type):
        return f.__module__ == "numpy" and issubclass(f, np.generic)
    return (module == "numpy" or module == "numpy.linalg") and getattr(f, "__name__", "") not in IMPURE_NUMPY


def sample(type_: Type, number: float) -> Any:
    """A small value of a type, to try a function with."""
    if isinstance(type_, ArrayType):
        return np.full((1,) * type_.ndim, number).astype(type_.dtype)
    if isinstance(type_, TupleType):
        return tuple(sample(item, number) for item in type_.items)
    if isinstance(type_, ListItems):
        return [sample(item, number) for item in type_.items]
    if isinstance(type_, ListType):
        return [sample(type_.item, number)] * 2
    if isinstance(type_, Exact):
        cls = type_.cls
        if cls in (int, bool):
            return cls(1)
        if cls in (float, complex) or issubclass(cls, np.generic):
            return cls(number)
        if cls in (str, bytes):
            return cls()
        if cls is type(None):
            return None
        if cls is slice:
            return slice(None)
    raise LookupError(type_)


_tried: dict[Any, Type] = {}


def result_type(f: Callable[..., Any], args: list[tuple[Type, Any]], kwargs: dict[str, tuple[Type, Any]]) -> Type:
    """The type that a pure function gives, found by calling it with small arguments.

    Args:
        f: the function.
        args: for each argument its type, and its value wrapped in a one-tuple where that is known.
        kwargs: the same by keyword.
    """
    if not is_pure(f):
        return UNKNOWN
    for position, (type_, _) in enumerate(args):
        if type_ in POSSIBLE:
            joined: Type = NEVER
            for option in POSSIBLE[type_]:
                joined = join(joined, result_type(f, [*args[:position], (option, ()), *args[position + 1 :]], kwargs))
            return joined
    try:
        question = (
            f,
            tuple((key(t), repr(v)) for t, v in args),
            tuple((n, key(t), repr(v)) for n, (t, v) in kwargs.items()),
        )
        known = _tried.get(question)
    except TypeError:
        return UNKNOWN
    if known is None:
        known = _tried[question] = _try(f, args, kwargs)
    return known


def _try(f: Callable[..., Any], args: list[tuple[Type, Any]], kwargs: dict[str, tuple[Type, Any]]) -> Type:
    if f is operator.pow and args[0][0] in (INT, REAL) and not (args[1][1] and args[1][1][0] >= 0):
        return REAL  # 2 ** -1 is a float
    if f is operator.getitem and isinstance(args[0][0], ListType):
        slice_ = args[1][0] == Exact(slice)
        return args[0][0].item if args[1][0] == INT else args[0][0] if slice_ else UNKNOWN
    if f in (operator.getitem, np.ndarray.__getitem__):
        args = [args[0], _first_item(args[1])]
    if f in (np.reshape, np.ndarray.reshape):
        return _reshaped(args)
    for number in (0.5, 1.0, 2.0):
        try:
            values = [v[0] if v else sample(t, number) for t, v in args]
            words = {name: v[0] if v else sample(t, number) for name, (t, v) in kwargs.items()}
            with np.errstate(all="ignore"):
                return type_of(f(*values, **words))
        except Exception:  # any failure only means that we do not know
            continue
    return UNKNOWN


def _first_item(part: tuple[Type, Any]) -> tuple[Type, Any]:
    """An index that small arrays have too: the type of an item does not depend on which one it is."""
    type_, value = part
    if value and isinstance(value[0], int) and not isinstance(value[0], bool):
        return (type_, (0,))
    if value and isinstance(value[0], tuple):
        return (type_, (tuple(0 if type(item) is int else item for item in value[0]),))
    return (type_, (0,)) if type_ == INT else part


def _reshaped(args: list[tuple[Type, Any]]) -> Type:
    array, shape = args[0][0], args[1:]
    if array in (FLOAT, FLOAT64):
        array = ArrayType("d", 0)
    if not isinstance(array, ArrayType):
        return UNKNOWN
    if len(shape) == 1 and isinstance(shape[0][0], TupleType):
        return ArrayType(array.dtype, len(shape[0][0].items))
    if all(part[0] == INT for part in shape):
        return ArrayType(array.dtype, len(shape))
    return UNKNOWN
