"""A Java source task that hears of its records while its `poll` waits, on a real broker; only the host is one in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.jvm import beans
from tests.jvm.java import JavaPlugins
from tests.rig.java_plugin import write_plugin

from .units import MemoryHost, end, until, values

pytestmark = pytest.mark.integration


def test_a_task_may_wait_in_poll_until_kafka_has_what_it_gave_before(bootstrap: str, topic: str, tmp_path: Path) -> None:
    """As IBM MQ's source does; its next batch would never come if it heard of the last one between two polls only."""
    beans.end()
    heard = tmp_path / "heard"
    there = MemoryHost(bootstrap, JavaPlugins(write_plugin(tmp_path)), offset_flush_interval_ms="600000")
    config = {"connector.class": "Numbers", "topic": topic, "number": "0", "batch": "5", "limit": "100", "waits": "yes"}
    unit = there.unit({**config, "heard": str(heard)})
    # The connector's last batch is heard of while the task's next poll waits, long before offsets are stored.
    until(lambda: heard.exists() and len(heard.read_text().splitlines()) >= 100)
    assert there.writes == []
    end(unit)
    lines = heard.read_text().splitlines()
    assert lines[:100] == [f"{number} {topic}-0@{number}" for number in range(100)]
    assert set(lines[100:]) == {"stop", "commit"} and there.states == ["RUNNING", "UNASSIGNED"]
    assert values(bootstrap, topic) == [str(number) for number in range(100)]
    assert there.writes == [{"last": 99}]
