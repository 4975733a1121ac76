"""
DatagenSourceTask: turns a generator's values into records, at the rate that is asked for.

Values are made for a block of records at a time, by dice of their own, so that after a restart a task goes on with the next
record of its series. The offset of a record says how many were made up to it. What is made: `generators.py`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from typing import Any

import kconnect
from kconnect.api import SourceRecord, SourceTask
from kconnect.connectors.datagen import settings, weights
from kconnect.connectors.datagen.generators import Block
from kconnect.connectors.libraries import Informed

_BLOCK = 1000
_FRESH_S = 1.0
"""Values that are times are made anew if a record waits for its turn for longer."""
_LONGEST_WAIT_S, _SHORTEST_WAIT_S = 0.5, 0.01


class DatagenSourceTask(Informed, SourceTask):
    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._block: Sequence[Any] = ()
        self._times: Sequence[int] = ()
        self._first = -1
        """The number of the block's first record."""
        self._made_at = 0.0

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        config = settings.CONFIG.parse(props)
        self._topic: str = config[settings.TOPIC]
        self._iterations: int = config[settings.ITERATIONS]
        task = int(props.get(settings.TASK_ID, 0))
        self._partition = {settings.TASK_ID: task}
        stored = self.context.offsets.offset(self._partition) or {}
        self._next: int = stored.get(settings.ITERATION, 0)
        seed = config[settings.SEED]
        self._own_seed: int = seed if seed is not None else stored.get(settings.SEED, time.time_ns())
        # Faker's pools are the same for all tasks, as those of one shop's customers are.
        self._generator = settings.read(config, str(self._own_seed), self.worker)
        # Of records that are large, fewer are made at once.
        self._size = max(1, min(_BLOCK, weights.AT_ONCE // self._generator.weight))
        self._dice = f"{self._own_seed} {task}"
        key = settings.key_field(config)
        self._key = self._generator.schema.field(key) if key else None
        self._start_of_time = settings.start_of_time(config)
        self._step: int = config[settings.TIME_STEP]
        self._pace = _Pace(config[settings.RATE], config[settings.MAX_INTERVAL], self._own_seed)

    def stop(self) -> None:
        self._stopped.set()

    def poll(self) -> list[SourceRecord] | None:
        if 0 <= self._iterations <= self._next:
            self._stopped.wait(_LONGEST_WAIT_S)
            return None
        at = self._next % self._size
        most = self._size - at if self._iterations < 0 else min(self._size - at, self._iterations - self._next)
        now = time.monotonic()
        count, pause = self._pace.due(now, most)
        if not count:
            self._stopped.wait(min(max(pause, _SHORTEST_WAIT_S), _LONGEST_WAIT_S))
            return None
        if self._first != self._next - at or (now - self._made_at > _FRESH_S and self._generator.has_times):
            self._make(self._next - at, now)
        return self._records(at, count)

    def _make(self, first: int, now: float) -> None:
        places = range(first, first + self._size)
        start, step = self._start_of_time, self._step
        if start is None:
            self._times = [int(time.time() * 1000)] * self._size
        else:
            self._times = [start + step * place for place in places]
        self._block = self._generator.column(Block(f"{self._dice} {first}", places, self._times))
        self._first, self._made_at = first, now

    def _records(self, at: int, count: int) -> list[SourceRecord]:
        key, schema = self._key, self._generator.schema
        first = SourceRecord(self._partition, None, self._topic, None, None if key is None else key.schema, None, schema)
        records = [first.copy() for _ in range(count)]
        iteration, seed = self._next, self._own_seed
        for record, value, moment in zip(records, self._block[at : at + count], self._times[at : at + count]):
            iteration += 1
            record.value, record.timestamp = value, moment
            record.source_offset = {settings.ITERATION: iteration, settings.SEED: seed}
        if key is not None:
            for record in records:
                record.key = record.value[key.name]
        if self._start_of_time is None and not self._generator.has_times:
            moment = int(time.time() * 1000)
            for record in records:
                record.timestamp = moment
        self._next = iteration
        return records


class _Pace:
    """When records are due: so many a second, or after random pauses, or at any time."""

    def __init__(self, rate: float | None, max_interval_ms: int, seed: int) -> None:
        self._pause_s = 0.0 if not rate else 1 / rate
        self._longest_s = 0.0 if rate is not None else max_interval_ms / 1000
        self._dice = random.Random(seed)
        self._due_at: float | None = None

    def due(self, now: float, most: int) -> tuple[int, float]:
        """Return how many records are due, at most `most`; with none, the seconds until there is one."""
        if not self._pause_s and not self._longest_s:
            return most, 0.0
        if self._due_at is None or now - self._due_at > 1:
            # What was not taken for a second, while the topic could not be written or the connector was paused, is not made up
            # for.
            self._due_at = now + (self._pause_s or self._longest_s * self._dice.random())
        count = 0
        while count < most and self._due_at <= now:
            count += 1
            self._due_at += self._pause_s or self._longest_s * self._dice.random()
        return count, self._due_at - now
