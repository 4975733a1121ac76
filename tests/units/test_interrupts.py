"""A sink that is to stop is told so by `interrupt`, and a plugin that does not return from it holds nobody up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from ..integration.units import MemoryHost, Plugins, Shelf, end, sink_of, until

LIMIT_S = 60.0


def leaves() -> None:
    raise SystemExit(3)


@pytest.fixture
def gate() -> Any:
    made = threading.Event()
    yield made
    made.set()


@pytest.mark.parametrize("how", ["hangs", "leaves"])
def test_whatever_interrupt_does_the_host_goes_on_and_the_task_ends(gate: threading.Event, how: str) -> None:
    does: Callable[[], Any] = gate.wait if how == "hangs" else leaves
    called = threading.Event()

    class Stubborn(Shelf):
        def interrupt(self) -> None:
            called.set()
            does()

    host = MemoryHost("127.0.0.1:1", Plugins(Sink=sink_of(Stubborn)))
    unit = host.unit({"connector.class": "Sink", "topics": "t"})
    until(lambda: "RUNNING" in host.states)
    stopping = threading.Thread(target=unit.request_stop, daemon=True)
    stopping.start()
    stopping.join(LIMIT_S)
    assert not stopping.is_alive(), "the host waits for the plugin"
    end(unit)
    assert called.wait(LIMIT_S)
    assert "FAILED" not in host.states
