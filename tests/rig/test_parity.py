"""The parts of the parity harness that need no worker: the script, normalising, comparing, what is known."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.rig.parity import normal, records
from tests.rig.parity.cluster import Answer, Cluster
from tests.rig.parity.compare import Difference, Order, differences
from tests.rig.parity.expected import Known, Place, found, unmet
from tests.rig.parity.known import KNOWN
from tests.rig.parity.script import SCRIPT
from tests.rig.parity.step import get, send

COMPATIBILITY = Path(__file__).parents[2] / "docs" / "compatibility.md"


def same(data: Any) -> Any:
    return data


def places(theirs: Any, ours: Any) -> list[str]:
    return [difference.where for difference in differences("t", theirs, ours)]


def test_the_script_is_long_and_each_title_stands_for_one_request() -> None:
    assert len(SCRIPT) >= 150
    assert [title for title, count in Counter(step.title for step in SCRIPT).items() if count > 1] == []


def test_only_requests_that_change_nothing_are_repeated() -> None:
    assert {step.method for step in SCRIPT if step.until is not None} == {"GET"}


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.id)
def test_what_is_known_to_differ_is_a_row_of_the_docs(known: Known) -> None:
    lines = COMPATIBILITY.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith(f"| {known.row} |")], f"no row begins with: {known.row}"


def test_ids_of_known_differences_are_their_own() -> None:
    assert len({known.id for known in KNOWN}) == len(KNOWN)


def test_places_of_differences() -> None:
    assert places({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == ["a[1].b"]
    assert places({"a": [1, 2]}, {"a": [1]}) == ["a"]
    assert places({"a": 1}, {"b": 1}) == ["a", "b"]
    assert places({"a": None}, {}) == ["a"]
    assert places({"a": 1}, {"a": True}) == ["a"]
    assert places({"a": "1"}, {"a": 1}) == ["a"]
    assert places({"a": 1}, {"a": 1}) == []


def test_an_order_is_that_of_names_that_both_have() -> None:
    assert places({"o": Order(["a", "x", "b"])}, {"o": Order(["a", "b", "y"])}) == []
    assert places({"o": Order(["a", "b"])}, {"o": Order(["b", "a"])}) == ["o[0]", "o[1]"]


KNOWN_HERE = Known("k", "row", "get: .*", (Place(r"body\.x", "1", r"\(absent\)"), Place("status", "500", "400")))


def test_a_known_difference_covers_its_place_and_values_only() -> None:
    def covers(difference: Difference) -> bool:
        return found(difference, [KNOWN_HERE]).known is KNOWN_HERE

    absent = next(differences("get: a", {"body": {"x": 1}}, {"body": {}}))
    assert covers(absent)
    assert not covers(next(differences("put: a", {"body": {"x": 1}}, {"body": {}})))
    assert not covers(next(differences("get: a", {"body": {"x": 2}}, {"body": {}})))
    assert not covers(next(differences("get: a", {"body": {"xy": 1}}, {"body": {}})))
    assert covers(Difference("get: a", "status", 500, 400))
    assert not covers(Difference("get: a", "status", 500, 404))


def test_a_place_that_was_not_met_is_told() -> None:
    status = found(Difference("get: a", "status", 500, 400), [KNOWN_HERE])
    assert unmet([KNOWN_HERE], [status]) == [r"k: body\.x"]
    assert unmet([KNOWN_HERE], []) == [r"k: body\.x", "k: status"]


def test_names_of_the_cluster_times_and_prose_are_made_the_same(tmp_path: Path) -> None:
    worker = WorkerProcess(tmp_path, "nowhere:9092", "one")
    make = normal.texts_of(Cluster("one", worker, "nowhere:9092", tmp_path), "4.3.1")
    given = {
        "one-src": f"one-src reads {tmp_path}/lines.txt",
        "worker_id": f"127.0.0.1:{worker.port}",
        "versions": ["4.3.1", "[4.3.1]", "14.3.1", "4.3.1.2"],
        "version": "4.3.1",
        "documentation": "Some prose.",
        "trace": "a\nb",
        "generation": 7,
    }
    assert make(given) == {
        "<n>-src": "<n>-src reads <dir>/lines.txt",
        "worker_id": "<host>",
        "versions": ["<version>", "[<version>]", "14.3.1", "4.3.1.2"],
        "version": "<version>",
        "documentation": "<text>",
        "trace": "<text>",
        "generation": "<generation>",
    }
    empty = {"version": None, "documentation": "", "trace": None}
    assert make(empty) == empty


def test_hash_orders_are_sorted_and_others_are_not() -> None:
    def body(path: str, data: Any) -> Any:
        return normal.answer(get("t", path), Answer(200, {}, data), same)["body"]

    assert body("/connectors", ["b", "a"]) == body("/connectors/", ["a", "b"]) == ["a", "b"]
    assert body("/connectors/c/tasks", ["b", "a"]) == ["b", "a"]
    options = send("t", "OPTIONS", "/connectors")
    answer = normal.answer(options, Answer(200, {"Allow": "POST, GET"}, "POST, GET"), same)
    assert (answer["headers"]["Allow"], answer["body"]) == ("GET,POST", "GET,POST")


def test_a_use_that_was_forgotten_is_a_matter_of_time_and_what_stays_is_not() -> None:
    running = {"state": "RUNNING", "worker_id": "w"}
    assert records.last_states(
        {
            '"status-topic-a:connector-x"': [{"topic": {}}, None],
            '"status-topic-b:connector-x"': [{"topic": {}}],
            '"status-task-x-0"': [{"state": "UNASSIGNED"}, running, None],
        }
    ) == {
        '"status-topic-b:connector-x"': {"last": {"topic": {}}, "seen": []},
        '"status-task-x-0"': {"last": None, "seen": ["RUNNING state,worker_id"]},
    }
