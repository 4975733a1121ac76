"""
Runs cells of the fault matrix on one real worker: each in a lane, beside a good source and a good sink of the same host.

`scripts/plugin-faults` runs all of them, some lanes at a time; the tests run those that matter most. A cell: wait until the
neighbours' data flows (the control), create the connector, look what becomes of it, restart it, delete it, look what is left.
Read next: `watch.py`, `judge.py`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.plugin_faults import package, places
from tests.rig.plugin_faults.judge import ERRORS, HANGS, LOUD, MILD, THREADS_LEFT, Seen
from tests.rig.plugin_faults.places import KINDS, Phase, Place
from tests.rig.plugin_faults.watch import Answers, Neighbours, Struck, journal, threads_of

PROVIDER = "bad"
_PROVIDER_PACKAGE = "faulty_provider"
_SETTLE_S = 180.0
_STAY_S = 5.0
_GONE_S = 150.0
_LOOK_S = 0.2

PROPERTIES = {
    "task.hosts": "1",
    "task.shutdown.graceful.timeout.ms": "3000",
    "offset.flush.interval.ms": "500",
    "sandbox.memory.max.bytes": str(512 << 20),
    "task.host.memory.max.bytes": str(700 << 20),
    # A sink whose host died is missed after this; the default of Kafka's clients is 45 s.
    "consumer.session.timeout.ms": "6000",
    "consumer.heartbeat.interval.ms": "1500",
    "config.providers": PROVIDER,
    f"config.providers.{PROVIDER}.class": f"{_PROVIDER_PACKAGE}.bad_parts.BadProvider",
}
"""What a worker's file needs."""

Cell = tuple[Place, str]


def write_plugins(directory: Path, lanes: int) -> str:
    """Make what `plugin.path` needs for so many lanes; gives its value."""
    for name in (_PROVIDER_PACKAGE, *map(lane_name, range(lanes))):
        package.write(directory, name, tuple(KINDS))
    return str(directory)


def lane_name(number: int) -> str:
    return f"faulty_{number}"


