"""
The transforms of one task in their order, each with its predicate (KIP-585), compiled once into a function over a batch.

Built by `units/transforms.py`, and run by the loops of tasks and by `kconnect preview`. A transform knows nothing of its
predicate. A dropped record leaves a None in its place, so that the lists of input and output records stay aligned. Read next:
`batch.py`, `errors.py` for a record on which a step failed, `chain.py` for the conversion before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.core.task.answers import kind_of
from kconnect.core.task.batch import Batch, Records
from kconnect.core.task.errors import Component, Cut, Errors, Stage, strict
from kconnect.errors import DataError

_TOPICS = 1000
BatchForm = Callable[[list[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Step:
    """
    `test` None: for every record; `negate`: for those of which `test` is not true. `apply` gives None to drop.
    `apply_all`, if the transform offers it, does the same for a list at once. `class_name` is the transform's, for reports.
    `apply_batch` changes a whole `batch.py` at once; for one that it does not take it gives None, or raises what it likes.
    `test_batch` is the one outcome of `test` for a batch, None if there may be several. A `foreign` one is not in the box: what
    it gives is looked at, and what it is given is its own.
    """

    alias: str
    apply: Callable[[Any], Any]
    test: Callable[[Any], bool] | None = None
    negate: bool = False
    class_name: str = ""
    apply_all: BatchForm | None = None
    apply_batch: Callable[[Any], Any] | None = None
    test_batch: Callable[[Batch], bool | None] | None = None
    foreign: bool = False

    def takes(self, record: Any) -> bool:
        return self.test is None or bool(self.test(record)) is not self.negate

    def one(self, record: Any) -> Any:
        return self.apply(record) if self.takes(record) else record


def by_topic(test: Callable[[Any], bool]) -> tuple[Callable[[Any], bool], Callable[[Batch], bool | None]]:
    """
    `test`, which looks at nothing but a record's topic, asked once for each: tasks see few, and many records of each. And the
    same for batches.
    """
    answers: dict[Any, bool] = {}

    def remembered(record: Any) -> bool:
        topic = record.topic
        answer = answers.get(topic)
        if answer is None:
            if len(answers) >= _TOPICS:
                answers.clear()
            answer = answers[topic] = bool(test(record))
        return answer

    def of_batch(batch: Batch) -> bool | None:
        if batch.topic is None:
            return None
        answer = answers.get(batch.topic)
        return remembered(batch.sample()) if answer is None else answer

    return remembered, of_batch


class Steps:
    """`apply` takes a list and gives as many records, None for each that was dropped."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)
        self._stages = [(step, _stage(step)) for step in steps]

    def __bool__(self) -> bool:
        return bool(self.steps)

    def apply(self, records: Sequence[Any], origins: Sequence[Any] | None = None, errors: Errors | None = None) -> list[Any]:
        """
        `origins` are the records as they came in, for reports. ConnectError, naming step and record, for the first failure
        that `errors` does not tolerate; without it, that is the very first.
        """
        results = self.run(list(records), records if origins is None else origins, errors or strict())
        return results.records() if isinstance(results, Batch) else results

    def run(
        self, given: list[Any] | Batch, origins: Sequence[Any], errors: Errors, cut: Cut | None = None
    ) -> list[Any] | Batch:
        """
        The same for records that nobody else holds, or a batch of all; a batch comes out if the last step left one. With
        `cut`, nothing is raised: what comes out ends before the first record that may not fail.
        """
        batch, current = (given, []) if isinstance(given, Batch) else (None, given)
        for step, stage in self._stages:
            if batch is None and step.apply_batch is not None:
                batch = Records.of(current, owned=True)
            if batch is not None:
                changed = _in_columns(step, batch)
                if changed is not None:
                    batch = changed
                    continue
                current, batch = batch.records(), None
            results: list[Any] = []
            if step.apply_all is not None:
                results = _at_once(step, step.apply_all, current)
            while len(results) < len(current):
                try:
                    stage(current[len(results) :] if results else current, results)
                except Exception as error:  # noqa: BLE001 - a plugin's own
                    failed, origin = current[len(results)], origins[len(results)]
                    component = Component(f"the transform {step.alias}", step.class_name)
                    again = partial(step.one, failed)
                    try:
                        results.append(errors.handle(Stage.TRANSFORMATION, component, origin, error, again))
                    except Exception as final:
                        if cut is None:
                            raise
                        # Those before it have steps to go, in which one of them may fail: then that one is the first.
                        cut.error = final
                        current, origins = current[: len(results)], origins[: len(results)]
            kind = next((_kind(record) for record in current if record is not None), SourceRecord)
            current = results
            if step.foreign:
                self._require_records(step, current, kind, origins, errors, cut)
        if batch is None:
            return current
        return batch if len(batch) == len(origins) else batch.records()

    @staticmethod
    def _require_records(
        step: Step, results: list[Any], record: type[Any], origins: Sequence[Any], errors: Errors, cut: Cut | None
    ) -> None:
        """See to it that a transform gave records and Nones: with anything else, that record has failed."""
        allowed = (record, type(None))
        if all(issubclass(kind, allowed) for kind in set(map(type, results))):
            return
        component = Component(f"the transform {step.alias}", step.class_name)
        for at, result in enumerate(results):
            if isinstance(result, allowed):
                continue
            name = step.class_name or step.alias
            error = DataError(f"{name}.apply() returned {kind_of(result)}, but must return a record, or None to drop it")
            try:
                results[at] = errors.handle(Stage.TRANSFORMATION, component, origins[at], error)
            except Exception as final:
                if cut is None:
                    raise
                cut.error = final
                del results[at:]
                return


