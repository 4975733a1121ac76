"""Threads that connectors share: brokers that never answer keep nobody else waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from kconnect.worker.shared_threads import Owner, SharedThreads
from tests.support import wait_until

WAIT_S = 120
X, Y = Owner("x"), Owner("y")


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    go_on = threading.Event()
    yield go_on
    go_on.set()


def hanging(go_on: threading.Event, begun: list[str], name: str) -> Callable[[], None]:
    def hang() -> None:
        begun.append(name)
        assert go_on.wait(WAIT_S)

    return hang


def done_by(threads: SharedThreads, owner: Owner) -> threading.Event:
    done = threading.Event()
    threads.submit(owner, done.set)
    return done


def test_what_is_asked_about_one_connector_keeps_nobody_from_another(go_on: threading.Event) -> None:
    threads, begun = SharedThreads(4, "look"), list[str]()
    for _ in range(100):
        threads.submit(X, hanging(go_on, begun, "x"))
    assert done_by(threads, Y).wait(WAIT_S)
    assert done_by(threads, Owner()).wait(WAIT_S)
    assert begun == ["x", "x"]
    go_on.set()
    wait_until(lambda: len(begun) == 100)


def test_connectors_with_brokers_of_their_own_have_half_of_the_threads(go_on: threading.Event) -> None:
    threads, begun = SharedThreads(4, "look"), list[str]()
    for number in range(50):
        threads.submit(Owner(f"x{number}", elsewhere=True), hanging(go_on, begun, "x"))
    assert done_by(threads, Y).wait(WAIT_S)
    assert begun == ["x", "x"]


def test_connectors_have_their_turns_one_after_the_other(go_on: threading.Event) -> None:
    threads, begun, order = SharedThreads(1, "look"), list[str](), list[str]()
    threads.submit(Owner("busy"), hanging(go_on, begun, "busy"))
    for name in ("x", "x", "x", "y", "y", "z"):
        threads.submit(Owner(name), lambda name=name: order.append(name))  # type: ignore[misc]
    go_on.set()
    wait_until(lambda: len(order) == 6)
    assert order == ["x", "y", "z", "x", "y", "x"]


def test_what_nobody_waits_for_any_more_is_not_begun(go_on: threading.Event) -> None:
    threads, begun, order = SharedThreads(1, "look"), list[str](), list[str]()
    threads.submit(X, hanging(go_on, begun, "x"))
    threads.submit(X, lambda: order.append("gone"), lambda: False)
    done = done_by(threads, X)
    go_on.set()
    assert done.wait(WAIT_S)
    assert order == []


def test_nothing_is_begun_once_they_are_closed(go_on: threading.Event) -> None:
    threads, begun, order = SharedThreads(1, "look"), list[str](), list[str]()
    threads.submit(X, hanging(go_on, begun, "x"))
    threads.submit(X, lambda: order.append("late"))
    wait_until(lambda: begun == ["x"])
    threads.close()
    threads.submit(X, lambda: order.append("later"))
    go_on.set()
    wait_until(lambda: not threads._running)
    assert order == []
