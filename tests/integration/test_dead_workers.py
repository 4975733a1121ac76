"""
A worker that is killed: what it ran runs elsewhere long before its group has noticed, for its driver speaks for it.

By night: on a machine that stands still for seconds the driver's word is too late, and the group's session is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.support import wait_until

SESSION_MS = 900_000
"""No test waits for so long."""


@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_a_killed_worker_ran_does_not_wait_for_the_session(
    broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    group, name = unique("dead"), unique("ticks")
    properties = {**QUICK, "session.timeout.ms": str(SESSION_MS)}
    workers = [
        WorkerProcess(tmp_path / str(number), broker.bootstrap_servers, group, properties=properties) for number in range(2)
    ]
    config = {"connector.class": "DatagenSource", "kafka.topic": name, "quickstart": "orders", "tasks.max": "4"}
    try:
        for worker in workers:
            worker.start()
        first = workers[0].client
        first.put_config(name, config)

        def runs_on(worker: WorkerProcess) -> set[tuple[str, str]]:
            """What `worker` says of the states of the connector and its tasks, and of the workers that have them."""
            status = worker.client.status(name)
            return {(part["state"], part["worker_id"]) for part in (status["connector"], *status["tasks"])}

        # The control: both have some of it.
        wait_until(lambda: len(runs_on(workers[0])) == 2 and {state for state, _ in runs_on(workers[0])} == {"RUNNING"}, 240)
        leader = first.cluster()["leader"]
        # Who leads is known to be gone only by the group.
        (dead,) = (worker for worker in workers if not worker.url.endswith(f"{leader}/"))
        (left,) = (worker for worker in workers if worker is not dead)
        tree = dead.tree()
        dead.kill()
        wait_until(lambda: runs_on(left) == {("RUNNING", leader)}, 240)
        assert dead.wait_ended(tree) == []
    finally:
        for worker in workers:
            worker.stop()
