"""
A first copy of a table on one core and on two: rows a second, in alternating rounds.

Two ways. All that takes part, the database and the broker too, is on one core, then on two, as machines of that size are. And
only the task hosts are, as executors of that size are; database and broker have both cores then, so on a machine with two they
are in the way of the second half of the hosts. Each table is copied by two tasks of two hosts in either case. Rows count from
the first to the last that is in the topic, as often as the topic's end was looked at.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator

import psutil
from java import COPY, workloads

from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.systems.rounds import Workload

EVERYTHING, HOSTS = "everything", "the hosts"
_LIMIT_S, _LOOK_S = 900.0, 0.05
_HOST = "kconnect.host"


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    found = results.Results("cores", options.json)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise SystemExit("There is one core only: nothing can be compared")
    with stage.opened("cores") as on, contextlib.ExitStack() as stack:
        copy = next(workloads(stack, on.directory, on.servers, options.records, [COPY]))
        worker = on.worker(properties={"task.hosts": "2"})
        runs = Runs(worker, copy)
        runs.rate()
        for what in (EVERYTHING, HOSTS):
            one: list[float] = []
            two: list[float] = []
            for number in range(options.rounds):
                for some, rates in [(cores[:1], one), (cores, two)][:: 1 if number % 2 else -1]:
                    with pinned(what, some):
                        rates.append(runs.rate())
            for name, rates in (("one core", one), ("two cores", two)):
                found.add(f"{what} on {name}", results.KCONNECT, "rows a second", "", *rates)
            times = [double / single for single, double in zip(one, two)]
            found.add(f"{what}: two cores beside one", results.KCONNECT, "times the rows", "", *times)
            found.show()


class Runs:
    def __init__(self, worker: WorkerProcess, copy: Workload) -> None:
        self._worker, self._copy = worker, copy
        self._number = 0

    def rate(self) -> float:
        """Copy the table once; rows a second."""
        self._number += 1
        name = f"run-{self._number}"
        config = {**self._copy.begin(name), **self._copy.own[results.KCONNECT], "tasks.max": "2"}
        self._worker.client.create(name, config)
        first, began = stage.wait(lambda: self._moved(name), _LIMIT_S, _LOOK_S), time.monotonic()
        stage.wait(lambda: self._copy.moved(name) >= self._copy.records, _LIMIT_S, _LOOK_S)
        seconds = time.monotonic() - began
        self._worker.client.delete(name)
        self._copy.end(name)
        return (self._copy.records - first) / seconds

    def _moved(self, name: str) -> int:
        failed = [task for task in self._worker.client.status(name)["tasks"] if task["state"] == "FAILED"]
        if failed:
            raise SystemExit(f"The copy failed: {failed[0]['trace'][:600]}")
        return self._copy.moved(name)


@contextlib.contextmanager
def pinned(what: str, cores: Iterable[int]) -> Iterator[None]:
    """Have what this process has started, or only the task hosts of it, and what they start, on these cores."""
    every = os.sched_getaffinity(0)
    put(what, cores)
    try:
        yield
    finally:
        put(what, every)


def put(what: str, cores: Iterable[int]) -> None:
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if what == EVERYTHING or _HOST in " ".join(process.cmdline()):
                for thread in process.threads():
                    os.sched_setaffinity(thread.id, cores)


if __name__ == "__main__":
    main()
