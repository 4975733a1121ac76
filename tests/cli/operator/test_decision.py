"""What is decided about a resource, case by case. `test_history.py` has what holds whatever happens."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.cli.manifests import Config
from kconnect.cli.operator import resource as resources
from kconnect.cli.operator.decision import (
    Apply,
    AutoRestart,
    Decision,
    Delete,
    Observed,
    Restart,
    Unreachable,
    backoff_s,
    decide,
)
from tests.cli.operator.bodies import CONFIG, NOW, connector, later, status, strimzi

MISSING = Observed()
AWAY = Unreachable("No worker answers at http://w:8083")


def there(*states: str, **changes: str | None) -> Observed:
    """The connector as the resource wants it, but for some settings."""
    config: Config = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    return Observed(config, status(*states) if states else status())


def decided(body: dict[str, Any], observed: Observed | Unreachable, minutes: float = 0.0) -> Decision:
    return decide(resources.read(body), observed, later(minutes))


# -- whose it is ------------------------------------------------------------------------------------------------------


def test_it_says_that_a_connector_will_be_its_own_before_it_creates_it() -> None:
    first = decided(connector(), MISSING)
    assert (first.owner, first.actions, first.soon) == ("claimed", (), True)
    second = decided(connector(owner="claimed"), MISSING)
    (action,) = second.actions
    assert isinstance(action, Apply) and action.step.action == "create" and second.owner == "owned"


def test_what_was_created_and_not_written_down_is_its_own() -> None:
    assert decided(connector(owner="claimed"), there()).owner == "owned"


def test_what_somebody_else_created_first_is_not() -> None:
    found = decided(connector(owner="claimed"), there(file="other.txt"))
    assert (found.owner, found.actions, found.reason) == (None, (), "NotAdopted")


def test_a_connector_made_by_hand_is_left_alone_until_told_so() -> None:
    found = decided(connector(), there())
    assert (found.owner, found.actions, found.reason) == (None, (), "NotAdopted")
    assert "kconnect.dev/adopt=true" in found.message
    adopted = decided(connector(annotations={"kconnect.dev/adopt": "true"}), there(file="other.txt"))
    assert (adopted.owner, adopted.actions) == ("owned", ())


def test_a_copy_of_a_resource_does_not_own_what_the_first_one_does() -> None:
    copy = connector(uid="u2", annotations={"kconnect.dev/owner": "u1/owned"})
    assert resources.read(copy).owner is None
    assert decided(copy, there()).reason == "NotAdopted"


def test_one_connector_has_one_resource() -> None:
    found = decided(connector(owner="claimed"), Observed(CONFIG, status(), rival="data/first"))
    assert (found.reason, found.actions) == ("NameTaken", ()) and "data/first" in found.message


# -- what it makes so -------------------------------------------------------------------------------------------------


def test_what_is_so_is_not_touched() -> None:
    found = decided(connector(owner="owned"), there())
    assert found == Decision("owned")


@pytest.mark.parametrize("drift", ["correct", "report"])
def test_what_the_resource_changes_is_applied(drift: str) -> None:
    changed = connector(owner="owned", generation=2, status={"appliedGeneration": 1}, drift=drift)
    (action,) = decided(changed, there(file="old.txt")).actions
    assert isinstance(action, Apply) and [each.key for each in action.step.differences] == ["file"]


def test_what_somebody_else_changes_is_taken_back() -> None:
    (action,) = decided(connector(owner="owned", status={"appliedGeneration": 1}), there(file="old.txt")).actions
    assert isinstance(action, Apply)


def test_or_only_reported() -> None:
    body = connector(owner="owned", status={"appliedGeneration": 1}, drift="report", state="running")
    found = decided(body, there("PAUSED", "PAUSED", file="old.txt"))
    assert (found.actions, found.drift) == ((), ("file", "state"))
    assert decided(body, MISSING).actions == ()


@pytest.mark.parametrize(
    ("wanted", "now", "asked"),
    [
        ("paused", "RUNNING", "PAUSED"),
        ("stopped", "PAUSED", "STOPPED"),
        ("running", "STOPPED", "RUNNING"),
        (None, "PAUSED", None),
    ],
)
def test_states(wanted: str | None, now: str, asked: str | None) -> None:
    spec = {} if wanted is None else {"state": wanted}
    actions = decided(connector(owner="owned", **spec), there(now)).actions
    assert [action.step.state for action in actions if isinstance(action, Apply)] == ([asked] if asked else [])


def test_an_annotation_restarts_it() -> None:
    annotations = {"kconnect.dev/restart": "includeTasks,onlyFailed", "kconnect.dev/restart-task": "3"}
    found = decided(connector(owner="owned", annotations=annotations), there())
    requests = [action.request for action in found.actions if isinstance(action, Restart)]
    assert [(each.task, each.include_tasks, each.only_failed) for each in requests] == [(3, False, False), (None, True, True)]


def test_it_is_left_alone_when_told_so() -> None:
    found = decided(connector(owner="owned", annotations={"kconnect.dev/pause-reconciliation": "true"}), MISSING)
    assert (found.actions, found.reason) == ((), "ReconciliationPaused")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"config": {"file": {"a": 1}}}, "file is an object"),
        ({"config": {"a": "[hidden]"}}, "placeholder"),
        ({"config": {"name": "x"}}, "metadata.name"),
        ({"config": {"tasks.max": 3}}, "remove one of them"),
        ({"class": None}, "spec.class"),
        ({"annotations": {"kconnect.dev/restart-task": "x"}}, "number of a task"),
        ({"annotations": {"kconnect.dev/restart": "yes"}}, "must be true"),
        ({"state": "asleep"}, "running, paused, stopped"),
    ],
    ids=str,
)
def test_a_mistake_changes_nothing(spec: dict[str, Any], problem: str) -> None:
    found = decided(connector(owner="owned", **spec), MISSING)
    assert (found.actions, found.reason) == ((), "InvalidResource") and problem in found.message, found


def test_a_worker_that_is_away_changes_nothing() -> None:
    found = decided(connector(owner="owned"), AWAY)
    assert (found.owner, found.actions, found.reason) == ("owned", (), "WorkerUnreachable")


# -- deletion ---------------------------------------------------------------------------------------------------------


def test_its_own_connector_goes_with_it() -> None:
    found = decided(connector(owner="owned", deleted=True), there())
    assert (found.actions, found.released) == ((Delete(),), False)
    assert decided(connector(owner="owned", deleted=True), MISSING).released


def test_a_connector_that_is_not_its_own_stays() -> None:
    for observed in (there(), MISSING, AWAY):
        assert decided(connector(deleted=True), observed) == Decision(None, released=True)
    assert decided(connector(owner="claimed", deleted=True), there(file="x")) == Decision(None, released=True)
    rival = Observed(CONFIG, status(), rival="data/first")
    assert decided(connector(owner="owned", deleted=True), rival) == Decision(None, released=True)


@pytest.mark.parametrize("observed", [there(), AWAY], ids=["there", "away"])
def test_it_is_kept_when_told_so(observed: Observed | Unreachable) -> None:
    assert decided(connector(owner="owned", deleted=True, deletionPolicy="keep"), observed) == Decision(None, released=True)


def test_it_is_protected() -> None:
    found = decided(connector(owner="owned", deleted=True, deletionProtection=True), there())
    assert (found.actions, found.released, found.reason) == ((), False, "DeletionProtected")


def test_a_worker_that_is_away_keeps_the_resource() -> None:
    found = decided(connector(owner="owned", deleted=True), AWAY)
    assert not found.released and "deletionPolicy to keep" in found.message


# -- what has failed --------------------------------------------------------------------------------------------------


def failing(count: int = 0, **spec: Any) -> dict[str, Any]:
    restarts = {"count": count, "lastRestartTimestamp": "2026-11-30T12:00:00Z"} if count else None
    return connector(owner="owned", autoRestart={"enabled": True, **spec}, status={"autoRestart": restarts})


def test_it_is_restarted_at_once_then_later_and_later() -> None:
    failed = there("RUNNING", "FAILED")
    assert decided(failing(), failed).actions == (AutoRestart(1),)
    assert decided(failing(1), failed, 1.9).actions == ()
    assert decided(failing(1), failed, 2).actions == (AutoRestart(2),)
    assert [backoff_s(count) / 60 for count in range(9)] == [0, 2, 6, 12, 20, 30, 42, 56, 60]


def test_no_more_often_than_it_may() -> None:
    assert decided(failing(3, maxRestarts=3), there("RUNNING", "FAILED"), 999).actions == ()
    assert decided(failing(0, enabled=False), there("RUNNING", "FAILED")).actions == ()


def test_what_ran_for_as_long_as_the_next_restart_waits_has_recovered() -> None:
    assert decided(failing(2), there(), 5.9).restarts == 2
    assert decided(failing(2), there(), 6).restarts == 0


# -- Strimzi ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1beta2", "v1"])
def test_strimzis_resource_is_read_as_it_is(version: str) -> None:
    found = resources.read(strimzi(version=version))
    assert found.problems == found.notes == ()
    assert found.manifest.config == {
        "file": "/opt/kafka/LICENSE",
        "topic": "my-topic",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "2",
    }
    assert (found.connector, found.manifest.state, found.restarts, found.drift) == ("orders", "RUNNING", True, "correct")


@pytest.mark.parametrize(
    ("spec", "state"),
    [
        ({}, "RUNNING"),
        ({"pause": True}, "PAUSED"),
        ({"pause": False}, "RUNNING"),
        ({"state": "stopped", "pause": True}, "STOPPED"),
    ],
)
def test_strimzis_states(spec: dict[str, Any], state: str) -> None:
    assert resources.read(strimzi(**spec)).manifest.state == state


def test_strimzis_annotations() -> None:
    annotations = {"strimzi.io/restart": "true", "strimzi.io/restart-task": "0", "strimzi.io/connector-offsets": "list"}
    found = resources.read(strimzi(annotations=annotations))
    assert [each.task for each in found.requests] == [0, None]
    assert "kconnect offsets" in found.notes[0]
    assert resources.read(strimzi(annotations={"strimzi.io/pause-reconciliation": "true"})).is_suspended
    assert resources.read(strimzi(annotations={"kconnect.dev/deletion-policy": "keep"})).deletion == "keep"
    assert resources.read(strimzi(annotations={"kconnect.dev/deletion-policy": "Delete"})).deletion == "keep", "if in doubt"


def test_the_now_of_these_tests_is_the_one_of_their_timestamps() -> None:
    assert NOW.isoformat() == "2026-11-30T12:00:00+00:00"
