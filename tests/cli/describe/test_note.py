"""What is written of findings, and what is advised; the findings are as `Look.connector` makes them."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.cli.describe import note
from kconnect.core.describe import advice

NOW = 1_800_000_000.0


def task(number: int, state: str = "RUNNING", **more: Any) -> dict[str, Any]:
    numbers = {"in_per_s": 10.0, "out_per_s": 9.0, "in_total": 100, "out_total": 90, "lag": 5.0, "errors": 0.0}
    start = {"id": number, "version": "1", "state": state, "worker_id": "n1:8083", "since_ms": None, "error": None}
    start["retrying"] = None
    return {**start, "numbers": numbers, **more}


def failure(first: str, reported: str | None = None) -> dict[str, Any]:
    return {"first_cause": first, "reported_as": reported, "trace": f"{reported}\n\tat a.B.c(B.java:1)\nCaused by: {first}"}


def found(**changes: Any) -> dict[str, Any]:
    made = {
        "name": "orders",
        "type": "sink",
        "class": "com.acme.Sink",
        "version": "1.2",
        "state": "RUNNING",
        "worker_id": "n1:8083",
        "since_ms": int(NOW * 1000) - 300_000,
        "error": None,
        "retrying": None,
        "tasks": [task(0)],
        "plugins": [{"role": "value.converter", "class": "org.apache.kafka.connect.json.JsonConverter", "version": "4.3.1"}],
        "topics": ["orders"],
        "offsets": [],
        "lag": {"total": 5, "partitions": [{"topic": "orders", "partition": 0, "committed": 95, "end": 100, "lag": 5}]},
        "numbers": {"in_per_s": 10.0, "out_per_s": 9.0, "in_total": 100, "out_total": 90, "progress_at": NOW - 3, "errors": 0},
        "restarts": 1,
        "changes": [{"at_ms": 1_799_999_000_000, "task": 0, "text": "RUNNING on n1:8083"}],
        "seen_since_ms": 1_799_999_000_000,
        "moving": [],
        "errors": {"tolerance": "none", "topic": None},
        "unknown": {},
        **changes,
    }
    return {**made, "advice": advice.of(made)}


def written(verbose: bool = False, /, **changes: Any) -> str:
    return "\n".join(" ".join(line.split()) for line in note.of(found(**changes), NOW, verbose))


def test_of_one_that_is_well() -> None:
    text = written()
    for line in (
        "Connector orders (sink, com.acme.Sink 1.2)",
        "(5 min)",
        "Tasks 1: 1 RUNNING",
        "0 RUNNING n1:8083 10 9 5 0",
        "Rate 10 records/s in, 9 out, over the last minute",
        "last record moved 3 s ago",
        "Lag 5 records",
        "orders/0: 5 (at 95, end 100)",
        "Topics orders",
        "Plugins value.converter: JsonConverter 4.3.1",
        "Restarts 1 since",
        "task 0 RUNNING on n1:8083",
    ):
        assert line in text
    assert "What to do" not in text


def test_inferred_schemas_are_shown_where_any_are_wanted() -> None:
    assert "Schemas" not in written()
    known = {"topic": "orders", "part": "value", "version": 3, "fields": [{"field": "id", "type": "integer"}] * 2}
    assert "Schemas the values of orders: version 3, 2 fields\nkconnect schemas orders shows them" in written(schemas=[known])
    assert "Schemas none inferred yet" in written(schemas=[])


def test_a_failure_is_its_first_cause_and_the_trace_only_if_asked_for() -> None:
    changes = {"tasks": [task(0, "FAILED", error=failure("DataException: bad", "ConnectException: outer")), task(1)]}
    text = written(**changes)
    assert "Task 0 DataException: bad\nreported as ConnectException: outer" in text
    assert "Caused by" not in text
    assert "1 of 2 tasks failed: fix the cause, then `kconnect restart orders --failed`" in text
    assert "Caused by: DataException: bad" in written(True, **changes)


def test_tasks_that_failed_of_the_same_are_told_once() -> None:
    failed = [task(number, "FAILED", error=failure("IOException: full")) for number in range(5)]
    text = written(tasks=[*failed, task(5, "FAILED", error=failure("IOException: other"))])
    assert text.count("IOException: full") == 1
    assert "Task 0,1,2… IOException: full" in text and "Task 5 IOException: other" in text


def test_what_is_not_known_says_why() -> None:
    unknown = {
        "lag": "give --bootstrap-server",
        "numbers": "this worker has no /metrics",
        "changes": "give --worker-file",
        "topics": "Topic tracking is disabled.",
        "offsets": "HTTP 404 Not Found",
    }
    nothing = dict.fromkeys(("lag", "numbers", "changes", "topics", "offsets", "restarts", "seen_since_ms", "since_ms"))
    text = written(**nothing, unknown=unknown, tasks=[task(0, numbers=None)])
    for label, why in zip(("Lag", "Rate", "Changes", "Topics", "Offsets"), unknown.values(), strict=True):
        assert f"{label} unknown: {why}" in text
    assert "the time of its last change is not known" in text


def test_a_connector_whose_state_nobody_has_told_yet() -> None:
    text = written(state=None, worker_id=None, tasks=[], unknown={"state": "No status found for connector orders"})
    assert "State unknown: No status found for connector orders" in text
    assert "No worker has reported its state yet" in text


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"state": "PAUSED"}, "kconnect resume orders"),
        ({"state": "STOPPED", "tasks": []}, "`kconnect resume orders` starts it"),
        ({"state": "FAILED", "tasks": [], "error": failure("X: y")}, "then `kconnect restart orders`"),
        ({"tasks": []}, "It runs and has no tasks"),
        ({"tasks": [task(0, "UNASSIGNED")], "moving": [{"task": 0}]}, "A rebalance is under way"),
        ({"tasks": [task(0, "UNASSIGNED")]}, "It waits for a worker"),
        (
            {
                "tasks": [{**task(0, "UNASSIGNED"), "waits_for": "waiting for Spark: the worker a has no task host yet"}],
                "moving": [1],
            },
            "It waits for Spark, which takes seconds",
        ),
        ({"name": "a b", "state": "PAUSED"}, "kconnect resume 'a b'"),
        ({"numbers": {"in_per_s": 0.0}}, "5 records wait, and none was read"),
        ({"numbers": {"skipped": 3.0}}, "3 records failed and were dropped"),
        (
            {"numbers": {"skipped": 3.0}, "errors": {"tolerance": "all", "topic": "dead"}},
            "kconnect dlq show dead",
        ),
    ],
)
def test_advice(changes: dict[str, Any], sentence: str) -> None:
    assert any(sentence in each for each in found(**changes)["advice"]), found(**changes)["advice"]


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("ConnectException: Failed to find any class that implements Connector and which name matches x", "A class is missing"),
        ("ModuleNotFoundError: No module named 'psycopg'", "A class is missing"),
        ("SerializationException: Unknown magic byte!", "not what the connector expects"),
        ("TopicAuthorizationException: Not authorized to access topics: [a]", "lacks a right"),
        ("SaslAuthenticationException: Authentication failed", "could not log in"),
        ("NoSuchFileException: /x", "A file is missing"),
    ],
)
def test_known_causes_have_remedies(cause: str, words: str) -> None:
    failed = found(tasks=[task(0, "FAILED", error=failure(cause))])["advice"]
    assert sum(words in each for each in failed) == 1
    assert not any(words in each for each in found(tasks=[task(0, "RUNNING", error=failure(cause))])["advice"])


def test_a_record_that_is_wrong_is_looked_for_where_the_connector_takes_it_from() -> None:
    bad = {"tasks": [task(0, "FAILED", error=failure("DataException: bad"))]}
    for changes, records in (
        ({}, "--topic orders"),
        ({"topics": [], "lag": None}, "--topic TOPIC"),
        ({"type": "source", "lag": None}, "--input RECORDS"),
    ):
        assert any(f"`kconnect preview --against orders {records}`" in each for each in found(**bad, **changes)["advice"])
    said = "ConnectError: Tolerance exceeded in error handler: the value converter failed at my-orders.eu-3@12: bad"
    advice_of_it = found(tasks=[task(0, "FAILED", error=failure("DataException: bad", said))])["advice"]
    assert any("--against orders --topic my-orders.eu --partition 3 --offset 12 --limit 1`" in each for each in advice_of_it)


@pytest.mark.parametrize("key", ["in_per_s", "out_per_s", "in_total", "out_total"])
def test_a_number_that_is_not_there_yet_is_not_assumed(key: str) -> None:
    numbers: dict[str, Any] = {"in_per_s": 10.0, "out_per_s": 9.0, "in_total": 100, "out_total": 90}
    whole = written(numbers=numbers)
    assert "Rate 10 records/s in, 9 out, over the last minute\n100 in, 90 out since its tasks started" in whole
    del numbers[key]
    assert written(numbers=numbers).count("?") == 1
    assert "Rate 10 records/s in, 9 out" in written(numbers={"in_per_s": 10.0, "out_per_s": 9.0})
    assert "Rate 100 in, 90 out since" in written(numbers={"in_total": 100, "out_total": 90})
