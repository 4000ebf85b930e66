"""Files and modules to be edited, and a watcher that must leave no thread behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.modules import Modules
from tests.live.saves import OLD
from tests.live.woken import Woken, until
from zad_jupyter.live.engine import Live
from zad_jupyter.live.watcher import Watcher
from zad_jupyter.rules import registry


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A saved file, in a folder of its own."""
    folder = tmp_path / "notebook"
    folder.mkdir()
    (folder / "rules.py").write_text(OLD)
    return folder / "rules.py"


@pytest.fixture
def woken() -> Woken:
    return Woken()


@pytest.fixture
def watcher(woken: Woken) -> Iterator[Watcher]:
    before = set(threading.enumerate())
    watcher = Watcher(woken)
    yield watcher
    watcher.close()
    assert watcher.failure is None
    until(lambda: set(threading.enumerate()) <= before)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    """A folder of modules on `sys.path`, which are forgotten afterwards."""
    modules = Modules(tmp_path, monkeypatch)
    yield modules
    modules.forget()


@pytest.fixture
def live(modules: Modules) -> Iterator[Live]:
    """What follows the files of that folder; the rules go with the test."""
    live = Live(folder=lambda: str(modules.folder))
    live.start()
    yield live
    live.stop()
    for rule in registry.rules():
        if rule.layer == "user":
            registry.remove(rule)
