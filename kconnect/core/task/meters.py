"""
What one task counts: plain numbers, which the task's thread updates once a batch and a thread of its host reads.

The pumps of `core/task` count with a `SourceMeter` or a `SinkMeter`, which `units/source_task.py` and `units/sink_task.py`
make. The keys of `values` are the attributes of `core/metrics/table.py`. `now` is in seconds of any steady clock. It is always
the same clock, and `clock` reads it too: in `core/task`, only meters measure how long something takes. An unknown number, such
as the average of nothing, is None. Read next: `core/metrics/report.py`, for how the numbers get to the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from kconnect.core.task.errors import Counts
from kconnect.core.task.lifecycle import Phase
from kconnect.core.task.numbers import Numbers
from kconnect.core.task.windows import Sampled, Windows

Values = dict[str, "float | None"]


class Times:
    """The time that a unit has spent in each phase."""

    def __init__(self, now: float) -> None:
        self._began = self._since = now
        self._phase = Phase.NEW
        self._spent: dict[Phase, float] = {}

    def enter(self, phase: Phase, now: float) -> None:
        self._spent[self._phase] = self._spent.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def ratio(self, phases: Collection[Phase], now: float) -> float:
        spent = sum(self._spent.get(phase, 0.0) for phase in phases)
        if self._phase in phases:
            spent += now - self._since
        return spent / (now - self._began) if now > self._began else 0.0

    def values(self, now: float) -> Values:
        # Two digits, or an idle task would have news for ever.
        return {
            "running-ratio": round(self.ratio((Phase.RUNNING,), now), 2),
            "pause-ratio": round(self.ratio((Phase.PAUSED, Phase.HELD), now), 2),
        }


@dataclass
class About:
    """The classes and versions of a unit's parts, by the texts of `table.py`; an empty text is not known."""

    texts: dict[str, str] = field(default_factory=dict)
    transforms: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Class and version by alias; so are `predicates`."""
    predicates: dict[str, tuple[str, str]] = field(default_factory=dict)


class TaskMeter:
    """The counts that both kinds of tasks have. Times that are passed are those of `clock`."""

    def __init__(self, windows: Windows, errors: Counts, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._errors = errors
        self._batches = Sampled(windows)
        self._commits_ms = Sampled(windows)
        self._outcomes = Sampled(windows)
        self._progress_at: float | None = None
        self._bytes = 0
        self._told: dict[str, tuple[float, float]] = {}
        """Times by what they are of: by `now`, and by the time of day."""

    def committed(self, began: float) -> None:
        """A commit of offsets that began then has succeeded."""
        now = self.clock()
        self._commits_ms.record((now - began) * 1000, now)
        self._outcomes.record(1.0, now)

    def commit_failed(self) -> None:
        self._outcomes.record(0.0, self.clock())

    def values(self, now: float, wall: float) -> Values:
        """All that is known; `wall` is the time of day that `now` is, in seconds since 1970."""
        success, errors = self._outcomes.average(now), self._errors
        retrying = errors.retrying
        return {
            "value-bytes-total": self._bytes,
            "batch-size-max": self._batches.highest(now),
            "batch-size-avg": _rounded(self._batches.average(now)),
            "offset-commit-max-time-ms": _rounded(self._commits_ms.highest(now)),
            "offset-commit-avg-time-ms": _rounded(self._commits_ms.average(now)),
            "offset-commit-success-percentage": _rounded(success),
            "offset-commit-failure-percentage": None if success is None else _rounded(1 - success),
            "last-progress-timestamp-seconds": self._at("progress", self._progress_at, now, wall),
            "total-record-failures": errors.failures,
            "total-record-errors": errors.errors,
            "total-records-skipped": errors.skipped,
            "total-records-superseded": errors.superseded,
            "total-retries": errors.retries,
            "total-errors-logged": errors.logged,
            "deadletterqueue-produce-requests": errors.dead_letters,
            "deadletterqueue-produce-failures": errors.dead_letters_failed,
            "last-error-timestamp": errors.last_ms,
            "retrying-since-timestamp-seconds": self._at("retrying", retrying and retrying[0], now, wall) or 0,
        }

    @property
    def numbers(self) -> Numbers:
        return self._errors.numbers

    @property
    def retrying(self) -> str:
        """Why a call that the task makes again failed last; empty while there is none."""
        return "" if self._errors.retrying is None else self._errors.retrying[1]

    def _at(self, what: str, at: float | None, now: float, wall: float) -> float | None:
        if at is None:
            return None
        # Reckoned once: two clocks drift, and what has not changed must not look as if it had.
        if what not in self._told or self._told[what][0] != at:
            self._told[what] = (at, round(wall - (now - at), 3))
        return self._told[what][1]


class SourceMeter(TaskMeter):
    """`active()` says how many records wait for Kafka's acknowledgement; it is called from the host's thread as well."""

    def __init__(self, windows: Windows, errors: Counts, clock: Callable[[], float], active: Callable[[], int]) -> None:
        super().__init__(windows, errors, clock)
        self._active = active
        self._polls_ms, self._writes, self._actives = Sampled(windows), Sampled(windows), Sampled(windows)
        self._transactions = Sampled(windows)
        self._polled = self._sent = self._written = 0

    def polled(self, records: int, began: float) -> None:
        """A poll that began at `began` gave so many records, at least one."""
        now = self.clock()
        self._polled += records
        self._batches.record(records, now)
        self._polls_ms.record((now - began) * 1000, now)

    def sent(self, records: int, size: int) -> None:
        """Count records, of those polled last, that were handed to Kafka's client, and the bytes of their values."""
        now = self.clock()
        self._bytes += size
        self._sent += records
        self._writes.record(records, now)
        self._actives.record(self._active(), now)
        self._progress_at = now

    def transaction(self, records: int) -> None:
        """A transaction with so many records was committed."""
        self._transactions.record(records, self.clock())

    def values(self, now: float, wall: float) -> Values:
        sent, active = self._sent, self._active()
        # In the middle of a batch the client has more than was counted as sent; a counter must never fall.
        self._written = max(self._written, sent - active)
        return {
            **super().values(now, wall),
            "source-record-poll-total": self._polled,
            "source-record-poll-rate": _rounded(self._batches.rate(now)),
            "source-record-write-total": self._written,
            "source-record-write-rate": _rounded(self._writes.rate(now)),
            "poll-batch-max-time-ms": _rounded(self._polls_ms.highest(now)),
            "poll-batch-avg-time-ms": _rounded(self._polls_ms.average(now)),
            "source-record-active-count": active,
            "source-record-active-count-max": self._actives.highest(now),
            "source-record-active-count-avg": _rounded(self._actives.average(now)),
            "transaction-size-min": self._transactions.lowest(now),
            "transaction-size-max": self._transactions.highest(now),
            "transaction-size-avg": _rounded(self._transactions.average(now)),
        }


