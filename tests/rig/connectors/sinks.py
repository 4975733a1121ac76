"""
The trials of a sink: records are written to its topic, and arrive in the target. One more: `poison`, one record that the target
refuses goes to the dead letter queue, all others arrive.

Run by the connectors' tests in `tests/integration`. Read next: `trials.py`.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import trials
from tests.rig.connectors.trials import LIMIT_S, System
from tests.rig.systems import recorder
from tests.support import wait_until

PARTITIONS = 3
_COMMON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    # Of a task that was killed its group hears when this is over.
    "consumer.override.session.timeout.ms": "6000",
    "consumer.override.heartbeat.interval.ms": "1500",
}
_FIELDS = [{"field": "id", "type": "int64"}, {"field": "note", "type": "string", "optional": True}]
_MORE = {"field": "more", "type": "string", "optional": True}


class Target(System):
    poison: Any = None
    """A value of the field `note` that the target refuses."""

    @abstractmethod
    def numbers(self, topic: str) -> list[int]:
        """The ids of all records that are there."""

    @abstractmethod
    def more(self, topic: str) -> int:
        """How many of them have the field `more`."""


class Trial(trials.Trial):
    def __init__(self, worker: WorkerProcess, bootstrap: str, name: str, target: Target) -> None:
        super().__init__(worker, bootstrap, name, target)
        self.target = target
        self._producer = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})

    def prepare(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics([NewTopic(self.name, PARTITIONS, 1)]).values():
            made.result(60)

    def common(self) -> Mapping[str, str]:
        return {**_COMMON, "topics": self.name}

    def write(self, count: int, more: str | None = None, note: Any = "n") -> None:
        """In turn to each partition."""
        fields = _FIELDS if more is None else [*_FIELDS, _MORE]
        head = '{"schema":' + json.dumps({"type": "struct", "name": "Trial", "fields": fields}) + ',"payload":'
        payload: dict[str, Any] = {"note": note} if more is None else {"note": note, "more": more}
        for _ in range(count):
            value = f"{head}{json.dumps({'id': self.made, **payload})}}}"
            self._produce(str(self.made), value, self.made % PARTITIONS)
            self.made += 1
        self._producer.flush(60)

    def write_on(self, count: int) -> None:
        self.write(count)

    def _produce(self, key: str, value: str, partition: int) -> None:
        while True:
            try:
                self._producer.produce(self.name, value, key, partition)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def numbers(self) -> list[int]:
        return self.target.numbers(self.name)

    def more(self) -> int:
        return self.target.more(self.name)


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
        (letter,) = wait_until(lambda: _records(trial.bootstrap, letters), LIMIT_S)
        assert letter.key() == b"500"
        headers = dict(letter.headers() or ())
        assert headers["__connect.errors.topic"] == trial.name.encode()


TRIALS = (*trials.TRIALS, poison)


def _records(bootstrap: str, topic: str) -> list[ck.Message]:
    try:
        return list(recorder.read(bootstrap, topic))
    except KeyError:
        return []  # It is not there yet.
