"""The credentials file, the hashes in it, and the turns in which passwords are hashed."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest

from kconnect.errors import ConfigError
from kconnect.rest.credentials import Caller, CredentialsFile, parse, password_line, token_line
from kconnect.rest.operation import Role
from kconnect.rest.passwords import PasswordHash
from kconnect.rest.turns import Turns

BOTH = ("basic", "token")


def quick(name: str, role: str, password: str) -> str:
    """A line whose hash costs next to nothing."""
    return f"{name}:{role}:{PasswordHash.of(password, ln=4, p=1)}\n"


# -- hashes -----------------------------------------------------------------------------------------------------------


def test_a_hash_is_read_back_and_matches_its_password_only() -> None:
    made = PasswordHash.of("pässword", ln=4)
    read = PasswordHash.parse(str(made))
    assert read == made
    assert read.matches("pässword")
    assert not read.matches("password")
    assert not read.stand_in().matches("pässword")
    assert PasswordHash.of("pässword", ln=4).salt != made.salt


def test_an_umlaut_may_come_in_two_parts() -> None:
    assert PasswordHash.of("u\u0308ber", ln=4).matches("\u00fcber")


def test_the_text_form_is_the_known_one() -> None:
    """RFC 7914's third test vector."""
    digest = bytes.fromhex(
        "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
    )
    salt, digest_text = (base64.b64encode(data).decode().rstrip("=") for data in (b"SodiumChloride", digest))
    read = PasswordHash.parse(f"$scrypt$ln=14,r=8,p=1${salt}${digest_text}")
    assert read.matches("pleaseletmein")
    assert not read.matches("pleaseletmeout")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("secret", "a password's hash is"),
        ("$scrypt$ln=15,r=8,p=3$AAAA", "a password's hash is"),
        ("$scrypt$ln=20,r=8,p=1$AAAAAAAAAAAAAAAA$" + "A" * 43, "out of range"),
        ("$scrypt$ln=15,r=8,p=17$AAAAAAAAAAAAAAAA$" + "A" * 43, "out of range"),
        ("$scrypt$ln=15,r=0,p=1$AAAAAAAAAAAAAAAA$" + "A" * 43, "out of range"),
        ("$scrypt$ln=15,r=8,p=3$AAAA$" + "A" * 43, "less than 8 bytes"),
        ("$scrypt$ln=15,r=8,p=3$AAAAAAAAAAAAAAAA$AAAA", "not 16 to 64"),
        ("$scrypt$ln=15,r=8,p=3$A$" + "A" * 43, "a password's hash is"),
    ],
)
def test_hashes_refused(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule) as caught:
        PasswordHash.parse(text)
    assert text not in str(caught.value)


# -- the file ---------------------------------------------------------------------------------------------------------


def test_lines() -> None:
    found = parse(
        "# who may come in\n\n"
        + quick("ann", "admin", "a")
        + token_line("ci", "operate", "t1")
        + "\n"
        + token_line("ci", "read", "t2")
        + "\n"
    )
    assert found.by_password("ann", "a") == Caller("ann", Role.ADMIN)
    assert found.by_password("ann", "b") is None
    assert found.by_password("ci", "t1") is None
    assert found.by_token("t1") == Caller("ci", Role.OPERATE)
    assert found.by_token("t2") == Caller("ci", Role.READ)
    assert found.by_token("") is None


def test_made_lines_are_read() -> None:
    assert parse(password_line("ann@example.org", "read", "pw")).by_password("ann@example.org", "pw") is not None


@pytest.mark.parametrize("name", ["", "a b", "a:b", "(worker)", "a\nb", "-", "é"])
def test_names_refused(name: str) -> None:
    for make in (password_line, token_line):
        with pytest.raises(ValueError, match="a name has letters"):
            make(name, "read", "secret")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "no line for basic or token"),
        ("# nobody\n", "no line for basic or token"),
        ("ann:canary-secret", "line 1: it is not of the form name:role:secret"),
        ("\nann:root:$sha256$canary-secret", "line 2: its role is none of read, operate, admin"),
        ("ann:anyone:$sha256$canary-secret", "line 1: its role is none of"),
        ("ann:admin:canary-secret", "line 1: its secret begins neither with"),
        ("ann:admin:$sha256$canary-secret", "line 1: a password's hash is"),
        ("a b:admin:$sha256$canary-secret", "line 1: a name has letters"),
        (quick("ann", "read", "a") + quick("ann", "admin", "b"), "line 2: its user has a password on an earlier line"),
    ],
)
def test_files_refused(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule) as caught:
        parse(text)
    assert "canary-secret" not in str(caught.value)


