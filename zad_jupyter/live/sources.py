"""Whose files are watched? Those of modules that define rules, of modules beside the notebook, and what was asked for.

Never, unless asked for, what is installed: site-packages, the standard library, ourselves.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import weakref
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType, ModuleType

from ..rules import Owner, Rule
from ..rules.places import owner_of_file, real_path
from ..rules.returns import same_code
from ..rules.syntax import in_force, lines_in
from .files import WatchedFile

PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


@dataclass
class Standing:
    """An edit that could not be loaded: the last good version is in force.

    Attributes:
        what: such as "SyntaxError, line 12".
        since: seconds since the epoch.
        traceback: the whole of it, for people.
        retry: whether the cause may lie elsewhere, in a module that cannot be imported.
    """

    what: str
    since: float
    traceback: str
    retry: bool
    held_by: Source | None = None  # the file that failed, where this one was to be loaded together with it


@dataclass(eq=False)
class Source:
    """A watched file.

    Attributes:
        path: as its modules name it.
        content: what its modules were made of, or None when nobody knows.
        asked: it was named by the person.
        names: of the modules that are made of it.
        gone: when it was first seen missing (`time.monotonic`), or None.
        error: why its present content is not in force, or None.
        seconds: that its last execution took.
        tried: the content that failed, not to be tried again until something changes.
    """

    path: str
    file: WatchedFile
    content: bytes | None
    asked: bool = False
    names: set[str] = field(default_factory=set)
    gone: float | None = None
    error: Standing | None = None
    seconds: float = 0.0
    tried: bytes | None = None

    @property
    def label(self) -> str:
        return os.path.basename(self.path)

    def modules(self) -> list[ModuleType]:
        """The modules that are made of it now."""
        found = [sys.modules.get(name) for name in sorted(self.names)]
        return [module for module in found if module is not None and _is_made_of(module, self.path)]

    def owners(self) -> list[Owner]:
        """As whom the rules of its modules are known to the registry."""
        return [owner_of_file(self.path, name) for name in sorted(self.names)]


class Sources:
    """The watched files, by path."""

    def __init__(self) -> None:
        self.by_path: dict[str, Source] = {}
        self._seen: set[str] = set()  # names of modules that were looked at
        self._next = 0  # where the next round of looks begins

    def __iter__(self) -> Iterator[Source]:
        return iter(list(self.by_path.values()))

    def add(self, path: str, asked: bool = False) -> tuple[Source, bool]:
        """Watch a file, whatever modules are made of it; says whether it is new."""
        source, new = self._source(path, asked)
        for name, module in list(sys.modules.items()) if new else ():
            if isinstance(module, ModuleType) and name != "__main__" and _is_made_of(module, path):
                self._join(source, module)
        return source, new

    def _source(self, path: str, asked: bool = False) -> tuple[Source, bool]:
        source = self.by_path.get(path)
        if source is not None:
            source.asked = source.asked or asked
            return source, False
        source = Source(path, WatchedFile(path), None, asked)
        source.content = _read(path)
        self.by_path[path] = source
        return source, True

    def _join(self, source: Source, module: ModuleType) -> None:
        if module.__name__ in source.names:
            return
        source.names.add(module.__name__)
        known = _made_of.get(module)
        if known is None and source.content is not None and made_of(module, source.content):
            known = source.content
        if known is None or known != source.content:  # edited since it was imported: it looks changed at once
            source.content, source.file.digest = known, None
        else:
            remember(module, known)

    def remove(self, path: str) -> None:
        """Do not watch a file any more."""
        source = self.by_path.pop(path)
        for module in source.modules():
            in_force.pop(module.__file__ or "", None)
        self._seen -= source.names

    def discover(
        self, folders: Iterable[str], rules: Iterable[Rule] = (), unwanted: Collection[str] = ()
    ) -> list[Source]:
        """The files that have come to be watched: of modules in these folders, and of those that define these rules."""
        found = self._discover(folders, unwanted)
        for rule in rules:
            if rule.layer == "user" and rule.owner.kind == "file":
                name = rule.owner.key.rpartition("#")[2]
                path = file_of(sys.modules.get(name))
                if path is None or path in self.by_path or path in unwanted or name == "__main__":
                    continue
                if is_watchable(path):
                    found.append(self.add(path)[0])
        return found

    def _discover(self, folders: Iterable[str], unwanted: Collection[str]) -> list[Source]:
        """Look at the modules that nobody has looked at."""
        found: list[Source] = []
        if len(sys.modules) != len(self._seen) or not self._seen.issuperset(sys.modules):
            inside = tuple(os.path.realpath(folder) + os.sep for folder in folders)
            known = {real_path(path): source for path, source in self.by_path.items()}
            for name, module in list(sys.modules.items()):
                if name in self._seen or getattr(getattr(module, "__spec__", None), "_initializing", False):
                    continue
                self._seen.add(name)
                path = file_of(module)
                if path is None or name == "__main__":
                    continue
                real = real_path(path)
                if real not in known and real.startswith(inside) and path not in unwanted and is_watchable(path):
                    known[real] = self._source(path)[0]
                    found.append(known[real])
                if real in known:
                    self._join(known[real], module)
            self._seen.intersection_update(sys.modules)
        return found

    def turn(self, count: int) -> list[Source]:
        """Up to `count` sources: those whose turn it is to be looked at."""
        every = list(self.by_path.values())
        if len(every) <= count:
            return every
        begin = self._next % len(every)
        self._next = begin + count
        return (every + every)[begin : begin + count]


# What modules are made of, as far as we know it: also when nobody has looked for a while.
_made_of: weakref.WeakKeyDictionary[ModuleType, bytes] = weakref.WeakKeyDictionary()


def remember(module: ModuleType, content: bytes) -> None:
    """A module is made of this text: that is what the compiler reads, whatever the file says meanwhile."""
    _made_of[module] = content
    in_force[module.__file__ or ""] = lines_in(content)


def file_of(module: object) -> str | None:
    """The file of Python source that a module is made of, as it is written: not by a loader that changes it."""
    try:
        path = getattr(module, "__file__", None)
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
    except Exception:  # things in sys.modules that are no modules may do anything
        return None
    return path if isinstance(path, str) and path.endswith(".py") and type(loader) is SourceFileLoader else None


def _is_made_of(module: object, path: str) -> bool:
    """Whether a module is made of a file; it may name the file in another way than the person does."""
    own = file_of(module)
    return own is not None and real_path(own) == real_path(path)


def is_watchable(path: str) -> bool:
    """Whether a file is somebody's own work, and not something that is installed."""
    return not real_path(path).startswith(_installed())


