"""What a new execution of a module changed: told to those who keep something that depends on it."""
from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from .translation import Translation


class Edited(NamedTuple):
    """A function that does something else now, and the code it had."""

    name: str
    function: FunctionType
    old: CodeType


class Moved(NamedTuple):
    """A function whose code is the same, but for the lines it stands on."""

    function: FunctionType
    old: CodeType
    new: CodeType


class Replaced(NamedTuple):
    """A module's name that means another object now: its old value and its new one."""

    name: str
    old: Any
    new: Any


class Unpatched(NamedTuple):
    """Something whose old version lives on wherever it is held, and why: a sentence for people."""

    name: str
    why: str


@dataclass
class Patched:
    """What a new execution of a module changed. It keeps the new objects alive: not to be kept itself.

    Attributes:
        module: the module's name.
        translation: gives for each new object the old one that stands for it.
        functions: those that do something else now: code, defaults or closure.
        moved: the functions that only stand on other lines.
        classes: (name, class) of those that were patched, changed or not.
        replaced: functions, classes and other callables of the module whose names mean a new object, since the old
            one cannot be changed.
        unpatched: what could not be changed in place, methods included.
        removed, added: names.
        unchanged: the classes whose text is the same.
        changed: the other names whose value is now another object of other value.
    """

    module: str
    translation: Translation
    functions: list[Edited] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)
    classes: list[tuple[str, type]] = field(default_factory=list)
    replaced: list[Replaced] = field(default_factory=list)
    unpatched: list[Unpatched] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[Replaced] = field(default_factory=list)
    unchanged: frozenset[str] = frozenset()
