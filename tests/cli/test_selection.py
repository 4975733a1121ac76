"""Names and globs, and doing something to each connector that they mean."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from kconnect.cli import selection
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.states import SetTargetState
from kconnect.core.state.records import TargetState
from kconnect.errors import ConflictError, ConnectError, NotFoundError
from kconnect.rest.app import RestSettings, build
from kconnect.rest.client import WaitError
from kconnect.rest.server import Server
from tests.cli.terminal import Terminal
from tests.rest.herder import MemoryHerder
from tests.support import wait_until

KNOWN = ["orders-eu", "b*", "orders-us", "bills", "a b/ü%"]


@pytest.mark.parametrize(
    ("patterns", "meant"),
    [
        (["orders-us"], ["orders-us"]),
        (["orders-us", "orders-eu"], ["orders-eu", "orders-us"]),
        (["orders-*"], ["orders-eu", "orders-us"]),
        (["orders-*", "orders-us", "*us"], ["orders-eu", "orders-us"]),
        (["b*"], ["b*"]),
        (["b[*i]*"], ["b*", "bills"]),
        (["a b/ü%"], ["a b/ü%"]),
        (["*"], KNOWN),
    ],
    ids=str,
)
def test_what_is_meant(patterns: list[str], meant: list[str]) -> None:
    assert selection.match(patterns, KNOWN) == meant


@pytest.mark.parametrize(
    ("patterns", "known", "said"),
    [
        (["bills", "Bills"], KNOWN, "There is no connector Bills; the cluster has orders-eu, b*, orders-us, bills, a b/ü%"),
        (["x-*"], KNOWN, "No connector's name matches x-*; the cluster has orders-eu"),
        (["x"], [], "There is no connector x; the cluster has none"),
        (["x/0"], ["x"], "x/0 is a task, where a connector is meant. `kconnect describe task x/0` shows it"),
        (["x"], [f"c{n}" for n in range(7)], "the cluster has c0, c1, c2, c3, c4 and 2 more (kconnect get connectors)"),
    ],
)
def test_what_nobody_has(patterns: list[str], known: list[str], said: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        selection.match(patterns, known)
    assert said in str(caught.value)


def test_each_goes_on_after_failures_and_tells_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    def do(name: str) -> str | None:
        if name == "quiet":
            return None
        if name.startswith("bad"):
            raise ConflictError(f"no\n {name}")
        return f"did {name}"

    assert selection.each(["a", "bad1", "b", "quiet", "bad2", "c"], do, "Doing") == 5
    said = capsys.readouterr()
    assert said.out == "did a\ndid b\ndid c\n"
    assert said.err == "kconnect: bad1: no; bad1\nkconnect: bad2: no; bad2\n"


@pytest.mark.parametrize(
    ("errors", "status"),
    [
        ([None, None], 0),
        ([], 0),
        ([NotFoundError("x"), None, NotFoundError("y")], 4),
        ([NotFoundError("x"), ConflictError("y")], 1),
        ([ConnectError("x")], 1),
        ([RuntimeError("x"), RuntimeError("y")], 1),
    ],
)
def test_the_status_is_the_kinds_own_if_there_is_one_kind(errors: list[Exception | None], status: int) -> None:
    def do(name: str) -> None:
        error = errors[int(name)]
        if error is not None:
            raise error

    assert selection.each(map(str, range(len(errors))), do, "Doing") == status


def test_what_was_done_before_an_error_is_told_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    def late() -> None:
        raise WaitError("not in time", None)

    def do(name: str) -> str:
        selection.then(f"did {name}", late if name == "b" else lambda: None)
        return f"did {name}, and it is so"

    assert selection.each(["a", "b"], do, "Doing") == 7
    said = capsys.readouterr()
    assert (said.out, said.err) == ("did a, and it is so\ndid b\n", "kconnect: b: not in time\n")


class Slow(MemoryHerder):
    """Pauses all at once, but for one that hangs."""

    def submit(self, request: Request[Any]) -> Future[Any]:
        if isinstance(request, SetTargetState) and request.name == "c2":
            self.held.append(Future())
            return self.held[-1]
        return super().submit(request)


@pytest.mark.process
@pytest.mark.parametrize("count", [3, 6], ids=["without a bar", "with a bar"])
def test_ctrl_c_tells_what_was_done(count: int) -> None:
    herder = Slow()
    names = [f"c{number}" for number in range(count)]
    for name in names:
        herder.submit(CreateConnector(name, {"connector.class": "X"}))
    server = Server(build(herder, RestSettings("http://127.0.0.1:0/")), ["http://127.0.0.1:0"])
    server.start()
    try:
        url = f"http://127.0.0.1:{server.port}"
        with Terminal("pause", "--all", "--url", url, env={}) as terminal:
            # With a bar, that tells how many are done; without one, those before the one that hangs are shown.
            terminal.expect(f"{count - 1}/{count}" if count == 6 else "Pausing c1")
            wait_until(lambda: list(herder.targets.values()).count(TargetState.PAUSED) == count - 1)
            terminal.interrupt()
            assert terminal.end() == 130
            lines = [line.rpartition("\r")[2].rpartition("\x1b[2K")[2] for line in terminal.shown.splitlines()]
    finally:
        for answer in herder.held:
            # The server would wait for it.
            answer.set_result(None)
        server.stop()
    told = [line for line in lines if line.startswith(("Pausing c", "Interrupted"))]
    done = [f"Pausing {name}" for name in names if name != "c2"]
    assert told == [*done, f"Interrupted: pausing 1 of {count} connectors was not finished"]


def test_several_at_once_but_no_more_than_asked_for() -> None:
    together = threading.Barrier(3)
    lock, now, most = threading.Lock(), 0, 0

    def do(name: str) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        # Breaks, and so fails, unless three are here at once.
        together.wait(60)
        with lock:
            now -= 1

    assert selection.each(map(str, range(9)), do, "Doing", at_once=3) == 0
    assert most == 3
