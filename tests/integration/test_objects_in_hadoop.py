"""Object stores in HDFS on a worker, tried by the harness for connectors: exactly once, also with a quota that is full."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import requests

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import sinks, sources, trials
from tests.rig.connectors.sinks import Target
from tests.rig.connectors.sources import Origin
from tests.rig.systems.hadoop import USER, Hadoop

pytestmark = pytest.mark.long


class Written(Target):
    once = True
    # As many for each partition as a file has.
    multiple = 50 * sinks.PARTITIONS
    poison = "\ud800"

    def __init__(self, hadoop: Hadoop) -> None:
        self._hadoop = hadoop

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "ObjectStoreSink",
            "store": f"{self._hadoop.url}/trials",
            "hdfs.user": USER,
            "format.class": "JsonFormat",
            "flush.size": "50",
            "retry.backoff.ms": "200",
            "request.timeout.ms": "5000",
            "s3.part.retries": "-1",
        }

    def _values(self, topic: str) -> list[dict[str, Any]]:
        found = self._hadoop.files(f"/trials/topics/{topic}")
        return [json.loads(line) for data in found.values() for line in data.splitlines()]

    def numbers(self, topic: str) -> list[int]:
        return [value["id"] for value in self._values(topic)]

    def more(self, topic: str) -> int:
        return sum(value.get("more") is not None for value in self._values(topic))

    def end(self) -> None:
        self._hadoop.end()

    def begin(self) -> None:
        self._hadoop.begin()


class Read(Origin):
    """A file has as many records as are written at once."""

    once = True

    def __init__(self, hadoop: Hadoop) -> None:
        self._hadoop = hadoop

    def config(self, topic: str) -> Mapping[str, str]:
        return {
            "connector.class": "ObjectStoreSource",
            "store": f"{self._hadoop.url}/trials",
            "hdfs.user": USER,
            "mode": "GENERIC",
            "topics.dir": topic,
            "topic.regex.list": f"{topic}:[.]json$",
            "format.class": "JsonFormat",
            "record.batch.max.size": "7",
            "s3.poll.interval.ms": "100",
            "retry.backoff.ms": "200",
            "request.timeout.ms": "5000",
            "exactly.once.support": "required",
        }

    def prepare(self, topic: str) -> None:
        """A folder is there when a file is in it."""

    def add(self, topic: str, numbers: range, more: str | None) -> None:
        others = {} if more is None else {"more": more}
        lines = "".join(f"{json.dumps({'id': number, **others})}\n" for number in numbers)
        name = f"{numbers.start % 7}/{numbers.start}"
        client = self._hadoop.client()
        client.write(f"/trials/{topic}/{name}.new", data=lines.encode())
        client.rename(f"/trials/{topic}/{name}.new", f"/trials/{topic}/{name}.json")

    def end(self) -> None:
        self._hadoop.end()

    def begin(self) -> None:
        self._hadoop.begin()


@pytest.mark.parametrize("trial", trials.shared([trials.control, trials.crash, trials.rebalance, trials.away], trials.crash))
def test_sink(
    trial: Callable[[sinks.Trial], None], worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], hadoop: Hadoop
) -> None:
    trial(sinks.Trial(worker, bootstrap, unique("hadoop"), Written(hadoop)))


@pytest.mark.parametrize("trial", [trials.control, trials.crash])
def test_source(
    trial: Callable[[sources.Trial], None],
    once_worker: WorkerProcess,
    bootstrap: str,
    unique: Callable[[str], str],
    hadoop: Hadoop,
) -> None:
    trial(sources.Trial(once_worker, bootstrap, unique("hadoop"), Read(hadoop)))


def test_sink_with_a_full_quota(worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], hadoop: Hadoop) -> None:
    trial = sinks.Trial(worker, bootstrap, unique("hadoop"), Written(hadoop))
    client = hadoop.client()

    def quota(names: int) -> None:
        owner = client.status("/")["owner"]
        url = f"http://127.0.0.1:{hadoop.port}/webhdfs/v1/trials?op=SETQUOTA&user.name={owner}&namespacequota={names}"
        requests.put(url, timeout=30).raise_for_status()

    def fill() -> None:
        content = client.content("/trials")
        quota(content["fileCount"] + content["directoryCount"])

    trials.full(trial, fill, lambda: quota(1_000_000), too_many=1000)
