"""Attacks by whoever sees the network between a worker, a Spark cluster and its executors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rig.systems import wire
from tests.rig.systems.spark_cluster import SparkCluster
from tests.rig.systems.wire import Wire
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

LIMIT_S = 240.0
SECRET = "needle-of-spark-77ab"
PASSWORD = "needle-of-kafka-31cd"


@pytest.mark.skipif(not wire.may_look(), reason="only root sees the frames of an interface: Spark's traffic was not looked at")
@pytest.mark.parametrize(
    ("master", "worker", "seen"),
    [
        ({}, {"spark.network.crypto.enabled": "false"}, {PASSWORD.encode(), SECRET.encode()}),
        ({}, {}, set()),
        ({"spark.network.crypto.enabled": "true"}, {}, set()),
    ],
    ids=["control", "by default", "with the master's encryption"],
)
def test_passwords_do_not_cross_the_network_in_clear(
    broker: Broker,
    tmp_path: Path,
    unique: Callable[[str], str],
    master: dict[str, str],
    worker: dict[str, str],
    seen: set[bytes],
) -> None:
    """Who sees the network looks for Kafka's password and Spark's secret, which a worker sends to its executors."""
    login = {"spark.authenticate": "true", "spark.authenticate.secret": SECRET}
    cluster = SparkCluster(tmp_path / "spark", cores=2, properties={**login, **master})
    properties = {
        **QUICK,
        **login,
        **worker,
        "session.timeout.ms": "20000",
        "spark.master": "",
        "task.hosts": "1",
        # A broker without a login ignores it; the hosts are sent it all the same.
        "admin.sasl.jaas.config": (
            f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{PASSWORD}";'
        ),
    }
    lines, name = tmp_path / "lines.txt", unique("wire")
    lines.write_text("a line\n")
    try:
        cluster.start()
        properties["spark.master"] = cluster.master_url
        with Wire((PASSWORD.encode(), SECRET.encode()), "java") as looking:
            started = WorkerProcess(tmp_path / "worker", broker.bootstrap_servers, name, properties=properties)
            try:
                started.start()
                started.client.create(name, {"connector.class": "FileStreamSource", "file": str(lines), "topic": name})
                started.client.wait_for(name, "RUNNING", tasks=1, timeout=LIMIT_S)
                wait_until(lambda: seen <= looking.saw(), LIMIT_S)
            finally:
                started.stop()
            assert looking.frames > 1000
            assert looking.saw() <= seen
    finally:
        cluster.stop()
