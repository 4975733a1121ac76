"""
Trials of a connector in the box: every record has a number, so that it can be asked which arrived, and how often.

    control         so many records are made, and all arrive, once
    crash           its hosts are killed while records come
    rebalance       it gets more tasks, and fewer, while records come
    away            the system's server ends while records come, and comes back: the task waits, with the reason
    full            there is no room for a while, and then there is: the task waits, with the reason
    schema change   records get a new field in the middle
    many            1,000,000 records

After each nothing is lost, and nothing is there twice where the connector promises that. `sinks.py` and `sources.py` say where
records are made and where they arrive.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until

LIMIT_S = 240.0


class System(ABC):
    """What a connector reads from, or writes to: one table, folder or index for each trial."""

    once = False
    """Whether each record arrives once, whatever happens; otherwise at least once."""
    multiple = 1
    """Records arrive only if their number is a multiple of this."""
    tasks = (3, 2, 1)
    """To how many tasks a trial with several changes it."""

    @abstractmethod
    def config(self, topic: str) -> Mapping[str, str]:
        """The connector's own settings."""

    @abstractmethod
    def end(self) -> None:
        """End the server."""

    @abstractmethod
    def begin(self) -> None:
        """Start it again, with what it had."""


class Trial(ABC):
    """One trial of a connector; `name` is that of the connector and of its topic."""

    def __init__(self, worker: WorkerProcess, bootstrap: str, name: str, system: System) -> None:
        self.worker, self.client, self.bootstrap, self.name, self.system = worker, worker.client, bootstrap, name, system
        self.made = 0
        """The number of the next record."""

    @abstractmethod
    def prepare(self) -> None:
        """Before the connector is made."""

    @abstractmethod
    def common(self) -> Mapping[str, str]:
        """The framework's settings."""

    @abstractmethod
    def write(self, count: int, more: str | None = None) -> None:
        """Records with the next numbers; with `more` they have a field of that name."""

    @abstractmethod
    def write_on(self, count: int) -> None:
        """As `write`, while the system is away, if that can be."""

    @abstractmethod
    def numbers(self) -> list[int]:
        """Those of all records that arrived."""

    @abstractmethod
    def more(self) -> int:
        """How many of them have the field `more`."""

    @contextmanager
    def running(self, tasks: int = 1, **more: str) -> Iterator[None]:
        self.prepare()
        self.configure(tasks, **more)
        try:
            self.client.wait_for(self.name, "RUNNING", tasks=tasks, timeout=LIMIT_S)
            yield
        finally:
            self.client.delete(self.name)

    def configure(self, tasks: int, **more: str) -> None:
        settings = {name.replace("_", "."): value for name, value in more.items()}
        own = self.system.config(self.name)
        self.client.put_config(self.name, {**self.common(), "tasks.max": str(tasks), **own, **settings})

    @contextmanager
    def traffic(self) -> Iterator[None]:
        """Records come all the time."""
        over = threading.Event()

        def feed() -> None:
            while not over.wait(0.05):
                self.write(20)

        thread = threading.Thread(target=feed)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def grows(self) -> None:
        """Until some more of what was written is there."""
        there = len(set(self.numbers()))
        wait_until(lambda: len(set(self.numbers())) > there, LIMIT_S)

    def arrived(self, but: int = 0, timeout: float = LIMIT_S) -> None:
        """Until all but so many are there. AssertionError also if one is there that was not written, or twice."""
        self.write(-self.made % self.system.multiple)
        wait_until(lambda: len(set(self.numbers())) >= self.made - but, timeout, "not all records arrived")
        found = Counter(self.numbers())
        assert not found.keys() - set(range(self.made)), "records that nobody wrote"
        assert len(found) == self.made - but
        if self.system.once:
            assert max(found.values()) == 1, f"{sum(count > 1 for count in found.values())} records are there more than once"

    def states(self) -> set[str]:
        return {task["state"] for task in self.client.status(self.name)["tasks"]}

    def waits_with_a_reason(self) -> bool:
        tasks = self.client.own().get(self.name, {}).get("tasks", [])
        return any(task["retrying"] and task["retrying"]["reason"] for task in tasks)


def control(trial: Trial) -> None:
    with trial.running():
        trial.write(2000)
        trial.arrived()


def crash(trial: Trial) -> None:
    with trial.running(tasks=trial.system.tasks[1]):
        with trial.traffic():
            for _ in range(2):
                trial.grows()
                for host in trial.worker.hosts():
                    host.kill()
            trial.grows()
        trial.arrived()


def rebalance(trial: Trial) -> None:
    with trial.running():
        with trial.traffic():
            for tasks in trial.system.tasks:
                trial.grows()
                trial.configure(tasks)
                trial.client.wait_for(trial.name, "RUNNING", tasks=tasks, timeout=LIMIT_S)
            trial.grows()
        trial.arrived()


def away(trial: Trial) -> None:
    with trial.running():
        trial.write(200)
        trial.arrived()
        trial.system.end()
        try:
            trial.write_on(200)
            wait_until(trial.waits_with_a_reason, LIMIT_S)
            trial.write_on(200)
        finally:
            trial.system.begin()
        trial.arrived()
        assert trial.states() == {"RUNNING"}


def full(trial: Trial, fill: Callable[[], None], clear: Callable[[], None], too_many: int = 20_000) -> None:
    """Of systems with a disk that can be filled, or with a quota."""
    with trial.running():
        trial.write(200)
        trial.arrived()
        fill()
        try:
            trial.write(too_many)
            wait_until(trial.waits_with_a_reason, LIMIT_S)
            trial.write(200)
        finally:
            clear()
        trial.arrived()
        assert trial.states() == {"RUNNING"}


def schema_change(trial: Trial) -> None:
    with trial.running():
        trial.write(300)
        trial.write(300, more="m")
        trial.write(300)
        trial.arrived()
        assert trial.more() == 300


def many(trial: Trial) -> None:
    with trial.running(tasks=trial.system.tasks[1]):
        trial.write(1_000_000)
        trial.arrived(timeout=900)


TRIALS: tuple[Callable[[Any], None], ...] = (control, crash, rebalance, away, schema_change)


def shared(trials: Iterable[Callable[[Any], None]], *more: Callable[[Any], None]) -> list[Any]:
    """
    Parameters of a test: what the worker does alike for all is tried by day with one connector, by night with this one. `more`
    is for nights, too.
    """
    by_night = (rebalance, away, schema_change, *more)
    return [pytest.param(trial, marks=pytest.mark.long) if trial in by_night else trial for trial in trials]
