"""Is the content another one? Whatever the way it was saved, and whatever the clock says."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.live import saves
from tests.live.saves import NEW, OLD
from zad_jupyter.live.files import WatchedFile, dirty, is_remote

opened: list[str] = []  # an audit hook stays for ever, so there is one for all tests
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)


def reads(file: WatchedFile) -> bool:
    """Whether a look at the file, which is the same, reads it."""
    opened.clear()
    assert file.look() == "same"
    return file.path in opened


def rest(*files: WatchedFile) -> None:
    """Look until looks no longer read: that begins when the files have been left alone for two seconds."""
    end = time.monotonic() + 10
    while any(reads(file) for file in files):
        assert time.monotonic() < end, "the files are read at each look"
        time.sleep(0.1)


@pytest.mark.parametrize("name", saves.ALL)
def test_every_way_to_save_is_seen_once(path: Path, name: str) -> None:
    file = WatchedFile(path)
    assert file.look() == "same"
    for text in (NEW, OLD, NEW):
        saves.ALL[name](path, text)
        assert file.look() == "changed"
        assert file.look() == "changed"  # until it is in force
        content = file.read_stable()
        assert content == text.encode()
        file.accept(content)
        assert file.look() == "same"


def test_a_file_at_rest_is_not_read_and_yet_every_way_to_save_is_seen(tmp_path: Path) -> None:
    paths = {name: tmp_path / name / "rules.py" for name in saves.ALL}
    for path in paths.values():
        path.parent.mkdir()
        path.write_text(OLD)
    files = {name: WatchedFile(path) for name, path in paths.items()}
    rest(*files.values())
    for name, save in saves.ALL.items():
        save(paths[name], NEW)
    assert dirty(files.values()) == list(files.values())


@pytest.mark.parametrize("name", saves.ALL)
def test_a_file_saved_unchanged_is_the_same(path: Path, name: str) -> None:
    file = WatchedFile(path)
    saves.ALL[name](path, OLD)
    assert file.look() == "same"


def test_a_change_taken_back_is_the_same_again(path: Path) -> None:
    file = WatchedFile(path)
    path.write_text(NEW)
    assert file.look() == "changed"
    path.write_text(OLD)
    assert file.look() == "same"


def test_the_content_in_force_may_be_older_than_the_file(path: Path) -> None:
    file = WatchedFile(path, NEW.encode())
    assert file.look() == "changed"
    file.accept(OLD.encode())
    assert file.look() == "same"


def test_what_is_accepted_late_does_not_hide_what_came_since(path: Path) -> None:
    file = WatchedFile(path)
    path.write_text(NEW)
    content = file.read_stable()
    assert content is not None
    path.write_text("rule = 3\n")
    assert file.look() == "changed"
    file.accept(content)
    assert file.look() == "changed"


def test_saves_within_one_tick_of_the_clock_are_not_missed(path: Path) -> None:
    file = WatchedFile(path)
    for n in range(300):
        text = f"rule = {n % 10}\n"
        path.write_text(text)
        changed = file.look() == "changed"
        assert changed == (n > 0 or text != OLD)
        file.accept(text.encode())


def test_a_file_that_goes_and_comes_back(path: Path) -> None:
    file = WatchedFile(path)
    path.rename(path.with_name("away.py"))
    assert file.look() == "gone"
    assert dirty([file]) == [file]
    assert file.error is None
    path.with_name("away.py").rename(path)
    assert file.look() == "same"
    path.parent.rename(path.parent.with_name("elsewhere"))
    assert file.look() == "gone"
    path.parent.write_text("a file where the folder was")  # ENOTDIR
    assert file.look() == "gone"


def test_a_file_that_comes_later_is_changed(path: Path) -> None:
    path.unlink()
    file = WatchedFile(path)
    assert file.look() == "gone"
    path.write_text(OLD)
    assert file.look() == "changed"


def test_what_cannot_be_read_is_neither_gone_nor_changed(path: Path) -> None:
    file = WatchedFile(path)
    path.unlink()
    path.mkdir()
    assert file.look() == "unreadable"
    assert file.error is not None
    assert str(path) in str(file.error)
    assert file.read_stable() is None
    path.rmdir()
    path.symlink_to(path)  # ELOOP
    assert file.look() == "unreadable"
    path.unlink()
    path.write_text(OLD)
    assert file.look() == "same"
    assert file.error is None


def test_a_named_pipe_in_its_place_does_not_block(path: Path) -> None:
    file = WatchedFile(path)
    path.unlink()
    os.mkfifo(path)
    assert file.look() == "unreadable"


def test_a_symlink_is_followed_at_each_look(path: Path, tmp_path: Path) -> None:
    link, other = tmp_path / "link.py", tmp_path / "other.py"
    other.write_text(NEW)
    link.symlink_to(path)
    file = WatchedFile(link)
    assert file.look() == "same"
    link.unlink()
    link.symlink_to(other)
    assert file.look() == "changed"


def test_a_file_saved_just_now_is_read_at_each_look(path: Path) -> None:
    file = WatchedFile(path)
    assert reads(file)  # the next save could leave its stat as it is, where the clock ticks coarsely
    assert reads(file)
    rest(file)
    assert time.time() - path.stat().st_ctime >= 2


def test_force_makes_the_next_look_read_a_file_at_rest(path: Path) -> None:
    file = WatchedFile(path)
    rest(file)
    file.force()
    assert reads(file)
    assert not reads(file)


def test_dirty_finds_those_that_changed_and_no_others(tmp_path: Path) -> None:
    files = []
    for n in range(100):
        (tmp_path / f"m{n}.py").write_text(OLD)
        files.append(WatchedFile(tmp_path / f"m{n}.py"))
    assert dirty(files) == []
    (tmp_path / "m3.py").write_text(NEW)
    (tmp_path / "m70.py").unlink()
    assert dirty(files) == [files[3], files[70]]


def test_a_save_that_pauses_is_not_read_halfway(path: Path) -> None:
    file = WatchedFile(path)
    for n in range(10):
        text = f"rule = {n}\n"
        saver = threading.Thread(target=saves.truncate_then_write, args=(path, text))
        saver.start()
        while path.stat().st_size:  # until the moment of truncation
            pass
        assert file.read_stable() == text.encode()
        saver.join()


def test_a_file_that_never_rests_is_given_up(path: Path) -> None:
    file, stop = WatchedFile(path), threading.Event()

    def write() -> None:
        n = 0
        while not stop.is_set():
            path.write_text(f"{(n := n + 1)}\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        start = time.monotonic()
        assert file.read_stable(wait=0.02, deadline=0.2) is None
        assert time.monotonic() - start < 1
    finally:
        stop.set()
        writer.join()


def test_a_file_at_rest_is_read_without_waiting(path: Path) -> None:
    file = WatchedFile(path)
    end = time.monotonic() + 10
    while time.time() - path.stat().st_ctime < 1:
        assert time.monotonic() < end
        time.sleep(0.05)
    start = time.monotonic()
    assert file.read_stable(wait=0.4) == OLD.encode()
    assert time.monotonic() - start < 0.4
    past = time.time() - 3600
    os.utime(path, (past, past))  # an old modification time is no rest: the inode has just changed
    start = time.monotonic()
    assert file.read_stable(wait=0.5) == OLD.encode()
    assert 0.5 <= time.monotonic() - start < 0.95  # two reads that agree


def test_a_file_between_two_renames_is_waited_for(path: Path) -> None:
    file = WatchedFile(path)
    away = path.with_name("away.py")
    path.rename(away)
    back = threading.Timer(0.1, away.rename, [path])
    back.start()
    assert file.read_stable() == OLD.encode()
    back.join()


TABLE = """\
22 1 254:0 / / rw - ext4 /dev/root rw
30 22 0:40 / /home rw shared:1 - nfs4 server:/home rw
31 30 0:41 / /home/me/local rw - ext4 /dev/sdb rw
32 22 0:42 / /mnt/with\\040space rw - fuse.sshfs me@host: rw
33 22 0:43 / /mnt/covered rw - cifs //server/share rw
34 22 0:44 / /mnt/covered rw - tmpfs none rw
35 22 0:45 / /mnt/windows rw - fuseblk /dev/sdc rw
36 22 0:46 / /mnt/plan rw - 9p none rw
"""


@pytest.mark.parametrize(
    ("where", "remote"),
    [
        ("/", False),
        ("/homestead/x.py", False),
        ("/home", True),
        ("/home/me/x.py", True),
        ("/home/me/local/x.py", False),
        ("/mnt/with space/x.py", True),
        ("/mnt/covered/x.py", False),
        ("/mnt/windows/x.py", False),
        ("/mnt/plan/x.py", True),
    ],
)
def test_the_innermost_mount_tells_whether_a_path_is_remote(tmp_path: Path, where: str, remote: bool) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    assert is_remote(where, table) is remote


def test_nothing_is_remote_without_a_table_of_mounts(tmp_path: Path) -> None:
    assert is_remote(tmp_path, tmp_path / "none") is False
    assert is_remote("/proc") is False
