"""
Keeps one Spark job with one long-lived task running for each task host.

`Hosts` is told by `worker/driver.py` which hosts the placement names. Spark itself starts a host's process again when it
dies (`spark.task.maxFailures`); when the job as a whole ends, by its host's own decision or for good, it is submitted again
as long as the placement names the host. Read next: `worker/host.py`, which is what runs in the task.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

_BACKOFF_S = (0.2, 1.0, 5.0, 15.0)


class Hosts:
    """
    `run` is called in the executor with one payload (it is pickled by reference, so it must be importable there);
    `payload(host)` makes it. Payloads travel inside the task, which neither Spark's UI nor its event log shows.
    """

    def __init__(
        self, context: SparkContext, run: Callable[[Iterable[bytes]], None], payload: Callable[[int], bytes]
    ) -> None:
        self._context = context
        self._run = run
        self._payload = payload
        self._wanted: frozenset[int] = frozenset()
        self._jobs: dict[int, threading.Thread] = {}
        self._changed = threading.Condition()
        self._closed = False

    def want(self, hosts: Iterable[int]) -> None:
        """Have exactly these hosts running. Those no longer wanted end by themselves: they read the log as well."""
        with self._changed:
            self._wanted = frozenset(hosts)
            self._changed.notify_all()
            for host in self._wanted - self._jobs.keys():
                self._jobs[host] = threading.Thread(target=self._keep, args=(host,), name=f"host-{host}", daemon=True)
                self._jobs[host].start()

    def close(self, timeout: float) -> None:
        """Start no host any more, and wait for those that are ending by themselves."""
        with self._changed:
            self._closed = True
            self._wanted = frozenset()
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._jobs, timeout)

    def _keep(self, host: int) -> None:
        failures = 0
        while self._is_wanted(host):
            try:
                # The flag lets a cancelled group end a Python process that does not answer.
                self._context.setJobGroup(f"kconnect-host-{host}", f"kconnect host {host}", interruptOnCancel=True)
                self._context.parallelize([self._payload(host)], 1).foreachPartition(self._run)
                failures = 0
            except Exception as error:  # noqa: BLE001 - whatever ended the job, the host is wanted: it is started again
                if not self._is_wanted(host):
                    break
                failures += 1
                log.warning("Host %d ended and is started again: %s", host, str(error).split("\n", 1)[0][:300])
            with self._changed:
                pause = _BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)]
                self._changed.wait_for(lambda: self._closed or host not in self._wanted, pause)
        with self._changed:
            self._jobs.pop(host, None)
            self._changed.notify_all()

    def _is_wanted(self, host: int) -> bool:
        with self._changed:
            return not self._closed and host in self._wanted
