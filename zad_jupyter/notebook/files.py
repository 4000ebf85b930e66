"""The notebook's end of `live`: files are looked at before each cell and when the kernel is idle, and what became of
them is said at the end of a cell."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from zad_jupyter.live import Event, Live, set_current
from zad_jupyter.live.interrupt import interruptible


class Files:
    """Follows the files behind one shell's modules, between `start` and the end of what it puts on the stack.

    Arguments:
        shell: the IPython shell.
        changed: called when the kernel was idle, and files or rules may have changed.
    """

    def __init__(self, shell: Any, changed: Callable[[], None]) -> None:
        self.shell = shell
        self._changed = changed
        self._folder = os.getcwd()
        self._unsaid: list[Event] = []
        self._held: set[str] = set()  # modules that %autoreload leaves to us
        self.live = Live(
            names=lambda: [shell.user_ns], folder=lambda: self._folder, on_wake=self.wake,
            progress=lambda text: print(f"zad: {text}", flush=True),
        )  # fmt: skip

    def start(self, undo: ExitStack) -> None:
        """Begin to look; `undo` ends it."""
        self.live.start()
        undo.callback(self.live.stop)
        self.live.changes.listeners.append(self._heard)
        undo.callback(set_current, set_current(self.live))
        undo.callback(self._release)

    def before_cell(self) -> None:
        self.live.before_cell()
        self._hold()

    def after_cell(self) -> list[str]:
        """What is to be said under the cell that has ended."""
        asked, self.live.asked = self.live.asked, False
        self.live.after_cell()
        self._hold()
        unsaid, self._unsaid = self._unsaid, []
        said = [line for event in unsaid for line in (event.summary(), *(event.details if event.failed else []))]
        told = {event.title for event in unsaid}
        return said + [line for line in self.live.standing() if asked and line not in told]

    def _heard(self, event: Event) -> None:
        if event.of_files:
            self._unsaid.append(event)

    # -- when the kernel is idle

    def wake(self) -> None:
        """Look when the kernel is idle; called from any thread."""
        loop = getattr(getattr(self.shell, "kernel", None), "io_loop", None)
        if loop is not None:
            loop.add_callback(self._idle)

    def _idle(self) -> None:
        with interruptible():
            self.live.check("idle")
            self._changed()

    # -- IPython's own %autoreload, which would execute modules a second time, each by itself

    def _hold(self) -> None:
        reloader = self._autoreload()
        if reloader is not None:
            names = {name for source in self.live.sources for name in source.names} - reloader.skip_modules.keys()
            reloader.skip_modules.update(dict.fromkeys(names, True))
            self._held = self._held | names

    def _release(self) -> None:
        reloader = self._autoreload()
        if reloader is not None:
            for name in self._held:
                reloader.skip_modules.pop(name, None)
                # What it has not seen is what we have loaded.
                reloader.modules_mtimes.pop(name, None)
        self._held = set()

    def _autoreload(self) -> Any:
        magics = self.shell.magics_manager.registry.get("AutoreloadMagics")
        return getattr(magics, "_reloader", None)
