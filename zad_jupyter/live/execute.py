"""A module's new text is executed in the module itself: on trial first, then for good or not at all.

The trial runs in the module's own namespace, as `importlib.reload` does, since functions keep the globals they were
made with. What the old text bound and the new one does not is taken away before, so that the new text cannot lean on
it: after a restart it would not be there either. Any error, an interrupt included, puts everything back.
"""
from __future__ import annotations

import ast
import dis
import linecache
import sys
import warnings
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any

from zad_jupyter.rules.syntax import parse

from .interrupt import deferred_interrupt
from .pairs import Renewed
from .patch import patch_all
from .report import Patched

_bound: weakref.WeakKeyDictionary[ModuleType, frozenset[str]] = weakref.WeakKeyDictionary()


class Batch:
    """Modules that change together: all of them, or none.

    An interrupt that comes during `commit` is delivered when all is patched, before `commit` returns. Who has to act
    on the reports all the same calls it inside a `deferred_interrupt` of his own.

    >>> with Batch() as batch:                                         # doctest: +SKIP
    ...     batch.execute(module, source, module.__file__)
    ...     reports = batch.commit()

    Leaving the block without a commit, by an error for instance, puts every module back.
    """

    def __init__(self, forget: Callable[[ModuleType], bool] = lambda module: False) -> None:
        self._forget = forget    # which modules, first imported on trial, are to be imported anew after it has failed
        self.executions: list[Execution] = []
        self._imported = set(sys.modules)

    def execute(self, module: ModuleType, source: bytes | str, filename: str, old_source: bytes | str | None = None,
                ) -> Execution:
        """Execute a module's new text on trial. An error puts every module of the batch back.

        Args:
            module: as it is in `sys.modules`.
            source: the new text; bytes are decoded as PEP 263 says.
            filename: the file it is in, for tracebacks.
            old_source: the text that the module was made of; needed once, to know which names it bound.

        Raises:
            BaseException: whatever the text raises, SyntaxError and KeyboardInterrupt included.
        """
        execution = Execution(module, filename)
        self.executions.append(execution)     # before it runs: an interrupt can come at any time
        try:
            execution.run(source, old_source)
        except BaseException:
            self.rollback()
            raise
        return execution

    def commit(self) -> list[Patched]:
        """Patch the old functions and classes of all modules; a report for each, in the order of execution."""
        with deferred_interrupt():
            first: dict[int, Execution] = {}
            for execution in self.executions:             # a module executed twice: from its first to its last state
                first.setdefault(id(execution.module), execution)
            last = {id(it.module): it for it in self.executions}
            done = [Renewed(it.module.__name__, it.old, vars(it.module), last[key].unchanged if last[key] is it
                            else frozenset()) for key, it in first.items()]
            names = {it.module for it in done}
            others = [vars(module) for name, module in list(sys.modules.items())
                      if name not in self._imported and name not in names and isinstance(module, ModuleType)]
            reports = patch_all(done, others)
            _bound.update({execution.module: execution.bound for execution in self.executions})
            self.executions = []
        return reports

    def rollback(self) -> None:
        """Put every module back as it was. Nothing is left to do after a commit."""
        with deferred_interrupt():
            made = {id(value) for execution in self.executions for value in execution.made()}
            for name in set(sys.modules) - self._imported:
                # It took something of the version that is no more: the next import makes it anew.
                held = list(getattr(sys.modules[name], "__dict__", {}).values())
                if any(id(value) in made for value in held) or self._forget(sys.modules[name]):
                    del sys.modules[name]
            for execution in reversed(self.executions):
                execution.restore()
            self.executions = []

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.rollback()


def execute(module: ModuleType, source: bytes | str, filename: str, old_source: bytes | str | None = None) -> Batch:
    """A batch of one module, whose new text was executed: to be committed, or rolled back. See `Batch.execute`."""
    batch = Batch()
    batch.execute(module, source, filename, old_source)
    return batch


class Execution:
    """One module on trial.

    Attributes:
        module: the module.
        old: its namespace as it was (a copy).
        bound: the names that the new text binds.
    """

    def __init__(self, module: ModuleType, filename: str) -> None:
        self.module = module
        self.filename = filename
        self.old: dict[str, Any] = dict(vars(module))
        self.bound: frozenset[str] = frozenset()
        self.unchanged: frozenset[str] = frozenset()
        self._registered = sys.modules.get(module.__name__)

    def run(self, source: bytes | str, old_source: bytes | str | None) -> None:
        """Compile and execute the new text in the module's namespace."""
        linecache.cache.pop(self.filename, None)          # checkcache would miss a save of equal size and time
        code = compile(source, self.filename, "exec", dont_inherit=True)
        self.bound = bound_names(code)
        self.unchanged = _same_classes(old_source, source)
        before = _bound.get(self.module)
        if before is None:
            before = _names_of_old(old_source)
        names = vars(self.module)
        for name in before - self.bound:
            if sys.modules.get(f"{self.module.__name__}.{name}") is not names.get(name, self):
                names.pop(name, None)         # a submodule is a package's attribute whether it is named there or not
        for name in ("__annotations__", "__annotate__"):
            names.pop(name, None)
        names["__doc__"] = None
        spec = getattr(self.module, "__spec__", None)
        initializing = getattr(spec, "_initializing", False)
        try:
            if spec is not None:
                spec._initializing = True
            exec(code, names)
        finally:
            if spec is not None:
                spec._initializing = initializing

    def made(self) -> list[Any]:
        """The functions and classes that the new text made."""
        old = {id(value) for value in self.old.values()}
        return [value for value in vars(self.module).values()
                if isinstance(value, FunctionType | type) and value.__module__ == self.module.__name__
                and id(value) not in old]

    def restore(self) -> None:
        """Put the module's namespace back: the same names, objects and order."""
        names = vars(self.module)
        for name in names.keys() - self.old.keys():
            del names[name]
        names.update(self.old)
        if list(names) != list(self.old):
            for name in self.old:
                names[name] = names.pop(name)
        if self._registered is None:
            sys.modules.pop(self.module.__name__, None)
        else:
            sys.modules[self.module.__name__] = self._registered


def bound_names(code: CodeType) -> frozenset[str]:
    """The names that a module's code binds at its top level, in blocks too.

    What `from m import *` brings is not known, nor what functions declare `global`.

    >>> code = compile("import a.b\\nfor i in x: y = [j for j in i]\\ndef f(): z = 1\\nfrom c import *", "", "exec")
    >>> sorted(bound_names(code))
    ['a', 'f', 'i', 'y']
    """
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_NAME", "STORE_GLOBAL")}
    for inner in code.co_consts:              # `:=` in a comprehension binds a name of the module
        if isinstance(inner, CodeType) and inner.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
            own |= bound_names(inner)
    return frozenset(own)


def _same_classes(old: bytes | str | None, new: bytes | str) -> frozenset[str]:
    """The classes at the top level of two texts that say the same of them, on whatever lines."""
    try:
        texts = [{node.name: ast.dump(node) for node in parse(text or "").body if isinstance(node, ast.ClassDef)}
                 for text in (old, new)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(name for name, text in texts[0].items() if texts[1].get(name) == text)


def _names_of_old(source: bytes | str | None) -> frozenset[str]:
    """The names that the text bound of which a module was made; none if that text is not to be had."""
    try:
        with warnings.catch_warnings():       # they were given when it was imported
            warnings.simplefilter("ignore")
            return bound_names(compile(source or "", "<module>", "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        return frozenset()