def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    return (*(real_path(folder) + os.sep for folder in folders), PACKAGE + os.sep)


def made_of(module: ModuleType, source: bytes) -> bool:
    """Whether a module's functions are those of this text: it may have been edited between import and now."""
    if not _compiled_from(module):
        return False
    try:
        code = compile(source, module.__file__ or "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    codes: dict[str, list[CodeType]] = {}
    _collect(code, codes)
    own = [f.__code__ for f in _functions(module) if f.__code__.co_filename == module.__file__]
    return all(any(_alike(code, other) for other in codes.get(code.co_qualname, [])) for code in own)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions of a module, those of its classes and rules included."""
    for value in vars(module).values():
        inside = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else (value,)
        for each in inside:
            f = each.function if isinstance(each, Rule) else each
            if isinstance(f, FunctionType) and f.__module__ == module.__name__:
                yield f


def _compiled_from(module: ModuleType) -> bool:
    """What the module's cached bytecode says: whether the file has the size and time that it had at the import."""
    try:
        with open(getattr(module.__spec__, "cached", None) or "", "rb") as file:
            head = file.read(16)
        status = os.stat(module.__file__ or "")
    except OSError:
        return True  # there is no cache to ask
    flags, modified, size = (int.from_bytes(head[i : i + 4], "little") for i in (4, 8, 12))
    return flags != 0 or (modified == int(status.st_mtime) & 0xFFFFFFFF and size == status.st_size & 0xFFFFFFFF)


def _alike(a: CodeType, b: CodeType) -> bool:
    return a.co_firstlineno == b.co_firstlineno and same_code(a, b)


def _collect(code: CodeType, found: dict[str, list[CodeType]]) -> None:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found.setdefault(inner.co_qualname, []).append(inner)
            _collect(inner, found)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
