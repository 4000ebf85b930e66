"""Functions and classes of a module that was executed again: the old objects become the new version.

Whoever holds an old function, class, instance or bound method then has the new version, and `isinstance` stays true.
First all pairs of old and new are found (`pairs`); then the old ones are changed; last, what the new execution made is
told of the old ones (`translation`).
"""
from __future__ import annotations

import functools
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from zad_jupyter.rules.returns import same_code

from .classes import change_bases, change_class
from .pairs import NOTHING, Pairs, Renewed, content, made_in
from .report import Edited, Moved, Patched, Replaced, Unpatched
from .same import interchangeable, same_lines, same_value
from .translation import Translation, attributes_of

_MACHINERY = frozenset({"__annotations__", "__annotate__", "__conditional_annotations__", "__doc__", "__builtins__"})


def patch(old: dict[str, Any], new: dict[str, Any], module: str) -> Patched:
    """`patch_all` for one module."""
    return patch_all([Renewed(module, old, new)])[0]


def patch_all(modules: Iterable[Renewed], others: Iterable[dict[str, Any]] = ()) -> list[Patched]:
    """Change the old functions and classes of a batch of modules into the new ones, and bind the names to them.

    Args:
        modules: the modules' namespaces, before and after; the latter are changed.
        others: namespaces of modules that were first imported meanwhile, and so may hold new objects.

    Returns:
        A report for each module. It must not be interrupted halfway: see `deferred_interrupt`.
    """
    modules, others = list(modules), list(others)
    translation = Translation(frozenset([it.module for it in modules] + [it.get("__name__", "") for it in others]))
    pairs = Pairs(translation)
    reports = [Patched(it.module, translation, unchanged=it.unchanged) for it in modules]
    pairs.find(zip(modules, reports, strict=True))
    _change(pairs)
    for namespace in others:
        _settle(namespace, {}, translation)
    for it, report in zip(modules, reports, strict=True):
        _settle(it.new, it.old, translation)
        _compare(it, report, pairs)
    return reports


def _change(pairs: Pairs) -> None:
    """Change the old ones; afterwards nothing that was paired is of the old version."""
    translation = pairs.translation
    for report, name, function, new in pairs.functions:
        before = function.__code__
        if _change_function(function, new, translation):
            report.functions.append(Edited(name, function, before))
        elif function.__code__ is not before:
            report.moved.append(Moved(function, before, function.__code__))
    for old_class, new_class in pairs.classes:
        change_class(old_class, new_class, translation)
    for cache in pairs.caches:                # what it remembers may come from anything that changed
        cache.cache_clear()
        functools.update_wrapper(cache, cache.__wrapped__)
    for _, new_class in pairs.classes:        # classes of the new execution for which no old one stands
        children: list[type] = type.__subclasses__(new_class)
        for child in children:
            if translation.of(child) is child:
                change_bases(child, child, translation)


def _change_function(old: FunctionType, new: FunctionType, translation: Translation) -> bool:
    """Give a function all that is the new one's; whether it does something else now."""
    changed = not same_code(old.__code__, new.__code__)
    if changed or not same_lines(old.__code__, new.__code__):         # its identity is what others watch
        old.__code__ = new.__code__
    for name in ("__defaults__", "__kwdefaults__"):
        have, value = getattr(old, name), translation.retarget(getattr(new, name))
        if not interchangeable(have, value):
            changed |= not same_value(have, value)
            setattr(old, name, value)
    for mine, its in zip(old.__closure__ or (), new.__closure__ or (), strict=True):
        have, value = content(mine), translation.retarget(content(its))
        if have is value:
            continue
        if value is NOTHING:
            changed = True
            del mine.cell_contents
        elif not interchangeable(have, value):
            changed |= not same_value(have, value)
            mine.cell_contents = value
    for name in ("__name__", "__qualname__", "__doc__", "__type_params__"):
        if hasattr(new, name):
            setattr(old, name, getattr(new, name))
    annotations = "__annotate__" if hasattr(new, "__annotate__") else "__annotations__"
    setattr(old, annotations, translation.retarget(getattr(new, annotations)))
    attributes = translation.retarget(dict(new.__dict__))
    old.__dict__.clear()
    old.__dict__.update(attributes)
    return changed


def _settle(namespace: dict[str, Any], old: dict[str, Any], translation: Translation) -> None:
    """Bind a module's names to the old objects that were patched, also inside the values that are new."""
    for name, value in list(namespace.items()):
        have = old.get(name, NOTHING)
        if have is not value:
            value = translation.retarget(value)
            namespace[name] = have if interchangeable(have, value) or _equal_partials(have, value) else value


def _equal_partials(old: Any, new: Any) -> bool:
    return (type(old) is functools.partial and type(new) is functools.partial and old.func is new.func
            and interchangeable(old.args, new.args) and same_value(old.keywords, new.keywords))


def _compare(names: Renewed, report: Patched, pairs: Pairs) -> None:
    """Write down which names came, went, or mean something else."""
    old = {name: value for name, value in names.old.items() if name not in _MACHINERY}
    new = {name: value for name, value in names.new.items() if name not in _MACHINERY}
    report.added = [name for name in new if name not in old]
    report.removed = [name for name in old if name not in new]
    named = {item.name for item in report.unpatched}
    for name, value in new.items():
        have = old.get(name, value)
        if have is value:
            continue
        item = Replaced(name, have, value)
        if pairs.has(have):                   # those who hold it cannot be told apart from those of its own name
            report.changed.append(item)
            report.unpatched.append(Unpatched(name, "it was another name of what has a new version of its own"))
        elif _is_of(report.module, have):
            report.replaced.append(item)
            if made_in(report.module, have) and name not in named:
                why = f"it is now a {type(value).__name__} that this module did not define"
                report.unpatched.append(Unpatched(name, why))
        elif not same_value(have, value):
            report.changed.append(item)


def _is_of(module: str, value: Any) -> bool:
    """Whether a value is a callable that nobody but the module can have made."""
    return isinstance(value, functools.partial) or made_in(module, value) or (
        callable(value) and module in (type(value).__module__, attributes_of(value).get("__module__")))
