"""
The whole rig: switch, machines, brokers, Spark and workers, from nothing to running and away again.

`Rig.up` is for whoever holds the life line, a pipe whose end ends everything. A `Rig` without one looks at the rig of another
process. Held by `play.py` and `__main__.py`. Read next: `play.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.rig.cdc import pipeline
from tests.rig.machines import ADDRESSES, BROKERS, CLIENT, MASTER, SPARK_WORKERS, WORKERS, mirror
from tests.rig.machines.brokers import Brokers
from tests.rig.machines.certificates import Certificates
from tests.rig.machines.hosts import Hosts
from tests.rig.machines.peers import Peers
from tests.rig.machines.programs import FABRIC, compiled
from tests.rig.machines.rights import Rights
from tests.rig.machines.spark import Spark
from tests.rig.machines.switch import Switch
from tests.rig.machines.trial import USUAL, Trial
from tests.rig.machines.workers import Workers
from tests.rig.systems import verifiable
from tests.support import wait_until

_UP_S = 300.0


class Rig:
    """The parts of the rig in `directory`. `life_line` is the end of the pipe to read, None in a process that only looks."""

    def __init__(self, directory: Path, life_line: int | None = None, trial: Trial = USUAL) -> None:
        self.directory = directory
        self.trial = trial
        self.data = directory / "stamps"
        """Where the rig's connectors write what they do; all machines share it."""
        self._life_line = life_line
        self._program = None if life_line is None else compiled(FABRIC)
        self.switch = Switch(directory)
        self.hosts = Hosts(directory, self.switch, self._program, life_line)
        self.certificates = Certificates(directory)
        self.brokers = Brokers(directory, self.hosts, self.certificates)
        self.spark = Spark(directory, self.hosts)
        plugins = [directory / "plugins"]
        plugins += [pipeline.plugin_path()] if trial.has_tables else []
        plugins += [mirror.plugin_path()] if trial.in_java else []
        workers = Peers if trial.is_peer else Workers
        self.workers = workers(directory, self.hosts, self.certificates, plugins, trial)
        self.rights = Rights(directory, self.hosts, self.certificates, self.brokers)

    def start_network(self) -> None:
        """Start the switch, boot all machines, and enter their network."""
        assert self._program is not None and self._life_line is not None, "the network ends with a life line"
        self.switch.start(self._program, self._life_line)
        self.hosts.write_files()
        for name in ADDRESSES:
            self.hosts.boot(name)
        self.write_files()
        self.enter()

    def enter(self) -> None:
        """Move this process to the client's machine, from which brokers, Spark and workers can be asked."""
        self.hosts.enter(CLIENT)

    def write_files(self) -> None:
        """Write all that programs read when they start."""
        for folder in (self.data, self.directory / "data"):
            folder.mkdir(parents=True, exist_ok=True)
        self.certificates.write()
        self.spark.write_settings()
        self.workers.write_users()
        write_plugin = verifiable.write_java_plugin if self.trial.in_java else verifiable.write_plugin
        write_plugin(self.directory / "plugins")

    def start_brokers(self) -> None:
        for name in BROKERS:
            self.brokers.start(name)
        wait_until(lambda: self.brokers.ails() is None, _UP_S, "the brokers are not up")

    def start_spark(self) -> None:
        for name in (MASTER, *SPARK_WORKERS):
            self.spark.start(name)
        wait_until(lambda: self.spark.ails() is None, _UP_S, "Spark is not up")

    def start_workers(self) -> None:
        for name in WORKERS:
            self.workers.start(name)
        for name in WORKERS:
            wait_until(partial(self.workers.is_healthy, name), _UP_S, f"the worker on {name} is not healthy")

    def up(self, topics: Callable[[Rig], None], report: Callable[[str], None]) -> None:
        """Start everything in order; `topics` makes topics and rights. The process enters the network of the rig."""
        began = time.monotonic()
        steps: tuple[tuple[str, Callable[[], None]], ...] = (
            ("the network", self.start_network),
            ("the brokers", self.start_brokers),
            ("topics and rights", lambda: topics(self)),
            *(() if self.trial.is_peer else (("Spark", self.start_spark),)),
            ("the workers", self.start_workers),
        )
        for what, step in steps:
            step()
            report(f"{what}: up after {time.monotonic() - began:.0f} s")

    def revive(self) -> list[str]:
        """Boot and start whatever is down. Return what that was; faults leave something away only by mistake, or by an end."""
        revived = []
        for name in ADDRESSES:
            if not self.hosts.is_up(name):
                self.hosts.boot(name)
                revived.append(f"the machine {name}")
        parts = (
            *((name, self.brokers.processes, self.brokers.start) for name in BROKERS),
            *((name, self.spark.daemons, self.spark.start) for name in (MASTER, *SPARK_WORKERS) if not self.trial.is_peer),
            *((name, self.workers.processes, self.workers.start) for name in WORKERS),
        )
        for name, processes, start in parts:
            if not processes(name):
                words = f": {self.workers.last_words(name)}" if name in WORKERS else ""
                revived.append(f"the program of {name}{words}")
                start(name)
        return revived

    def state(self) -> list[str]:
        """Return the machines with their processes, a line each."""
        lines = []
        for name in ADDRESSES:
            lines.append(f"{name} {ADDRESSES[name]} {'up' if self.hosts.is_up(name) else 'down'}")
            lines += [f"    {process.pid} {process.command[-140:]}" for process in self.hosts.processes(name)]
        return lines


def life_line() -> tuple[int, int]:
    """Return a new life line: the end to read, for the rig, and the end to hold, which no program that is started inherits."""
    return os.pipe()
