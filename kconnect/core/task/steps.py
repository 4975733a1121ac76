"""
The transforms of one task in their order, each with its predicate (KIP-585), compiled once into a function over a batch.

Built by `units/transforms.py`, and run by the loops of tasks and by `kconnect preview`. A transform knows nothing of its
predicate. A dropped record leaves a None in its place, so that the lists of input and output records stay aligned. Read next:
`errors.py` for a record on which a step failed, `chain.py` for the conversion before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kconnect.core.task.columns import Column, ColumnForm, changed
from kconnect.core.task.errors import Component, Errors, Stage, strict

Records = list[Any]
_TOPICS = 1000
BatchForm = Callable[[Records], Sequence[Any]]


@dataclass(frozen=True)
class Step:
    """
    `test` None: for every record; `negate`: for those of which `test` is not true. `apply` gives None to drop.
    `apply_all`, if the transform offers it, does the same for a list at once. `class_name` is the transform's, for reports.
    `columns` is how a built-in transform changes a whole column of `part` at once (see `columns.py`). `of_topic`: the outcome
    of `test` is that of the record's topic.
    """

    alias: str
    apply: Callable[[Any], Any]
    test: Callable[[Any], bool] | None = None
    negate: bool = False
    class_name: str = ""
    apply_all: BatchForm | None = None
    columns: ColumnForm | None = None
    part: str = ""
    of_topic: bool = False

    def takes(self, record: Any) -> bool:
        return self.test is None or bool(self.test(record)) is not self.negate

    def one(self, record: Any) -> Any:
        return self.apply(record) if self.takes(record) else record


def by_topic(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """`test`, which looks at nothing but a record's topic, asked once for each: tasks see few, and many records of each."""
    known: dict[Any, bool] = {}

    def remembered(record: Any) -> bool:
        topic = record.topic
        found = known.get(topic)
        if found is None:
            if len(known) >= _TOPICS:
                known.clear()
            found = known[topic] = bool(test(record))
        return found

    return remembered


class Steps:
    """`apply` takes a list and gives as many records, None for each that was dropped."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)
        self._stages = [(step, _stage(step)) for step in steps]

    def __bool__(self) -> bool:
        return bool(self.steps)

    def apply(self, records: Sequence[Any], origins: Sequence[Any] | None = None, errors: Errors | None = None) -> Records:
        """
        `origins` are the records as they came in, for reports. ConnectError, naming step and record, for the first failure
        that `errors` does not tolerate; without it, that is the very first.
        """
        current = list(records)
        origins, errors = records if origins is None else origins, errors or strict()
        column: Column | None = None
        for step, stage in self._stages:
            if step.columns is not None:
                column = changed(column, step, current)
                if column is not None:
                    continue
            elif column is not None:
                column.write_back()
                column = None
            done: Records = []
            if step.apply_all is not None:
                done = _at_once(step, step.apply_all, current)
            while len(done) < len(current):
                try:
                    stage(current[len(done) :] if done else current, done)
                except Exception as error:  # noqa: BLE001 - a plugin's own
                    failed, origin = current[len(done)], origins[len(done)]
                    component = Component(f"the transform {step.alias}", step.class_name)
                    again = partial(step.one, failed)
                    done.append(errors.handle(Stage.TRANSFORMATION, component, origin, error, again))
            current = done
        if column is not None:
            column.write_back()
        return current


def _at_once(step: Step, apply_all: BatchForm, records: Records) -> Records:
    """What the batch form gives; nothing if it fails, so that the records are taken one by one."""
    try:
        taken = [place for place, record in enumerate(records) if record is not None and step.takes(record)]
        if len(taken) == len(records):
            results = list(apply_all(records))
            return results if len(results) == len(records) else []
        done = list(records)
        results = list(apply_all([records[place] for place in taken])) if taken else []
        if len(results) != len(taken):
            return []
        for place, result in zip(taken, results):
            done[place] = result
    except Exception:  # noqa: BLE001 - the record that it failed on will raise again, alone
        return []
    return done


def _stage(step: Step) -> Callable[[Records, Records], None]:
    """Appends one result a record to `done`; how many are there tells which record it failed on."""
    apply, test, wanted = step.apply, step.test, not step.negate

    def all_records(records: Records, done: Records) -> None:
        append = done.append
        for record in records:
            append(None if record is None else apply(record))

    def some_records(records: Records, done: Records) -> None:
        append = done.append
        for record in records:
            append(record if record is None or bool(test(record)) is not wanted else apply(record))  # type: ignore[misc]

    return all_records if test is None else some_records
