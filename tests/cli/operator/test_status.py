"""What a resource shows of a decision: its status and its events."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.cli.operator import resource as resources
from kconnect.cli.operator import status as statuses
from kconnect.cli.operator.decision import Observed, Unreachable, decide
from kconnect.cli.operator.status import Outcome
from tests.cli.operator.bodies import CONFIG, NOW, connector, later, status, strimzi


def shown(
    body: dict[str, Any], observed: Observed | Unreachable, failure: str | None = None, minutes: float = 0.0
) -> tuple[dict[str, Any], list[statuses.Event]]:
    found = resources.read(body)
    decision = decide(found, observed, later(minutes))
    outcome = Outcome(0 if failure else len(decision.actions), failure)
    after = statuses.status(found, observed, decision, outcome, later(minutes))
    return after, statuses.events(found, decision, outcome, after)


def ready(after: dict[str, Any]) -> tuple[str, str]:
    condition = after["conditions"][0]
    assert condition["type"] == "Ready"
    return condition["status"], condition["reason"]


def test_what_runs() -> None:
    after, events = shown(connector(owner="owned"), Observed(CONFIG, status(), ("b", "a")))
    assert ready(after) == ("True", "Running") and events == []
    wanted = {"state": "RUNNING", "tasks": "1/1", "topics": ["a", "b"], "observedGeneration": 1, "appliedGeneration": 1}
    assert wanted.items() <= after.items() and after["tasksMax"] == 1


def test_the_same_look_later_changes_nothing() -> None:
    observed = Observed(CONFIG, status(), ("a",))
    after, _ = shown(connector(owner="owned"), observed)
    assert shown(connector(owner="owned", status=after), observed, minutes=60)[0] == after


def test_a_refusal_is_said_once_and_nothing_secret_is() -> None:
    body = connector(owner="claimed", config={"file": "in.txt", "db.password": "hunter2-x"})
    after, (event,) = shown(body, Observed(), "Invalid value hunter2-x for configuration db.password: too short")
    assert ready(after) == ("False", "Refused")
    assert event.type == "Warning" and event.message == after["message"]
    assert "hunter2" not in str(after) + str(event) and "configuration db.password" in after["message"]
    assert "appliedGeneration" not in after
    again = {**body, "status": after}
    assert shown(again, Observed(), "Invalid value hunter2-x for configuration db.password: too short")[1] == []


def test_a_failed_task_says_why_without_secrets() -> None:
    config = {**CONFIG, "db.password": "hunter2-x"}
    body = connector(owner="owned", config={"file": "in.txt", "topic": "t", "db.password": "hunter2-x"})
    trace = "Traceback (most recent call last):\n  File x\nValueError: no login with hunter2-x"
    after, (event,) = shown(body, Observed(config, status("RUNNING", "FAILED", trace=trace)))
    assert ready(after) == ("False", "Failed") and after["state"] == "FAILED" and after["tasks"] == "0/1"
    assert "FAILED: task 0. ValueError: no login" in after["message"] and "restart=includeTasks,onlyFailed" in event.message
    assert "hunter2" not in str(after) + str(event)


def test_a_worker_that_is_away_leaves_the_state_as_it_was() -> None:
    before, _ = shown(connector(owner="owned"), Observed(CONFIG, status()))
    after, (event,) = shown(connector(owner="owned", status=before), Unreachable("No worker answers"), minutes=1)
    assert ready(after) == ("Unknown", "WorkerUnreachable") and event.reason == "WorkerUnreachable"
    assert after["state"] == "RUNNING" and after["conditions"][0]["lastTransitionTime"] == "2026-11-30T12:01:00Z"


FOREIGN: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "another resource has it": ({}, "shop/payments", "NameTaken"),
    "another one has it, and this says that it has": ({"owner": "owned"}, "shop/payments", "NameTaken"),
    "paused": ({"owner": "owned", "annotations": {"kconnect.dev/pause-reconciliation": "true"}}, "s/p", "ReconciliationPaused"),
    "it was there": ({}, None, "NotAdopted"),
    "it was there, and this is paused": (
        {"annotations": {"kconnect.dev/pause-reconciliation": "true"}},
        None,
        "ReconciliationPaused",
    ),
}


@pytest.mark.parametrize("how", FOREIGN)
def test_nothing_is_shown_of_a_connector_of_others(how: str) -> None:
    """Whoever may write a resource in one namespace names the connector of another one's: its traces are not for him."""
    more, rival, reason = FOREIGN[how]
    trace = "ValueError: the card 4111 1111 1111 1111 is no number"
    observed = Observed(CONFIG, status("RUNNING", "FAILED", trace=trace), ("cards",), rival=rival)
    after, events = shown(connector(**more), observed)
    assert ready(after)[1] == reason
    assert not {"state", "tasks", "connectorStatus", "topics", "tasksMax"} & after.keys()
    assert "4111" not in str(after) + str(events) and "cards" not in str(after)


