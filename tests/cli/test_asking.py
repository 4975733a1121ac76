"""What commands do with an answer: yes, no, none, and nobody to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconnect.cli import asking
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector
from kconnect.core.herder.requests.offsets import ResetOffsets
from kconnect.core.herder.requests.states import StopConnector
from tests.cli.calls import Called, call, serving
from tests.cli.terminal import Terminal
from tests.rest.herder import MemoryHerder

CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}
WRITES = (DeleteConnector, ResetOffsets, StopConnector)


@pytest.fixture
def herder() -> MemoryHerder:
    found = MemoryHerder()
    for name in ("a", "b"):
        found.submit(CreateConnector(name, dict(CONFIG)))
    return found


@pytest.fixture
def url(herder: MemoryHerder) -> Iterator[str]:
    with serving(herder) as url:
        yield url


@pytest.fixture
def answered(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Called]:
    """Runs a command in this process as if there were a terminal, on which that is answered."""
    (tmp_path / "a.yaml").write_text("name: a\nconfig: {connector.class: FileStreamSource, topic: t}\n")
    monkeypatch.chdir(tmp_path)

    def run(answer: str, *arguments: str) -> Called:
        return call(*arguments, stdin=answer, env={"KCONNECT_URL": url}, typed=True)

    return run


@pytest.mark.parametrize(
    "command",
    [
        ("delete", "a"),
        ("offsets", "reset", "a", "--stop"),
        ("apply", "-f", "a.yaml", "--prune"),
        ("apply", "-f", "a.yaml", "--prune", "--diff"),
    ],
    ids=" ".join,
)
def test_no_is_9_and_nothing_is_done(answered: Callable[..., Called], herder: MemoryHerder, command: tuple[str, ...]) -> None:
    for answer in ("n\n", "\n", "what\nNo\n"):
        done = answered(answer, *command)
        # What is typed is no part of it, and so no line ends there.
        assert (done.status, done.err.endswith("[y/N]: Nothing was done\n")) == (9, True), done
    assert sorted(herder.configs) == ["a", "b"]
    assert not [request for request in herder.seen if isinstance(request, WRITES)]


def test_yes_is_done(answered: Callable[..., Called], herder: MemoryHerder) -> None:
    assert answered("y\n", "delete", "a").status == 0
    assert list(herder.configs) == ["b"]


def test_the_end_of_what_is_typed_is_as_ctrl_c(answered: Callable[..., Called], herder: MemoryHerder) -> None:
    assert answered("", "delete", "a").status == 130
    assert sorted(herder.configs) == ["a", "b"]


def test_without_a_terminal_it_is_wrong_use(url: str, herder: MemoryHerder) -> None:
    done = call("delete", "a", stdin="y\n", env={"KCONNECT_URL": url})
    assert (done.status, "There is no terminal to ask on: give --yes to confirm" in done.err) == (2, True), done
    assert sorted(herder.configs) == ["a", "b"]


@pytest.mark.process
def test_on_a_real_terminal(url: str, herder: MemoryHerder, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Terminal("delete", "a", "--url", url, env={}, out=out) as terminal:
        terminal.expect("Delete the connector a? ")
        terminal.type("n\n")
        assert terminal.end() == asking.DeclinedError.exit_code == 9
        assert terminal.shown.endswith("Nothing was done\n")
    assert out.read_bytes() == b"", "a question is no data"
    with Terminal("delete", "a", "--url", url, env={}) as terminal:
        terminal.expect("Delete the connector a? ")
        terminal.interrupt()
        assert terminal.end() == 130
    assert sorted(herder.configs) == ["a", "b"]