def _kind(record: Any) -> type[Any]:
    return SinkRecord if isinstance(record, SinkRecord) else SourceRecord


def _in_columns(step: Step, batch: Batch) -> Batch | None:
    """The batch after `step`; None if it must go record by record."""
    try:
        if step.test is not None:
            outcome = None if step.test_batch is None else step.test_batch(batch)
            if not isinstance(outcome, bool):
                return None
            if outcome is step.negate:
                return batch
        if step.apply_batch is None:
            return None
        if not step.foreign:
            return cast(Batch, step.apply_batch(batch))
        changed = step.apply_batch(batch.apart())
        return changed if _is_whole(changed, batch) else None
    except Exception:  # noqa: BLE001 - whatever it is, one record is the reason, and will be found alone
        return None


def _is_whole(changed: Any, before: Batch) -> bool:
    """Whether what a plugin gave for a batch is one of the same records."""
    return (
        type(changed) is type(before)
        and len(changed) == len(changed.key) == len(changed.value) == len(before)
        and isinstance(changed.topic, str | None)
    )


def _at_once(step: Step, apply_all: BatchForm, records: list[Any]) -> list[Any]:
    """Return the result of the batch form; an empty list if it fails, so that the records are taken one by one."""
    try:
        places = [place for place, record in enumerate(records) if record is not None and step.takes(record)]
        if len(places) == len(records):
            results = list(apply_all(list(records)))
            return results if len(results) == len(records) else []
        merged = list(records)
        results = list(apply_all([records[place] for place in places])) if places else []
        if len(results) != len(places):
            return []
        for place, result in zip(places, results):
            merged[place] = result
    except Exception:  # noqa: BLE001 - the record that it failed on will raise again, alone
        return []
    return merged


def _stage(step: Step) -> Callable[[list[Any], list[Any]], None]:
    """Appends one result a record to `done`; how many are there tells which record it failed on."""
    apply, test, expected = step.apply, step.test, not step.negate

    def all_records(records: list[Any], done: list[Any]) -> None:
        append = done.append
        for record in records:
            append(None if record is None else apply(record))

    def some_records(records: list[Any], done: list[Any]) -> None:
        append = done.append
        for record in records:
            append(record if record is None or bool(test(record)) is not expected else apply(record))  # type: ignore[misc]

    return all_records if test is None else some_records
