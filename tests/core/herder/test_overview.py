"""`GET /kconnect/overview` over a cluster in memory: rows, and then what changes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kconnect.core.herder import overview
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PatchConfig
from kconnect.core.herder.requests.overview import GetOverview
from kconnect.core.herder.requests.states import SetTargetState
from kconnect.core.metrics.report import Report, UnitReport
from kconnect.core.state.records import TargetState, UnitId
from tests.rig.histories.cluster import MemoryCluster

SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "2"}


@pytest.fixture
def cluster() -> MemoryCluster:
    made = MemoryCluster(1)
    for name in ("a:1", "b:1"):
        made.add_worker(name)
    made.settle()
    made.call("a:1", CreateConnector("x", {**SOURCE, "label.team": "shop", "label.old": None}))
    made.settle()
    return made


def later(cluster: MemoryCluster) -> None:
    """So much that a worker looks anew."""
    run_for(cluster, 2 * overview.EVERY_MS)


def run_for(cluster: MemoryCluster, milliseconds: int) -> None:
    end = cluster.now + milliseconds
    cluster.run_until(lambda: cluster.now >= end)


def test_a_row_has_what_units_say_by_their_present_hosts(cluster: MemoryCluster) -> None:
    reports: list[Report] = []
    for number in (0, 1):
        unit = UnitId("x", number)
        ((worker, host),) = cluster.running()[unit]
        values: dict[str, float | None] = {
            "source-record-poll-rate": 10.04,
            "source-record-write-rate": 9.0,
            "total-record-errors": 1.0,
            "last-progress-timestamp-seconds": 1_800_000_000.0 + number,
        }
        now = UnitReport(worker, host, cluster.hosts[worker, host].incarnation, unit, values=values)
        reports += [replace(now, incarnation="an earlier one", values={"source-record-poll-rate": 1e6}), now]
    cluster.reports = reports
    for asked in ("a:1", "b:1"):
        # Nobody waits for the class to say what it is.
        assert cluster.call(asked, GetOverview())["connectors"][0]["type"] in ("unknown", "source")
        later(cluster)
        found = cluster.call(asked, GetOverview())
        assert found["whole"] is True
        assert found["deleted"] == []
        (row,) = found["connectors"]
        assert row == {
            "name": "x",
            "type": "source",
            "class": "FileStreamSource",
            "state": "RUNNING",
            "target_state": "STARTED",
            "tasks": {"RUNNING": 2},
            "since": None,
            "topics": [],
            "labels": {"team": "shop", "old": ""},
            "why": None,
            "retrying_since": None,
            "moved_at": 1_800_000_001_000,
            "in_per_s": 20.1,
            "out_per_s": 18.0,
            "lag": None,
            "errors": 2.0,
            "skipped": None,
            "dead_letters": None,
        }


def test_why_is_what_is_tried_again(cluster: MemoryCluster) -> None:
    unit = UnitId("x", 1)
    ((worker, host),) = cluster.running()[unit]
    since: dict[str, float | None] = {"retrying-since-timestamp-seconds": 1_800_000_000.25}
    cluster.reports = [
        UnitReport(worker, host, cluster.hosts[worker, host].incarnation, unit, values=since, retrying="busy\nmore of it")
    ]
    (row,) = cluster.call("a:1", GetOverview())["connectors"]
    assert (row["why"], row["retrying_since"]) == ("busy", 1_800_000_000_250)


def test_then_only_what_has_changed(cluster: MemoryCluster) -> None:
    cluster.call("a:1", CreateConnector("y", SOURCE))
    cluster.settle()
    first = cluster.call("a:1", GetOverview())
    assert [row["name"] for row in first["connectors"]] == ["x", "y"]
    later(cluster)
    nothing = cluster.call("a:1", GetOverview(first["at"]))
    assert nothing == {"at": first["at"], "whole": False, "connectors": [], "deleted": []}
    cluster.call("a:1", SetTargetState("y", TargetState.PAUSED))
    cluster.settle()
    later(cluster)
    second = cluster.call("a:1", GetOverview(first["at"]))
    assert [(row["name"], row["state"]) for row in second["connectors"]] == [("y", "PAUSED")]
    cluster.call("a:1", DeleteConnector("x"))
    cluster.settle()
    later(cluster)
    third = cluster.call("a:1", GetOverview(second["at"]))
    assert (third["connectors"], third["deleted"]) == ([], ["x"])
    assert cluster.call("a:1", GetOverview(first["at"]))["deleted"] == ["x"]


def test_a_connector_that_comes_back_is_not_deleted(cluster: MemoryCluster) -> None:
    first = cluster.call("a:1", GetOverview())
    cluster.call("a:1", DeleteConnector("x"))
    cluster.settle()
    later(cluster)
    cluster.call("a:1", GetOverview(first["at"]))
    cluster.call("a:1", CreateConnector("x", SOURCE))
    cluster.settle()
    later(cluster)
    found = cluster.call("a:1", GetOverview(first["at"]))
    assert ([row["name"] for row in found["connectors"]], found["deleted"]) == (["x"], [])


@pytest.mark.parametrize("since", ["", "x", "-1", "1", "another life-2", "²"])
def test_what_this_life_has_not_said_gives_all(cluster: MemoryCluster, since: str) -> None:
    found = cluster.call("a:1", GetOverview(since, 30_000))
    assert found["whole"] is True
    assert [row["name"] for row in found["connectors"]] == ["x"]


def test_too_long_ago_gives_all(cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "_MOST_GONE", 1)
    first = cluster.call("a:1", GetOverview())
    for name in ("y", "z"):
        cluster.call("a:1", CreateConnector(name, SOURCE))
        cluster.settle()
        later(cluster)
        cluster.call("a:1", GetOverview())
        cluster.call("a:1", DeleteConnector(name))
        cluster.settle()
        later(cluster)
        last = cluster.call("a:1", GetOverview())
    assert cluster.call("a:1", GetOverview(first["at"]))["whole"] is True
    assert cluster.call("a:1", GetOverview(last["at"]))["whole"] is False


def test_it_waits_for_news(cluster: MemoryCluster) -> None:
    first = cluster.call("a:1", GetOverview())
    waiting = cluster.submit("a:1", GetOverview(first["at"], 30_000))
    run_for(cluster, 5_000)
    assert not waiting.settled
    cluster.call("a:1", PatchConfig("x", {"tasks.max": "1"}))
    run_for(cluster, 5_000)
    assert [row["tasks"] for row in waiting.value["connectors"]] == [{"RUNNING": 1}]
    idle = cluster.submit("a:1", GetOverview(waiting.value["at"], 3_000))
    run_for(cluster, 5_000)
    assert idle.value["connectors"] == []
