"""`kconnect user` makes lines that a worker takes, and commands say who is calling without a secret on their line."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.cli import main as cli
from kconnect.rest.app import RestSettings
from kconnect.rest.authentication import Gate
from kconnect.rest.credentials import parse, token_line
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.operation import Role
from tests.cli.calls import serving
from tests.rest.herder import MemoryHerder
from tests.rest.test_credentials import quick

pytestmark = pytest.mark.process

KCONNECT = [sys.executable, "-m", "kconnect"]
BOTH = ("basic", "token")
SECRETS = ("KCONNECT_USER", "KCONNECT_PASSWORD", "KCONNECT_TOKEN", "KCONNECT_URL")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.delenv(name, raising=False)


def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*KCONNECT, *arguments], input=stdin, capture_output=True, text=True, timeout=60)


def test_a_password_from_a_pipe() -> None:
    done = run("user", "ann", "--role", "operate", stdin="s3cret ü\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ann:operate:$scrypt$ln=15,r=8,p=3$")
    caller = parse(done.stdout).by_password("ann", "s3cret ü")
    assert caller is not None
    assert caller.role is Role.OPERATE


def test_a_password_from_a_terminal_is_not_shown(tmp_path: Path) -> None:
    leader, terminal = pty.openpty()
    out = tmp_path / "users"
    with open(out, "wb") as file:
        command = [*KCONNECT, "user", "ann", "--role", "read"]
        child = subprocess.Popen(command, stdin=terminal, stdout=file, stderr=terminal, start_new_session=True)
    os.close(terminal)
    shown = b""
    for prompt in (b"Password of ann: ", b"Repeat for confirmation: "):
        while prompt not in shown:
            shown += os.read(leader, 1000)
        os.write(leader, b"s3cret\n")
    try:
        while more := os.read(leader, 1000):
            shown += more
    except OSError:
        pass  # Linux says so where the other side is closed.
    assert child.wait(60) == 0
    os.close(leader)
    assert b"s3cret" not in shown
    assert parse(out.read_text()).by_password("ann", "s3cret") is not None


def test_a_token_is_shown_once_and_its_line_does_not_hold_it() -> None:
    done = run("user", "ci", "--role", "admin", "--token")
    token = done.stderr.split()[-1]
    assert done.stderr == f"The token of ci, shown only now:\n{token}\n"
    assert token.startswith("kc_")
    assert len(token) > 40
    assert token not in done.stdout
    caller = parse(done.stdout).by_token(token)
    assert caller is not None
    assert (caller.name, caller.role) == ("ci", Role.ADMIN)
    assert run("user", "ci", "--role", "admin", "--token").stderr != done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ann"], "Missing option '--role'"),
        (["ann", "--role", "root"], "'root' is not one of 'read', 'operate', 'admin'"),
        (["a:b", "--role", "read"], "a name has letters, digits"),
        (["ann", "--role", "read"], "The password is empty"),
        (["ann", "--role", "read", "s3cret"], "unexpected extra argument"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_wrong_uses(arguments: list[str], said: str) -> None:
    done = run("user", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


# -- who the commands say they are ------------------------------------------------------------------------------------


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[str]:
    users = tmp_path / "users"
    users.write_text(quick("ann", "read", "s3cret") + token_line("ci", "read", "t0ken") + "\n")
    settings = RestSettings("http://127.0.0.1:0/", gate=Gate(CredentialsFile(str(users), BOTH), BOTH))
    with serving(MemoryHerder(), settings) as url:
        yield url


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["cluster", *arguments])
    return int(str(ended.value.code))


@pytest.mark.parametrize(
    ("environment", "arguments", "comes_in"),
    [
        ({}, [], False),
        ({"KCONNECT_TOKEN": "t0ken"}, [], True),
        ({"KCONNECT_TOKEN": "wrong"}, [], False),
        ({"KCONNECT_USER": "ann", "KCONNECT_PASSWORD": "s3cret"}, [], True),
        ({"KCONNECT_PASSWORD": "s3cret"}, ["--user", "ann"], True),
        ({"KCONNECT_PASSWORD": "wrong"}, ["--user", "ann"], False),
        ({"KCONNECT_PASSWORD": "s3cret"}, ["--user", "bob"], False),
        ({"KCONNECT_PASSWORD": "s3cret", "KCONNECT_TOKEN": "wrong"}, ["--user", "ann"], True),
        ({"KCONNECT_PASSWORD": "wrong", "KCONNECT_USER": "ann", "KCONNECT_TOKEN": "t0ken"}, [], True),
    ],
)
def test_who_the_environment_says(
    guarded: str,
    environment: dict[str, str],
    arguments: list[str],
    comes_in: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # The herder in memory knows no cluster: whoever comes in gets its 500, and the others 401.
    assert status("--url", guarded, *arguments) == (1 if comes_in else 8)
    said = capsys.readouterr().err
    assert ("Give --user NAME, or a token in the environment variable KCONNECT_TOKEN." in said) == (not environment)
    assert not any(secret in said for secret in ("s3cret", "t0ken"))


def test_no_password_in_a_url(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert status("--url", "http://ann:s3cret@localhost:1") == 2
    monkeypatch.setenv("KCONNECT_URL", "http://ann:s3cret@localhost:1")
    assert status() == 2
    said = capsys.readouterr().err
    assert said.count("A URL must not hold a password") == 2
    assert "s3cret" not in said


def test_without_a_terminal_there_is_nobody_to_ask(guarded: str) -> None:
    done = run("cluster", "--url", guarded, "--user", "ann")
    assert done.returncode == 2
    assert "There is no terminal to ask for the password of ann: set KCONNECT_PASSWORD." in done.stderr
