"""What became of each change: the rules that are others, the gradients that were dropped for it, and why.

One event a change, whether a cell, a file or a switch made it. An event is a text tree, with the change that dropped
most at the end, where one looks first.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..compiler import cache
from ..compiler.cache import Dropped
from ..rules import Change, registry

KEPT = 200  # events
SHOWN = 5  # dropped gradients that are named


@dataclass
class Event:
    """A change, for people.

    Attributes:
        title: what happened, such as "edit of rule sin(x: float) at rules.py:12".
        time: seconds since the epoch.
        details: more lines.
        dropped: the gradients that were dropped, each with the way from it to what changed.
        kept: how many gradients were not.
        failed: nothing was changed; `details` say why.
        of_files: it came from files, and not from a cell or a switch.
        files: those that were loaded.
    """

    title: str
    time: float = field(default_factory=time.time)
    details: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    kept: int = 0
    failed: bool = False
    of_files: bool = True
    files: tuple[str, ...] = ()

    def summary(self) -> str:
        """One line."""
        if self.failed:
            return self.title
        count, every = len(self.dropped), len(self.dropped) + self.kept
        if not count:
            return f"{self.title} → no gradient depended on it" if every else self.title
        first = f": {self.dropped[0]}" if count == 1 else ""
        return f"{self.title} → dropped {count} of {every} gradient{'s' * (every != 1)}{first}"

    def text(self) -> str:
        """The event as a tree."""
        at = time.strftime("%H:%M:%S", time.localtime(self.time))
        lines = [f"{at}  {self.summary()}"]
        inside = [*self.details]
        if len(self.dropped) > 1:
            inside += [f"dropped {each}" for each in self.dropped[:SHOWN]]
            if len(self.dropped) > SHOWN:
                inside.append(f"and {len(self.dropped) - SHOWN} more")
        for i, line in enumerate(inside):
            lines.append(f"          {'└─' if i == len(inside) - 1 else '├─'} {line}")
        return "\n".join(lines)


class Changes:
    """The last changes. They are collected from `start` to `stop`."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque(maxlen=KEPT)
        self._held: list[Change] | None = None  # while files are loaded: their changes become one event
        self.listeners: list[Callable[[Event], None]] = []
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        if self._unsubscribe is None:
            self._unsubscribe = registry.on_change(self._rules_changed)

    def stop(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    @contextmanager
    def holding(self) -> Iterator[list[Change]]:
        """Collect the changes of a `with` block: whoever makes them tells of them in an event of its own."""
        held: list[Change] = []
        self._held = held
        try:
            yield held
        finally:
            self._held = None

    def _rules_changed(self, change: Change) -> None:
        if self._held is not None:
            self._held.append(change)
        else:
            dropped = list(change.dropped)
            self.add(Event(change.reason, change.time, dropped=dropped, kept=cache.gradients(), of_files=False))

    def add(self, event: Event) -> None:
        """Remember an event, and tell whoever listens."""
        self.events.append(event)
        for listener in list(self.listeners):
            listener(event)

    def text(self) -> str:
        """All of it, the change that dropped most last; changes that dropped as many in the order of time."""
        if not self.events:
            return "no rule has changed yet"
        return "\n".join(event.text() for event in ordered(self.events))


def ordered(events: Iterable[Event]) -> list[Event]:
    """The events by how much they dropped, the most last."""
    return sorted(events, key=lambda event: len(event.dropped))

