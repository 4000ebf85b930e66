"""What generated code calls: rules and their pullbacks, and call sites whose types are known only when they run."""

from __future__ import annotations

import sys
import types as pytypes
from collections.abc import Callable
from typing import Any, ClassVar

from .calls import Call
from .ir import Pos

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


# -- closures and methods as objects


def make_closure(
    code: pytypes.CodeType, names: dict[str, Any], defaults: tuple[Any, ...], own: int, *values: Any
) -> Any:
    """An inner function as an object; `own` says which of its cells holds the function itself."""
    cells = tuple(pytypes.CellType(value) for value in values)
    function = pytypes.FunctionType(code, names, code.co_name, defaults or None, cells)
    if own >= 0:
        cells[own].cell_contents = function
    return function


def bound_method(function: Any, owner: Any) -> Any:
    return (
        pytypes.MethodType(function, owner)
        if isinstance(function, pytypes.FunctionType)
        else function.__get__(owner, type(owner))
    )


# -- call sites that choose when they run


class Site:
    """A place in the user's code where a function is called whose arguments' types the compiler does not know."""

    def __init__(
        self, active: tuple[bool, ...], keywords: tuple[str, ...], pos: Pos | None, node: Call | None, pairs: Any = None
    ) -> None:  # fmt: skip
        self.active = active
        self.keywords = keywords
        self.pos = pos
        self.node = node
        self.pairs = pairs  # those of a traced gradient
        self.shown: list[Call] = []

    def show(self, tree: Call | None) -> None:
        """Write what was chosen here into the selection tree, with the place of the call."""
        if self.node is None or tree is None:
            return
        for child in tree.children:
            if not any(child is other for other in self.shown):
                self.shown.append(child)
                self.node.children.append(child)
                if child.file is None and self.pos is not None:
                    child.file, child.line = self.pos.file, self.pos.line


class Attribute:
    """Reading one attribute, as a function of the object."""

    known: ClassVar[dict[str, Attribute]] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f".{name}"

    @classmethod
    def of(cls, name: str) -> Attribute:
        """The one function for a name, so that it is compiled once."""
        return cls.known.setdefault(name, cls(name))

    def __call__(self, owner: Any) -> Any:
        return getattr(owner, self.name)


class Asked:
    """A call of a function as the registry decides it: for call sites, where nobody has asked yet."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "f")

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


class Body:
    """A function without its rules: what its own rule means by `pullback(f, x)`."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = function.__name__


class KeywordCall:
    """A function that takes some of f's keywords as its last positional arguments."""

    def __init__(self, function: Any, names: tuple[str, ...]) -> None:
        self.function = function
        self.names = names
        self.__name__ = getattr(function, "__name__", "f")

    def __call__(self, *args: Any) -> Any:
        count = len(args) - len(self.names)
        return self.function(*args[:count], **dict(zip(self.names, args[count:], strict=True)))


class Shape:
    """How the cotangents of a call site's function become those of the call: of the function, then of its arguments.

    Args:
        cells: how many of the leading cotangents are those of a closure's variables.
        method: the function was a bound method, whose cotangent is that of its object.
        of: for a call of `call_back`, the shape of what was called back.
        level: how often `call_forward` itself has been differentiated.
    """

    __slots__ = ("cells", "level", "method", "of")

    def __init__(self, cells: int = 0, method: bool = False, of: Shape | None = None, level: int = 0) -> None:
        self.cells = cells
        self.method = method
        self.of = of
        self.level = level

    def at(self, level: int) -> Shape:
        """The same function, called by a call site `level` orders higher."""
        return Shape(self.cells, self.method, self.of, level) if level else self

    def grouped(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """The cotangents of (function, *arguments) from those that a reverse function gives."""
        if self.of is not None:  # call_back(back, ybar): the cotangent of `back` is that of what it keeps
            parts = (None, parts[0], self.of.back_outward(parts[1]))
        elif self.method:
            parts = (parts[0], *parts[1:])
        else:
            parts = (tuple(parts[: self.cells]) if self.cells else None, *parts[self.cells :])
        return (None, None) * self.level + parts  # of `call_forward` and of its site, for every order

    def outward(self, value: Any) -> Any:
        """What the call gives, from what the compiled function gives."""
        return value if self.of is None else self.of.grouped(value)

    def ungrouped(self, bar: Any) -> Any:
        """The reverse of `grouped`."""
        if bar is None:
            return None
        rest = tuple(bar)[2 * self.level :]
        if self.of is not None:
            return (rest[1], self.of.inward(rest[2]))
        if self.method:
            return rest
        head = rest[0] if rest[0] is not None else (None,) * self.cells
        return (*head, *rest[1:])

    def inward(self, ybar: Any) -> Any:
        """The cotangent of what the compiled function gives, from that of what the call gives."""
        if self.of is None:
            return ybar
        return self._innermost(ybar, self.level, self.of.ungrouped)

    def back_outward(self, ybar: Any) -> Any:
        """The reverse of `inward`."""
        if self.of is None:
            return ybar
        return self._innermost(ybar, self.level, self.of.grouped)

    def _innermost(self, bar: Any, depth: int, change: Callable[[Any], Any]) -> Any:
        if bar is None:
            return None
        return change(bar) if depth == 0 else (self._innermost(bar[0], depth - 1, change), *bar[1:])


class Back:
    """What `call_forward` keeps for the way back: the reverse function and what forward has saved."""

    __slots__ = ("reverse", "saved", "saved_type", "shape")

    def __init__(self, reverse: Any, saved: Any, saved_type: Any, shape: Shape | None = None) -> None:
        self.reverse = reverse
        self.saved = saved
        self.saved_type = saved_type
        self.shape = shape or Shape()

    def __call__(self, ybar: Any) -> tuple[Any, ...]:
        return call_back(self, ybar)[1:]


Lookup = Callable[[Site, Any, tuple[Any, ...]], Any]
_lookup: list[Lookup] = []  # one function


def set_lookup(function: Lookup) -> None:
    """Say how a call runs forward: `pairs` compiles, so it cannot be imported here."""
    _lookup[:] = [function]


def call_forward(site: Site, fn: Any, *args: Any) -> Any:
    """Run a call forward by the pair that belongs to the types it turns out to have."""
    return _lookup[0](site, fn, args)


def call_back(back: Back | None, ybar: Any) -> tuple[Any, ...]:
    """The cotangents of a call made by `call_forward`: of the function, then of each argument."""
    if back is None or ybar is None:
        return NOTHING
    return back.shape.grouped(back.reverse(back.saved, back.shape.inward(ybar)))


class _Nothing(tuple[Any, ...]):
    """As many absent cotangents as somebody asks for."""

    def __getitem__(self, index: Any) -> Any:
        return None


NOTHING = _Nothing()


# -- tracing


def tick(call: Call) -> None:
    """A call of the selection tree has run once more."""
    call.count += 1
