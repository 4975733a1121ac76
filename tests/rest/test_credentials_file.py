"""The credentials file as a worker follows it: what a change, an absence and a broken line do."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import pytest

from kconnect.errors import ConfigError
from kconnect.rest.credentials_file import CredentialsFile
from tests.rest.test_credentials import BOTH, quick
from tests.support import wait_until


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    path.write_text(quick("ann", "admin", "a"))
    path.chmod(0o600)
    return path


def names(file: CredentialsFile) -> set[str]:
    return set(file.current().passwords)


def test_a_change_is_seen_within_a_second(users: Path) -> None:
    clock = Clock()
    file = CredentialsFile(str(users), BOTH, clock)
    users.write_text(quick("bob", "read", "b"))
    clock.now = 0.9
    assert names(file) == {"ann"}
    clock.now = 1.0
    assert names(file) == {"bob"}
    same = file.current()
    clock.now = 5.0
    assert file.current() is same, "an unchanged file is not parsed again"


def test_an_edit_in_place_that_keeps_size_and_times_is_seen(users: Path) -> None:
    clock = Clock()
    file = CredentialsFile(str(users), BOTH, clock)
    before = users.stat()
    content = users.read_bytes()
    with open(users, "r+b") as edited:
        edited.write(b"#" + content[1:])
    os.utime(users, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = users.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    clock.now = 1.0
    assert names(file) == set()


@pytest.mark.parametrize("content", [b"", b"# nobody\n", b"\n\n", b"bob:read:canary-secret", b"\xff"])
def test_a_file_that_lets_nobody_in_locks_everybody_out(users: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    file = CredentialsFile(str(users), BOTH, clock)
    assert file.trouble is None
    users.write_bytes(content)
    for clock.now in (1.0, 2.0, 9.0):
        assert names(file) == set()
    assert file.trouble == "Nobody can log in: the file in rest.authentication.file has no line that lets anybody in."
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert str(users) in errors[-1]
    assert "so nobody can log in" in errors[-1]
    assert len(errors) <= 2, "said once"
    assert "canary-secret" not in caplog.text
    users.write_text(quick("bob", "read", "b"))
    clock.now = 10.0
    assert names(file) == {"bob"}
    assert file.trouble is None


def test_a_removed_user_is_out_though_another_line_is_broken(users: Path, caplog: pytest.LogCaptureFixture) -> None:
    users.write_text(quick("ann", "admin", "a") + quick("eve", "admin", "e"))
    clock = Clock()
    file = CredentialsFile(str(users), BOTH, clock)
    users.write_text(quick("ann", "admin", "a") + "bob:read:canary-secret\n")
    clock.now = 1.0
    assert names(file) == {"ann"}
    assert "line 2" in caplog.text
    assert "its user may not come in" in caplog.text
    assert "canary-secret" not in caplog.text


def test_a_file_that_is_away_for_less_than_five_seconds_changes_nothing(users: Path) -> None:
    clock = Clock()
    file = CredentialsFile(str(users), BOTH, clock)
    aside = users.rename(users.with_name("aside"))
    for clock.now in (1.0, 3.0, 5.9):
        assert names(file) == {"ann"}
    aside.rename(users)
    clock.now = 7.0
    assert names(file) == {"ann"}
    users.rename(aside)
    for clock.now in (8.0, 12.9):
        assert names(file) == {"ann"}, "it counts from when it went away again"


@pytest.mark.parametrize("kind", ["gone", "directory", "pipe"])
def test_a_file_that_stays_away_locks_everybody_out(users: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    file = CredentialsFile(str(users), BOTH, clock)
    content = users.read_text()
    users.unlink()
    if kind != "gone":
        (users.mkdir if kind == "directory" else lambda: os.mkfifo(users))()
    clock.now = 1.0
    assert names(file) == {"ann"}
    for clock.now in (6.0, 7.0, 60.0):
        assert names(file) == set()
    reason = {"gone": "No such file", "directory": "Is a directory", "pipe": "it is not a plain file"}[kind]
    assert file.trouble is not None
    assert reason in file.trouble
    [error] = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert f"{users} can't be read: {reason}" in error
    if kind != "gone":
        (users.rmdir if kind == "directory" else users.unlink)()
    users.write_text(content)
    clock.now = 61.0
    assert names(file) == {"ann"}
    assert file.trouble is None


def test_a_watched_file_is_missed_while_nobody_asks(users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kconnect.rest.credentials_file._CHECK_S", 0.05)
    monkeypatch.setattr("kconnect.rest.credentials_file._AWAY_S", 0.2)
    file, stop = CredentialsFile(str(users), BOTH), threading.Event()
    file.watch(stop)
    users.unlink()
    try:
        # Not by asking it, which would look.
        wait_until(lambda: file._credentials.lets_nobody_in, 60)
    finally:
        stop.set()


@pytest.mark.parametrize(("mode", "said"), [(0o600, ""), (0o640, ""), (0o644, "may read the hashes"), (0o666, "become admin")])
def test_what_others_may_do_with_the_file_is_warned_of(
    users: Path, mode: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    users.chmod(mode)
    CredentialsFile(str(users), BOTH)
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [said in text and f"chmod 600 {users}" in text for text in warned] == [True] * bool(said)


def test_a_file_that_is_bad_from_the_start_is_refused(tmp_path: Path) -> None:
    missing, broken = tmp_path / "missing", tmp_path / "broken"
    broken.write_text(quick("bob", "read", "b") + "canary-secret")
    for path, rule in ((missing, "No such file"), (broken, "line 2: it is not of the form"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError) as caught:
            CredentialsFile(str(path), BOTH)
        text = str(caught.value)
        assert text.startswith(f"Invalid value {path} for configuration rest.authentication.file: ")
        assert rule in text
        assert "'kconnect user NAME --role admin' prints a line" in text
        assert "canary-secret" not in text
