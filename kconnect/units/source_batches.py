"""
What becomes of the batches that a source task's `poll` gives: transforms and converters make messages of them, and once those
are safe, the task hears of it and REST of the topics.

Of one task; shared by the two ways in which messages get to Kafka, `at_least_once.py` and `exactly_once.py`. Read next:
`core/task/chain.py`, `transforms.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.api.task import SourceTask
from kconnect.core.task.chain import Outgoing, SourceChain
from kconnect.units import converters
from kconnect.units.reports import Reports
from kconnect.units.source_topics import SourceTopics
from kconnect.units.transforms import Transforms
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

T = TypeVar("T")


class SourceBatches:
    """ConfigError for a config whose converters, transforms or topic rules can't be had."""

    def __init__(
        self, unit: Unit, task: SourceTask, config: dict[str, str], reports: Reports, gives_up: Callable[[], bool]
    ) -> None:
        settings, plugins = unit.ports.settings, unit.ports.plugins
        self._unit, self._task, self._reports = unit, task, reports
        self.errors = reports.errors
        self.tracks = type(task).commit_record is not SourceTask.commit_record
        """Whether the task wants to hear of each record."""
        self._chain = SourceChain(converters.make(config, settings, plugins), self.errors)
        self._transforms = Transforms(config, plugins, owned=True, worker=settings.raw)
        self._steps = self._transforms.steps
        self.topics = SourceTopics(unit, config, gives_up)

    @property
    def used(self) -> Collection[str]:
        """The topics of the messages that were made last."""
        return self._chain.topics

    def messages(
        self, records: list[SourceRecord], dropped: Callable[[SourceRecord], None]
    ) -> tuple[list[SourceRecord], list[Outgoing]]:
        """
        The messages of a batch, and with each the record that the task gave. What was dropped has none; with `tracks`,
        `dropped` is told of it.
        """
        given, kept = records, records
        if self._steps:
            # The task's own records stay as they are: it gets them back in `commit_record`.
            copies = [record.copy() for record in records]
            given, kept = self._without_dropped(records, self._steps.apply(copies, records, self.errors), dropped)
        return self._without_dropped(given, self._chain.apply(kept, given), dropped)

    def _without_dropped(
        self, given: list[SourceRecord], done: list[T | None], dropped: Callable[[SourceRecord], None]
    ) -> tuple[list[SourceRecord], list[T]]:
        kept = [result for result in done if result is not None]
        if len(kept) == len(done):
            return given, kept
        if self.tracks:
            for record, result in zip(given, done):
                if result is None:
                    dropped(record)
        return [record for record, result in zip(given, done) if result is not None], kept

    def untold(self, messages: list[Outgoing]) -> Iterable[str]:
        """The topic of each message, of these that were made last, that nobody was told of."""
        told = self._unit.ports.topics_told(self._unit.spec)
        if told >= set(self.used):
            return ()
        return (message[0] for message in messages if message[0] not in told)

    def tell_used(self, topics: Iterable[str]) -> None:
        """Kafka has a record of these topics (KIP-558)."""
        for topic in topics:
            self._unit.ports.topic_used(self._unit.spec, topic)

    def committed(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        try:
            self._task.commit_record(record, metadata)
        except Exception:
            log.exception("The task's commit_record() failed")

    def stored(self) -> None:
        """Source offsets have been stored."""
        try:
            self._task.commit()
        except Exception:
            log.exception("The task's commit() failed")

    def letters_taken(self, timeout: float) -> bool:
        """Whether the dead letter queue has all that was put into it. ConnectError if it refuses something."""
        if self._reports.flush(timeout):
            return True
        log.warning("The dead letter queue has not taken all within %.0f s: offsets are not stored yet", timeout)
        return False

    def close(self) -> None:
        self._transforms.close()
