"""
What the connectors in the box share: how a config is checked, how long a system that is away is tried, how a source lets go of
what it holds, bad records, times.

Each connector derives from `Checked` and says in `problems` what is wrong with its config. Read next: `sql/connector.py`.
"""

from __future__ import annotations

import datetime
import decimal
import threading
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import kconnect
from kconnect.api import (
    Config,
    ConfigError,
    ConfigValue,
    ConnectError,
    Connector,
    DataError,
    ExactlyOnceSupport,
    RetriableError,
    SinkConnector,
    SinkRecord,
    SourceConnector,
    SourceRecord,
    SourceTask,
    TopicPartition,
    values,
)

MISFITS: tuple[type[Exception], ...] = (DataError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""
What is raised for a value that does not fit where it goes, or is nested too deeply; anything else is a mistake of ours, or
trouble of the machine.
"""


_STOP_S = 1.0
_MOST_DIGITS = 1000


class Checked(Connector):
    """A connector that takes nothing when it starts, and looks at a config as a whole once its single values are right."""

    instead: Mapping[str, str] = {}
    """
    Settings of another connector for the same system that would change what is written or read, and what does so here. Who sets
    one of them, other than to false or nothing, is told. Those that change nothing are ignored.
    """

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Do nothing: the connector holds nothing."""

    def validate(self, props: dict[str, str]) -> Config:
        config = super().validate(props)
        config.values += [
            ConfigValue(name, props[name], errors=[f"{name} is not understood: {text}."])
            for name, text in self.instead.items()
            if props.get(name, "").strip().lower() not in ("", "false")
        ]
        by_name = {value.name: value for value in config.values}
        if not any(value.errors for value in config.values):
            for name, text in self.problems({name: value.value for name, value in by_name.items()}, props):
                by_name[name].errors.append(text)
        return config

    @abstractmethod
    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return what is wrong with a parsed config, beyond single values: settings, each with a sentence."""


class CheckedSink(Checked, SinkConnector):
    """All tasks have one config: Kafka divides the partitions among them. Offsets may be altered as anybody likes."""

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._props) for _ in range(max_tasks)]

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True


class CheckedSource(Checked, SourceConnector):
    """A source that supports exactly-once, and takes altered offsets of the right form."""

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        for partition, offset in offsets:
            # A reset is taken whatever the partition is: what should never have been stored must be possible to remove.
            if offset is not None:
                self.check_offset(partition, offset)
        return True

    @abstractmethod
    def check_offset(self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
        """Raise ConnectError if a source partition and its offset do not have the right form."""


class Polling(SourceTask):
    """A source's task that holds connections or files: whoever polls last lets go of them, and not `stop` in the middle."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._lock = threading.Lock()

    def version(self) -> str:
        return kconnect.__version__

    @abstractmethod
    def read(self) -> list[SourceRecord] | None:
        """Return records as `poll` does. Only called while the task is not stopped."""

    def interrupt(self) -> None:
        """End what `read` waits for. Called from the thread that stops the task, while `read` may run or not."""

    @abstractmethod
    def release(self) -> None:
        """Let go of what is held; it may be nothing."""

    def poll(self) -> list[SourceRecord] | None:
        with self._lock:
            try:
                return None if self.stopped.is_set() else self.read()
            finally:
                if self.stopped.is_set():
                    self.release()

    def stop(self) -> None:
        self.stopped.set()
        self.interrupt()
        # A poll that runs does it when it is over.
        if self._lock.acquire(timeout=_STOP_S):
            try:
                self.release()
            finally:
                self._lock.release()


class Patience:
    """The number of times in a row that something is tried again (-1: any number), as `setting` says, and the pause between."""

    def __init__(self, setting: str, retries: int, pause_ms: float) -> None:
        self._setting, self._retries, self._pause_ms = setting, retries, pause_ms
        self._failures, self._since = 0, 0.0

    @property
    def failures(self) -> int:
        """How many times in a row it has failed."""
        return self._failures

    def succeeded(self) -> None:
        self._failures = 0

    def failed(self, text: str, at_least_ms: float = 0.0) -> tuple[RetriableError, int]:
        """Return the error to raise, and the pause, in ms. Raise ConnectError if there were too many tries."""
        now = time.time()
        self._failures += 1
        self._since = now if self._failures == 1 else self._since
        if 0 <= self._retries < self._failures:
            raise ConnectError(f"{text}. It has been so for {now - self._since:.0f} s, and {self._setting} is {self._retries}.")
        return RetriableError(text), round(max(self._pause_ms, at_least_ms))


def place_of(record: SinkRecord) -> TopicPartition:
    """Return where the record is in Kafka, whatever transforms have made of that."""
    return TopicPartition(record.original_topic, record.original_partition)


def bad_record(record: SinkRecord, error: Exception, remedy: str = "A dead letter queue would take it.") -> ConnectError:
    """Return the error that fails a task which may not report a record."""
    where = f"The record at offset {record.original_offset} of {record.original_topic}-{record.original_partition}"
    return ConnectError(f"{where} can't be written: {error}. {remedy}")


def point_in_time(text: str, zone: datetime.tzinfo = datetime.timezone.utc) -> datetime.datetime:
    """Parse a text in ISO 8601; `zone` is used if it names none. Raise ValueError if it is none."""
    # Python 3.10 does not read a Z.
    moment = datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def integer(value: Any) -> int:
    """
    Return what `int` makes of a value. Raise ValueError, as that does, for what is none, and also for a decimal that no integer
    of ours is near: of the twelve characters of 1E+999999999 Python makes a billion digits, and all else waits for it.
    """
    if isinstance(value, decimal.Decimal) and not (value.is_finite() and value.adjusted() <= _MOST_DIGITS):
        raise ValueError(f"{value} is no integer, or too large")
    return int(value)


def milliseconds(value: Any) -> int:
    """
    Return the milliseconds since 1970 of a date, a number of them, or a text in ISO 8601. Raise DataError for anything else.
    """
    if isinstance(value, datetime.datetime):
        return values.milliseconds_of(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        return round(point_in_time(value).timestamp() * 1000)
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise DataError("it is neither a time, nor a number, nor a text in ISO 8601") from None


def is_zone(name: str, value: Any) -> None:
    """A validator of settings."""
    try:
        ZoneInfo(value or "")
    except (KeyError, ValueError, OSError):
        raise ConfigError(name, value, "There is no such time zone; names are such as UTC or Europe/Berlin") from None
