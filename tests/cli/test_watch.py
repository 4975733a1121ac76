"""`--watch`: once or again and again, on a terminal and in a pipe, and what becomes of errors meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.cli import watch
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.errors import ConnectError
from kconnect.rest.app import RestSettings, build
from kconnect.rest.server import Server
from tests.cli.calls import call
from tests.cli.terminal import Terminal
from tests.rest.herder import MemoryHerder
from tests.support import wait_until


@pytest.fixture
def herder() -> MemoryHerder:
    found = MemoryHerder()
    found.submit(CreateConnector("first", {"connector.class": "X"}))
    return found


@pytest.fixture
def server(herder: MemoryHerder) -> Iterator[Server]:
    made = Server(build(herder, RestSettings("http://127.0.0.1:0/")), ["http://127.0.0.1:0"])
    made.start()
    yield made
    made.stop()


@pytest.fixture
def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


class _EnoughError(Exception):
    pass


def drawn(*texts: str | Exception) -> Iterator[str]:
    for text in texts:
        if isinstance(text, Exception):
            raise text
        yield text
    raise _EnoughError


def test_once_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    for text, written in (("a", "a\n"), ("a\n", "a\n"), ("", "")):
        watch.show(None, drawn(text).__next__)
        assert capsys.readouterr().out == written


def test_in_a_pipe_one_text_follows_the_other_and_errors_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    texts: list[str | Exception] = ["a", ConnectError("gone\n for now"), "b\n", _EnoughError()]

    def draw() -> str:
        text = texts.pop(0)
        if isinstance(text, Exception):
            raise text
        return text

    with pytest.raises(_EnoughError):
        watch.show(0.001, draw)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("a\nb\n", "kconnect: gone for now\n")


def test_the_first_error_is_the_command_s() -> None:
    with pytest.raises(ConnectError, match="gone"):
        watch.show(0.001, drawn(ConnectError("gone")).__next__)
    assert call("get", "co", "--url", "http://127.0.0.1:9", "--watch").status == 3


@pytest.mark.parametrize("given", ["0", "0.01", "soon", "1e9", "nan"])
def test_times_that_are_none(url: str, given: str) -> None:
    refused = call("get", "co", f"--watch={given}", "--url", url)
    assert refused.status == 2
    assert f"{given} is not a number of seconds. Write --watch=2, or put --watch last" in refused.err


@pytest.mark.process
def test_until_ctrl_c_in_a_pipe(url: str, herder: MemoryHerder, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Terminal("get", "co", "-o", "name", "--watch=0.1", "--url", url, env={}, out=out) as terminal:
        wait_until(lambda: out.read_text().startswith("first\nfirst\n"), message="it is shown again")
        herder.submit(CreateConnector("second", {"connector.class": "X"}))
        wait_until(lambda: out.read_text().endswith("first\nsecond\nfirst\nsecond\n"), message="what is new is shown")
        terminal.interrupt()
        assert terminal.end() == 130
    assert set(out.read_text().splitlines()) == {"first", "second"}, "nothing but the data"


@pytest.mark.process
def test_until_ctrl_c_on_a_terminal(url: str, herder: MemoryHerder, server: Server) -> None:
    with Terminal("get", "co", "--watch=0.1", "--url", url, env={}) as terminal:
        terminal.expect("every 0.1 s, Ctrl-C ends it")
        terminal.expect("first")
        herder.submit(CreateConnector("second", {"connector.class": "X"}))
        terminal.expect("second")
        server.stop()
        terminal.expect("kconnect: No worker answers at")
        terminal.interrupt()
        assert terminal.end() == 130
        # A screen of its own, which is left as it was.
        assert re.search("\x1b\\[\\?1049h.*\x1b\\[\\?1049l", terminal.shown, re.S)
