"""The credentials file, the hashes in it, and the turns in which passwords are hashed."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import pytest

from kconnect.rest.credentials import Caller, parse, password_line, token_line
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
        ("ann:canary-secret", "line 1: it is not of the form name:role:secret; its user may not come in"),
        ("\nann:root:$sha256$canary-secret", "line 2: its role is none of read, operate, admin"),
        ("ann:anyone:$sha256$canary-secret", "line 1: its role is none of"),
        ("ann:admin:canary-secret", "line 1: its secret begins neither with"),
        ("ann:admin:$sha256$canary-secret", "line 1: a password's hash is"),
        (
            "a b:admin:$sha256$canary-secret",
            "line 1: a name has letters, digits, '.', '_', '@' and '-' only, and begins with a",
        ),
        (quick("ann", "read", "a") + quick("ann", "admin", "b"), "line 2: its user has a password on an earlier line"),
    ],
)
def test_lines_that_can_not_be_read(text: str, rule: str) -> None:
    found = parse(text)
    assert found.problems[0].startswith(rule) or rule in found.problems[0]
    assert found.lets_nobody_in
    assert "nobody can log in" in found.problems[-1]
    assert "canary-secret" not in str(found.problems)


@pytest.mark.parametrize(
    "broken",
    ["ann:canary-secret", "ann:admn:$sha256$00", "ann", "ann:admin:$scrypt$", quick("ann", "read", "other").strip()],
    # Hashes have a salt: each process of pytest-xdist would have another name for the test.
    ids=["no role", "no such role", "a name", "half a hash", "a second line"],
)
def test_a_line_that_can_not_be_read_locks_out_its_own_user_and_nobody_else(broken: str) -> None:
    text = "\n".join([quick("ann", "admin", "a"), token_line("ann", "admin", "t1"), quick("bob", "read", "b"), broken])
    for found in (parse(text), parse("\n".join(reversed(text.split("\n"))))):
        assert found.by_password("ann", "a") is None
        assert found.by_token("t1") is None
        assert found.by_password("bob", "b") == Caller("bob", Role.READ)
        assert "its user may not come in" in str(found.problems)


def test_a_line_without_a_name_spoils_no_other() -> None:
    found = parse(quick("bob", "read", "b") + "\udcff\udcfe garbage:admin:x\n")
    assert found.by_password("bob", "b") == Caller("bob", Role.READ)
    assert "line 2" in found.problems[0]
    assert "it lets nobody in" in found.problems[0]


def test_a_file_must_have_lines_for_the_methods_that_are_on() -> None:
    tokens = token_line("ci", "read", "t")
    assert not parse(tokens, ("token",)).lets_nobody_in
    found = parse(tokens, ("basic",))
    assert found.lets_nobody_in
    assert found.problems == ("it has no line for basic that lets anybody in, so nobody can log in",)


def test_unknown_users_cost_what_the_dearest_known_one_does() -> None:
    found = parse(quick("ann", "read", "a") + f"bob:read:{PasswordHash.of('b', ln=6, r=4, p=2)}")
    assert (found.stand_in.ln, found.stand_in.r, found.stand_in.p) == (6, 4, 2)
    only_tokens = parse(token_line("ci", "read", "t"))
    assert (only_tokens.stand_in.ln, only_tokens.stand_in.p) == (15, 3)


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
