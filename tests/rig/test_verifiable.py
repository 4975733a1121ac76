"""What the verifiable connectors emit and write down, and that `tests/rig/systems/recorder.py` reads it:
`tests/rig/systems/verifiable.py`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kconnect.api.record import SinkRecord, TopicPartition
from kconnect.plugins.registry import Registry
from tests.rig.systems import recorder, verifiable
from tests.rig.systems.verifiable import VerifiableSinkTask, VerifiableSourceConnector, VerifiableSourceTask


class Stored:
    """A source task's context, with one stored offset."""

    def __init__(self, offset: dict[str, Any] | None) -> None:
        self._offset = offset

    @property
    def offsets(self) -> Stored:
        return self

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        assert partition == {"task": 1}
        return self._offset

    def configs(self) -> dict[str, str]:
        return {}


def source(directory: Path, offset: dict[str, Any] | None = None) -> VerifiableSourceTask:
    task = VerifiableSourceTask()
    task.initialize(Stored(offset))  # type: ignore[arg-type]
    task.start({"name": "numbers", "directory": str(directory), "topic": "data", "rate": "30", "task": "1"})
    return task


def sink_record(offset: int, value: str) -> SinkRecord:
    return SinkRecord("data", 2, None, None, None, value, offset)


def numbers(records: Sequence[Any] | None) -> list[int]:
    return [record.source_offset["seqno"] for record in records or ()]


def test_the_plugin_is_found_in_its_directory_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))  # Loading a plugin puts its directory there.
    assert not any("Verifiable" in plugin.class_name for plugin in Registry.scan(None).plugins)
    directory = verifiable.write_plugin(tmp_path)
    found = Registry.scan([str(directory)])
    assert found.broken == []
    assert found.load("VerifiableSource", "connector") is VerifiableSourceConnector


def test_a_source_task_counts_on_from_the_stored_offset(tmp_path: Path) -> None:
    first = source(tmp_path)
    assert numbers(first.poll()) == [1, 2, 3]
    assert numbers(first.poll()) == [4, 5, 6]
    assert numbers(source(tmp_path, {"seqno": 4}).poll()) == [5, 6, 7]


def test_a_task_goes_to_its_own_partition_and_says_who_made_a_record(tmp_path: Path) -> None:
    record = (source(tmp_path).poll() or [])[0]
    life = next(recorder.Tail(tmp_path / verifiable.JOURNAL).read()).life
    assert (record.topic, record.partition, record.source_partition) == ("data", 1, {"task": 1})
    assert record.value == f'{{"unit": "numbers-1", "seqno": 1, "life": "{life}"}}'


def test_the_journal_tells_what_was_stored_asked_given_and_acknowledged(tmp_path: Path) -> None:
    task = source(tmp_path, {"seqno": 4})
    records = task.poll() or []
    task.commit_record(records[1], None)
    task.stop()
    assert task.poll() is None
    found = list(recorder.Tail(tmp_path / verifiable.JOURNAL).read())
    assert [event.kind for event in found] == ["started", "work", "gave", "stopped", "work"]
    assert (found[0].stored, found[2].first, found[2].last, found[3].acked) == (4, 5, 7, 6)
    assert {event.unit for event in found} == {"numbers-1"}
    assert [event.at for event in found] == sorted(event.at for event in found)


def test_a_journal_is_read_on_from_where_it_was_and_never_half_a_line(tmp_path: Path) -> None:
    task = source(tmp_path)
    path = tmp_path / verifiable.JOURNAL
    tail = recorder.Tail(path)
    assert [event.kind for event in tail.read()] == ["started"]
    task.poll()
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert [event.kind for event in tail.read()] == ["work"]
    path.write_bytes(whole)
    assert [event.kind for event in tail.read()] == ["gave"]


def test_what_a_sink_task_got_is_found_but_for_a_line_that_a_kill_tore(tmp_path: Path) -> None:
    value = '{"unit": "numbers-1", "seqno": 7, "life": "A"}'
    task = VerifiableSinkTask()
    task.start({"name": "out", "directory": str(tmp_path), "task": "0"})
    task.open([TopicPartition("data", 2)])
    task.put([sink_record(10, value), sink_record(11, value)])
    (file,) = tmp_path.glob(verifiable.DELIVERED)
    with file.open("a") as torn:
        torn.write('["data", 2, 12, ')
    found = list(recorder.delivered(tmp_path))
    events = list(recorder.Tail(tmp_path / verifiable.JOURNAL).read())
    assert [(each.unit, each.place, each.offset, each.value) for each in found] == [
        ("out-0", ("data", 2), 10, ("numbers-1", 7, "A")),
        ("out-0", ("data", 2), 11, ("numbers-1", 7, "A")),
    ]
    assert found[0].life == events[0].life
    assert [(event.kind, event.places, event.records) for event in events] == [
        ("started", (), 0),
        ("open", (("data", 2),), 0),
        ("work", (), 2),
    ]
