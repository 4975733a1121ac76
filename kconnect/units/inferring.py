"""
Inferred schemas of one sink task: each batch is looked at before it is converted, and what is new in it is kept before any of
its records goes on.

What is known of a topic only grows (`converters/inference.py`), so that no task has to lead: each writes what it knows into the
topic of schemas, reads what others have written before, and takes that over. Where two tasks differ, the first in the topic
holds. So a restart, a rewind and another worker meet what was inferred before. An `Intake` around the task's own, made by
`chains.py`. Read next: `kafka/inferred.py`, `kafka/schema_topic.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api.record import TopicPartition
from kconnect.converters import inference
from kconnect.converters.json_inferred import Inferring
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.schema_records import Key
from kconnect.core.task.batch import Batch
from kconnect.core.task.chain import Converters
from kconnect.core.task.sink_pump import Intake, Parts
from kconnect.errors import ConnectError
from kconnect.kafka import clients, schema_topic
from kconnect.kafka.inferred import Known, fold
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_ROUNDS = 5


class Store(NamedTuple):
    """`read` gives what is said of the connector, in its order, and `write` says something."""

    read: Callable[[], Mapping[Key, Any]]
    write: Callable[[Mapping[Key, Any]], None]


def parts_of(converters: Converters) -> dict[str, Inferring]:
    """Return what infers, by the part of a record."""
    both = {"key": converters.key, "value": converters.value}
    by_part = {part: getattr(converter, "inferring", None) for part, converter in both.items()}
    return {part: inferring for part, inferring in by_part.items() if isinstance(inferring, Inferring) and inferring.grows}


def around(intake: Intake, parts: Mapping[str, Inferring], unit: Unit) -> Intake:
    """Return the intake of a task, with inference before it if a converter wants that."""
    if not parts:
        return intake
    connector, task = unit.spec.connector, unit.spec.task or 0
    return InferringIntake(intake, parts, store_of(unit.ports.settings, connector), connector, task)


def store_of(settings: WorkerSettings, connector: str) -> Store:
    """Return what reads and writes the topic of schemas, which is made at the first write."""
    topic = settings.schema_storage_topic
    reader, writer = clients.reader(settings, "schemas"), clients.internal(settings, "schemas")

    def write(values: Mapping[Key, Any]) -> None:
        not_of_topic = ("topic", "replication.factor")
        more = {name: text for name, text in settings.with_prefix("schema.storage.").items() if name not in not_of_topic}
        schema_topic.ensure(writer, topic, settings.schema_storage_replication_factor, more)
        schema_topic.write(writer, topic, values)

    return Store(lambda: schema_topic.read(reader, topic, connector), write)


class InferringIntake:
    """`parts` are the converters that infer, by `key` and `value`. `clock` gives seconds since 1970."""

    def __init__(
        self,
        intake: Intake,
        parts: Mapping[str, Inferring],
        store: Store,
        connector: str,
        task: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._intake, self._parts, self._store = intake, parts, store
        self._connector, self._task, self._clock = connector, task, clock
        self._has_read = False

    def __call__(self, messages: Sequence[Any]) -> list[Any] | Batch | Parts:
        if not self._has_read:
            self._begin()
        texts = self._texts(messages)
        for (part, topic), some in texts.items():
            self._parts[part].learn(topic, some)
        new = {subject: some for subject, some in texts.items() if self._parts[subject[0]].subject(subject[1]).is_new}
        if new:
            self._keep(new)
        return self._intake(messages)

    def place(self, record: Any) -> TopicPartition:
        return self._intake.place(record)

    def _begin(self) -> None:
        """Go on with what was inferred before, and say again what this task had said and what does not hold."""
        folded = fold(self._store.read())
        for (part, topic), stored in folded.known.items():
            if part in self._parts:
                self._parts[part].adopt(topic, stored.shape, stored.version)
        lost = [(key.part, key.topic) for key in folded.lost if key.task == self._task and key.part in self._parts]
        if lost:
            self._write(lost)
        self._has_read = True

    def _texts(self, messages: Sequence[Any]) -> dict[tuple[str, str], list[bytes | None]]:
        texts: dict[tuple[str, str], list[bytes | None]] = {}
        for message in messages:
            for part in self._parts:
                text = message.value() if part == "value" else message.key()
                texts.setdefault((part, message.topic()), []).append(text)
        return texts

    def _keep(self, new: Mapping[tuple[str, str], list[bytes | None]]) -> None:
        """Say what is new, and take over what others have said meanwhile."""
        for _ in range(_ROUNDS):
            stored, lost = fold(self._store.read())
            changed = [subject for subject in new if self._is_more(subject, stored.get(subject, Known()), new[subject])]
            # What another task has said first holds for good only if it is not contradicted any more.
            lost_subjects = [subject for subject in new if Key(self._connector, *subject, self._task) in lost]
            if not changed and not lost_subjects:
                return
            self._write(dict.fromkeys((*changed, *lost_subjects)))
        raise ConnectError(f"The schemas of {', '.join(topic for _, topic in new)} were changed by other tasks again and again")

    def _write(self, subjects: Iterable[tuple[str, str]]) -> None:
        now = {Key(self._connector, *subject, self._task): self._said(subject) for subject in subjects}
        self._store.write(now)
        for key, statement in now.items():
            log.info("The inferred schema of the %ss of %s has the version %d now", key.part, key.topic, statement["version"])

    def _is_more(self, subject: tuple[str, str], stored: Known, texts: Sequence[bytes | None]) -> bool:
        """Whether this task still knows more than the topic of schemas has, once it has taken that over."""
        part, topic = subject
        inferring = self._parts[part]
        if inferring.subject(topic).shape == stored.shape:
            inferring.adopt(topic, stored.shape, stored.version)
            return False
        inferring.adopt(topic, stored.shape, stored.version)
        return inferring.learn(topic, texts)

    def _said(self, subject: tuple[str, str]) -> dict[str, Any]:
        part, topic = subject
        subject_schema = self._parts[part].subject(topic)
        return {
            "version": subject_schema.version,
            "at": int(self._clock() * 1000),
            "shape": inference.to_plain(subject_schema.shape),
        }
