"""
The worker's part in a history of sink tasks: partitions of records in memory, tasks that read them, and what becomes of those.

The tasks run by `SinkRunner`, whose `put` and commits are the worker's own pump. Here is decided who has which partition, and
what is delivered again: after a kill what was not committed, after a RetriableError the same batch. Used by the sinks' tests.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kconnect.api import ConnectError, RetriableError, SinkRecord, TopicPartition
from kconnect.testing import SinkRunner

_TRIES = 30


class KilledError(BaseException):
    """The process of a task has ended in the middle of a call."""


class Engine:
    """
    `tasks` are runners that `start` makes, by their number; partitions are divided among them. `reported` is what all of them
    have told of bad records, by place.
    """

    def __init__(self, start: Callable[[int], SinkRunner], places: Iterable[TopicPartition], tasks: int = 1) -> None:
        self._start = start
        self.places = list(places)
        self.log: dict[TopicPartition, list[SinkRecord]] = {place: [] for place in self.places}
        self.position = dict.fromkeys(self.places, 0)
        self.committed = dict.fromkeys(self.places, 0)
        self.owner = {place: at % tasks for at, place in enumerate(self.places)}
        self.reported: dict[tuple[TopicPartition, int], str] = {}
        self.again: set[tuple[TopicPartition, int]] = set()
        """What was delivered more than once."""
        self.tries = _TRIES
        """How often a put may give way."""
        self.failures: list[str] = []
        """Why tasks have failed; each was started again then, as by a user."""
        self.tasks = [start(number).start() for number in range(tasks)]
        self._zombies: list[tuple[SinkRunner, dict[TopicPartition, int]]] = []
        for number in range(tasks):
            self._open(number)

    def produce(self, make: Callable[[TopicPartition, int], SinkRecord], place: TopicPartition) -> None:
        self.log[place].append(make(place, len(self.log[place])))
        for runner in [*self.tasks, *(runner for runner, _ in self._zombies)]:
            self._tell_ends(runner)

    def _tell_ends(self, runner: SinkRunner) -> None:
        """Whoever has written a partition: its end is the broker's."""
        runner.end_offsets.update((place, len(records)) for place, records in self.log.items())

    def _own(self, number: int) -> list[TopicPartition]:
        return [place for place in self.places if self.owner[place] == number]

    def _open(self, number: int, *places: TopicPartition) -> None:
        runner = self.tasks[number]
        self._tell_ends(runner)
        places = places or tuple(self._own(number))
        for place in places:
            self._go_to(place, self.committed[place])
        runner.rewinds.clear()
        if places:
            runner.open(*places)
        self._begin(runner)

    def _begin(self, runner: SinkRunner) -> None:
        for place, offset in runner.rewinds.items():
            # The target has its own offsets, which go before the group's.
            self.committed[place] = max(offset, self.committed[place])
        self._rewind(runner)

    def _rewind(self, runner: SinkRunner) -> None:
        for place, offset in list(runner.rewinds.items()):
            self._go_to(place, offset)
        runner.rewinds.clear()

    def _go_to(self, place: TopicPartition, offset: int) -> None:
        self.again |= {(place, at) for at in range(offset, self.position[place])}
        self.position[place] = offset

    def _gather(self) -> None:
        for runner in [*self.tasks, *(runner for runner, _ in self._zombies)]:
            for record, error in runner.reported:
                place = TopicPartition(record.original_topic, record.original_partition)
                self.reported.setdefault((place, record.original_offset), str(error))

    def put(self, number: int, most: int = 500) -> None:
        """Have a task take what there is of its partitions, at most so much of each."""
        batch = [
            record
            for place in self._own(number)
            for record in self.log[place][self.position[place] : self.position[place] + most]
        ]
        self._put(number, batch)

    def _put(self, number: int, batch: list[SinkRecord]) -> None:
        runner = self.tasks[number]
        for _ in range(self.tries):
            try:
                runner.put(batch)
            except RetriableError:
                if runner.rewinds:
                    # The target was away when it was opened: the worker goes where the task asks, before the put is made again.
                    self._begin(runner)
                    return
                continue
            except KilledError:
                self.kill(number)
                return
            except ConnectError as error:
                self.failures.append(str(error))
                # A part of it may have been taken.
                self.again |= {
                    (TopicPartition(each.original_topic, each.original_partition), each.original_offset) for each in batch
                }
                self._gather()
                self.restart(number)
                return
            for record in batch:
                place = TopicPartition(record.original_topic, record.original_partition)
                self.position[place] = max(self.position[place], record.original_offset + 1)
            self._rewind(runner)
            self._gather()
            return
        raise AssertionError(f"a put was tried {self.tries} times")

    def put_through(self, number: int, tries: int, mend: Callable[[], None]) -> None:
        """As `put`, in a trouble that ends once the task has given way so often, or with the put."""
        runner, count = self.tasks[number], itertools.count(1)
        put = runner.put

        def tried(batch: list[SinkRecord]) -> None:
            try:
                put(batch)
            except RetriableError:
                # It may have given way for something else before, such as a connection of an earlier trouble.
                if next(count) >= tries:
                    mend()
                raise

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runner, "put", tried)
            self.put(number)
        mend()

    def commit(self, number: int) -> None:
        runner = self.tasks[number]
        try:
            runner.flush()
        except KilledError:
            self.kill(number)
            return
        except Exception:  # noqa: BLE001 - the worker goes back
            for place in self._own(number):
                self._go_to(place, self.committed[place])
        self._note(runner)
        self._rewind(runner)

    def _note(self, runner: SinkRunner) -> None:
        for place, offset in runner.committed.items():
            if self.tasks[self.owner[place]] is runner:
                assert offset <= len(self.log[place]), f"{place}: {offset} is committed"
                # The runner remembers what it committed before the partition was another task's.
                self.committed[place] = max(offset, self.committed[place])

    def kill(self, number: int) -> None:
        """The task's object is forgotten; a new one begins at what is committed."""
        self._gather()
        self.tasks[number].restart(crash=True)
        gc.collect()
        self._open(number)

    def go_back(self, number: int) -> None:
        """The task that runs gets again what is not committed, as after a commit that it could not make."""
        for place in self._own(number):
            self._go_to(place, self.committed[place])

    def restart(self, number: int) -> None:
        """In order, as a user does: a last commit, `close`, `stop`."""
        runner = self.tasks[number]
        runner.stop()
        self._note(runner)
        runner.start()
        self._open(number)

    def move(self, place: TopicPartition, number: int) -> None:
        """A rebalance gives a partition to another task."""
        before = self.owner[place]
        if before == number:
            return
        self.tasks[before].close(place)
        self._note(self.tasks[before])
        self.owner[place] = number
        self._open(number, place)

    def abandon(self, number: int) -> None:
        """The task is given up for dead, though it lives: another one begins at what is committed."""
        self._zombies.append((self.tasks[number], {place: self.position[place] for place in self._own(number)}))
        self.tasks[number] = self._start(number).start()
        self._open(number)

    def stir(self) -> None:
        """What was given up for dead takes what it would have read next."""
        for runner, positions in self._zombies:
            batch = [record for place, at in positions.items() for record in self.log[place][at : at + 20]]
            if batch:
                try:
                    runner.put(batch)
                except (ConnectError, RetriableError):
                    continue
                for record in batch:
                    positions[TopicPartition(record.original_topic, record.original_partition)] = record.original_offset + 1
                self._gather()

    def finish(self, committed: bool = False) -> None:
        """Have all of it written, and with `committed` say so of all."""
        for _ in range(_TRIES):
            for number in range(len(self.tasks)):
                self.put(number)
                self.commit(number)
            ends = {place: len(self.log[place]) for place in self.places}
            if self.position == ends and (not committed or self.committed == ends):
                break
        else:
            raise AssertionError(f"the tasks do not get on: {self.failures[-1:]}")
        self._gather()

    def close(self) -> None:
        for runner in [*self.tasks, *(runner for runner, _ in self._zombies)]:
            runner.stop()

    def records(self) -> list[SinkRecord]:
        """In the order of each partition."""
        return [record for place in self.places for record in self.log[place]]

    def is_reported(self, record: SinkRecord) -> bool:
        return (TopicPartition(record.original_topic, record.original_partition), record.original_offset) in self.reported


Step = tuple[Any, ...]
