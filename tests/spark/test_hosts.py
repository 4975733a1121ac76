"""What is said of a host that gets no core: `kconnect/spark/hosts.py`. On a cluster: `tests/integration/test_standalone.py`."""

from __future__ import annotations

import pytest

from kconnect.spark.hosts import remedy

MASTER = "spark://a:7077"
ASKED = {"spark.cores.max": "8", "spark.executor.memory": "512m"}


@pytest.mark.parametrize(
    ("master", "settings", "room", "expected"),
    [
        # The setting is what keeps it from more.
        (MASTER, ASKED, 8, "give the application more cores (spark.cores.max is 8, and a host takes spark.task.cpus, 1)"),
        (MASTER, {**ASKED, "spark.task.cpus": "3"}, 2, "give the application more cores (spark.cores.max is 8"),
        ("local[2]", {"spark.master": "local[2]"}, 2, "give the application more cores (spark.master is local[2]"),
        ("yarn", {}, 2, "give the application more cores (spark.cores.max is not set"),
        (MASTER, ASKED, None, "give the application more cores (spark.cores.max is 8"),
        # The cluster has no more, whatever the setting says.
        (MASTER, ASKED, 2, "asked for 8 cores (spark.cores.max), and spark://a:7077 has given it only 2. Give Spark's workers"),
        (MASTER, {**ASKED, "spark.task.cpus": "2"}, 2, "has given it only 4."),
        (
            MASTER,
            ASKED,
            0,
            "one is still starting, or spark://a:7077 has no worker with enough cores and memory free (512m for each)",
        ),
    ],
)
def test_what_helps_a_host_without_a_core(master: str, settings: dict[str, str], room: int | None, expected: str) -> None:
    text = remedy(master, settings, room)
    assert expected in text
    assert "lower task.hosts" in text
