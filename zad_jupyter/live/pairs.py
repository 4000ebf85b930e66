"""Which old function or class becomes which new one?  Found by name, and by what the Python objects allow.

Nothing is changed here, but for the bases of a class: only trying tells whether Python allows it.
"""
from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from enum import EnumMeta
from types import FunctionType
from typing import Any, NamedTuple

from .classes import change_bases, why_not
from .report import Patched, Unpatched
from .translation import Translation

NOTHING = object()
KINDS = (FunctionType, type, functools._lru_cache_wrapper)


class Renewed(NamedTuple):
    """A module's namespace before it was executed again (a copy), and the one that it has now."""

    module: str
    old: dict[str, Any]
    new: dict[str, Any]
    unchanged: frozenset[str] = frozenset()      # classes whose text is the same


class _Candidate(NamedTuple):
    report: Patched
    name: str
    old: Any
    new: Any

    def precedence(self) -> tuple[int, bool, int]:
        """Where a thing was defined goes before its other names; metaclasses and bases before what needs them."""
        length = len(self.new.__mro__) if isinstance(self.new, type) else 0
        metaclass = isinstance(self.new, type) and issubclass(self.new, type)
        other_name = sum(getattr(value, "__qualname__", None) != self.name for value in (self.old, self.new))
        return other_name, not metaclass, length


class Pairs:
    """The pairs of a batch of modules.

    Attributes:
        functions: (report, name, old, new).
        classes: (old, new).
        caches: old `functools.lru_cache` objects whose functions are among these.
    """

    def __init__(self, translation: Translation) -> None:
        self.translation = translation
        self.functions: list[tuple[Patched, str, FunctionType, FunctionType]] = []
        self.classes: list[tuple[type, type]] = []
        self.caches: list[Any] = []
        self._taken: dict[int, Any] = {}      # old objects that have their new version, by id

    def find(self, modules: Iterable[tuple[Renewed, Patched]]) -> None:
        """Pair what the modules' names meant with what they mean now; what cannot be is named in the reports."""
        candidates: list[_Candidate] = []
        for names, report in modules:
            for name, value in names.new.items():
                _collect(candidates, report, name, names.old.get(name, NOTHING), value)
        for candidate in sorted(candidates, key=_Candidate.precedence):
            self.pair(*candidate)

    def has(self, old: Any) -> bool:
        """Whether an old object has become a new one."""
        return id(old) in self._taken

    def pair(self, report: Patched, name: str, old: Any, new: Any) -> bool:
        """Let `old` become `new`, if both were made by the module and Python can; say so in its report if not."""
        if self.translation.of(new) is old:
            return True
        # One old function can have become two, if it had two names: the first one has it.
        if self.has(old) or not (made_in(report.module, old) and made_in(report.module, new)):
            return False
        if isinstance(old, FunctionType) and isinstance(new, FunctionType):
            why = self._pair_functions(report, name, old, new)
        elif isinstance(old, type) and isinstance(new, type):
            why = self._pair_classes(report, name, old, new)
        elif isinstance(old, functools._lru_cache_wrapper) and isinstance(new, functools._lru_cache_wrapper):
            why = self._pair_caches(report, name, old, new)
        else:
            why = f"a {type(old).__name__} cannot become a {type(new).__name__}"
        # Generated code (a dataclass's __init__) is not of the user's making, and is only ever reached by its class.
        if why is not None and not (isinstance(new, FunctionType) and new.__code__.co_filename.startswith("<")):
            report.unpatched.append(Unpatched(name, why))
        return why is None

    def _take(self, old: Any, new: Any) -> None:
        self._taken[id(old)] = old
        self.translation.add(new, old)

    def _pair_functions(self, report: Patched, name: str, old: FunctionType, new: FunctionType) -> str | None:
        if old.__globals__ is not new.__globals__:
            return "it now comes from another module, through a decorator for instance"
        if len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
            return ("it refers to more or fewer variables of the scopes around it than before (super() is one; a "
                    "decorator's wrapper has some), and Python fixes their number when a function is made")
        self._take(old, new)
        self.functions.append((report, name, old, new))
        inner = contents(old)
        for variable, value in contents(new).items():
            if not isinstance(value, type):
                self._pair_attribute(report, f"{name}.<locals>.{variable}", inner.get(variable, NOTHING), value)
        return None

    def _pair_caches(self, report: Patched, name: str, old: Any, new: Any) -> str | None:
        if old.cache_parameters() != new.cache_parameters():
            return "the size of its functools.lru_cache is fixed when it is made"
        if not self.pair(report, f"{name}.__wrapped__", old.__wrapped__, new.__wrapped__):
            return "the function behind its functools.lru_cache is fixed when it is made"
        self._take(old, new)
        self.caches.append(old)
        return None

    def _pair_classes(self, report: Patched, name: str, old: type, new: type) -> str | None:
        if name in report.unchanged and isinstance(old, EnumMeta) and isinstance(new, EnumMeta):
            self._take(old, new)              # nothing is different: whoever holds a member goes on holding the member
            member: Any
            for member in new:
                self.translation.add(member, old[member.name])
            return None
        why = why_not(old, new, self.translation) or change_bases(old, new, self.translation)
        if why is not None:
            return why
        self._take(old, new)
        self.classes.append((old, new))
        report.classes.append((name, old))
        for attribute, value in vars(new).items():
            if not isinstance(value, type):   # inner classes are candidates of their own
                self._pair_attribute(report, f"{name}.{attribute}", vars(old).get(attribute, NOTHING), value)
        return None

    def _pair_attribute(self, report: Patched, name: str, old: Any, new: Any) -> None:
        """Pair what a class's attribute or a closure's variable holds: functions, also inside descriptors."""
        for a, b in _functions_in(old, new):
            if a is not b:
                self.pair(report, name, a, b)


