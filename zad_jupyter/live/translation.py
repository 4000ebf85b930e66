"""New object → the old one that lives on in its place, also where other new objects refer to it.

A module that is executed again makes every function and class anew. Where the old one is patched and kept, whatever
else the new execution made (instances, tables, defaults, closures, class attributes) must speak of the old one.
Only what the new execution made is walked, never the heap: the time does not depend on what else is alive.
"""
from __future__ import annotations

import functools
import operator
import sys
import typing
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import Field
from types import CellType, FunctionType, GenericAlias, MemberDescriptorType, MethodType, UnionType
from typing import Any

DEPTH = 6          # a table of lists of instances, and one spare; also what ends cycles
LARGE = 10_000     # longer ones are data, not tables of functions


class Translation:
    """The pairs of new and old objects of one batch of modules.

    Args:
        modules: the names of the modules of the batch; only functions, classes and instances of these are walked.
    """

    def __init__(self, modules: frozenset[str]) -> None:
        self.modules = modules
        self._pairs: dict[int, tuple[Any, Any]] = {}          # by id of the new object, which is kept alive here
        self._walked: dict[int, tuple[int, Any]] = {}

    def add(self, new: Any, old: Any) -> None:
        """From now on `old` stands for `new`. The first pair of a new object counts."""
        self._pairs.setdefault(id(new), (new, old))

    def of(self, value: Any) -> Any:
        """The old object that stands for `value`; else `value` itself."""
        pair = self._pairs.get(id(value))
        return value if pair is None else pair[1]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """The pairs (new, old)."""
        return iter(list(self._pairs.values()))

    def retarget(self, value: Any, depth: int = DEPTH) -> Any:
        """`value` with every reference to a new object replaced: in place where it can be, else as a copy.

        Args:
            value: something that the new execution made.
            depth: how far to follow references.
        """
        pair = self._pairs.get(id(value))
        if pair is not None:
            return pair[1]
        if depth == 0 or self._walked.get(id(value), (0, None))[0] >= depth:
            return value
        walk = _WALKS.get(type(value))
        if walk is None:
            if isinstance(value, type):
                walk = Translation._class if value.__module__ in self.modules else None
            elif getattr(type(value), "__module__", None) in self.modules:
                walk = Translation._instance
        if walk is None or (isinstance(value, list | dict | tuple | set | frozenset) and len(value) > LARGE):
            return value
        self._walked[id(value)] = depth, value
        return walk(self, value, depth - 1)

    def _list(self, value: list[Any], depth: int) -> Any:
        for i, item in enumerate(value):
            new = self.retarget(item, depth)
            if new is not item:
                value[i] = new
        return value

    def _mapping(self, value: dict[Any, Any], depth: int) -> Any:
        items = [(self.retarget(key, depth), self.retarget(item, depth)) for key, item in value.items()]
        if any(a is not c or b is not d for (a, b), (c, d) in zip(items, value.items(), strict=True)):
            value.clear()                     # and filled again, since keys cannot be exchanged in their order
            value.update(items)
        if type(value) is defaultdict:
            value.default_factory = self.retarget(value.default_factory, depth)
        return value

    def _collection(self, value: Any, depth: int) -> Any:
        """Tuples and sets."""
        have = list(value)
        items = [self.retarget(item, depth) for item in have]
        if all(a is b for a, b in zip(items, have, strict=True)):
            return value
        if type(value) is not set:
            return type(value)(items)
        value.clear()
        value.update(items)
        return value

    def _function(self, value: FunctionType, depth: int) -> Any:
        for cell in value.__closure__ or ():
            self._cell(cell, depth)
        if value.__module__ not in self.modules:        # another module's decorator: only what it closes over is ours
            return value
        value.__defaults__ = self.retarget(value.__defaults__, depth)
        if value.__kwdefaults__:
            self.retarget(value.__kwdefaults__, depth)
        if sys.version_info < (3, 14):        # from then on annotations are evaluated late, when names are bound
            self.retarget(value.__annotations__, depth)
        self.retarget(value.__dict__, depth)
        return value

    def _cell(self, cell: CellType, depth: int) -> None:
        try:
            content = cell.cell_contents
        except ValueError:                    # not yet assigned
            return
        new = self.retarget(content, depth)
        if new is not content:
            cell.cell_contents = new

    def _method(self, value: MethodType, depth: int) -> Any:
        function, owner = self.retarget(value.__func__, depth), self.retarget(value.__self__, depth)
        return value if function is value.__func__ and owner is value.__self__ else MethodType(function, owner)

    def _wrapper(self, value: Any, depth: int) -> Any:
        """A staticmethod or classmethod."""
        function = self.retarget(value.__func__, depth)
        return value if function is value.__func__ else type(value)(function)

    def _property(self, value: property, depth: int) -> Any:
        have = value.fget, value.fset, value.fdel
        new = tuple(self.retarget(f, depth) for f in have)
        return value if new == have else property(new[0], new[1], new[2], value.__doc__)

    def _cached_property(self, value: Any, depth: int) -> Any:
        value.func = self.retarget(value.func, depth)
        return value

    def _partial(self, value: Any, depth: int) -> Any:
        new = self.retarget(value.func, depth), self.retarget(value.args, depth), self.retarget(value.keywords, depth)
        value.__setstate__((*new, value.__dict__))
        return value

    def _lru_cache(self, value: Any, depth: int) -> Any:
        self.retarget(value.__wrapped__, depth)
        return value

    def _field(self, value: Any, depth: int) -> Any:
        """A dataclass's field."""
        for name in ("default", "default_factory", "type"):
            setattr(value, name, self.retarget(getattr(value, name), depth))
        return value

    def _alias(self, value: Any, depth: int) -> Any:
        """`Optional[C]`, `List[C]`, `G[C]`."""
        value.__origin__ = self.retarget(value.__origin__, depth)
        value.__args__ = self._collection(value.__args__, depth)
        return value

    def _builtin_alias(self, value: Any, depth: int) -> Any:
        """`list[C]`, `C | None`."""
        arguments = self._collection(value.__args__, depth)
        if arguments is value.__args__:
            return value
        if isinstance(value, UnionType):
            return functools.reduce(operator.or_, arguments)
        return GenericAlias(self.of(value.__origin__), arguments)

    def _class(self, value: type, depth: int) -> Any:
        for name, attribute in list(vars(value).items()):
            new = self.retarget(attribute, depth)
            if new is not attribute:
                type.__setattr__(value, name, new)
        return value

    def _instance(self, value: Any, depth: int) -> Any:
        cls = self.of(type(value))
        if cls is not type(value):
            try:
                object.__setattr__(value, "__class__", cls)       # a frozen dataclass has a __setattr__ that refuses
            except TypeError:
                return value
        self.retarget(attributes_of(value), depth)
        if isinstance(value, list):
            self._list(value, depth)
        elif isinstance(value, dict):
            self._mapping(value, depth)
        for base in cls.__mro__:
            for slot in [each for each in vars(base).values() if type(each) is MemberDescriptorType]:
                self._slot(slot, value, depth)
        return value

    def _slot(self, slot: MemberDescriptorType, owner: Any, depth: int) -> None:
        try:
            content = slot.__get__(owner)
        except AttributeError:                # not yet assigned
            return
        new = self.retarget(content, depth)
        if new is not content:
            slot.__set__(owner, new)


def attributes_of(value: Any) -> dict[str, Any]:
    """An object's own attributes; none if it keeps them elsewhere."""
    try:
        own = value.__dict__
    except Exception:                         # a __getattr__ of the user's may raise anything
        return {}
    return own if type(own) is dict else {}


_WALKS: dict[type, Callable[[Any, Any, int], Any]] = {
    list: Translation._list, dict: Translation._mapping, OrderedDict: Translation._mapping,
    defaultdict: Translation._mapping, tuple: Translation._collection, set: Translation._collection,
    frozenset: Translation._collection, FunctionType: Translation._function, MethodType: Translation._method,
    staticmethod: Translation._wrapper, classmethod: Translation._wrapper, property: Translation._property,
    functools.cached_property: Translation._cached_property, functools.partial: Translation._partial,
    functools._lru_cache_wrapper: Translation._lru_cache, Field: Translation._field,
    **dict.fromkeys(map(type, [typing.Optional[int], typing.List[int],  # noqa: UP006, UP045
                               typing.Callable[[int], int]]), Translation._alias),
    GenericAlias: Translation._builtin_alias, UnionType: Translation._builtin_alias,
}
