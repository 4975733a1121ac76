"""KIP-976: log levels of a whole cluster, on a real worker with its driver and hosts."""

from __future__ import annotations

import os
import time

from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until


def test_every_process_of_a_worker_applies_it(worker: WorkerProcess) -> None:
    hosts = os.cpu_count() or 1
    # One that has not declared itself yet may take what it reads for history. There may be more, left by other tests.
    wait_until(lambda: sum(len(each["hosts"]) for each in worker.client.cluster()["workers"]) >= hosts, 240)
    before = int(time.time() * 1000)
    said = "The cluster's log level of org.example.kip976 is now TRACE"
    assert worker.client.set_logger("org.example.kip976", "trace", cluster=True) is None
    level = wait_until(lambda: worker.client.loggers().get("org.example.kip976"), 120)
    assert level["level"] == "TRACE"
    assert level["last_modified"] >= before
    # The worker itself, its Spark driver, and each of its hosts.
    wait_until(lambda: worker.log.read_text(errors="replace").count(said) >= 2 + hosts, 120)
