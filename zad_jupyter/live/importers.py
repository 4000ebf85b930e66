"""Who else holds what a module's name used to mean?  Namespaces to bind anew, modules to execute again."""
from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from ..rules.syntax import parse
from .report import Replaced

# Objects that Python shares, or that are equal wherever they come from: to hold one tells nothing of where it is from.
_SHARED = (bool, int, float, complex, str, bytes, type(None), type(...))


def rebind(namespaces: Iterable[dict[str, Any]], replaced: Iterable[Replaced]) -> list[str]:
    """Bind the names that are bound to an old object to the new one.

    Args:
        namespaces: a notebook's globals, other modules' `__dict__`.
        replaced: what `patch` could not change in place.

    Returns:
        The names that were bound anew, in each namespace in turn.
    """
    new = {id(item.old): item for item in replaced if not _is_shared(item.old)}
    bound = []
    for namespace in namespaces if new else ():
        for name, value in list(namespace.items()):
            item = new.get(id(value))
            if item is not None:
                namespace[name] = item.new
                bound.append(name)
    return bound


def rebind_imports(modules: Iterable[ModuleType], source: str, items: Iterable[Replaced]) -> None:
    """Let modules that took something by `from source import name` mean what that name means now.

    For what the source itself had taken from elsewhere: others may hold the same object for reasons of their own.
    """
    new = {item.name: item for item in items}
    for module in modules if new else ():
        for where, name in _imported_names(module):
            if where == source and name in new:
                for bound, value in list(vars(module).items()):
                    if value is new[name].old:
                        vars(module)[bound] = new[name].new


def importers(changed: Mapping[str, Iterable[Replaced]], candidates: Iterable[ModuleType] = ()) -> list[ModuleType]:
    """The modules that took a value that is no longer what its name means, in the order they were imported.

    Which holds the very object is seen in `sys.modules`. Numbers and texts are shared by all who have an equal one:
    for these the import statements of the candidates are read.

    Args:
        changed: by module name, what `patch` reported as changed (or replaced).
        candidates: modules whose files may be read.
    """
    items = [(module, item) for module, some in changed.items() for item in some]
    old = {id(item.old) for _, item in items if not _is_shared(item.old)}
    shared = {(module, item.name) for module, item in items if _is_shared(item.old)}
    allowed = {id(module) for module in candidates} if shared else set()
    found: list[ModuleType] = []
    for name, module in list(sys.modules.items()):
        if name in changed or not isinstance(module, ModuleType) or module in found:
            continue
        holds = old and any(id(value) in old for value in list(vars(module).values()))
        if holds or (id(module) in allowed and not shared.isdisjoint(_imported_names(module))):
            found.append(module)
    return found


def _is_shared(value: Any) -> bool:
    return isinstance(value, _SHARED) or (type(value) is tuple and not value)  # no == of the user's


def _imported_names(module: ModuleType) -> set[tuple[str, str]]:
    """The (module, name) pairs of the `from … import …` statements of a module's file, functions' bodies included."""
    try:
        with open(module.__file__ or "", "rb") as file:
            tree = parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            try:
                source = importlib.util.resolve_name("." * node.level + (node.module or ""), module.__package__)
            except ImportError:
                continue
            # A star takes every name that is still there under the same name.
            found |= {(source, name) for alias in node.names
                      for name in (vars(module) if alias.name == "*" else [alias.name])}
    return found
