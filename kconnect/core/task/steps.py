"""
The transforms of one task in their order, each with its predicate (KIP-585), compiled once into a function over a batch.

Built by `worker/transforms.py` for `SourceChain` and `SinkChain`. A transform knows nothing of its predicate, and whoever
drops a record leaves a None in its place, so that what came in and what goes out stay side by side. Read next: `chain.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.errors import ConnectError

Records = list[Any]


@dataclass(frozen=True)
class Step:
    """`test` None: for every record; `negate`: for those of which `test` is not true. `apply` gives None to drop."""

    alias: str
    apply: Callable[[Any], Any]
    test: Callable[[Any], bool] | None = None
    negate: bool = False


class Steps:
    """`apply` takes a list and gives as many records, None for each that was dropped."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._stages = [(step.alias, _stage(step)) for step in steps]

    def __bool__(self) -> bool:
        return bool(self._stages)

    def apply(self, records: Sequence[Any]) -> Records:
        """ConnectError, naming the transform and the record, for the first that a step failed on."""
        current = list(records)
        for alias, stage in self._stages:
            done: Records = []
            try:
                stage(current, done)
            except Exception as error:
                failed = current[len(done)]
                raise ConnectError(
                    f"Tolerance exceeded in error handler: the transform {alias} failed ({failed!r}): {error}"
                ) from error
            current = done
        return current


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