class SinkMeter(TaskMeter):
    def __init__(self, windows: Windows, errors: Counts, clock: Callable[[], float]) -> None:
        super().__init__(windows, errors, clock)
        self._sends, self._puts_ms = Sampled(windows), Sampled(windows)
        self._actives, self._skips = Sampled(windows), Sampled(windows)
        self._read = self._sent = self._begun = self._completed = self._skipped = 0
        self._active = self._partitions = 0
        self._lags: Collection[int] | None = None

    def read(self, records: int, size: int) -> None:
        """Count records that Kafka's client has given, and the bytes of their values."""
        self._read += records
        self._bytes += size
        self._batches.record(records, self.clock())

    def put(self, records: int, began: float) -> None:
        """The task has taken so many records, at least one, in a call that began at `began`."""
        now = self.clock()
        self._sent += records
        self._sends.record(records, now)
        self._puts_ms.record((now - began) * 1000, now)
        self._progress_at = now

    def commit_began(self) -> None:
        self._begun += 1

    def committed(self, began: float) -> None:
        super().committed(began)
        self._completed += 1

    def commits_skipped(self, commits: int) -> None:
        """Count commits that nobody will answer any more."""
        self._skipped += commits
        self._skips.record(commits, self.clock())

    def looked(self, partitions: int, lags: Collection[int] | None, active: int) -> None:
        """
        Now and then: how many partitions there are, what is still to come in each (None while that is not known), and how
        many records were read and are not committed.
        """
        self._partitions, self._lags, self._active = partitions, lags, active
        if active:
            self._actives.record(active, self.clock())

    def values(self, now: float, wall: float) -> Values:
        lags = self._lags
        return {
            **super().values(now, wall),
            "sink-record-read-total": self._read,
            "sink-record-read-rate": _rounded(self._batches.rate(now)),
            "sink-record-send-total": self._sent,
            "sink-record-send-rate": _rounded(self._sends.rate(now)),
            "sink-record-lag-max": None if lags is None else max(lags, default=0),
            "sink-record-lag": None if lags is None else sum(lags),
            "partition-count": self._partitions,
            "offset-commit-seq-no": self._begun,
            "offset-commit-completion-total": self._completed,
            "offset-commit-completion-rate": _rounded(self._outcomes.rate(now)),
            "offset-commit-skip-total": self._skipped,
            "offset-commit-skip-rate": _rounded(self._skips.rate(now)),
            "put-batch-max-time-ms": _rounded(self._puts_ms.highest(now)),
            "put-batch-avg-time-ms": _rounded(self._puts_ms.average(now)),
            "sink-record-active-count": self._active,
            "sink-record-active-count-max": self._actives.highest(now),
            "sink-record-active-count-avg": _rounded(self._actives.average(now)),
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
