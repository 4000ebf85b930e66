"""The watcher wakes once for every save that makes an event, and for nothing else."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import pytest

from tests.live.saves import EVENTS, NEW, OLD
from tests.live.woken import Woken, until
from zad_jupyter.live.watcher import Watcher


@pytest.mark.parametrize("name", EVENTS)
def test_every_save_that_makes_an_event_wakes(watcher: Watcher, woken: Woken, path: Path, name: str) -> None:
    watcher.add(path)
    assert (watcher.mode, watcher.why) == ("events", "")
    for text in (NEW, OLD, NEW):
        woken.by(path, lambda text=text: EVENTS[name](path, text))  # type: ignore[misc]
        woken.quiet()


def test_several_paths_of_one_burst_are_told_together(watcher: Watcher, woken: Woken, path: Path) -> None:
    other = path.with_name("more.py")
    watcher.add(path)
    watcher.add(str(other))
    woken.by(path, lambda: (path.write_text(NEW), other.write_text(NEW)))
    assert [paths for _, paths in woken.calls] == [{str(path), str(other)}]


def test_unrelated_files_wake_nobody(watcher: Watcher, woken: Woken, path: Path) -> None:
    watcher.add(path)
    for save in EVENTS.values():
        other = path.with_name("other.py")
        other.write_text(OLD)
        save(other, NEW)
    (path.parent / "folder").mkdir()
    path.read_text()
    woken.by(path, lambda: path.write_text(NEW))  # events come in order: the others have been seen by now
    assert [paths for _, paths in woken.calls] == [{str(path)}]


def test_reading_the_file_when_woken_does_not_wake_again(path: Path) -> None:
    calls = []
    watcher = Watcher(lambda paths: calls.append(path.read_text()))
    watcher.add(path)
    path.write_text(NEW)
    until(lambda: bool(calls))
    time.sleep(1.2)  # a lap and a burst: nothing may come
    watcher.close()
    assert calls == [NEW]


def test_ten_quick_saves_wake_once_or_twice(watcher: Watcher, woken: Woken, path: Path) -> None:
    watcher.add(path)
    for n in range(10):
        path.write_text(f"rule = {n}\n")
    until(lambda: bool(woken.calls))
    time.sleep(0.35)
    assert 1 <= len(woken.calls) <= 2


def test_a_file_that_never_rests_wakes_all_the_same(watcher: Watcher, woken: Woken, path: Path) -> None:
    watcher.add(path)
    start = time.monotonic()
    while not woken.calls:
        path.write_text(NEW)
        time.sleep(0.005)
        assert time.monotonic() - start < 2
    assert woken.calls[0][0] - start > 0.2


def test_a_removed_file_wakes_nobody_and_its_folder_is_released(watcher: Watcher, woken: Woken, path: Path) -> None:
    other = path.parent.parent / "other.py"
    other.write_text(OLD)
    watcher.add(other)
    threads = threading.active_count()
    watcher.add(path)
    assert threading.active_count() > threads  # watchdog has one for each folder
    watcher.remove(path)
    watcher.remove(path)
    assert threading.active_count() == threads
    path.write_text(NEW)
    woken.by(other, lambda: other.write_text(NEW))
    assert [paths for _, paths in woken.calls] == [{str(other)}]
    watcher.remove(other)
    assert watcher.mode == "off"


def test_a_file_is_still_watched_when_its_neighbour_is_removed(watcher: Watcher, woken: Woken, path: Path) -> None:
    other = path.with_name("more.py")
    watcher.add(path)
    watcher.add(other)
    watcher.remove(path)
    woken.by(other, lambda: other.write_text(NEW))


def test_an_error_in_wake_is_kept_and_the_watching_goes_on(
    path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    def wake(paths: frozenset[str]) -> None:
        calls.append(paths)
        raise SystemExit(f"call {len(calls)}")

    watcher = Watcher(wake)
    watcher.add(path)
    for n in (1, 2):
        path.write_text(f"rule = {n}\n")
        until(lambda n=n: len(calls) >= n)  # type: ignore[misc]
    until(lambda: str(watcher.failure) == f"call {len(calls)}")
    watcher.close()
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_no_thread_before_the_first_file_and_none_after_close(woken: Woken, path: Path) -> None:
    before = set(threading.enumerate())
    watcher = Watcher(woken)
    assert watcher.mode == "off"
    assert set(threading.enumerate()) == before
    for _ in range(2):  # a closed watcher can start anew
        watcher.add(path)
        assert all(thread.daemon for thread in set(threading.enumerate()) - before)
        woken.by(path, lambda: path.write_text(NEW))
        watcher.close()
        until(lambda: set(threading.enumerate()) <= before)
        assert watcher.mode == "off"
    woken.calls.clear()
    path.write_text(OLD)
    woken.quiet()
    assert woken.calls == []


def test_a_watcher_can_be_closed_and_changed_by_what_it_wakes(path: Path) -> None:
    done = threading.Event()

    def wake(paths: frozenset[str]) -> None:
        own.remove(path)
        own.add(path)
        own.close()
        done.set()

    before = set(threading.enumerate())
    own = Watcher(wake)
    own.add(path)
    path.write_text(NEW)
    assert done.wait(3)
    until(lambda: set(threading.enumerate()) <= before)
    assert own.failure is None


def test_nothing_is_printed_when_watchdog_complains(
    watcher: Watcher, path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    watcher.add(path)
    quiet, root = logging.getLogger("watchdog"), logging.getLogger()
    handlers, root.handlers = root.handlers, []  # as in a kernel, where nobody configured logging
    try:
        quiet.warning("Inotify queue overflowed")
        logging.getLogger("watchdog.observers.inotify").error("thread is inactive")
    finally:
        root.handlers = handlers
    assert capfd.readouterr().err == ""


def test_adding_and_removing_from_many_threads_while_files_are_saved(
    watcher: Watcher, woken: Woken, tmp_path: Path
) -> None:
    paths = [tmp_path / f"folder{n % 4}" / f"m{n}.py" for n in range(16)]
    for each in paths:
        each.parent.mkdir(exist_ok=True)

    def churn(mine: list[Path]) -> None:
        for n in range(30):
            for each in mine:
                watcher.add(each)
                each.write_text(str(n))
            for each in mine[: n % 3]:
                watcher.remove(each)

    threads = [threading.Thread(target=churn, args=(paths[n::8],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    woken.quiet()
    for each in paths:
        watcher.add(each)
        woken.by(each, lambda each=each: each.write_text("last"))  # type: ignore[misc]
