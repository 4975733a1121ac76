"""get, pause, resume, stop, restart, delete, wait and set, against a real server with a herder in memory."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kconnect.cli import target_states, waiting
from kconnect.cli.connectors import get_connectors
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector
from kconnect.core.herder.requests.connectors import GetConnector, GetStatus, ListConnectors
from kconnect.core.herder.requests.states import RestartConnector, SetTargetState
from kconnect.core.herder.requests.worker import Health
from kconnect.core.state.records import TargetState
from kconnect.errors import ConflictError, ConnectError
from tests.cli.calls import Called, call, serving
from tests.rest.conftest import FILE_SOURCE
from tests.rest.herder import MemoryHerder
from tests.support import wait_until

ODD = "a b ü% [x]*"
SECRET = "canary-4417"


class Herder(MemoryHerder):
    """`before[type of request]` is called, once, before the next request of that type."""

    def __init__(self) -> None:
        super().__init__()
        self._answers = MemoryHerder._answers
        self.before: dict[type, Any] = {}
        self.failing: set[str] = set()

    def submit(self, request: Request[Any]) -> Future[Any]:
        if happens := self.before.pop(type(request), None):
            happens()
        if getattr(request, "name", None) in self.failing and isinstance(request, SetTargetState | DeleteConnector):
            self.fail_next = ConflictError(f"no way with {request.name}")
        return super().submit(request)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Herder]]:
    herder = Herder()
    with serving(herder) as url:
        yield url, herder


@pytest.fixture
def herder(served: tuple[str, Herder]) -> Herder:
    herder = served[1]
    herder.__init__()  # type: ignore[misc]
    for name in ("orders-us", "orders-eu", "bills", ODD):
        herder.submit(CreateConnector(name, {**FILE_SOURCE, "tasks.max": "2", "db.password": SECRET}))
    return herder


@pytest.fixture
def url(served: tuple[str, Herder], herder: Herder) -> str:
    return served[0]


def run(url: str, *arguments: str) -> Called:
    called = call(*arguments, env={"KCONNECT_URL": url})
    assert SECRET not in called.err
    return called


# -- get --------------------------------------------------------------------------------------------------------------


def test_the_table_of_connectors(url: str, herder: Herder) -> None:
    herder.failed.add(("bills", 1))
    called = run(url, "get", "connectors")
    assert (called.status, called.err) == (0, "")
    heading, *rows = called.out.splitlines()
    assert heading.split() == ["NAME", "TYPE", "STATE", "TASKS", "WORKER", "CLASS"]
    assert [row.split("  ")[0].strip() for row in rows] == [ODD, "bills", "orders-eu", "orders-us"]
    assert "1 FAILED of 2" in rows[1]
    assert "2/2 RUNNING" in rows[2]
    assert "\x1b" not in called.out


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("stop connector/bills", "Stopping bills"),
        ("stop connectors bills", "Stopping bills"),
        ("restart connector bills", "Restarting bills"),
        ("restart task bills/1", "Restarting bills/1"),
        ("restart task/bills/1", "Restarting bills/1"),
    ],
)
def test_kinds_before_names_are_understood(url: str, typed: str, said: str) -> None:
    called = run(url, *typed.split())
    assert (called.status, called.out + called.err) == (0, f"{said}\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("get offsets bills", "kconnect offsets get bills"),
        ("get config bills", "kconnect get connector -o yaml bills"),
        ("describe status bills", "kconnect describe bills"),
    ],
)
def test_what_is_no_kind_is_shown_by_another_command(url: str, herder: Herder, typed: str, meant: str) -> None:
    called = run(url, *typed.split())
    assert called.status == 2
    assert called.err.endswith(f"Did you mean {meant}?\n")


def test_a_connector_may_be_called_as_a_kind_is(url: str, herder: Herder) -> None:
    herder.submit(CreateConnector("connector", FILE_SOURCE))
    assert "Restarting connector/0" in run(url, "restart", "connector/0").out
    assert "Stopping connector" in run(url, "stop", "connector").out


def test_long_names_are_cut_where_a_terminal_has_no_room_for_them(url: str, herder: Herder) -> None:
    name = f"orders-{'x' * 50}-eu"
    herder.submit(CreateConnector(name, {**FILE_SOURCE, "tasks.max": "12"}))

    def lines(*arguments: str, shown: bool = True) -> list[str]:
        environment = {"KCONNECT_URL": url, "COLUMNS": "80", "NO_COLOR": "1"}
        return call(*arguments, env=environment, shown=shown).out.splitlines()

    heading, row = lines("get", "connectors", name)
    assert heading.split() == ["NAME", "TYPE", "STATE", "TASKS", "WORKER", "CLASS"]
    assert len(row) <= 80
    assert re.match("orders-x+…x+-eu  source  RUNNING  12/12 RUNNING  ", row)
    tasks = lines("get", "tasks", name)[1:]
    assert [row.split()[0].rpartition("/")[2] for row in tasks] == [str(number) for number in range(12)]
    assert max(map(len, tasks)) == 80
    assert max(map(len, lines("get", "plugins"))) <= 80
    for whole in (lines("get", "co", shown=False), lines("get", "co", "-o", "wide"), lines("get", "co", "-o", "name")):
        assert any(f"{name} " in f"{row} " for row in whole)


def test_a_name_is_shown_as_it_is(url: str, herder: Herder) -> None:
    name = "db:key:[red]orders"
    herder.submit(CreateConnector(name, FILE_SOURCE))
    assert run(url, "get", "connectors", name).out.splitlines()[1].startswith(f"{name} ")


@pytest.mark.parametrize("kind", ["connectors", "tasks"])
def test_a_worker_that_has_lost_kafka_is_told_beside_the_table(url: str, herder: Herder, kind: str) -> None:
    silent = ConnectError("Kafka has not answered the worker for 20 s.")
    herder._answers = {**herder._answers, Health: lambda *_: raised(silent)}
    called = run(url, "get", kind)
    assert (called.status, len(called.out.splitlines()) > 1) == (0, True)
    assert called.err.startswith(f"kconnect: the worker at {url} is unhealthy, and what it shows may be old. ")
    assert "Kafka has not answered the worker for 20 s." in called.err
    herder._answers = MemoryHerder._answers
    assert run(url, "get", kind).err == ""


def raised(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("kind", ["connectors", "connector", "co"])
def test_short_names_globs_and_states(url: str, herder: Herder, kind: str) -> None:
    herder.failed.add(("bills", 1))
    assert run(url, "get", kind, "-o", "name", "--state", "failed").out == "bills\n"
    assert run(url, "get", kind, "orders-*", "-o", "name").out == "orders-eu\norders-us\n"
    assert run(url, "get", kind, ODD, "-o", "name").out == f"{ODD}\n"
    assert run(url, "get", kind, "--type", "sink") == Called(0, "", "No connectors match\n")
    missing = run(url, "get", kind, "nope")
    assert (missing.status, missing.out) == (4, "")
    assert missing.err.startswith(f"kconnect: There is no connector nope; the cluster has {ODD}, bills, orders-eu")


def test_json_is_what_apply_takes_and_hides_secrets(url: str) -> None:
    called = run(url, "get", "connector", "bills", "-o", "json")
    item = json.loads(called.out)
    assert SECRET not in called.out
    assert called.err == "Values that may be secret are [hidden]: --show-secrets shows them\n"
    assert (item["name"], item["state"], item["config"]["db.password"]) == ("bills", "running", "[hidden]")
    several = json.loads(run(url, "get", "connectors", "bills", "orders-eu", "-o", "json", "--show-secrets").out)
    assert [(each["name"], each["config"]["db.password"]) for each in several] == [("bills", SECRET), ("orders-eu", SECRET)]


def test_a_connector_without_a_status_yet_is_shown_with_its_config(url: str, herder: Herder) -> None:
    def listed(request: ListConnectors) -> Any:
        """As Connect leaves out what has no status."""
        found = MemoryHerder._list(herder, request)
        return {name: found[name] for name in found if name != "bills"} if "status" in request.expand else found

    herder._answers = {**herder._answers, ListConnectors: lambda _, request: listed(request)}
    item = json.loads(run(url, "get", "connector", "bills", "-o", "json", "--show-secrets").out)
    assert (item["config"]["db.password"], item["type"], item["status"]) == (SECRET, "source", {})
    assert "state" not in item
    assert run(url, "get", "connectors", "bills").out.splitlines()[1].split()[:3] == ["bills", "source", "-"]
    assert "state" in json.loads(run(url, "get", "connector", "orders-eu", "-o", "json").out)


def test_wide_shows_versions_and_topics(url: str, herder: Herder) -> None:
    herder.topics["bills"] = ["t2", "t1"]
    line = run(url, "get", "connectors", "bills", "-o", "wide").out.splitlines()[1]
    assert line.split()[-2:] == ["4.3.1", "t1,t2"]


def test_tasks(url: str, herder: Herder) -> None:
    herder.failed.add(("bills", 1))
    assert run(url, "get", "tasks", "bills", "-o", "name").out == "bills/0\nbills/1\n"
    assert run(url, "get", "ta", "--state", "FAILED", "-o", "name").out == "bills/1\n"
    wide = run(url, "get", "task", "bills", "-o", "wide").out.splitlines()
    assert wide[2].split()[:3] == ["bills/1", "source", "FAILED"]
    assert wide[2].endswith("OSError: disk on fire")


def test_what_runs_and_tries_again_is_told_with_its_reason(url: str, herder: Herder) -> None:
    herder.retrying["bills", 1] = {"since": int(time.time() * 1000) - 300_000, "reason": "put(): RetriableError: busy"}
    assert "2/2 RUNNING, 1 retrying" in run(url, "get", "connectors", "bills").out
    wide = run(url, "get", "tasks", "bills", "-o", "wide").out.splitlines()
    assert wide[1].split()[2] == "RUNNING" and "retrying" not in wide[1]
    assert "RUNNING, retrying" in wide[2]
    assert re.search(r"retrying since \S+ \S+ \(5 min\): put\(\): RetriableError: busy$", wide[2])
    item = json.loads(run(url, "get", "connector", "bills", "-o", "json").out)
    assert [task.get("retrying", {}).get("reason") for task in item["status"]["tasks"]] == [None, "put(): RetriableError: busy"]
    told = run(url, "describe", "connector", "bills").out
    assert re.search(r"  Task 1 +retrying since .*: put\(\): RetriableError: busy\n", told)


def test_a_connector_instance_that_runs_and_tries_again_is_told_and_is_no_failure(url: str, herder: Herder) -> None:
    herder.retrying["bills", -1] = {"since": int(time.time() * 1000) - 300_000, "reason": "taskConfigs(): X: away"}
    told = run(url, "describe", "connector", "bills").out
    assert re.search(r"\nRetrying +retrying since \S+ \S+ \(5 min\): taskConfigs\(\): X: away\n", told)
    assert "Failure" not in told and "It asks its connector for task configs again and again" in told


def test_plugins_and_loggers(url: str, herder: Herder) -> None:
    assert run(url, "get", "plugins", "--type", "converter", "-o", "name").out == "JsonConverter\n"
    assert run(url, "get", "pl", "*Source", "-o", "json").out.count('"class"') == 1
    assert run(url, "get", "plugin", "Nope").status == 4
    assert run(url, "set", "logger", "kconnect.test.verbs", "debug").out.startswith("kconnect.test.verbs is DEBUG: 1 logger")
    assert run(url, "get", "lo", "kconnect.test.verbs").out.splitlines()[1].split()[:2] == ["kconnect.test.verbs", "DEBUG"]
    assert run(url, "set", "logger", "x.y", "WARN", "--cluster").out == "x.y is WARN on every worker, in a moment\n"
    assert herder.cluster_levels == [("x.y", "WARN")]
    assert run(url, "set", "logger", "x.y", "LOUD").status == 2


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ([], "0"),
        (["RUNNING"] * 3, "3/3 RUNNING"),
        (["RUNNING", "FAILED", "FAILED"], "2 FAILED of 3"),
        (["RUNNING", "UNASSIGNED", "RUNNING"], "2 RUNNING, 1 UNASSIGNED"),
    ],
)
def test_tasks_in_words(states: list[str], words: str) -> None:
    assert get_connectors.tasks_in_words([{"state": state} for state in states]) == words


# -- changing states --------------------------------------------------------------------------------------------------


def states(herder: Herder) -> dict[str, str]:
    return {name: state.name for name, state in herder.targets.items()}


def test_pause_resume_stop(url: str, herder: Herder) -> None:
    assert run(url, "pause", "orders-*", ODD) == Called(0, f"Pausing {ODD}\nPausing orders-eu\nPausing orders-us\n", "")
    assert states(herder) == {"orders-us": "PAUSED", "orders-eu": "PAUSED", "bills": "STARTED", ODD: "PAUSED"}
    assert run(url, "resume", "orders-us", "--wait") == Called(0, "Resumed orders-us\n", "")
    assert run(url, "stop", "--all", "--wait").out.count("Stopped ") == 4
    assert set(states(herder).values()) == {"STOPPED"}


def test_one_that_fails_does_not_stop_the_others(url: str, herder: Herder) -> None:
    herder.failing.add("orders-us")
    called = run(url, "pause", "--all")
    assert called.status == 5
    assert called.err == "kconnect: orders-us: no way with orders-us\n"
    assert called.out == f"Pausing {ODD}\nPausing bills\nPausing orders-eu\n"


@pytest.mark.parametrize("command", ["pause", "resume", "stop", "restart", "delete"])
def test_which_ones_must_be_said(url: str, herder: Herder, command: str) -> None:
    for arguments in ([], ["bills", "--all"]):
        called = run(url, command, *arguments)
        assert called.status == 2
        assert "Give either names of connectors" in called.err
    assert run(url, command, "bills", "nope").status == 4
    assert set(states(herder).values()) == {"STARTED"}, "nothing is done if one of the names is wrong"


def test_a_state_that_is_not_reached_in_time_is_7_and_tells_why(url: str, herder: Herder) -> None:
    herder.failed.add(("bills", 1))
    called = run(url, "wait", "bills", "--for", "running", "--timeout", "0.1s")
    assert (called.status, called.out) == (7, "")
    told = "Connector bills was not RUNNING within 0.1 s; last seen: connector RUNNING, task 0 RUNNING, task 1 FAILED"
    assert told in called.err
    assert "OSError: disk on fire" in called.err
    assert run(url, "wait", "bills", "--for", "failed").out == "bills is FAILED\n"


def test_a_wait_ends_when_something_has_failed_for_good(url: str, herder: Herder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_states, "_FAILED_S", 0.2)
    herder.failed.add(("bills", 1))
    called = run(url, "resume", "bills", "--wait", "--timeout", "10m")
    assert (called.status, "Connector bills has failed: " in called.err) == (7, True)
    assert "fix the cause, then kconnect restart bills --failed" in called.err
    # Where it is restarted by itself, and for whoever only waits, it may still come.
    herder.configs["bills"]["errors.restart.max.attempts"] = "3"
    assert "was not RUNNING within 1 s" in run(url, "resume", "bills", "--wait", "--timeout", "1").err
    del herder.configs["bills"]["errors.restart.max.attempts"]
    assert "was not RUNNING within 1 s" in run(url, "wait", "bills", "--for", "running", "--timeout", "1").err


def test_options_of_a_verb_may_stand_before_it(url: str, herder: Herder) -> None:
    whole = call("get", "connectors", "--url", url)
    for typed in (["--url", url, "get", "connectors"], ["get", f"--url={url}", "connectors"], ["--url", url, "connectors"]):
        assert call(*typed) == whole, typed
    refused = call("--url", url, "broker", "status")
    assert (refused.status, "No such option" in refused.err) == (2, True)
    assert call("--url", url).status == 2


def test_what_is_waited_for_is_told_after_a_moment(url: str, herder: Herder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "AFTER_S", 0.0)
    called = run(url, "wait", "bills", "--for", "stopped", "--timeout", "0.5s")
    said = "Waiting for bills to be STOPPED; now: connector RUNNING, task 0 RUNNING, task 1 RUNNING"
    assert (called.status, called.err.splitlines().count(said)) == (7, 1)
    # The worker answers once whoever says so has said it.
    herder.before[ListConnectors] = lambda: wait_until(
        lambda: not any(isinstance(thread, threading.Timer) for thread in threading.enumerate()), 60, "nobody says anything"
    )
    assert "Waiting" not in run(url, "get", "co").err, "a script would take it for trouble"
    monkeypatch.setattr(waiting, "is_watched", lambda: True)
    assert f"Waiting for the worker at {url} (GET /connectors)" in run(url, "get", "co").err.splitlines()
    monkeypatch.setattr(waiting, "AFTER_S", 60.0)
    assert "Waiting" not in run(url, "wait", "bills", "--for", "stopped", "--timeout", "0.5s").err


def test_wait_for_tasks_that_have_all_failed(url: str, herder: Herder) -> None:
    herder.failed.add(("bills", 1))
    assert run(url, "wait", "bills", "--for", "failed", "--tasks", "2", "--timeout", "0").status == 7
    herder.failed.add(("bills", 0))
    assert run(url, "wait", "bills", "--for", "failed", "--tasks", "3", "--timeout", "0").status == 7
    assert run(url, "wait", "bills", "--for", "failed", "--tasks", "2", "--timeout", "0").out == "bills is FAILED\n"
    assert run(url, "wait", "bills", "--for", "deleted", "--tasks", "2").status == 2


def test_wait_for_tasks_that_are_still_to_come(url: str, herder: Herder) -> None:
    def add() -> None:
        herder.configs["bills"]["tasks.max"] = "3"

    herder.before[GetStatus] = add
    assert run(url, "wait", "bills", "--for", "RUNNING", "--tasks", "3", "--timeout", "1m").out == "bills is RUNNING\n"
    assert run(url, "wait", "bills", "--for", "RUNNING", "--tasks", "2", "--timeout", "0").status == 7


def test_a_time_is_seconds_or_has_a_unit(url: str) -> None:
    for text in ("-1", "5d", "soon"):
        called = run(url, "wait", "bills", "--for", "running", "--timeout", text)
        assert called.status == 2
        assert "give seconds, or a text such as 90s, 5m or 1h" in called.err


def test_restart(url: str, herder: Herder) -> None:
    assert run(url, "restart", "bills") == Called(0, "Restarting bills\n", "")
    assert run(url, "restart", "bills/1", "orders-eu/0").out == "Restarting bills/1\nRestarting orders-eu/0\n"
    assert run(url, "restart", "orders-*", "--task", "1").out == "Restarting orders-eu/1\nRestarting orders-us/1\n"
    assert sorted(herder.restarted) == [("bills", -1), ("bills", 1), ("orders-eu", 0), ("orders-eu", 1), ("orders-us", 1)]
    assert run(url, "restart", "bills", "--tasks").out == "Restarting bills: its connector and tasks 0, 1\n"
    assert run(url, "restart", "bills", "--failed", "--wait").out == "Nothing of bills has failed\n"
    herder.failed.add(("bills", 1))
    assert run(url, "restart", "bills", "--failed").out == "Restarting bills: task 1\n"
    request = herder.seen[-1]
    assert isinstance(request, RestartConnector)
    assert (request.include_tasks, request.only_failed) == (True, True)


def told(herder: Herder, *later: str) -> list[str]:
    """The states that status tells of task 0 of bills, one an answer, and the last one from then on. Gives those told."""
    states, given = list(later), []

    def status(request: GetStatus) -> Any:
        found = MemoryHerder._status(herder, request)
        found["tasks"][0]["state"] = states.pop(0) if len(states) > 1 else states[0]
        given.append(found["tasks"][0]["state"])
        return found

    herder._answers = {**herder._answers, GetStatus: lambda _, request: status(request)}
    return given


@pytest.mark.parametrize("state", ["UNASSIGNED", "RESTARTING", "FAILED"])
def test_a_restart_is_waited_for_though_the_status_is_that_of_before_at_first(
    url: str, herder: Herder, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_states, "_UNSEEN_S", 600.0)
    given = told(herder, "RUNNING", "RUNNING", "RUNNING", state, state, "RUNNING")
    assert run(url, "restart", "bills", "--task", "0", "--wait").out == "Restarted bills/0\n"
    assert given == ["RUNNING"] * 3 + [state] * 2 + ["RUNNING"]


def test_what_had_failed_and_runs_has_restarted(url: str, herder: Herder) -> None:
    given = told(herder, "FAILED", "FAILED", "RUNNING")
    assert run(url, "restart", "bills/0", "--wait").out == "Restarted bills/0\n"
    assert given == ["FAILED", "FAILED", "RUNNING"]


def test_a_restart_that_nobody_saw_is_over_after_a_while(url: str, herder: Herder, monkeypatch: pytest.MonkeyPatch) -> None:
    told(herder, "RUNNING")
    done = run(url, "restart", "bills/0", "--wait", "--timeout", "0.2")
    assert (done.status, done.out) == (7, "Restarting bills/0\n"), "what was asked for is told, too"
    assert "Connector bills was not seen to start again within 0.2 s; last seen: connector RUNNING, task 0 RUNN" in done.err
    monkeypatch.setattr(target_states, "_UNSEEN_S", 0.3)
    begun = time.monotonic()
    assert run(url, "restart", "bills/0", "--wait").out == "Restarted bills/0\n"
    assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pause", "bills"], "Pausing bills"),
        (["stop", "bills"], "Stopping bills"),
        (["resume", "bills"], "Resuming bills"),
        (["restart", "bills"], "Restarting bills"),
        (["delete", "bills", "--yes"], "Deleting bills"),
    ],
)
def test_what_was_done_is_told_also_when_its_wait_is_not_in_time(
    url: str, herder: Herder, arguments: list[str], said: str
) -> None:
    stuck = {"connector": {"state": "UNASSIGNED", "worker_id": "w"}, "tasks": []}
    info = {"name": "bills", "config": {}, "tasks": []}
    herder._answers = {**herder._answers, GetStatus: lambda *_: stuck, GetConnector: lambda *_: info}
    done = run(url, *arguments, "--wait", "--timeout", "0.1")
    assert (done.status, done.out) == (7, f"{said}\n"), done
    assert done.err.count("\n") == 1 and "within 0.1 s" in done.err


def test_a_restart_that_is_wrong(url: str, herder: Herder) -> None:
    assert run(url, "restart", "bills/7").status == 4
    assert run(url, "restart", "bills", "--tasks", "--failed").status == 2
    called = run(url, "restart", "bills/1", "--failed")
    assert called.status == 2
    assert "bills/1 is one task" in called.err
    assert herder.restarted == []


def test_delete_asks_and_says_that_offsets_stay(url: str, herder: Herder) -> None:
    called = run(url, "delete", "orders-*")
    assert called.status == 2
    assert "Delete the 2 connectors: orders-eu, orders-us? Offsets stay" in called.err
    assert "give --yes" in called.err
    assert len(herder.configs) == 4
    assert run(url, "delete", "orders-*", "--yes", "--wait").out == "Deleted orders-eu\nDeleted orders-us\n"
    assert list(herder.configs) == ["bills", ODD]
    assert run(url, "wait", "orders-us", "--for", "deleted").out == "orders-us is gone\n"
    assert run(url, "wait", "bills", "--for", "deleted", "--timeout", "0.1").status == 7


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cant_be_used_are_told(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    called = call("get", "connectors", "--url", "https://127.0.0.1:9", env={"SSL_CERT_FILE": str(path)})
    assert called.err.startswith(f"kconnect: The certificates {path} can't be used (")
    assert called.err.endswith("): SSL_CERT_FILE must name a PEM file of the certificates to trust\n")
    assert called.status == 6


def test_a_port_that_is_none_is_told() -> None:
    called = call("demo", "--port", "80000")
    assert (called.status, "80000 is not in the range 0<=x<=65535" in called.err) == (2, True)


def test_no_worker_is_one_line() -> None:
    called = call("get", "connectors", "--url", "http://127.0.0.1:9")
    assert (called.status, called.out, called.err.count("\n")) == (3, "", 1)
    assert called.err.startswith("kconnect: No worker answers at http://127.0.0.1:9 (")


def test_a_name_with_a_slash(url: str, herder: Herder) -> None:
    herder.submit(CreateConnector("a/b", FILE_SOURCE))
    assert run(url, "pause", "a/b").status == 0
    assert herder.seen[-1] == SetTargetState("a/b", TargetState.PAUSED)


@pytest.mark.parametrize(
    ("command", "goal"),
    [
        ("pause", "it and all its tasks are PAUSED"),
        ("resume", "it and all its tasks are RUNNING"),
        ("stop", "it is STOPPED"),
        ("delete", "it is gone"),
        ("restart", "all its tasks run"),
    ],
)
def test_help_says_what_is_waited_for(command: str, goal: str) -> None:
    assert f"Wait until {goal}, too" in " ".join(call(command, "--help").out.split())


def test_an_option_has_one_name_and_one_form_everywhere() -> None:
    for command in (("preview", "--topic", "t"), ("test", "no.yaml")):
        assert "No such option" not in call(*command, "--worker-file", "no.properties").err
    assert "is not a duration" in call("migrate", "--from", "a", "--to", "b", "x", "--timeout", "soon").err
