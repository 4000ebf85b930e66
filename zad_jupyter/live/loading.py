"""A batch of changed files is loaded: whole, or not at all.

The modules are executed on trial, imports first; modules that took a value of theirs that is another now are executed
with them. All the while the registry collects the rules that they define. Only when nothing failed are functions and
classes patched and the rules swapped in, as one change.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from ..compiler import cache
from ..compiler.cache import Dropped
from ..compiler.moves import follow
from ..compiler.normal import forget_file
from ..rules import Change, Owner, registry
from ..rules.places import owner_of_file
from ..rules.syntax import in_force, lines_in, parse
from .execute import Batch, Execution
from .importers import importers, rebind, rebind_imports
from .interrupt import deferred_interrupt
from .report import Replaced
from .same import same_value
from .sources import Source, file_of, is_watchable, remember


class LoadFailed(Exception):
    """A file of a batch raised; nothing has changed. The cause is what it raised."""

    def __init__(self, source: Source, cause: BaseException) -> None:
        super().__init__(f"{source.label}: {type(cause).__name__}")  # its own text may raise
        self.source = source
        self.cause = cause


@dataclass
class Loaded:
    """What a batch has changed.

    Attributes:
        sources: the files, those that were loaded along included.
        change: of the rules, if any is different.
        dropped: the gradients that were dropped because a function is another.
        edited: the names of functions that do something else now.
        unpatched: what lives on in its old version where it is held, and why.
    """

    sources: list[Source]
    change: Change | None = None
    dropped: list[Dropped] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    unpatched: list[str] = field(default_factory=list)


def load(
    changed: Sequence[tuple[Source, bytes]], others: Iterable[Source], names: Iterable[dict[str, Any]] = (),
    progress: Callable[[str], None] = lambda text: None,
) -> Loaded:  # fmt: skip
    """Load files whose content is another.

    Args:
        changed: the files, with their new content.
        others: the other watched files: if their modules took a changed value, they are executed too.
        names: namespaces (a notebook's) in which names of replaced objects are bound anew.
        progress: is told what is being executed.

    Raises:
        LoadFailed: a file raised. Everything is as it was.
        KeyboardInterrupt: so was this.
    """
    content = {source.path: text for source, text in changed}
    todo = ordered([source for source, _ in changed], content)
    by_module = {module: source for source in others for module in source.modules()}
    changes: list[Change] = []
    unsubscribe = registry.subscribe(changes.append)
    before = dict(in_force)
    loaded = Loaded([])
    try:
        with Batch(forget=_is_somebodys) as batch, contextlib.ExitStack() as stack:
            staged = stack.enter_context(registry.transaction(Owner("named", "files", "files")))
            while todo:
                source = todo.pop(0)
                loaded.sources.append(source)
                text = content.get(source.path, source.content)
                if text is not None:
                    _execute(batch, source, text, progress)
                if not todo:
                    todo = [s for s in _along(batch, by_module) if s not in loaded.sources]
            with deferred_interrupt():
                _commit(batch, staged, names, by_module, loaded)
                stack.close()  # the rules are swapped in
    except BaseException:
        in_force.clear()
        in_force.update(before)
        raise
    finally:
        unsubscribe()
    loaded.change = changes[-1] if changes else None
    for source in loaded.sources:
        text = content.get(source.path, source.content)
        if text is not None:
            source.content = text
            source.file.accept(text)
            for module in source.modules():
                remember(module, text)
                forget_file(module.__file__ or "")
        source.error, source.tried = None, None
    return loaded


def _is_somebodys(module: ModuleType) -> bool:
    """Whether a module may have rules that went with a failed batch: then it is imported anew."""
    path = file_of(module)
    return path is not None and is_watchable(path)


def _execute(batch: Batch, source: Source, text: bytes, progress: Callable[[str], None]) -> None:
    began = time.perf_counter()
    progress(source.label)
    for module in source.modules():
        try:
            filename = module.__file__ or source.path
            in_force[filename] = lines_in(text)
            with registry.transaction(owner_of_file(filename, module.__name__)):
                batch.execute(module, text, filename, source.content)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise LoadFailed(source, error) from error
    source.seconds = time.perf_counter() - began


def _commit(
    batch: Batch, staged: Any, names: Iterable[dict[str, Any]], watched: Collection[ModuleType], loaded: Loaded
) -> None:  # fmt: skip
    reports = batch.commit()
    if not reports:
        return
    staged.translation = reports[0].translation  # one for the whole batch
    edited = [item for report in reports for item in report.functions]
    staged.edited = [item.function for item in edited]
    follow([item for report in reports for item in report.moved])
    loaded.edited = list(dict.fromkeys(item.name for item in edited))
    loaded.dropped = cache.patched([(item.function, item.old) for item in edited])
    replaced = [item for report in reports for item in report.replaced if callable(item.old)]
    rebind([*names, *map(vars, watched)], replaced)
    staged.replaced = [(item.old, item.new) for item in replaced if callable(item.new)]
    for report in reports:
        taken = [item for item in report.changed if isinstance(item.old, ModuleType) or callable(item.old)]
        rebind_imports(watched, report.module, taken)
    loaded.unpatched = [f"{item.name}: {item.why}" for report in reports for item in report.unpatched]


def _along(batch: Batch, by_module: dict[ModuleType, Source]) -> list[Source]:
    """The files of modules that took a value which is no longer what its name means."""
    changed: dict[str, list[Replaced]] = {}
    for execution in batch.executions:
        items = _values(execution)
        if items:
            changed.setdefault(execution.module.__name__, []).extend(items)
    if not changed:
        return []
    found = importers(changed, by_module)
    return list(dict.fromkeys(by_module[module] for module in found if module in by_module))


def _values(execution: Execution) -> list[Replaced]:
    """The values of a module that are others after its execution: not functions and classes, which are patched."""
    found = []
    for name, value in vars(execution.module).items():
        old = execution.old.get(name, value)
        if old is value or name.startswith("__") or isinstance(value, FunctionType | type | ModuleType):
            continue
        if not same_value(old, value):
            found.append(Replaced(name, old, value))
    return found


def ordered(sources: list[Source], content: dict[str, bytes]) -> list[Source]:
    """Files in an order in which each comes after those that it imports; where they import each other, as given."""
    by_name = {name: source for source in sources for name in source.names}
    done: list[Source] = []
    active: set[str] = set()

    def visit(source: Source) -> None:
        if source in done or source.path in active:
            return
        active.add(source.path)
        for name in _imports(content[source.path], source):
            if name in by_name:
                visit(by_name[name])
        done.append(source)

    for source in sources:
        visit(source)
    return done


def _imports(text: bytes, source: Source) -> list[str]:
    """The names of modules that a text imports, as far as they are written in it."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    packages = [sys.modules[name].__package__ or "" for name in source.names if name in sys.modules]
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            for package in packages if node.level else [""]:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*parts, *([node.module] if node.module else [])])
                found += [base, *[f"{base}.{alias.name}" for alias in node.names]]
    return found

