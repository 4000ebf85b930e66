"""Where there are no events, files are looked at once a second, and it is said why."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live import saves
from tests.live.saves import NEW
from tests.live.woken import Woken
from zad_jupyter.live.watcher import Watcher


@pytest.fixture
def blind(woken: Woken) -> Iterator[Watcher]:
    """A watcher that takes every file system for a remote one."""
    watcher = Watcher(woken, remote=lambda folder: True)
    yield watcher
    watcher.close()


@pytest.fixture
def no_more_files() -> Iterator[Callable[[], None]]:
    """Once called, this process can open no file any more: the same error as at the limit of inotify instances."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("name", saves.ALL)
def test_every_save_wakes_where_there_are_no_events(blind: Watcher, woken: Woken, path: Path, name: str) -> None:
    blind.add(path)
    assert blind.mode == "polling"
    assert "notebook/rules.py: looked at once a second, because" in blind.why
    woken.by(path, lambda: saves.ALL[name](path, NEW), within=3)


def test_at_the_limit_of_inotify_files_are_polled(
    watcher: Watcher, woken: Woken, path: Path, no_more_files: Callable[[], None]
) -> None:
    import watchdog.observers  # noqa: F401 -- so that the limit meets inotify, not the import

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    no_more_files()
    watcher.add(path)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert watcher.mode == "polling"
    assert "notebook/rules.py: looked at once a second, because inotify instance limit reached" in watcher.why
    woken.by(path, lambda: path.write_text(NEW), within=3)


LIMITED = """
import ctypes, sys, time
from pathlib import Path
if ctypes.CDLL(None).unshare(0x10000000):  # a user namespace of its own, with its own limits
    sys.exit(77)
try:
    Path("/proc/sys/user/max_inotify_watches").write_text("1")
except OSError:
    sys.exit(77)
from zad_jupyter.live.watcher import Watcher
woken = set()
watcher = Watcher(woken.update)
paths = [Path(folder) / "rules.py" for folder in sys.argv[1:]]
for path in paths:
    watcher.add(path)
print(watcher.mode, watcher.why)
for path in paths:
    path.write_text("saved")
end = time.monotonic() + 5
while len(woken) < len(paths) and time.monotonic() < end:
    time.sleep(0.01)
print(len(woken))
"""


def test_beyond_the_limit_of_watches_files_are_polled(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    done = subprocess.run([sys.executable, "-c", LIMITED, *map(str, folders)], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this system lets nobody have limits of their own")
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "mixed b/rules.py, c/rules.py: looked at once a second, because inotify watch limit reached",
        "3",
    ]


def test_events_where_there_are_and_polling_where_not(woken: Woken, path: Path, tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    watcher = Watcher(woken, remote=lambda folder: folder == str(far))
    try:
        watcher.add(path)
        for name in "abcde":
            watcher.add(far / f"{name}.py")
        assert watcher.mode == "mixed"
        assert watcher.why.startswith("far/a.py and 4 others: looked at once a second, because")
        assert woken.by(path, lambda: path.write_text(NEW)) < 1
        woken.by(far / "e.py", lambda: (far / "e.py").write_text(NEW), within=3)
    finally:
        watcher.close()


def test_events_are_used_as_soon_as_they_can_be_had(woken: Woken, path: Path) -> None:
    remote = [True]
    watcher = Watcher(woken, remote=lambda folder: remote[0])
    try:
        watcher.add(path)
        remote[0] = False
        woken.by(path, lambda: path.write_text(NEW), within=3)
        assert watcher.mode == "events"
    finally:
        watcher.close()
