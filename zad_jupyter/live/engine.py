"""When is a changed file loaded? Before a cell, before an outermost gradient, or when the kernel is idle.

The watcher only wakes; what is true is asked of the files themselves, at these moments, on the main thread. Where
nothing is watched a gradient pays nothing for it.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Literal

from ..compiler import cache, doors, running
from ..rules import registry
from .changes import Changes, Event
from .files import Verdict
from .loading import Loaded, LoadFailed, load
from .sources import Source, Sources, Standing
from .watcher import Watcher

Moment = Literal["cell", "gradient", "idle", "after"]  # after a cell: the next one looks at everything anyway

AT_ONCE = 100  # files that are looked at before a gradient or a cell, beside those that the watcher has named
GRACE = 5.0  # seconds that the rules of a vanished file stay: editors and checkouts put it back
SLOW = 0.2  # seconds: a file that took longer is not loaded in the middle of a cell


class Live:
    """Watches files and loads them when they change.

    Args:
        names: gives the namespaces of the person's notebook, where replaced objects are bound anew.
        folder: gives the folder whose modules are watched without being asked for; None watches none.
        on_wake: called from another thread when files may have changed: arrange for a `check("idle")`.
        progress: is told what takes long.
    """

    def __init__(
        self,
        names: Callable[[], Iterable[dict[str, Any]]] = tuple,
        folder: Callable[[], str | None] = lambda: None,
        on_wake: Callable[[], None] = lambda: None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.sources = Sources()
        self.changes = Changes()
        self.watcher = Watcher(self._woken)
        self._names, self._folder, self._on_wake, self._progress = names, folder, on_wake, progress
        self._loading = False
        self._recovered = False
        self._folders: list[str] = []  # what the person has asked to follow
        self._unwanted: set[str] = set()  # what the person has asked not to follow
        self._said_slow = False
        self._cell = False  # whether a cell is running
        self._rules = True  # whether rules came that nobody has looked at
        self._named: set[str] = set()  # by the watcher, since the last check
        self._timers: list[threading.Timer] = []
        self.asked = False  # a gradient was taken since somebody set this to False (if files are watched)
        self._unsubscribe: Callable[[], None] | None = None

    # -- from and to

    def start(self) -> None:
        """Begin to look."""
        self.changes.start()
        self._unsubscribe = registry.subscribe(self._rules_changed)
        self._attend()

    def stop(self) -> None:
        """Stop looking, and leave nothing behind."""
        doors.look_first(None)
        self.watcher.close()
        self.changes.stop()
        for timer in self._timers:
            timer.cancel()
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None  # from now on `check` does nothing: the cell that stops us has not ended yet
        for path in list(self.sources.by_path):
            self.sources.remove(path)

    def watch(self, path: str) -> list[Source]:
        """Watch a file, or all Python files of a folder, asked for by the person.

        Raises:
            FileNotFoundError: there is nothing there.
        """
        path = os.path.abspath(os.path.expanduser(path))
        if os.path.isdir(path):
            self._folders.append(path)
            paths = [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".py")]
        elif os.path.exists(path):
            paths = [path]
        else:
            raise FileNotFoundError(f"there is no file or folder {path}")
        return [self._add(each, asked=True) for each in paths]

    def unwatch(self, path: str) -> list[str]:
        """Stop watching a file, or all of a folder; gives the paths that were watched."""
        path = os.path.abspath(os.path.expanduser(path))
        gone = [p for p in self.sources.by_path if p == path or p.startswith(path.rstrip(os.sep) + os.sep)]
        for each in gone:
            self.sources.remove(each)
            self.watcher.remove(each)
            self._unwanted.add(each)
        self._attend()
        return gone

    def _add(self, path: str, asked: bool = False) -> Source:
        self._unwanted.discard(path)
        source, new = self.sources.add(path, asked)
        if new:
            self.watcher.add(path)
            self._attend()
        return source

    def _attend(self) -> None:
        """Have outermost gradients look first, if there is anything to look at."""
        doors.look_first(self._before_gradient if self.sources.by_path or self._rules else None)

    # -- what wakes

    def _woken(self, paths: frozenset[str]) -> None:
        for path in paths:
            source = self.sources.by_path.get(path)
            if source is not None:
                source.file.force()
        self._named.update(paths)
        self._on_wake()

    def _rules_changed(self, change: Any) -> None:
        if any(rule.owner.kind == "file" and rule.layer == "user" for rule in change.added):
            self._rules = True
            if not self._loading:
                self._attend()

    # -- the moments

    def before_cell(self) -> None:
        """A cell begins."""
        self._cell = True
        self._said_slow = False
        self.check("cell")

    def after_cell(self) -> None:
        """A cell has ended: what it imported is watched from now on, and what had to wait is loaded."""
        waits, self._cell, self._said_slow = self._said_slow, False, False
        self.check("idle" if waits else "after")

    def _before_gradient(self) -> None:
        self.asked = True
        if threading.current_thread() is threading.main_thread() and not running.anybody():
            self.check("gradient")

    def check(self, moment: Moment) -> None:
        """Look at the watched files, and load those that have changed. Errors in them do not come out of here."""
        busy = moment in ("idle", "after") and (self._cell or running.anybody())
        if self._unsubscribe is None or self._loading or busy:
            return
        self._loading = True
        try:
            self._check(moment)
        finally:
            self._loading = False

    def _check(self, moment: Moment) -> None:
        folder = self._folder()
        rules = registry.rules() if self._rules else ()
        self._rules = False
        folders = [*self._folders, *([folder] if folder is not None else [])]
        found = self.sources.discover(folders, rules, self._unwanted)
        for source in found:
            self.watcher.add(source.path)
        if found or rules:
            self._attend()
        named, self._named = self._named, set()
        looked = [s for path in named if (s := self.sources.by_path.get(path)) is not None]
        if moment == "after":
            looked += [s for s in self.sources if s.error is not None or s.gone is not None]
        else:
            looked += [s for s in self.sources.turn(AT_ONCE) if s.path not in named]
        changed: list[tuple[Source, bytes]] = []
        failing: list[tuple[Source, bytes]] = []
        for source in looked:
            verdict = source.file.look()
            if verdict == "same" and source.gone is None and source.error is None:
                continue
            text = self._text(source, verdict, moment)
            if text is not None:
                tried = text == source.tried and source.error is not None
                again = tried and source.error is not None and source.error.retry and moment != "gradient"
                (failing if tried and not again else changed).append((source, text))
        if not changed:
            if self._recovered:  # what was held up by a file that says again what is running
                self._recovered = False
                self._check(moment)
            return
        failed = self._load(changed + failing, moment)  # what failed may have failed for the lack of these
        if failed is not None and any(failed.source is source for source, _ in failing):
            failed = self._load(changed, moment)
        if failed is not None:
            self._failed(failed, changed)

    def _text(self, source: Source, verdict: Verdict, moment: Moment) -> bytes | None:
        """What is to be executed for a file that is not simply the same, if it is to be now."""
        if verdict == "gone":
            source.error, source.tried = None, None
            self._vanished(source)
            return None
        source.gone = None
        if verdict == "unreadable":
            error = source.file.error
            self._stands(source, f"{type(error).__name__}: {error}", "", retry=True)
            return None
        if verdict == "same":  # put back as it was, or readable again: what runs is what it says
            if source.error is not None:
                source.error, source.tried = None, None
                for other in self.sources:
                    if other.error is not None and other.error.held_by is source:
                        other.error, other.tried, self._recovered = None, None, True
                self.changes.add(Event(f"{source.label} says again what is running"))
            return None
        if moment == "gradient" and self._cell and source.seconds > SLOW:
            if not self._said_slow:
                self._progress(f"{source.label} has changed; it took {source.seconds:.1f} s to load, "
                               "so that waits for the end of this cell")  # fmt: skip
            self._said_slow = True
            return None
        return source.file.read_stable()

    def _vanished(self, source: Source) -> None:
        now = time.monotonic()
        if source.gone is None:
            source.gone = now
            timer = threading.Timer(GRACE + 0.05, self._on_wake)
            timer.daemon = True
            timer.start()
            self._timers = [t for t in self._timers if t.is_alive()] + [timer]
        elif now - source.gone >= GRACE and source.content is not None:
            source.content, source.file.digest = None, None  # when it is back, it is new
            title = f"{source.label} is gone, and its rules with it"
            with self.changes.holding() as held:
                for owner in source.owners():
                    with registry.transaction(owner, title):
                        pass
            if held:
                dropped = [each for change in held for each in change.dropped]
                self.changes.add(Event(title, dropped=dropped, kept=cache.gradients()))

    def _load(self, changed: list[tuple[Source, bytes]], moment: Moment) -> LoadFailed | None:
        """Load a batch; gives what went wrong. An interrupt goes on to the gradient in which it came, if any."""
        slow = [source.seconds for source, _ in changed if source.seconds > SLOW]
        progress = (lambda text: self._progress(f"loading {text}…")) if slow else (lambda text: None)
        try:
            with self.changes.holding():
                loaded = load(changed, self.sources, self._names(), progress)
        except LoadFailed as failed:
            return failed
        except BaseException as error:
            for source, text in changed:
                source.tried = text
                self._stands(source, type(error).__name__, _told(error), retry=False)
            if moment == "gradient" or not isinstance(error, KeyboardInterrupt):
                raise
            return None
        self._loaded(loaded)
        return None

    def _loaded(self, loaded: Loaded) -> None:
        names = ", ".join(source.label for source in loaded.sources)
        change = loaded.change
        details = []
        if change is not None:
            details.append(change.reason)
        if loaded.edited:
            details.append("edited " + ", ".join(loaded.edited))
        details += [f"could not be changed in place: {line}" for line in loaded.unpatched]
        title = f"loaded {names}"
        if len(details) == 1 and not loaded.unpatched:
            title, details = f"{title}: {details[0]}", []
        dropped = [*(change.dropped if change is not None else ()), *loaded.dropped]
        files = tuple(source.path for source in loaded.sources)
        self.changes.add(Event(title, details=details, dropped=dropped, kept=cache.gradients(), files=files))

    def _failed(self, failed: LoadFailed, changed: list[tuple[Source, bytes]]) -> None:
        cause = failed.cause
        line = _line_in(cause, failed.source.path)
        what = type(cause).__name__ + (f", line {line}" if line else "")
        for source, text in changed:
            source.tried = text
        self._stands(failed.source, what, _told(cause), retry=isinstance(cause, ImportError))
        others = [source for source, _ in changed if source is not failed.source]
        for source in others:
            self._stands(source, f"it is loaded together with {failed.source.label}", "", True, failed.source)

    def _stands(self, source: Source, what: str, told: str, retry: bool, held_by: Source | None = None) -> None:
        before = source.error
        since = before.since if before is not None else time.time()
        source.error = Standing(what, since, told, retry, held_by)
        if before is None or before.what != what or before.traceback != told:
            self.changes.add(Event(_standing(source), details=told.splitlines()[-1:], failed=True))

    # -- for people

    def standing(self) -> list[str]:
        """The edits that are not in force, a line each."""
        return [_standing(source) for source in self.sources if source.error is not None]

    def text(self) -> str:
        """What is watched, and how."""
        lines = []
        for source in self.sources:
            state = _standing(source) if source.error is not None else "gone" if source.gone is not None else ""
            lines.append(f"  {source.label:<24} {source.path}{'  ' + state if state else ''}")
        if not lines:
            return "no file is watched; %zad watch PATH watches one"
        count = f"{len(lines)} file{'s' * (len(lines) != 1)} watched"
        return "\n".join([count, *lines, *self.watcher.why.splitlines()])


_current: list[Live] = []


def current() -> Live:
    """The engine that is in force; one is started if there is none."""
    if not _current:
        live = Live()
        live.start()
        _current.append(live)
    return _current[-1]


def set_current(live: Live | None) -> Live | None:
    """Put an engine in force, or none; gives the one before."""
    before = _current[-1] if _current else None
    _current[:] = [] if live is None else [live]
    return before


def watch(path: str) -> None:
    """Watch a file, or all Python files of a folder: when one changes, the next gradient follows it.

    Modules that define rules, and modules beside the notebook, are watched without being asked for.

    Args:
        path: the file or folder.

    Raises:
        FileNotFoundError: there is nothing there.

    >>> watch("nothing_there.py")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    current().watch(path)


def _standing(source: Source) -> str:
    assert source.error is not None
    since = time.strftime("%H:%M", time.localtime(source.error.since))
    return f"running rules differ from {source.label}: {source.error.what}, since {since}"


def _line_in(error: BaseException, path: str) -> int | None:
    """The line of a file at which it failed."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] if lines else None


def _told(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "zad_jupyter" not in frame.filename]
    return "".join([*traceback.format_list(frames), *traceback.format_exception_only(type(error), error)]).rstrip()
