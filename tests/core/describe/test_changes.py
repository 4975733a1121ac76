"""What became of a connector, from records of the config and status topics as both kinds of workers write them."""

from __future__ import annotations

from kconnect.core.describe import changes as history
from kconnect.core.state import records
from kconnect.core.state.records import Entry, LogRecord, State, TargetState, Topic, UnitId, UnitStatus
from kconnect.kafka.stamped import Stamped

WORKER = "n1:8083"


def stamped(*entries: tuple[int, Entry]) -> list[Stamped]:
    return [Stamped(LogRecord(entry.topic, 0, place, entry.key, entry.value), at) for place, (at, entry) in enumerate(entries)]


def status(state: State, task: int = -1, worker: str = WORKER) -> Entry:
    return records.status(UnitId("x", task), UnitStatus(state, worker, 1))


def texts(found: history.History) -> list[str]:
    return [event.text for event in found.events]


def test_since_when_and_how_often() -> None:
    found = history.of(
        "x",
        stamped(
            (10, status(State.RUNNING)),
            (11, status(State.RUNNING, 0)),
            (20, status(State.FAILED, 0)),
            (30, status(State.RESTARTING, 0)),
            (31, status(State.RUNNING, 0)),
            (40, status(State.RUNNING, 0)),
            (50, status(State.PAUSED, 0)),
            (60, status(State.RUNNING, 0)),
        ),
    )
    assert found.since_if(UnitId("x"), "RUNNING") == 10
    assert found.since_if(UnitId("x", 0), "RUNNING") == 60
    assert found.since_if(UnitId("x", 0), "FAILED") is None
    assert found.restarts() == 1, "a pause is no restart"
    assert found.begins_ms == 10
    assert texts(found)[-1] == f"RUNNING on {WORKER}"


def test_what_users_asked_for() -> None:
    found = history.of(
        "x",
        stamped(
            (1, records.connector_config("x", {"a": "1", "b": "2"})),
            (2, records.connector_config("other", {"a": "1"})),
            (3, Entry(Topic.CONFIG, b"commit-x", b'{"tasks":1}')),
            (4, records.connector_config("x", {"a": "2", "c": "3"})),
            (5, Entry(Topic.CONFIG, b"commit-x", b'{"tasks":1}')),
            (6, Entry(Topic.CONFIG, b"commit-x", b'{"tasks":3}')),
            (7, records.target_state("x", TargetState.PAUSED)),
            (8, records.restart_request("x", True, True)),
            (9, records.connector_config("x", {"a": "2", "c": "3"})),
        ),
    )
    assert texts(found) == [
        "config written, 2 settings",
        "given 1 task",
        "config: a: 1 → 2; b removed; c=3 added",
        "given 3 tasks",
        "target state PAUSED",
        "restart of the connector and its tasks requested, if failed",
        "config: written again, unchanged",
    ]


def test_secrets_are_hidden() -> None:
    first = {"db.password": "canary-1", "url": "jdbc:x://ann:canary-2@db/x", "list": "canary-1"}
    second = {"db.password": "canary-3", "url": "jdbc:x://ann:canary-4@db/x", "list": "a" * 200, "api.key": "canary-5"}
    found = history.of("x", stamped((1, records.connector_config("x", first)), (2, records.connector_config("x", second))))
    assert "canary" not in " ".join(texts(found))
    assert "db.password: [hidden] → [hidden]" in texts(found)[1]
    assert "api.key=[hidden] added" in texts(found)[1]
    assert len(texts(found)[1]) < 400


def test_a_connector_of_the_same_name_begins_anew() -> None:
    found = history.of(
        "x",
        stamped(
            (1, records.connector_config("x", {"a": "1"})),
            (2, status(State.RUNNING)),
            (3, status(State.RUNNING, 0)),
            (4, status(State.FAILED, 0)),
            *((5, entry) for entry in records.connector_deleted("x")),
            (6, records.connector_config("x", {"a": "9"})),
            (7, status(State.RUNNING)),
            (8, status(State.RUNNING, 0)),
        ),
    )
    assert texts(found)[-3] == "config written, 1 settings"
    assert found.restarts() == 0
    assert found.since_if(UnitId("x", 0), "RUNNING") == 8


def test_records_that_nobody_can_read_are_passed_over() -> None:
    found = history.of("x", stamped((1, Entry(Topic.CONFIG, b"connector-x", b"{")), (2, Entry(Topic.STATUS, b"what", b"{}"))))
    assert found.events == []


def test_only_records_that_may_tell_of_it_are_kept() -> None:
    is_wanted = history.keys(("a", "a-1"))
    told = ("connector-a", "target-state-a", "commit-a-1", "restart-connector-a", "status-connector-a", "status-task-a-1-0")
    others = (
        "connector-b",
        "connector-aa",
        "task-a-0",
        "status-topic-a:connector-a",
        "status-task-b-1",
        "session-key",
        "a",
        "",
    )
    assert [key for key in (*told, *others) if is_wanted(key.encode())] == list(told)
    assert not is_wanted(b"\xff")


def test_a_change_of_thousands_of_settings_is_no_long_text() -> None:
    many = {f"setting.{number}": "x" for number in range(10_000)}
    found = history.of("x", stamped((1, records.connector_config("x", {})), (2, records.connector_config("x", many))))
    assert texts(found)[1].endswith("; 9950 more settings")
    assert len(texts(found)[1]) < 5_000
