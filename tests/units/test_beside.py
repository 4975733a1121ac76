"""A source whose records go through a sink's chain in the same process: both chains run, nothing gets to Kafka."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kconnect.api import SchemaType
from kconnect.api.record import OffsetOnly, SinkRecord, SourceRecord
from kconnect.api.task import SinkTask

from ..integration.units import MemoryHost, Numbers, Plugins, Shelf, end, sink_of, source_of, until

NOWHERE = "127.0.0.1:1"
CONFIG = {
    "connector.class": "Numbers",
    "limit": "30",
    "transforms": "s",
    "transforms.s.type": "HoistFieldValue",
    "transforms.s.field": "number",
    "value.converter": "JsonConverter",
    "into.connector.class": "Sink",
    "into.value.converter": "JsonConverter",
    "into.transforms": "t",
    "into.transforms.t.type": "InsertFieldValue",
    "into.transforms.t.offset.field": "at",
}


class Beside(Numbers):
    """Gives records without offsets, and an offset once its sink has them."""

    put: list[SinkRecord]

    def sink_beside(self, props: dict[str, str]) -> tuple[SinkTask, dict[str, str]]:
        mine = self.put = []

        class Own(Shelf):
            def put(self, records: list[SinkRecord]) -> None:
                mine.extend(records)

        own = {name.removeprefix("into."): value for name, value in props.items() if name.startswith("into.")}
        return Own(), {**own, "name": props["name"]}

    def poll(self) -> list[SourceRecord] | None:
        if self.last >= self.limit and self.polls <= self.limit:
            self.polls = self.limit + 1
            return [OffsetOnly({"of": "numbers"}, {"last": len(self.put)})]
        return super().poll()

    def record(self, number: int) -> SourceRecord:
        record = super().record(number)
        record.source_partition = record.source_offset = None
        return record


def host_of(task: type[Beside] = Beside, **settings: str) -> MemoryHost:
    return MemoryHost(NOWHERE, Plugins(Numbers=source_of(task), Sink=sink_of(Shelf)), **settings)


def loop_of(unit: Any) -> Any:
    return unit._loop


@pytest.mark.parametrize("support", ["disabled", "enabled"])
def test_records_go_through_both_chains_and_offsets_count_once_they_are_put(support: str) -> None:
    """Also where sources are exactly-once: there is no producer whose transaction could have the offset."""
    host = host_of(exactly_once_source_support=support)
    unit = host.unit(CONFIG)
    until(lambda: host.writes)
    assert host.writes == [{"last": 30}]
    put = loop_of(unit)._task.put
    assert [(record.topic, record.value["number"], record.value["at"]) for record in put] == [
        ("numbers", str(at + 1), at) for at in range(30)
    ]
    assert put[0].value.schema.field("at").schema.type is SchemaType.INT64
    # No topic is in use, for no record is in one.
    assert host.topics == []
    end(unit)
    assert host.states[-1] != "FAILED"


def test_a_record_that_the_sinks_chain_refuses_is_reported_by_the_sinks_settings(caplog: pytest.LogCaptureFixture) -> None:
    cast = {"into.transforms.t.type": "CastValue", "into.transforms.t.spec": "number:int8"}
    other = {name: value for name, value in CONFIG.items() if "offset.field" not in name}

    class More(Beside):
        def record(self, number: int) -> SourceRecord:
            return super().record(number if number != 7 else 700)

    host = host_of(More)
    unit = host.unit({**other, **cast})
    until(lambda: "FAILED" in host.states)
    assert "numbers-0@6" in (host.statuses[-1][1] or "")
    end(unit)

    host = host_of(More)
    with caplog.at_level(logging.ERROR):
        unit = host.unit({**other, **cast, "into.errors.tolerance": "all", "into.errors.log.enable": "true"})
        until(lambda: host.writes)
    assert host.writes == [{"last": 29}]
    assert "numbers-0@6" in caplog.text
    assert loop_of(unit)._counts.skipped == 1
    end(unit)


def test_a_part_of_the_sinks_chain_that_can_not_be_had_fails_the_task_and_says_whose_it_is() -> None:
    host = host_of()
    unit = host.unit({**CONFIG, "into.transforms.t.type": "Nothing"})
    until(lambda: "FAILED" in host.states)
    assert "The sink beside it can't be had" in (host.statuses[-1][1] or "")
    end(unit)
