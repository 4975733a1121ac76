"""Local files of tasks: room on the disk, and what is left of tasks and processes that are lost."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kconnect.api import RetriableError
from kconnect.connectors.objects import spool
from kconnect.connectors.objects.spool import Folder


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_SWEEP_S", 0.0)


def test_a_disk_that_is_nearly_full_is_left_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.require_room(str(tmp_path), "spool.dir")
    spool.require_room(str(tmp_path / "none"), "spool.dir")
    monkeypatch.setattr(spool, "LEAST", 1 << 80)
    monkeypatch.setattr(spool, "SHARE", 1)
    with pytest.raises(RetriableError, match=r"bytes left, and .* are left free for others.*have spool\.dir name a folder"):
        spool.require_room(str(tmp_path), "spool.dir")


def test_a_file_without_a_name_can_be_opened_and_leaves_nothing(tmp_path: Path) -> None:
    file, path = spool.nameless(str(tmp_path))
    file.write(b"abc")
    file.flush()
    assert path.read_bytes() == b"abc"
    assert path.stat().st_size == 3
    assert list(tmp_path.iterdir()) == []
    number = path.stat().st_ino
    file.close()
    # Another thread's file may have its descriptor by now.
    with contextlib.suppress(FileNotFoundError):
        assert path.stat().st_ino != number


def test_a_folder_is_there_as_long_as_somebody_holds_it(tmp_path: Path) -> None:
    held, lost = Folder(str(tmp_path)), Folder(str(tmp_path))
    (lost.path / "a").write_text("b")
    paths = held.path, lost.path
    del lost
    older = tmp_path / "kconnect-objects-older"
    older.mkdir()
    another = Folder(str(tmp_path))
    assert set(tmp_path.iterdir()) == {paths[0], another.path, older}
    another.drop()
    held.drop()
    assert set(tmp_path.iterdir()) == {older}


_HOLDS = """
import sys, time
from kconnect.connectors.objects.spool import Folder
folder = Folder(sys.argv[1])
print(folder.path, flush=True)
time.sleep(300)
"""


@pytest.mark.process
def test_the_folder_of_a_process_that_was_killed_goes(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        path = Path(process.stdout.readline().strip())
        Folder(str(tmp_path)).drop()
        assert path.exists()
        os.kill(process.pid, signal.SIGKILL)
    Folder(str(tmp_path)).drop()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_has_folders_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def flock(file: int, flags: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    folder = Folder(str(tmp_path))
    assert list(tmp_path.iterdir()) == [folder.path]
    assert f"{tmp_path} has no file locks" in caplog.text
    folder.drop()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_grows_leaves_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, path = spool.nameless(str(tmp_path))
    room = spool.Room(file, str(tmp_path), "spool.dir")
    room.write(b"abc")
    monkeypatch.setattr(spool, "LEAST", 1 << 80)
    monkeypatch.setattr(spool, "SHARE", 1)
    room.write(b"d")
    with pytest.raises(RetriableError, match="are left free for others"):
        room.write(bytes(spool._UNLOOKED))
    file.flush()
    assert path.read_bytes() == b"abcd"
    file.close()


def test_a_link_in_place_of_a_folder_leads_nowhere(tmp_path: Path) -> None:
    """Who may write where local files are has a link there, by which another folder would be removed."""
    other, place = tmp_path / "other", tmp_path / "place"
    other.mkdir()
    place.mkdir()
    (other / ".lock").touch()
    (place / "kconnect-objects-x").symlink_to(other)
    Folder(str(place)).drop()
    assert (other / ".lock").exists()