def test_a_file_must_have_lines_for_the_methods_that_are_on() -> None:
    tokens = token_line("ci", "read", "t")
    assert parse(tokens, ("token",)).tokens
    with pytest.raises(ValueError, match="it has no line for basic, so nobody could log in"):
        parse(tokens, ("basic",))


def test_unknown_users_cost_what_the_dearest_known_one_does() -> None:
    found = parse(quick("ann", "read", "a") + f"bob:read:{PasswordHash.of('b', ln=6, r=4, p=2)}")
    assert (found.stand_in.ln, found.stand_in.r, found.stand_in.p) == (6, 4, 2)
    only_tokens = parse(token_line("ci", "read", "t"))
    assert (only_tokens.stand_in.ln, only_tokens.stand_in.p) == (15, 3)


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
    assert file.current() is same, "an unchanged file is not read again"


@pytest.mark.parametrize("damage", ["broken", "empty", "gone", "binary"])
def test_a_file_that_turns_bad_keeps_what_it_said(users: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    file = CredentialsFile(str(users), BOTH, clock)
    if damage == "gone":
        users.unlink()
    else:
        users.write_bytes({"broken": b"bob:read:canary-secret", "empty": b"", "binary": b"\xff"}[damage])
    for clock.now in (2.0, 4.0, 6.0):
        assert names(file) == {"ann"}
    [said] = [record.getMessage() for record in caplog.records]
    assert str(users) in said
    assert "Its previous content stays in effect" in said
    assert "canary-secret" not in said
    users.write_text(quick("bob", "read", "b"))
    clock.now = 8.0
    assert names(file) == {"bob"}


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
    broken.write_text("canary-secret")
    for path, rule in ((missing, "No such file"), (broken, "line 1: it is not of the form"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError) as caught:
            CredentialsFile(str(path), BOTH)
        text = str(caught.value)
        assert text.startswith(f"Invalid value {path} for configuration rest.authentication.file: ")
        assert rule in text
        assert "'kconnect user NAME --role admin' prints a line" in text
        assert "canary-secret" not in text


# -- turns ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Turns whose one thread is busy until the event is set."""
    monkeypatch.setattr("kconnect.rest.turns._THREADS", 1)
    turns, go, busy = Turns("test"), threading.Event(), threading.Event()
    first = turns.submit("busy", "busy", lambda: (busy.set(), go.wait(60)))
    assert first is not None
    assert busy.wait(60)
    yield turns, go
    go.set()
    wait([first], 90)


def test_one_lane_s_crowd_does_not_stand_before_another_s_first(blocked: Any) -> None:
    turns, go = blocked
    order: list[str] = []

    def work(name: str) -> Callable[[], None]:
        return lambda: order.append(name)

    crowd = [turns.submit("flood", number, work(f"flood {number}")) for number in range(2)]
    guest = turns.submit("guest", "guest", work("guest"))
    go.set()
    wait([*crowd, guest], 90)
    assert order == ["flood 0", "guest", "flood 1"]


def test_what_is_to_come_last_has_a_turn_of_four(blocked: Any) -> None:
    turns, go = blocked
    order: list[str] = []
    failed = [turns.submit(f"a {each}", each, lambda: order.append("last"), last=True) for each in range(4)]
    others = [turns.submit(f"b {each}", f"b {each}", lambda: order.append("other")) for each in range(9)]
    go.set()
    wait([*failed, *others], 90)
    assert order[-1] == "last"
    assert 1 <= order[:9].count("last") <= 3


def test_the_same_work_is_done_once(blocked: Any) -> None:
    turns, go = blocked
    done: list[int] = []
    asked = [turns.submit("x", "key", lambda: done.append(1)) for _ in range(9)]
    go.set()
    wait(asked, 90)
    assert done == [1]
    turns.submit("x", "key", lambda: done.append(2)).result(60)
    assert done == [1, 2]


def test_a_lane_takes_so_many_and_no_more(blocked: Any) -> None:
    turns, go = blocked
    taken = [turns.submit("flood", number, lambda: None) for number in range(5)]
    assert [each is None for each in taken] == [False] * 2 + [True] * 3
    assert turns.submit("guest", "guest", lambda: None) is not None
    assert turns.submit("flood", "last", lambda: None, last=True) is not None
    go.set()
    wait([each for each in taken if each is not None], 90)
    assert turns.submit("flood", 7, lambda: 7).result(60) == 7


def test_an_error_is_the_answer_and_the_lane_goes_on(blocked: Any) -> None:
    turns, go = blocked

    def fail() -> None:
        raise ValueError("no")

    failing, cancelled, last = turns.submit("x", 1, fail), turns.submit("x", 2, fail), turns.submit("y", 3, lambda: 1)
    assert cancelled.cancel()
    go.set()
    assert last.result(60) == 1
    with pytest.raises(ValueError, match="no"):
        failing.result(60)
