"""Two topics whose records go to one table or index, since names that differ by case are one there: the log says so."""

from __future__ import annotations

import pytest

from kconnect.api import INT32_SCHEMA, STRING_SCHEMA, SinkRecord, Struct, schema
from kconnect.connectors.groups import groups_of
from kconnect.connectors.search import settings
from kconnect.connectors.search.actions import Maker
from kconnect.connectors.targets import Targets

ROW = schema.struct({"id": INT32_SCHEMA, "v": STRING_SCHEMA})


def _record(topic: str, offset: int = 0) -> SinkRecord:
    return SinkRecord(topic, 0, None, str(offset), ROW, Struct(ROW, {"id": 1, "v": topic}), offset)


def test_it_is_said_once_for_each_topic(caplog: pytest.LogCaptureFixture) -> None:
    targets = Targets("table", "Name them apart.")
    for target, topic in [("a", "A"), ("a", "a"), ("a", "a"), ("b", "b"), ("a", "A"), ("a", "á")]:
        targets.note(target, topic)
    assert [record.getMessage() for record in caplog.records] == [
        f"The topics 'A' and '{topic}' go to the same table, 'a': records with the same key replace each other there. "
        "Name them apart."
        for topic in ("a", "á")
    ]


@pytest.mark.parametrize(
    ("more", "topics", "said"),
    [({}, ("Orders", "orders"), True), ({}, ("a", "b"), False), ({"index.name.format": "all"}, ("a", "b"), False)],
    ids=["case", "others", "meant"],
)
def test_indexes_of_search(more: dict[str, str], topics: tuple[str, str], said: bool, caplog: pytest.LogCaptureFixture) -> None:
    maker = Maker(settings.CONFIG.parse({"topics": "t", "connection.url": "http://localhost:1", **more}))
    for group in groups_of([_record(topic) for topic in topics]):
        list(maker.actions(group))
    assert ("go to the same index" in caplog.text) == said


def test_targets_and_topics_that_records_choose_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kconnect.connectors.targets._KEPT", 10)
    targets = Targets("table", "Name them apart.")
    for number in range(100):
        targets.note(f"target {number}", "one")
        targets.note(f"target {number}", f"topic {number}")
        assert len(targets._first) + len(targets._told) <= 11
