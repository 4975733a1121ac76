"""
What a fault may use: the rig, the run's dice, a voice; and a note of which workers it hit, which no client would ask.

Made by `play.py` for each fault. Read next: `table.py`.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence

from tests.rig.machines import BROKERS, MASTER, SPARK_WORKERS, WORKERS
from tests.rig.machines.cluster import Rig
from tests.rig.machines.hosts import Process

_WHOLE_S, _END_S = 120.0, 90.0


class Scene:
    def __init__(self, rig: Rig, dice: random.Random, say: Callable[[str], None]) -> None:
        self.rig, self.dice, self._say = rig, dice, say
        self.hit: set[str] = set()
        """The workers that have been hit at any time of this fault."""
        self.away: set[str] = set()
        """The workers that are down or cut off now."""

    def say(self, text: str) -> None:
        self._say(f"  {text}")

    def one_of(self, names: Sequence[str]) -> str:
        return self.dice.choice(names)

    def seconds(self, least: float, most: float) -> float:
        return self.dice.uniform(least, most)

    def take_away(self, worker: str) -> None:
        """Note that a worker can't be asked from now on."""
        self.hit.add(worker)
        self.away.add(worker)

    def bring_back(self, worker: str) -> None:
        self.away.discard(worker)

    # --- processes ---

    def signal(self, what: str, processes: Sequence[Process], number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to processes, and say so."""
        count = self.rig.hosts.signal(processes, number)
        self.say(f"{number.name} to {what}: {count} processes")

    def program(self, name: str) -> list[Process]:
        """Return the processes of what a machine is for: its broker, its master or worker of Spark, or its worker."""
        if name in BROKERS:
            return self.rig.brokers.processes(name)
        if name in WORKERS:
            return self.rig.workers.processes(name)
        return self.rig.spark.daemons(name)

    def start(self, name: str) -> None:
        """Start what a machine is for."""
        self.say(f"start {name}")
        if name in BROKERS:
            self.rig.brokers.start(name)
        elif name in WORKERS:
            self.rig.workers.start(name)
            self.bring_back(name)
        else:
            assert name == MASTER or name in SPARK_WORKERS, name
            self.rig.spark.start(name)

    # --- waiting ---

    def until(self, condition: Callable[[], object], most: float) -> Iterator[float]:
        """Yield short pauses until `condition` holds, for at most so many seconds."""
        end = time.monotonic() + most
        while not condition() and time.monotonic() < end:
            yield 0.5

    def until_ended(self, name: str) -> Iterator[float]:
        """Yield short pauses until the program of a machine has ended."""
        yield from self.until(lambda: not self.program(name), _END_S)

    def until_brokers_are_whole(self) -> Iterator[float]:
        """Yield short pauses until all brokers are there, and all replicas in sync."""
        yield from self.until(lambda: self.rig.brokers.ails() is None, _WHOLE_S)

    # --- whom to hit ---

    def busy_worker(self) -> str:
        """Return a worker that tasks run on: to hurt one that does nothing would prove little."""
        return self.one_of(self.rig.workers.busy() or list(WORKERS))

    def leader(self) -> str:
        """Return the worker that leads."""
        return self.rig.workers.leader() or self.one_of(WORKERS)