def _collect(candidates: list[_Candidate], report: Patched, name: str, old: Any, new: Any) -> None:
    """A name's old and new value, and those of the classes written inside a class."""
    if old is new or not isinstance(old, KINDS) or not isinstance(new, KINDS):
        return
    candidates.append(_Candidate(report, name, old, new))
    if isinstance(old, type) and isinstance(new, type) and made_in(report.module, new):
        for attribute, value in list(vars(new).items()):
            inner = f"{new.__qualname__}.{attribute}"
            if isinstance(value, type) and value.__qualname__ == inner:
                _collect(candidates, report, inner, vars(old).get(attribute, NOTHING), value)


def made_in(module: str, value: Any, depth: int = 4) -> bool:
    """Whether a function or class was made by a module's text: written there, or a decorator's wrapper of such."""
    if isinstance(value, type | functools._lru_cache_wrapper):
        return bool(value.__module__ == module)
    if not isinstance(value, FunctionType):
        return False
    return value.__module__ == module or (depth > 0 and any(
        isinstance(inner, FunctionType) and made_in(module, inner, depth - 1) for inner in contents(value).values()))


def _functions_in(old: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs of functions that two values of the same kind hold, or the values themselves."""
    if isinstance(new, staticmethod | classmethod) and isinstance(old, staticmethod | classmethod):
        yield old.__func__, new.__func__
    elif isinstance(new, property) and isinstance(old, property):
        yield from zip((old.fget, old.fset, old.fdel), (new.fget, new.fset, new.fdel), strict=True)
    elif isinstance(new, functools.cached_property) and isinstance(old, functools.cached_property):
        yield old.func, new.func
    else:
        yield old, new


def content(cell: Any) -> Any:
    """What a closure's cell holds; `NOTHING` before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return NOTHING


def contents(function: FunctionType) -> dict[str, Any]:
    """The variables of the scopes around a function, by name."""
    return dict(zip(function.__code__.co_freevars, map(content, function.__closure__ or ()), strict=True))
