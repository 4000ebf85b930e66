"""Folders that are renamed, deleted or made again, and links that come to lead elsewhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.live import saves
from tests.live.saves import EVENTS, NEW, OLD
from tests.live.woken import Woken, until
from zad_jupyter.live.watcher import Watcher


def test_a_file_that_does_not_exist_yet(watcher: Watcher, woken: Woken, path: Path) -> None:
    later = path.with_name("later.py")
    watcher.add(later)
    assert watcher.mode == "events"
    woken.by(later, lambda: later.write_text(NEW))


def test_a_file_moved_out_of_its_folder_and_back(watcher: Watcher, woken: Woken, path: Path, tmp_path: Path) -> None:
    watcher.add(path)
    woken.by(path, lambda: path.rename(tmp_path / "away.py"))
    woken.by(path, lambda: (tmp_path / "away.py").rename(path))


def test_a_folder_renamed_and_back(watcher: Watcher, woken: Woken, path: Path, tmp_path: Path) -> None:
    watcher.add(path)
    woken.by(path, lambda: path.parent.rename(tmp_path / "away"), within=3)
    assert watcher.mode == "polling"
    assert "is not there" in watcher.why
    woken.by(path, lambda: (tmp_path / "away").rename(path.parent), within=3)
    until(lambda: watcher.mode == "events")
    woken.quiet()
    woken.by(path, lambda: path.write_text(NEW))


def test_another_folder_in_the_place_of_a_renamed_one(
    watcher: Watcher, woken: Woken, path: Path, tmp_path: Path
) -> None:
    shutil.copytree(path.parent, tmp_path / "other")
    neighbour = path.with_name("more.py")
    watcher.add(path)
    watcher.add(neighbour)

    def swap() -> None:
        path.parent.rename(tmp_path / "away")
        (tmp_path / "other").rename(path.parent)

    woken.by(path, swap, within=3)
    woken.quiet()
    woken.by(path, lambda: path.write_text(NEW))
    woken.by(neighbour, lambda: neighbour.write_text(NEW))
    woken.quiet()
    (tmp_path / "away" / "rules.py").write_text("the folder that was renamed is another now")
    woken.by(neighbour, lambda: neighbour.write_text(OLD))
    assert [paths for _, paths in woken.calls] == [{str(neighbour)}]


def test_a_folder_deleted_and_made_again_at_once(watcher: Watcher, woken: Woken, path: Path) -> None:
    watcher.add(path)
    for _ in range(5):  # also when the new folder happens to get the inode of the old one

        def again() -> None:
            shutil.rmtree(path.parent)
            path.parent.mkdir()

        woken.by(path, again)
        woken.by(path, lambda: path.write_text(OLD), within=3)
        until(lambda: watcher.mode == "events")
        woken.quiet()
        woken.by(path, lambda: path.write_text(NEW))


def test_a_link_and_the_file_behind_it(watcher: Watcher, woken: Woken, path: Path, tmp_path: Path) -> None:
    for name in ("first", "second", "other"):
        (tmp_path / name).mkdir()
    link, between, other = tmp_path / "first" / "a.py", tmp_path / "second" / "b.py", tmp_path / "other" / "c.py"
    other.write_text(OLD)
    between.symlink_to(os.path.join("..", path.parent.name, path.name))
    link.symlink_to(between)
    watcher.add(link)
    for save in EVENTS.values():
        woken.by(link, lambda save=save: save(path, NEW))  # type: ignore[misc]
        woken.quiet()

    def point_elsewhere() -> None:
        between.unlink()
        between.symlink_to(other)

    woken.by(link, point_elsewhere)
    woken.quiet()
    woken.by(link, lambda: other.write_text(NEW))
    woken.quiet()
    path.write_text("no longer behind the link")
    woken.by(link, lambda: other.write_text(OLD))
    assert len(woken.calls) == 1


def test_a_linked_folder_on_the_way(watcher: Watcher, woken: Woken, path: Path, tmp_path: Path) -> None:
    shutil.copytree(path.parent, tmp_path / "other")
    (tmp_path / "link").symlink_to(path.parent)
    seen = tmp_path / "link" / "rules.py"
    watcher.add(seen)
    woken.by(seen, lambda: saves.vim(path, NEW))
    woken.quiet()

    def point_elsewhere() -> None:
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to(tmp_path / "other")

    woken.by(seen, point_elsewhere, within=3)
    woken.quiet()
    woken.by(seen, lambda: (tmp_path / "other" / "rules.py").write_text(NEW))
