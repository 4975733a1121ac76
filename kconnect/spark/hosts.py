"""
Keeps one Spark job with one long-lived task running for each task host.

`Hosts` is told by `host/driver.py` which hosts the placement names. Spark itself starts a host's process again when it
dies (`spark.task.maxFailures`); when the job as a whole ends, by its host's own decision or for good, it is submitted again
as long as the placement names the host. `Hosts.check` watches what Spark itself is silent about: a host that no core is free
for, and an application that the cluster has given up. Read next: `host/main.py`, which is what runs in the task.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from kconnect.spark.errors import SparkLost, reason
from kconnect.spark.room import Room

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

_BACKOFF_S = (0.2, 1.0, 5.0, 15.0)
_ROOM_S = 1.0
"""How often a host that waits for memory looks for it."""
_CHECK_S = 2.0
_WAITS_LONG_S = 15.0
"""An executor is there after 3 to 5 s on a machine with time to spare."""
NO_CORE = "no core of Spark is free for it"
"""Whoever places units looks for it: `core/cluster/placement.py` has it, too."""
_ABANDONED_S = 60.0
"""A master that lives starts another executor at once; until that has registered, a busy machine may take half a minute."""


class Hosts:
    """
    `run` is called in the executor with one payload (it is pickled by reference, so it must be importable there). Payloads
    travel inside the task, which neither Spark's UI nor its event log shows. `report` is called with a host's number and
    the reason for which it is not up, when it has ended and is started again, or no core or memory is free for it; from any
    thread. `room` is what the hosts of dedicated tasks begin within, if they are on this machine.
    """

    def __init__(
        self,
        context: SparkContext,
        run: Callable[[Iterable[bytes]], None],
        report: Callable[[int, str], object],
        room: Room | None = None,
    ) -> None:
        self._context = context
        self._room = room
        self._dedicated: frozenset[int] = frozenset()
        self._run = run
        self._report = report
        self._wanted: dict[int, bytes] = {}
        self._jobs: dict[int, threading.Thread] = {}
        self._changed = threading.Condition()
        self._closed = False
        self._slots = _Slots(context, report)

    def want(self, hosts: Mapping[int, bytes], dedicated: Collection[int] = ()) -> None:
        """
        Have exactly these hosts running, each with its payload, which a process that runs already has no more use for. Those
        no longer wanted, or wanted otherwise, end by themselves: they read the log as well. `dedicated` are the numbers of
        those that are for one task.
        """
        with self._changed:
            self._wanted, self._dedicated = dict(hosts), frozenset(dedicated)
            self._changed.notify_all()
            for host in self._wanted.keys() - self._jobs.keys():
                self._jobs[host] = threading.Thread(target=self._keep, args=(host,), name=f"host-{host}", daemon=True)
                self._jobs[host].start()

    def check(self) -> None:
        """
        Log and report which hosts wait for a core, once for as long as they do. The driver calls it all the time.

        Raises:
            SparkLost: the session has ended or does not answer, or its executors are gone and none comes in their place
        """
        with self._changed:
            wanted_hosts = frozenset(self._wanted)
        self._slots.check(wanted_hosts)

    def close(self, timeout: float) -> None:
        """Start no host any more, and wait for those that are ending by themselves."""
        with self._changed:
            self._closed = True
            self._wanted = {}
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._jobs, timeout)

    def _keep(self, host: int) -> None:
        failures = 0
        while self._waits_for_room(host) and (payload := self._payload(host)) is not None:
            try:
                # The flag lets a cancelled group end a Python process that does not answer.
                self._context.setJobGroup(_group(host), f"kconnect host {host}", interruptOnCancel=True)
                self._context.parallelize([payload], 1).foreachPartition(self._run)
                failures = 0
            except Exception as error:  # noqa: BLE001 - whatever ended the job, the host is wanted: it is started again
                if self._payload(host) is None:
                    break
                failures += 1
                log.warning("Host %d ended and is restarted: %s", host, reason(error))
                self._report(host, f"the host has ended: {reason(error)}")
            with self._changed:
                pause = _BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)]
                self._changed.wait_for(lambda: self._closed or host not in self._wanted, pause)
        with self._changed:
            self._jobs.pop(host, None)
            self._changed.notify_all()

    def _waits_for_room(self, host: int) -> bool:
        """Wait until there is room for a host, or nobody wants it any more. Return whether somebody does."""
        told = None
        while self._payload(host) is not None:
            refusal = self._room.take() if self._room is not None and host in self._dedicated else None
            if refusal is None:
                return True
            if refusal != told:
                told = refusal
                self._report(host, refusal)
            with self._changed:
                self._changed.wait_for(lambda: self._closed or host not in self._wanted, _ROOM_S)
        return False

    def _payload(self, host: int) -> bytes | None:
        """Return the host's order; None if the host is no longer wanted."""
        with self._changed:
            return None if self._closed else self._wanted.get(host)


