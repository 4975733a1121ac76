"""`format("kconnect")` on each PySpark that kconnect takes, and by Spark Connect."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.local.broker import free_port
from tests.rig.systems import pysparks
from tests.spark.sessions import produce, topic

pytestmark = [pytest.mark.long, pytest.mark.integration, pytest.mark.timeout(1500)]

_FROM_HERE = Path(__file__).parent.parent.parent


@pytest.fixture
def records(bootstrap: str, unique: Callable[[str], str]) -> str:
    name = topic(bootstrap, unique("frames"))
    produce(bootstrap, name, [{"id": number, "at": {"x": number / 2}, "tags": ["a"]} for number in range(10)], 0)
    produce(bootstrap, name, [None], 1, key=b'{"id": 7}')
    return name


def run(python: str, *arguments: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, "-m", "tests.spark.frames", *arguments],
        cwd=_FROM_HERE,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def require(found: dict[str, Any]) -> None:
    assert found["schema"] == (
        "struct<id:bigint,at:struct<x:double>,tags:array<string>,_partition:int,_offset:bigint,_timestamp:timestamp,"
        "_deleted:boolean>"
    )
    assert (found["rows"], found["deleted"], found["filtered"], found["stream"]) == (11, 1, [0, 1, 2], [11, 11])


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3"])
def test_batches_and_streams(version: str, records: str, bootstrap: str, tmp_path: Path) -> None:
    found = run(pysparks.python(version), bootstrap, records, str(tmp_path))
    assert found["version"].startswith(version)
    require(found)


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[str]:
    """A server of Spark Connect on this machine."""
    import pyspark

    port = free_port()
    script = f"{Path(pyspark.__file__).parent}/sbin/start-connect-server.sh"
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": f"{tmp_path}/warehouse",
        "spark.ui.enabled": "false",
    }
    command = [
        "bash",
        script,
        "--master",
        "local[2]",
        *(part for item in settings.items() for part in ("--conf", "=".join(item))),
    ]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1", "SPARK_LOG_DIR": str(tmp_path)}
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=tmp_path)
    try:
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


def test_spark_connect(remote: str, records: str, bootstrap: str, tmp_path: Path) -> None:
    require(run(pysparks.connect_python(), bootstrap, records, str(tmp_path), remote))
