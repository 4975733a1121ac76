"""
Kills what keeps tables of a lake, at random, and compares the tables with the truth, row by row: `scripts/chaos --lake`.

One worker, a topic with most of the rows and many small ones, and two SparkSinks that read all of them: one merges, one
appends. What is killed: the application's Python and its JVM, task hosts, Spark's driver of the worker, and the worker. Tables
are read by others than Spark. Read next: `connectors/spark/task.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka as ck
import psutil
import pyarrow as pa
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess, still_alive
from tests.conftest import QUICK
from tests.rig.systems import lake
from tests.support import wait_until

_BIG, _PARTITIONS = "rows", 3
_OF_BIG = 0.9
"""So many of all records are for one table."""
_UPDATES, _DELETES = 0.20, 0.05
_CHUNK, _SLOW = 2000, 50
_LONGEST_S = 1800.0
_KEY = {"type": "int64", "optional": False}
_VALUE = {
    "type": "struct",
    "name": "Row",
    "fields": [{"field": "id", "type": "int64"}, {"field": "version", "type": "int64"}, {"field": "text", "type": "string"}],
}
_JSON = "org.apache.kafka.connect.json.JsonConverter"


class Feed:
    """Writes records, and knows what the tables are to have. `make` may be called from one thread."""

    def __init__(self, bootstrap: str, topics: list[str], seed: int) -> None:
        self._draw = random.Random(seed)
        self._producer = ck.Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20})
        self._topics = topics
        self.rows: dict[str, dict[int, int]] = {topic: {} for topic in topics}
        """By topic and id: the version that is to be there."""
        self.written: dict[str, list[tuple[int, int]]] = {topic: [] for topic in topics}
        """All ids with versions."""
        self.ends: Counter[tuple[str, int]] = Counter()
        self.count = 0
        self._head = '{"schema":' + json.dumps(_VALUE) + ',"payload":'
        self._key_head = '{"schema":' + json.dumps(_KEY) + ',"payload":'
        self._known: dict[str, list[int]] = {topic: [] for topic in topics}

    def make(self, count: int) -> None:
        for _ in range(count):
            self._one()
        self._producer.flush(120)

    def _one(self) -> None:
        topic = _BIG if self._draw.random() < _OF_BIG else self._draw.choice(self._topics)
        rows, known, what = self.rows[topic], self._known[topic], self._draw.random()
        self.count += 1
        if what < _UPDATES + _DELETES and known:
            # One that was deleted comes again.
            number = self._draw.choice(known)
        else:
            number = len(known)
            known.append(number)
        value: str | None = None
        if _UPDATES <= what < _UPDATES + _DELETES:
            rows.pop(number, None)
        else:
            rows[number] = self.count
            self.written[topic].append((number, self.count))
            value = f'{self._head}{{"id":{number},"version":{self.count},"text":"row {number} as of {self.count}"}}}}'
        partition = number % _PARTITIONS if topic == _BIG else 0
        while True:
            try:
                self._producer.produce(topic, value, f"{self._key_head}{number}}}", partition)
                break
            except BufferError:
                self._producer.poll(0.5)
        self.ends[topic, partition] += 1


class Lake:
    """The tables of both connectors, in a folder."""

    def __init__(self, folder: Path, form: str) -> None:
        self.folder, self.form = folder, form
        folder.mkdir(parents=True)

    def config(self, kind: str, topics: list[str], interval_ms: int) -> dict[str, str]:
        upserts = {
            "lake.tables.upsert-mode-enabled": "true",
            "lake.tables.delete-enabled": "true",
            "lake.tables.default-id-columns": "id",
        }
        return {
            "connector.class": "SparkSink",
            "topics": ",".join(topics),
            "key.converter": _JSON,
            "value.converter": _JSON,
            "consumer.override.session.timeout.ms": "6000",
            "consumer.override.heartbeat.interval.ms": "1500",
            "lake.format": self.form,
            "lake.store.url": f"file://{self.folder}",
            "lake.tables": kind + ".${topic}",
            "lake.tables.auto-create-enabled": "true",
            "lake.commit.interval-ms": str(interval_ms),
            "lake.maintenance.interval-ms": "30000",
            "max.retries": "-1",
            "retry.backoff.ms": "500",
            **(upserts if kind == "merged" else {}),
        }

    def rows(self, kind: str, topic: str) -> list[tuple[int, int, str]]:
        folder = self.folder / kind / topic
        if not folder.exists():
            return []
        table: pa.Table = DeltaTable(str(folder)).to_pyarrow_table() if self.form == "delta" else lake.iceberg_rows(folder)
        return list(zip(*(table.column(name).to_pylist() for name in ("id", "version", "text")), strict=True))


def differences(feed: Feed, tables: Lake) -> Counter[str]:
    """Return how many rows of all tables are not as they should be, by what is wrong."""
    wrong: Counter[str] = Counter()
    for topic, truth in feed.rows.items():
        merged = tables.rows("merged", topic)
        there = {number: version for number, version, _ in merged}
        wrong["doubled"] += len(merged) - len(there)
        wrong["lost"] += len(truth.keys() - there.keys())
        wrong["not deleted"] += len(there.keys() - truth.keys())
        wrong["stale"] += sum(there.get(number, version) != version for number, version in truth.items())
        wrong["torn"] += sum(text != f"row {number} as of {version}" for number, version, text in merged)
        appended = Counter((number, version) for number, version, _ in tables.rows("appended", topic))
        wanted = Counter(feed.written[topic])
        wrong["lost from appends"] += (wanted - appended).total()
        wrong["doubled in appends"] += (appended - wanted).total()
    return +wrong


class Run:
    def __init__(self, options: argparse.Namespace, tell: Callable[[str], None]) -> None:
        self._options, self._tell = options, tell
        self._draw = random.Random(options.seed)
        self.kills: Counter[str] = Counter()
        self._began = time.monotonic()

    def tell(self, text: str) -> None:
        self._tell(f"[{time.monotonic() - self._began:7.1f} s] {text}")

    def go(self, directory: Path) -> Counter[str]:
        """Return what is wrong in the end: nothing, if all is well."""
        topics = [_BIG, *(f"small{number}" for number in range(self._options.tables))]
        tables = Lake(directory / "lake", self._options.format)
        broker = Broker(directory / "broker").start()
        worker = WorkerProcess(
            directory / "worker", broker.bootstrap_servers, "lake", properties={**QUICK, "lake.python": lake.python()}
        )
        try:
            worker.start()
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            made = [NewTopic(topic, _PARTITIONS if topic == _BIG else 1, 1) for topic in topics]
            for future in admin.create_topics(made).values():
                future.result(120)
            feed = Feed(broker.bootstrap_servers, topics, self._options.seed)
            # The control: without a kill, all is there.
            feed.make(_CHUNK)
            for kind in ("merged", "appended"):
                worker.client.put_config(kind, tables.config(kind, topics, self._options.interval_ms))
            self._wait_for_all(worker, feed)
            wrong = differences(feed, tables)
            self.tell(f"the control, {feed.count} records: {dict(wrong) or 'all is well'}")
            if wrong:
                return wrong
            self._kill_meanwhile(worker, feed)
            self.tell(f"{feed.count} records; killed: {dict(self.kills)}")
            self._wait_for_all(worker, feed)
            return differences(feed, tables)
        finally:
            worker.stop()
            broker.stop()

    def _kill_meanwhile(self, worker: WorkerProcess, feed: Feed) -> None:
        over = threading.Event()

        def write() -> None:
            # As many as are to be, and then a few for as long as it takes.
            while not over.is_set() or feed.count < self._options.rows:
                feed.make(_CHUNK if feed.count < self._options.rows else _SLOW)
                over.wait(0.2)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(self._options.kills):
                before = self._done(worker)
                self._wait_for_more(worker, before)
                time.sleep(self._draw.random() * 4)
                kind, kill = self._victim(worker, number)
                kill()
                self.kills[kind] += 1
                self.tell(f"kill {number + 1}: {kind}; {feed.count} records are written, {before} were done before")
        finally:
            over.set()
            writer.join()

    def _wait_for_more(self, worker: WorkerProcess, before: int, done: Callable[[], bool] = lambda: False) -> None:
        wait_until(lambda: self._done(worker) > before or done(), _LONGEST_S, "nothing is committed any more")

    def _victim(self, worker: WorkerProcess, number: int) -> tuple[str, Callable[[], None]]:
        kinds = ["application", "its JVM", "host", "driver", "worker"]
        kind = kinds[number] if number < len(kinds) else self._draw.choice(kinds)
        if kind == "worker":
            return kind, lambda: self._restart(worker)
        processes: dict[str, psutil.Process] = wait_until(lambda: _processes(worker), _LONGEST_S, "not all of it is up")
        return kind, processes[kind].kill

    def _restart(self, worker: WorkerProcess) -> None:
        tree = worker.tree()
        worker.kill()
        assert not still_alive(tree, 240), "processes outlive the worker"
        worker.start()

    def _done(self, worker: WorkerProcess) -> int:
        return sum(self._offsets(worker).values())

    def _offsets(self, worker: WorkerProcess) -> Counter[tuple[str, str, int]]:
        found: Counter[tuple[str, str, int]] = Counter()
        for kind in ("merged", "appended"):
            with contextlib.suppress(RestError):
                for each in worker.client.offsets(kind):
                    place = each["partition"]
                    found[kind, place["kafka_topic"], place["kafka_partition"]] = each["offset"]["kafka_offset"]
        return found

    def _wait_for_all(self, worker: WorkerProcess, feed: Feed) -> None:
        wanted = {(kind, *place): end for kind in ("merged", "appended") for place, end in feed.ends.items()}

        def done() -> bool:
            for kind in ("merged", "appended"):
                with contextlib.suppress(RestError):
                    failed = [task["trace"] for task in worker.client.status(kind)["tasks"] if task["state"] == "FAILED"]
                    assert not failed, failed[0]
            return self._offsets(worker) == Counter(wanted)

        # For as long as some are.
        while not done():
            self._wait_for_more(worker, self._done(worker), done)


def _processes(worker: WorkerProcess) -> dict[str, psutil.Process]:
    """What of the sinks is a process; nothing until all of it is up."""
    found: dict[str, psutil.Process] = {}
    for process in _below(worker):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "kconnect.connectors.spark.session.main" in process.cmdline():
                host, java = process.parent(), process.children()
                if host is not None and java:
                    found = {"application": process, "its JVM": java[0], "host": host}
    driver = worker.driver()
    return {**found, "driver": driver} if found and driver is not None else {}


def _below(worker: WorkerProcess) -> Iterator[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        yield from psutil.Process(worker.pid).children(recursive=True)


def main(arguments: list[str], directory: Path, tell: Callable[[str], None]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/chaos --lake", description=__doc__.splitlines()[1])
    parser.add_argument("--format", choices=("delta", "iceberg"), default="delta")
    parser.add_argument("--rows", type=int, default=1_000_000, help="so many records at least; %(default)s")
    parser.add_argument("--tables", type=int, default=200, help="so many small tables beside the large one; %(default)s")
    parser.add_argument("--kills", type=int, default=50, help="%(default)s")
    parser.add_argument("--interval-ms", type=int, default=2000, help="of commits; %(default)s")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000), help="that of a run to repeat")
    options = parser.parse_args(arguments)
    tell(f"{options.format}, seed {options.seed}, everything is in {directory}")
    run = Run(options, tell)
    wrong = run.go(directory)
    run.tell(f"wrong: {dict(wrong) or 'nothing'}")
    return 1 if wrong else 0
