"""
Trials of a sink: every record has a number, so that the target can be asked which are there, and how often.

    control         so many records are written, and all are there, once
    crash           its hosts are killed while records come
    rebalance       it gets more tasks, and fewer, while records come
    poison          one record that the target refuses goes to the dead letter queue, all others arrive
    away            the target's server ends while records come, and comes back: the task waits, with the reason
    schema change   records get a new field in the middle
    many            1,000,000 records

After each nothing is lost, and nothing is there twice where the connector promises that. Run by the connectors' tests in
`tests/integration`.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.testing.processes import WorkerProcess
from tests.rig.systems import recorder
from tests.support import wait_until

PARTITIONS = 3
_LIMIT_S = 240.0
_COMMON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    # Of a task that was killed its group hears when this is over.
    "consumer.override.session.timeout.ms": "6000",
    "consumer.override.heartbeat.interval.ms": "1500",
}
_FIELDS = [{"field": "id", "type": "int64"}, {"field": "note", "type": "string", "optional": True}]
_MORE = {"field": "more", "type": "string", "optional": True}


class Target(ABC):
    """A system that a sink writes to: one table, folder or index for each trial."""

    once = False
    """Whether each record is there once, whatever happens; otherwise at least once."""
    multiple = 1
    """Records are there only if their number is a multiple of this."""
    poison: Any = None
    """A value of the field `note` that the target refuses."""

    @abstractmethod
    def config(self, topic: str) -> Mapping[str, str]:
        """The connector's own settings."""

    @abstractmethod
    def numbers(self, topic: str) -> list[int]:
        """The ids of all records that are there."""

    @abstractmethod
    def more(self, topic: str) -> int:
        """How many of them have the field `more`."""

    @abstractmethod
    def end(self) -> None:
        """End the server."""

    @abstractmethod
    def begin(self) -> None:
        """Start it again, with what it had."""


class Trial:
    """One trial of a connector; `name` is that of the connector and of its topic."""

    def __init__(self, worker: WorkerProcess, bootstrap: str, name: str, target: Target) -> None:
        self.worker, self.client, self.bootstrap, self.name, self.target = worker, worker.client, bootstrap, name, target
        self._producer = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        self._next = 0

    @contextmanager
    def running(self, tasks: int = 1, **more: str) -> Iterator[None]:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics([NewTopic(self.name, PARTITIONS, 1)]).values():
            made.result(60)
        self.configure(tasks, **more)
        try:
            self.client.wait_for(self.name, "RUNNING", tasks=tasks, timeout=_LIMIT_S)
            yield
        finally:
            self.client.delete(self.name)

    def configure(self, tasks: int, **more: str) -> None:
        settings = {name.replace("_", "."): value for name, value in more.items()}
        config = {**_COMMON, "topics": self.name, "tasks.max": str(tasks), **self.target.config(self.name), **settings}
        self.client.put_config(self.name, config)

    def write(self, count: int, note: Any = "n", more: str | None = None) -> None:
        """Records with the next numbers, in turn to each partition."""
        fields = _FIELDS if more is None else [*_FIELDS, _MORE]
        head = '{"schema":' + json.dumps({"type": "struct", "name": "Trial", "fields": fields}) + ',"payload":'
        payload: dict[str, Any] = {"note": note} if more is None else {"note": note, "more": more}
        for _ in range(count):
            value = f"{head}{json.dumps({'id': self._next, **payload})}}}"
            self._produce(str(self._next), value, self._next % PARTITIONS)
            self._next += 1
        self._producer.flush(60)

    def _produce(self, key: str, value: str, partition: int) -> None:
        while True:
            try:
                self._producer.produce(self.name, value, key, partition)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    @contextmanager
    def traffic(self) -> Iterator[None]:
        """Records come all the time."""
        over = threading.Event()

        def feed() -> None:
            while not over.wait(0.05):
                self.write(20)

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def grows(self) -> None:
        """Until some more of what was written is there."""
        there = len(set(self.target.numbers(self.name)))
        wait_until(lambda: len(set(self.target.numbers(self.name))) > there, _LIMIT_S)

    def arrived(self, but: int = 0, timeout: float = _LIMIT_S) -> None:
        """Until all but so many are there. AssertionError also if one is there that was not written, or twice."""
        self.write(-self._next % self.target.multiple)
        wait_until(lambda: len(set(self.target.numbers(self.name))) >= self._next - but, timeout, "not all records arrived")
        found = Counter(self.target.numbers(self.name))
        assert not found.keys() - set(range(self._next)), "records that nobody wrote"
        assert len(found) == self._next - but
        if self.target.once:
            assert max(found.values()) == 1, f"{sum(count > 1 for count in found.values())} records are there more than once"

    def states(self) -> set[str]:
        return {task["state"] for task in self.client.status(self.name)["tasks"]}

    def waits_with_a_reason(self) -> bool:
        tasks = self.client.own().get(self.name, {}).get("tasks", [])
        return any(task["retrying"] and task["retrying"]["reason"] for task in tasks)


def control(trial: Trial) -> None:
    with trial.running():
        trial.write(2000)
        trial.arrived()


def crash(trial: Trial) -> None:
    with trial.running(tasks=2):
        with trial.traffic():
            for _ in range(2):
                trial.grows()
                for host in trial.worker.hosts():
                    host.kill()
            trial.grows()
        trial.arrived()


def rebalance(trial: Trial) -> None:
    with trial.running():
        with trial.traffic():
            for tasks in (3, 2, 1):
                trial.grows()
                trial.configure(tasks)
                trial.client.wait_for(trial.name, "RUNNING", tasks=tasks, timeout=_LIMIT_S)
            trial.grows()
        trial.arrived()


def poison(trial: Trial) -> None:
    letters = f"{trial.name}-dead"
    queue: dict[str, Any] = {
        "errors_tolerance": "all",
        "errors_deadletterqueue_topic_name": letters,
        "errors_deadletterqueue_topic_replication_factor": "1",
        "errors_deadletterqueue_context_headers_enable": "true",
    }
    with trial.running(**queue):
        trial.write(500)
        trial.write(1, note=trial.target.poison)
        trial.write(500)
        trial.arrived(but=1)
        (letter,) = wait_until(lambda: _records(trial.bootstrap, letters), _LIMIT_S)
        assert letter.key() == b"500"
        headers = dict(letter.headers() or ())
        assert headers["__connect.errors.topic"] == trial.name.encode()


def away(trial: Trial) -> None:
    with trial.running():
        trial.write(200)
        trial.arrived()
        trial.target.end()
        try:
            trial.write(200)
            wait_until(trial.waits_with_a_reason, _LIMIT_S)
            trial.write(200)
        finally:
            trial.target.begin()
        trial.arrived()
        assert trial.states() == {"RUNNING"}


def schema_change(trial: Trial) -> None:
    with trial.running():
        trial.write(300)
        trial.write(300, more="m")
        trial.write(300)
        trial.arrived()
        assert trial.target.more(trial.name) == 300


def many(trial: Trial) -> None:
    with trial.running(tasks=2):
        trial.write(1_000_000)
        trial.arrived(timeout=900)


TRIALS: tuple[Callable[[Trial], None], ...] = (control, crash, rebalance, poison, away, schema_change)


def _records(bootstrap: str, topic: str) -> list[ck.Message]:
    try:
        return list(recorder.read(bootstrap, topic))
    except KeyError:
        return []  # It is not there yet.
