"""
A source task from its `poll` to Kafka, one step a batch:

    (task.poll) ► transforms ► convert ► make sure that the topic exists ► produce ► source offsets

Everything works on lists: work that a batch can share is done once for it. The caller polls, waits and passes the time. It is a
host's thread (`units/source_task.py`), `kconnect.testing`'s `SourceRunner`, or a random history, which ends the pump between
any two calls. Messages and offsets get to Kafka in one of the two ways of `delivery.py`. Read next: that file; for the other
direction, `sink_pump.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from kconnect.api.record import OffsetOnly, SourceRecord
from kconnect.core.task.batch import Batch, Records
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.converted import NOTHING, Converted
from kconnect.core.task.delivery import Delivery
from kconnect.core.task.errors import Cut, Errors
from kconnect.core.task.source_offsets import beginning
from kconnect.core.task.steps import Steps
from kconnect.core.task.transactions import End
from kconnect.errors import ConnectError

T = TypeVar("T")


class SourcePump:
    """ConnectError, or what the plugin's parts raise, from any call: the task has failed, and `end` is all that may follow."""

    def __init__(self, delivery: Delivery, convert: Callable[[Sequence[Any]], Converted]) -> None:
        self._delivery, self._convert = delivery, convert

    def step(self, records: Sequence[Any], now: float) -> None:
        """Hand over what a `poll` gave, which may be nothing, and do what is due."""
        # One by one: what ends before a record that can't be converted is committed before the task fails of that.
        parts = self._delivery.parts(records)
        self.step_converted(((self._converted(part), end) for part, end in parts), now)

    def _converted(self, records: Sequence[Any]) -> Converted:
        if not records:
            return NOTHING
        if type(records[0]) is OffsetOnly:
            if [record for record in records if type(record) is not OffsetOnly]:
                raise ConnectError("A poll() has returned records beside OffsetOnly: return the one or the other")
            # As if a transform had dropped them.
            return Converted((), (), records, records)
        return self._convert(records)

    def step_converted(self, parts: Iterable[tuple[Converted, End | None]], now: float) -> None:
        """
        The same with batches that were converted elsewhere, and how the open transaction ends behind each; at least once there
        is none.
        """
        self._delivery.send(parts, now)
        self._delivery.commit_due(now)

    def commit_due(self, now: float) -> None:
        """Do what is due, while there is nothing to hand over."""
        self._delivery.commit_due(now)

    def rest(self) -> bool:
        """The task is paused. False: there is more to store, ask again."""
        return self._delivery.rest()

    def end(self, failed: bool) -> None:
        """Store, or commit, what can be; a task that is abandoned, or was never started, ends without."""
        self._delivery.end(failed)


class Chain(Protocol):
    """The converters at the end of a source's chain: `chain.SourceChain`, or what stands for it where they are in Java."""

    @property
    def topics(self) -> Collection[str]: ...

    def at_once(self, batch: Batch) -> Sequence[Outgoing] | None: ...

    def apply(
        self, records: Sequence[SourceRecord], origins: Sequence[Any] | None = None, cut: Cut | None = None
    ) -> list[Outgoing | None]: ...


class SourceConversion:
    """
    The transforms and converters of one source task. Where a record fails and that is not tolerated, what comes out ends before
    it, with the `failure`; and before all that a restart can't be without, unless the task `hears` of each record.
    """

    def __init__(self, chain: Chain, steps: Steps, errors: Errors, hears: bool = False) -> None:
        self._chain, self._steps, self._errors, self._hears = chain, steps, errors, hears

    def __call__(self, records: Sequence[SourceRecord]) -> Converted:
        converted = self._converted(records)
        if converted.failure is None or self._hears:
            return converted
        return converted.before(beginning(converted.given, records[len(converted.given)]))

    def _converted(self, records: Sequence[SourceRecord]) -> Converted:
        # The task's own records stay as they are: it gets them back in `commit_record`.
        batch = Records.of(records, owned=False)
        runs = [records] if batch is not None and batch.topic is not None else Records.runs(records)
        if len(runs) == 1:
            return self._one(records, batch)
        runs_converted: list[Converted] = []
        for run in runs:
            runs_converted.append(self._one(run, Records.of(run, owned=False)))
            if runs_converted[-1].failure is not None:
                records = [record for run_converted in runs_converted for record in run_converted.given]
                break
        messages = [message for run_converted in runs_converted for message in run_converted.messages]
        topics = {topic for run_converted in runs_converted for topic in run_converted.topics}
        origins = [origin for run_converted in runs_converted for origin in run_converted.origins]
        return Converted(messages, topics, records, records, origins, runs_converted[-1].failure)

    def _one(self, records: Sequence[SourceRecord], batch: Batch | None) -> Converted:
        origins, remaining, cut = records, records, Cut()
        if self._steps:
            copies = [record.copy() for record in records] if batch is None else batch
            results = self._steps.run(copies, records, self._errors, cut)
            batch = results if isinstance(results, Batch) else None
            if not isinstance(results, Batch):
                records = records[: len(results)]
                origins, remaining = _kept(records, results)
        if batch is not None:
            at_once = self._chain.at_once(batch)
            if at_once is not None:
                return Converted(at_once, frozenset(self._chain.topics), records, records, records)
            remaining = batch.records() if self._steps else records
        converted = self._chain.apply(remaining, origins, cut)
        if len(converted) < len(remaining):
            failed = origins[len(converted)]
            records = records[: next(at for at, record in enumerate(records) if record is failed)]
        origins, messages = _kept(origins, converted)
        return Converted(messages, frozenset(self._chain.topics), records, records, origins, cut.error)


def _kept(origins: Sequence[Any], results: list[T | None]) -> tuple[Sequence[Any], list[T]]:
    remaining = [result for result in results if result is not None]
    if len(remaining) == len(results):
        return origins, remaining
    return [origin for origin, result in zip(origins, results) if result is not None], remaining