def test_drift_is_reported_by_names() -> None:
    body = connector(owner="owned", drift="report", status={"appliedGeneration": 1})
    after, (event,) = shown(body, Observed({**CONFIG, "file": "other.txt"}, status()))
    drifted = after["conditions"][1]
    assert (drifted["type"], drifted["status"], drifted["message"]) == ("Drifted", "True", "Left as it is: file")
    assert event.reason == "Differs" and ready(after) == ("True", "Running")


def test_events_of_what_was_done() -> None:
    _, (created,) = shown(connector(owner="claimed"), Observed())
    assert (created.type, created.reason) == ("Normal", "Created")
    _, (changed,) = shown(connector(owner="owned", state="paused"), Observed({**CONFIG, "file": "secret.txt"}, status()))
    assert changed.message == "Changed the connector orders: file, state"
    _, (adopted,) = shown(connector(annotations={"kconnect.dev/adopt": "true"}), Observed(CONFIG, status()))
    assert adopted.reason == "Adopted"
    _, (restarted,) = shown(
        connector(owner="owned", autoRestart={"enabled": True}), Observed(CONFIG, status("RUNNING", "FAILED"))
    )
    assert restarted.reason == "RestartedFailed"


def test_an_automatic_restart_counts_once_it_was_done() -> None:
    body = connector(owner="owned", autoRestart={"enabled": True})
    observed = Observed(CONFIG, status("RUNNING", "FAILED"))
    wanted = {"count": 1, "connectorName": "orders", "lastRestartTimestamp": statuses.timestamp(NOW)}
    assert shown(body, observed)[0]["autoRestart"] == wanted
    assert "autoRestart" not in shown(body, observed, "No worker answers")[0]


def test_strimzis_resource_gets_strimzis_fields() -> None:
    after, _ = shown(strimzi(annotations={"kconnect.dev/owner": "u1/owned"}), Observed({**CONFIG}, status()))
    fields = {"conditions", "observedGeneration", "connectorStatus", "tasksMax", "topics", "autoRestart"}
    assert after.keys() <= fields and after["connectorStatus"]["tasks"][0]["state"] == "RUNNING"


def test_a_connector_without_tasks_is_waited_for_and_then_ready() -> None:
    observed = Observed(CONFIG, {**status(), "tasks": []})
    after, _ = shown(connector(owner="owned"), observed)
    assert ready(after) == ("False", "Starting")
    assert ready(shown(connector(owner="owned", status=after), observed, minutes=0.4)[0]) == ("False", "Starting")
    after, events = shown(connector(owner="owned", status=after), observed, minutes=0.5)
    assert ready(after) == ("True", "NoTasks") and events == []
    assert shown(connector(owner="owned", status=after), observed, minutes=9)[0] == after


def test_what_stays_on_its_way_is_not_asked_for_every_second() -> None:
    observed = Observed(CONFIG, status("UNASSIGNED", "UNASSIGNED"))
    after, _ = shown(connector(owner="owned"), observed)
    body = resources.read(connector(owner="owned", status=after))
    assert [decide(body, observed, later(minutes)).soon for minutes in (0, 1, 2)] == [True, True, False]
