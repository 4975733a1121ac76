"""The statuses that a list of connectors is made of are kept, and must be those that are made anew at any moment."""

from __future__ import annotations

import pytest

from kconnect.core.herder import views
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PatchConfig
from kconnect.core.herder.requests.connectors import ListConnectors, status_of
from kconnect.core.herder.requests.states import RestartConnector, SetTargetState, StopConnector
from kconnect.core.herder.waiting import waiting
from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import TargetState, UnitId
from kconnect.core.state.status import StatusState
from tests.rig.histories.cluster import MemoryCluster
from tests.scenarios.test_cluster import SOURCE, one_worker


class Watched(MemoryCluster):
    """Compares after each step."""

    kept = listed = 0

    def check(self) -> None:
        super().check()
        for worker in self.workers.values():
            desk = worker.herder.desk
            for name in desk.log.config.connectors:
                self.kept += name in desk.log.status.shown
                made = views.connector_status(desk.log.config, desk.log.status, name, "source", waiting(desk, name))
                assert status_of(desk, name, "source") == made
            self.compare(desk.log.config, desk.log.status)

    def compare(self, config: ConfigState, statuses: StatusState) -> None:
        """The lists that would be given now."""
        for wanted, (depends_on, body) in statuses.listed.items():
            if depends_on[:2] != (config.offset, statuses.changes):  # type: ignore[index]
                continue
            self.listed += 1
            assert body.keys() == config.connectors.keys()
            for name, entry in body.items():
                if "status" in wanted:
                    assert entry["status"] == views.connector_status(config, statuses, name, "source", {})
                if "info" in wanted:
                    assert entry["info"] == views.connector_info(config, name, "source")


def play(cluster: MemoryCluster) -> None:
    requests: list[Request[object]] = [
        CreateConnector("x", SOURCE),
        CreateConnector("y", SOURCE),
        SetTargetState("x", TargetState.PAUSED),
        SetTargetState("x", TargetState.STARTED),
        PatchConfig("x", {"tasks.max": "1"}),
        RestartConnector("x", include_tasks=True),
        StopConnector("x"),
        PatchConfig("x", {"tasks.max": "2"}),
        SetTargetState("x", TargetState.STARTED),
        DeleteConnector("x"),
        CreateConnector("x", SOURCE),
    ]
    cluster.settle()
    for request in requests:
        cluster.call("a:1", request)
        for expand in (("status",), ("info", "status")):
            cluster.call("a:1", ListConnectors(expand))
        cluster.settle()
    for host in cluster.hosts.values():
        if UnitId("y", 0) in host.threads:
            host.fail(UnitId("y", 0))
    cluster.settle()
    cluster.kill_spark("a:1")
    cluster.settle()


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_is_what_would_be_made(seed: int) -> None:
    cluster = Watched(seed)
    cluster.add_worker("a:1")
    play(cluster)
    assert cluster.kept > 100
    assert cluster.listed > 100


@pytest.mark.parametrize("what", ["shown", "changes"])
def test_the_comparison_notices_what_is_kept_for_too_long(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    apply = StatusState.apply

    def forgetful(self: StatusState, record: object) -> object:
        kept = getattr(self, what)
        kept = dict(kept) if isinstance(kept, dict) else kept
        found = apply(self, record)  # type: ignore[arg-type]
        setattr(self, what, kept)
        return found

    monkeypatch.setattr(StatusState, "apply", forgetful)
    cluster = Watched(0)
    cluster.add_worker("a:1")
    with pytest.raises(AssertionError):
        play(cluster)


def test_a_list_gives_what_was_kept() -> None:
    cluster = one_worker(0)
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", SOURCE))
    cluster.settle()
    first, second = (cluster.call("a:1", ListConnectors(("status",))) for _ in range(2))
    assert first == second
    assert first is second
