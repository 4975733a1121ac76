"""How much of a processor a unit takes: by its own thread, and by those that its code has started. No broker is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from kconnect.api.record import SourceRecord
from kconnect.host.cpu import Clocks
from kconnect.units import owners

from ..integration.units import MemoryHost, Numbers, Plugins, source_of, until

work, rest = threading.Event(), threading.Event()


@pytest.fixture(autouse=True)
def followed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    work.clear()
    rest.clear()
    # What `follow` changes for good is as it was at the end.
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)
    monkeypatch.setattr(owners, "_note", owners._note)
    owners.follow(lambda owned: None)
    yield
    work.set()
    rest.set()


def spent(limit_s: float) -> None:
    """Take so many seconds of a processor, in the calling thread."""
    end = time.thread_time() + limit_s
    while time.thread_time() < end:
        pass


class Idle(Numbers):
    def poll(self) -> list[SourceRecord] | None:
        self.stopped.wait(0.05)
        return None


class Busy(Idle):
    def poll(self) -> list[SourceRecord] | None:
        if not work.is_set():
            spent(0.7)
            thread = threading.Thread(target=spent, args=(0.7,))
            thread.start()
            thread.join()
            # This one lives on, so that it is seen.
            threading.Thread(target=lambda: (spent(0.7), rest.wait(600)), daemon=True).start()
            work.set()
        return super().poll()


def test_what_its_threads_take_is_counted_and_an_idle_one_says_the_same_again() -> None:
    clocks = Clocks()
    host = MemoryHost("127.0.0.1:1", Plugins(Busy=source_of(Busy), Idle=source_of(Idle)))
    busy = host.unit({"connector.class": "Busy", "limit": "0"})
    assert work.wait(120)
    # What a thread took that is over by now was never seen.
    until(lambda: (clocks.seconds(busy) or 0.0) >= 1.4, 120)
    idle = host.unit({"connector.class": "Idle", "limit": "0"}, 1)
    until(lambda: host.states.count("RUNNING") == 2, 120)
    least = clocks.seconds(idle)
    assert least is not None
    assert least < 1.0, "the work of another unit is not its own"
    before = clocks.seconds(busy)
    rest.set()
    until(lambda: not [owned for owned in owners.threads(busy) if owned.thread.is_alive()], 120)
    after = clocks.seconds(busy)
    assert before is not None
    assert after is not None
    assert after >= before, "what a thread took stays when it has ended"
    clocks.forget(busy)
    assert (clocks.seconds(busy) or 0.0) < before, "only what lives is known anew"
