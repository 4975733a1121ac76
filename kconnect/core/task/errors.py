"""
What happens to a record on which a stage failed (KIP-298): it is tried again, it is dropped and reported, or the task fails.

The loops of `steps.py` and `chain.py` run over whole batches. When a stage raises an error, `Errors.handle` decides about that
one record, and the loop continues after it. `units/reports.py` decides where reports go. Held by the pumps and `delivery.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.numbers import Numbers
from kconnect.data.schema import Schema, validate
from kconnect.errors import ConnectError, RetriableError, UnrecoverableError, row_of

_FIRST_DELAY_S = 0.3


class Stage(enum.Enum):
    """Connect's names, as they stand in headers and logs."""

    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    TASK_PUT = "TASK_PUT"


class Component(NamedTuple):
    """The part of a task that failed: as a text, and by its class as Connect names it."""

    what: str
    class_name: str = ""


PRODUCER = Component("the producer", "org.apache.kafka.clients.producer.KafkaProducer")


@dataclass(frozen=True, slots=True)
class Failure:
    """
    `origin` is the record as it came in: of a sink the message that was consumed, of a source what the task gave.
    """

    stage: Stage
    component: Component
    origin: Any
    error: Exception
    attempts: int = 1


@dataclass
class Counts:
    """
    The counts for the metrics of one task: `failures` counts attempts, `errors` records. `units/reports.py` counts the last
    four.
    """

    failures: int = 0
    errors: int = 0
    skipped: int = 0
    retries: int = 0
    logged: int = 0
    dead_letters: int = 0
    dead_letters_failed: int = 0
    superseded: int = 0
    """Records that changed nothing, since the target has something newer."""
    last_ms: int = 0
    """When a record last failed for good, in milliseconds since 1970."""
    retrying: tuple[float, str] | None = None
    """Since when the task has been making the same call again, by the clock of whoever counts, and why it failed last."""

    numbers: Numbers = field(default_factory=Numbers, compare=False)
    """What the task tells of itself."""
    waits: bool = False
    """Whether `retrying` is only that something has not come yet: whoever knows why says so in its place."""

    def awaits(self, what: str, reason: str, now: float) -> None:
        """Note that the task waits for something that is late. `goes_on` ends that."""
        if self.retrying is None or self.waits:
            self.retrying = (now if self.retrying is None else self.retrying[0], f"{what}: {reason}")
            self.waits = True

    def has_come(self) -> None:
        """Note that what the task waited for has happened."""
        if self.waits:
            self.goes_on()

    def tries_again(self, what: str, error: BaseException, now: float) -> None:
        """The call `what` has failed, and is going to be made again; `goes_on` if that succeeds, or is given up."""
        try:
            reason = f"{what}: {type(error).__name__}: {error}"
        except Exception:  # noqa: BLE001 - the error is a plugin's class, too
            reason = f"{what}: {type(error).__name__}"
        self.retrying = (now if self.retrying is None else self.retrying[0], reason)
        self.waits = False

    def goes_on(self) -> None:
        self.retrying, self.waits = None, False


def error_class(error: BaseException) -> str:
    """The Java class that Connect would name for an error; Python's own for one that is no relative of Connect's."""
    kind = type(error)
    # Some of our own say it themselves.
    name: str | None = getattr(kind, "shown_as", None)
    if name is None and kind.__module__.startswith("kconnect."):
        name = row_of(kind).java
    return name or (kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}")


@dataclass
class Cut:
    """
    The failure that ends a batch early. Whoever is given one gets what comes before the record that failed, and `error` to
    raise once that is on its way (as Connect does, which takes records one by one).
    """

    error: Exception | None = None


class Errors:
    """
    `report` is called for every record that fails for good, also for the one that ends the task. `wait(seconds)` is False
    if the task is to stop meanwhile; `clock` gives seconds, and `spread(longest)` a random pause.
    """

    def __init__(
        self,
        settings: ErrorSettings,
        report: Callable[[Failure], None],
        wait: Callable[[float], bool],
        clock: Callable[[], float],
        spread: Callable[[float], float],
    ) -> None:
        self.settings = settings
        self.counts = Counts()
        self._report, self._wait, self._clock, self._spread = report, wait, clock, spread

    def handle(
        self, stage: Stage, component: Component, origin: Any, error: Exception, again: Callable[[], Any] | None = None
    ) -> Any:
        """
        Retry `again` if the error is retriable. Return its result if an attempt succeeds, else None: the record is dropped.

        Raises ConnectError if it may not be dropped, or if the task is stopped while it waits for the next attempt; and an
        UnrecoverableError as it is.
        """
        counts, attempts, began = self.counts, 1, self._clock()
        counts.failures += 1
        try:
            while again is not None and isinstance(error, RetriableError):
                counts.tries_again(component.what, error, began)
                if not self._pause(attempts, began):
                    break
                attempts += 1
                counts.retries += 1
                try:
                    return again()
                except Exception as newer:  # noqa: BLE001 - a plugin's own
                    error = newer
                    counts.failures += 1
        finally:
            if again is not None:  # Else this may be a report from within a call that is itself made again.
                counts.goes_on()
        if isinstance(error, UnrecoverableError):
            raise error
        counts.errors += 1
        failure = Failure(stage, component, origin, error, attempts)
        self._report(failure)
        if not self.settings.tolerant:
            where = f"{component.what} failed at {place_of(origin)}"
            raise ConnectError(f"Tolerance exceeded in error handler: {where}: {error}{_misfit(stage, origin)}") from error
        counts.skipped += 1
        return None

    def _pause(self, attempts: int, began: float) -> bool:
        """Wait before the next attempt; False if there is to be none."""
        settings, now = self.settings, self._clock()
        deadline = None if settings.retry_timeout_s is None else began + settings.retry_timeout_s
        if deadline is not None and now >= deadline:
            return False
        delay = _FIRST_DELAY_S * 2 ** min(attempts - 1, 30)
        if delay > settings.retry_delay_max_s:
            delay = self._spread(settings.retry_delay_max_s)
        if deadline is not None:
            delay = min(delay, deadline - now)
        if not self._wait(delay):
            raise ConnectError("Stopped while a record waited for its next attempt: the record comes again")
        return True


def strict() -> Errors:
    """Return a handler that raises the first failure as it is: no second attempt, nothing dropped, no report."""
    return Errors(ErrorSettings(), lambda failure: None, lambda seconds: True, lambda: 0.0, lambda longest: longest)


def _misfit(stage: Stage, origin: Any) -> str:
    """Return what a source's value is in Python, if that is why its converter has failed: converters name Java's classes."""
    if not isinstance(origin, SourceRecord) or stage not in (Stage.KEY_CONVERTER, Stage.VALUE_CONVERTER):
        return ""
    of_key = stage is Stage.KEY_CONVERTER
    schema, value = (origin.key_schema, origin.key) if of_key else (origin.value_schema, origin.value)
    if not isinstance(schema, Schema):
        return ""
    try:
        validate(schema, value)
    except Exception:  # noqa: BLE001 - the value is a plugin's own
        kind = type(value).__name__
        return f". The {'key' if of_key else 'value'}, of Python's class {kind}, does not fit its schema of {schema.type.name}"
    return ""


def place_of(origin: Any) -> str:
    """Return where a record came from, for statuses: never its content."""
    if isinstance(origin, SourceRecord):
        return f"a record for the topic {origin.topic} with the source offset {origin.source_offset}"
    if isinstance(origin, SinkRecord):
        return f"{origin.original_topic}-{origin.original_partition}@{origin.original_offset}"
    return f"{origin.topic()}-{origin.partition()}@{origin.offset()}"