class _Slots:
    """Whether the wanted hosts got a core each. A host's task takes `spark.task.cpus` cores for as long as it lives."""

    def __init__(self, context: SparkContext, report: Callable[[int, str], object]) -> None:
        self._context, self._report = context, report
        self._master = str(context.master)
        self._checked_at = float("-inf")
        self._waiting: dict[int, float] = {}
        self._told: frozenset[int] = frozenset()
        self._served_at: float | None = None

    def check(self, hosts: frozenset[int]) -> None:
        now = time.monotonic()
        if now - self._checked_at < _CHECK_S:
            return
        self._checked_at = now
        try:
            spark = self._context._jsc.sc()
            stopped, executors = spark.isStopped(), len(spark.statusTracker().getExecutorInfos())
            waiting = set() if stopped else {host for host in hosts if _waits(self._context, host)}
        except Exception as error:
            raise SparkLost(f"Spark does not answer: {reason(error)}") from error
        if stopped:
            raise SparkLost("Spark has ended the application")
        served = executors > 1 or not self._master.startswith("spark://")  # The driver is listed among them.
        if served:
            self._served_at = now
        # A standalone master that was started again knows its applications no more, and lets them wait for ever.
        elif self._served_at is not None and now - self._served_at > _ABANDONED_S:
            raise SparkLost(f"All of Spark's executors are gone, and no new one has started for {_ABANDONED_S:.0f} s")
        self._waiting = {host: self._waiting.get(host, now) for host in waiting}
        self._tell({host for host, since in self._waiting.items() if now - since > _WAITS_LONG_S}, len(hosts), served)

    def _tell(self, late: set[int], wanted: int, served: bool) -> None:
        if late and late != self._told:
            text = remedy(self._master, dict(self._context.getConf().getAll()), _room(self._context) if served else 0)
            log.warning(
                "%d of %d task hosts still wait for a free core in Spark, and their units do not run: %s",
                len(late),
                wanted,
                text,
            )
            for host in late:
                self._report(host, f"{NO_CORE}: {text}")
        elif self._told and not self._waiting:
            log.info("All %d task hosts have a core now", wanted)
        self._told = frozenset(late or self._told & self._waiting.keys())


def remedy(master: str, settings: Mapping[str, str], room: int | None) -> str:
    """Return what helps hosts that get no core. `room` is how many the executors have room for; None if Spark doesn't say."""
    limit = "spark.master" if master.startswith("local") else "spark.cores.max"
    cpus, cores = settings.get("spark.task.cpus", "1"), settings.get(limit, "not set")
    rest = "or lower task.hosts; plugins of other directories, and each dedicated task, have hosts of their own"
    if room == 0:
        memory = settings.get("spark.executor.memory")
        return (
            f"no executor runs: one is still starting, or {master} has no worker with enough cores and memory free ({memory} "
            f"for each). Start one, or end other applications, {rest}"
        )
    if room is not None and cores.isdecimal() and cpus.isdecimal() and room < int(cores) // int(cpus):
        return (
            f"the application has asked for {cores} cores (spark.cores.max), and {master} has given it only {room * int(cpus)}"
            f". Give Spark's workers more cores, or end other applications, {rest}"
        )
    needed = f"{limit} is {cores}, and a host takes spark.task.cpus, {cpus}"
    return f"give the application more cores ({needed}), {rest}"


def _room(context: SparkContext) -> int | None:
    """Return how many hosts the executors that run have room for, those that run included; None if Spark doesn't say."""
    from py4j.protocol import Py4JError

    try:
        spark = context._jsc.sc()
        return int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile()))
    except (Py4JError, AttributeError, TypeError) as error:
        # Not an interface of Spark's: another release may not have it, and it is for a message only.
        log.debug("Spark does not say how many cores the application has: %s", reason(error))
        return None


def _waits(context: SparkContext, host: int) -> bool:
    """Whether the host's job has been submitted and Spark runs no task of it."""
    tracker = context.statusTracker()
    active = set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(_group(host)))
    jobs = [tracker.getJobInfo(job) for job in active]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return bool(stages) and not any(stage is not None and stage.numActiveTasks for stage in stages)


def _group(host: int) -> str:
    return f"kconnect-host-{host}"
