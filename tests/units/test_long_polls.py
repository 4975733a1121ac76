"""A task in Python that waits in `poll` for what comes between two polls only. No broker is needed: none ever acknowledges."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.units import long_polls

from ..integration.units import MemoryHost, Numbers, Plugins, end, source_of, until


class Waiting(Numbers):
    """Gives a record, and waits until it has heard of that."""

    def start(self, props: dict[str, str]) -> None:
        super().start(props)
        self.heard, self.given = threading.Event(), False

    def poll(self) -> list[SourceRecord] | None:
        if self.given:
            self.heard.wait()
            return None
        self.given = True
        return [SourceRecord({"p": "a"}, {"o": 1}, "t", value="v")]

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        self.heard.set()

    def stop(self) -> None:
        self.heard.set()


def test_it_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(long_polls.LongPolls.__init__, "__defaults__", (0.1,))
    monkeypatch.setattr("kconnect.kafka.producer.TaskProducer.require_topic", lambda *args: True)
    there = MemoryHost("127.0.0.1:1", Plugins(Waiting=source_of(Waiting)), offset_flush_timeout_ms="100")
    unit: Any = there.unit({"connector.class": "Waiting", "topic": "t"})
    until(lambda: unit._loop is not None and unit._loop._counts.retrying is not None)
    counts = unit._loop._counts
    assert counts.retrying[1].startswith("poll(): poll() has not returned for ")
    assert "A poll() must not wait for that" in counts.retrying[1]
    assert sum("A poll() must not wait for that" in line for line in caplog.messages) == 1, "once a poll"
    end(unit)
    assert not counts.retrying[1].startswith("poll()"), "it has returned"