class Lane:
    """A plugin directory and its good connectors: a source, and sinks that read it. One cell at a time."""

    def __init__(self, worker: WorkerProcess, plugins: Path, name: str, extra: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._worker, self._extra = worker, dict(extra or {})
        self._client = ConnectClient(worker.url)
        self._homes = self.homes(plugins)
        self._pid = worker.pid
        self._good = self.good()
        self._cells = 0
        self._all_neighbours = [Neighbours(Path(each["file"])) for each in self._good.values() if "file" in each]

    # --- what differs for plugins in Java (java.py) ---

    beside: Collection[str] = (*LOUD, "builtins")
    """What is to strike in the host of the good connectors, even if that takes a while to bring about."""

    def homes(self, plugins: Path) -> list[Path]:
        """Where the plugin's journals are: first that of the lane."""
        return [plugins / f"{each}-1.0" / each / "home" for each in (self.name, _PROVIDER_PACKAGE)]

    def good(self) -> dict[str, dict[str, str]]:
        """The configs of the good connectors by their names, the source first."""
        topic, made = places.good_topic(self.name), f"{self.name}.good."
        return {
            f"{self.name}-source": {"connector.class": f"{made}GoodSource", "topic": topic},
            f"{self.name}-sink": {"connector.class": f"{made}GoodSink", "topics": topic, "file": self.file("sink")},
        }

    def bad(self, place: Place, kind: str) -> dict[str, str]:
        """The config of a connector that misbehaves there."""
        return places.config(place, kind, self.name, PROVIDER)

    def is_host(self, directories: Sequence[str]) -> bool:
        """Whether a host with this environment is the lane's."""
        return any(self.name in part for part in directories)

    # --- what is the same ---

    def file(self, sink: str) -> str:
        return str(self._worker.directory / f"{self.name}-{sink}.txt")

    def open(self) -> None:
        """Start the good connectors, and wait until their data flows."""
        self._create_good()
        for each in self._all_neighbours:
            each.start()
        self._wait_flow("before the first fault")

    def _create_good(self) -> None:
        for name, config in self._good.items():
            self._client.create(name, {"tasks.max": "1", **config})
            self._client.wait_for(name, "RUNNING", 1, timeout=_SETTLE_S)

    def _gather(self, when: str) -> None:
        """
        After something was stuck the good connectors have another host, or even two, and what comes next goes to the one that
        they have left: have all of them begin anew.
        """
        if self._hosts() > 1:
            for name in self._good:
                self._client.delete(name)
            self._wait(lambda: self._hosts() <= 1)
            self._create_good()
            self._wait_flow(when)

    def close(self) -> None:
        """Look at nothing any more. What was created ends with the worker."""
        for each in self._all_neighbours:
            each.end()

    def run(self, place: Place, kind: str, answers: Answers) -> Seen:
        """One cell. ConnectError if not even the control holds."""
        self._wait_flow(f"before {kind} in {place.name}")
        if kind in self.beside:
            self._gather(f"before {kind} in {place.name}")
        before = len(self._struck(place, kind))
        self._cells += 1
        name = f"{self.name}-bad-{self._cells}"
        patched, lines = len(self._patched()), self._flood()
        # The last record before it counts: a fault may strike at once.
        began = self._last()
        seen = self._create(place, kind, name)
        try:
            if seen.accepted:
                self._watch(place, kind, name, seen, before)
        except RestError as error:
            seen.failed_to = str(error)
        if seen.accepted:
            self._delete(name, seen)
        if place.phase is Phase.STOP and kind:
            self._wait(lambda: len(self._struck(place, kind)) > before)
        self._wait_gone(self._struck(place, kind)[before:], seen, time.monotonic())
        # With what was met only when it was to stop.
        seen.struck = len(self._struck(place, kind)) - before
        pids = {each.pid for each in self._struck(place, kind)[before:]}
        seen.beside = place.phase is Phase.VALIDATION or all(pids & each.pids for each in self._all_neighbours)
        self._look(seen, began, answers)
        met = self._patched()[patched:]
        seen.patched_s = met[-1] - met[0] if met else 0.0
        seen.flood_lines = self._flood() - lines
        return seen

    def _look(self, seen: Seen, began: float, answers: Answers) -> None:
        """What others have noticed meanwhile."""
        seen.neighbours, ended = self._neighbours(), time.monotonic()
        seen.gap_s = max(each.longest_gap(began, ended) for each in self._all_neighbours)
        seen.rest_s = answers.longest(began, ended)
        seen.missing = sum(each.missing() for each in self._all_neighbours)
        seen.same_worker = self._worker.running and self._worker.pid == self._pid

    def _patched(self) -> list[float]:
        return self._all_neighbours[0].patched

    def _last(self) -> float:
        return min(each.last() for each in self._all_neighbours)

    def run_slow(self, count: int, answers: Answers) -> Seen:
        """F14: so many connectors of which every call takes a second, at the same time, for a while."""
        self._wait_flow("before the slow ones")
        began = self._last()
        names = [f"{self.name}-slow-{number}" for number in range(count)]
        config = {**self.bad(places.BY_NAME["source.poll"], "slow"), "fault.place": "*"}
        with ThreadPoolExecutor(8) as pool, ConnectClient(self._worker.url) as client:
            clients = [ConnectClient(self._worker.url) for _ in names]
            list(pool.map(lambda each: each[0].create(each[1], config), zip(clients, names)))
            for name in names:
                client.wait_for(name, "RUNNING", 1, timeout=_SETTLE_S)
            self._wait_flow("beside the slow ones")
            time.sleep(2 * _STAY_S)
            seen = Seen(True, state="RUNNING", struck=len(names))
            deleting = time.monotonic()
            list(pool.map(lambda each: each[0].delete(each[1]), zip(clients, names)))
            seen.delete_s = time.monotonic() - deleting
        self._wait_gone([], seen, time.monotonic())
        self._look(seen, began, answers)
        return seen

    def _create(self, place: Place, kind: str, name: str) -> Seen:
        config = {**self.bad(place, kind), **self._extra}
        began = time.monotonic()
        try:
            self._client.create(name, config)
        except RestError as error:
            return Seen(False, error.message, time.monotonic() - began)
        return Seen(True, "", time.monotonic() - began)

    def _watch(self, place: Place, kind: str, name: str, seen: Seen, before: int) -> None:
        """Until the connector is what it should become, or will not become it any more."""
        self._settle(place, kind, name, seen, before)
        if place.name == "connector.alter_offsets":
            self._alter_offsets(name, seen)
        elif place.phase is not Phase.STOP and kind in (*HANGS, "slow", "exception"):
            began = time.monotonic()
            self._client.restart(name, include_tasks=True)
            seen.restart_s = time.monotonic() - began
            if kind == "slow":
                self._settle(place, kind, name, seen, before)

    def _settle(self, place: Place, kind: str, name: str, seen: Seen, before: int) -> None:
        end = time.monotonic() + _SETTLE_S
        tolerated = place.tolerated and kind in ERRORS
        stays = not kind or kind in MILD or tolerated or place.phase in (Phase.STOP, Phase.VALIDATION)
        met_at: float | None = None
        while time.monotonic() < end:
            seen.state, seen.reason = self._status(name)
            met = len(self._struck(place, kind)) > before
            if met and met_at is None:
                met_at = time.monotonic()
            if seen.state == "FAILED" and (met or place.phase is Phase.VALIDATION):
                return
            waited = met_at is not None and time.monotonic() - met_at > _STAY_S
            if kind in HANGS and waited:
                return
            if stays and seen.state == "RUNNING" and (waited or place.phase in (Phase.STOP, Phase.VALIDATION) or not kind):
                return
            time.sleep(_LOOK_S)

    def _alter_offsets(self, name: str, seen: Seen) -> None:
        self._client.stop(name)
        self._client.wait_for(name, "STOPPED", 0, timeout=_SETTLE_S)
        began = time.monotonic()
        try:
            self._client.alter_offsets(name, [{"partition": {"bad": "1"}, "offset": {"number": 1}}])
        except RestError as error:
            seen.accepted, seen.answer = False, error.message
        seen.answer_s = time.monotonic() - began
        if not seen.accepted:
            self._delete(name, seen)

    def _delete(self, name: str, seen: Seen) -> None:
        began = time.monotonic()
        try:
            self._client.delete(name)
        except RestError as error:
            seen.failed_to = f"DELETE: {error}"
        seen.delete_s = time.monotonic() - began

    def _wait_gone(self, struck: Iterable[Struck], seen: Seen, began: float) -> None:
        """Until no thread of it is left, and the neighbours are whole again."""
        threads, known = list(struck), len(self._struck_all())
        while time.monotonic() - began < _GONE_S:
            # What stops strikes only now.
            found = self._struck_all()
            threads, known = threads + found[known:], len(found)
            alive = [each for each in threads if each.lives() and not _is_main(each)]
            many = [each.pid for each in threads if each.kind == "threads" and threads_of(each.pid) > THREADS_LEFT * 10]
            if not alive and not many and self._is_flowing() and self._neighbours() == "RUNNING":
                seen.gone_s = time.monotonic() - began
                return
            time.sleep(_LOOK_S)
        left = sorted({f"a thread in {each.place} of pid {each.pid}" for each in alive})
        seen.left = ", ".join(left) or "no data, or failures"

    # --- what the cell is seen by ---

    def _struck_all(self) -> list[Struck]:
        return journal(self._homes[:1])

    def _struck(self, place: Place, kind: str) -> list[Struck]:
        return [each for each in journal(self._homes) if (each.place, each.kind) == (place.name, kind)]

    def _flood(self) -> int:
        with open(self._worker.log, "rb") as log:
            return sum(f"a flood from {self.name}".encode() in line for line in log)

    def _status(self, name: str) -> tuple[str, str]:
        try:
            return _state(self._client.status(name))
        except RestError as error:
            if error.status != 404:
                raise
            return "", ""

    def _neighbours(self) -> str:
        """The worst state of the good connectors and their tasks."""
        try:
            return min((_state(self._client.status(name))[0] for name in self._good), key=_WORST.index)
        except RestError as error:
            return str(error)

    def _hosts(self) -> int:
        """How many hosts this lane's units have."""
        workers = self._client.cluster()["workers"]
        return sum(self.is_host(host["directories"]) for each in workers for host in each["hosts"])

    def _is_flowing(self) -> bool:
        return time.monotonic() - self._last() < 1.5

    def _wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _SETTLE_S
        while not condition() and time.monotonic() < end:
            time.sleep(_LOOK_S)

    def _wait_flow(self, when: str) -> None:
        end = time.monotonic() + _SETTLE_S
        while not (self._is_flowing() and self._neighbours() == "RUNNING"):
            if time.monotonic() > end:
                raise RestError(None, f"{self.name}: the good connectors moved no data {when}: {self._neighbours()}")
            time.sleep(_LOOK_S)


def _is_main(struck: Struck) -> bool:
    """The sandbox asks plugins in its processes' main threads, which live on for other requests."""
    return struck.pid == struck.tid


_WORST = ("FAILED", "", "UNASSIGNED", "STOPPED", "RESTARTING", "PAUSED", "RUNNING")


def _state(status: Mapping[str, Any]) -> tuple[str, str]:
    """
    The worst state of a connector and its tasks, and the first line of its trace. Without a task: "", unless the connector says
    that it is asked for them again.
    """
    units = [status["connector"], *status["tasks"]]
    states = [(unit["state"], unit.get("trace") or "") for unit in units]
    if len(units) == 1 and states[0] == ("RUNNING", ""):
        states.append(("", ""))
    state, trace = min(states, key=lambda each: _WORST.index(each[0]))
    return state, trace.strip().partition("\n")[0]


def open_all(lanes: list[Lane]) -> None:
    with ThreadPoolExecutor(len(lanes)) as pool:
        list(pool.map(Lane.open, lanes))


def run_all(lanes: list[Lane], cells: Iterable[Cell], answers: Answers, tell: Callable[[Cell, Seen], None]) -> None:
    """All cells, each in the lane that is free next. A lane whose control fails is given up; if none is left, so is the run."""
    todo: queue.SimpleQueue[Cell] = queue.SimpleQueue()
    for cell in cells:
        todo.put(cell)

    def work(lane: Lane) -> None:
        while True:
            try:
                cell = todo.get_nowait()
            except queue.Empty:
                return
            try:
                seen = lane.run(*cell, answers)
            except RestError as error:
                tell(cell, Seen(False, failed_to=str(error)))
                return
            tell(cell, seen)

    # Daemons: whoever is asked to end in the middle need not wait for them.
    threads = [threading.Thread(target=work, args=(lane,), name=lane.name, daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Matrix:
    """Runs cells, named by place and kind, in threads of its own: whoever wants one of them waits for that one only."""

    def __init__(self, lanes: list[Lane], cells: Iterable[tuple[str, str]], answers: Answers) -> None:
        self._found: dict[tuple[str, str], Seen] = {}
        self._told = threading.Condition()
        chosen = [(places.BY_NAME[place], kind) for place, kind in cells]
        threading.Thread(target=run_all, args=(lanes, chosen, answers, self._tell), daemon=True).start()

    def _tell(self, cell: Cell, seen: Seen) -> None:
        with self._told:
            self._found[cell[0].name, cell[1]] = seen
            self._told.notify_all()

    def wait(self, place: str, kind: str, limit_s: float) -> Seen:
        with self._told:
            assert self._told.wait_for(lambda: (place, kind) in self._found, limit_s), "it took too long"
            return self._found[place, kind]
