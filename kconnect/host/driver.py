"""
The Spark driver process of a worker: it tails the worker's placement and keeps a Spark task running for each host in it.

`main.py` starts it as a child and starts it again when it dies. Its only argument comes as one JSON line on standard input,
where no process list shows it. The end of standard input is the end of this process, and without a word before it also that
of the worker: then this process has the worker's hosts end, and others take over its units.
Read next: `spark/hosts.py`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import orjson

from kconnect.core.cluster.placement import given_up
from kconnect.core.settings.worker import WorkerSettings, host_range
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import Placement
from kconnect.core.state.records import LoggerLevel, Topic
from kconnect.errors import ConnectError
from kconnect.host import entry
from kconnect.kafka import clients
from kconnect.kafka.log import LogWriter, reader_once_up
from kconnect.processes import logs, shipping, standard_error
from kconnect.processes.levels import PythonLoggers
from kconnect.processes.order import settings as order_settings
from kconnect.spark import masters, session, sizes
from kconnect.spark.errors import SparkLost
from kconnect.spark.hosts import Hosts
from kconnect.spark.output import Output
from kconnect.spark.room import Room
from kconnect.telemetry import switch

if TYPE_CHECKING:
    from kconnect.telemetry.sdk import Telemetry

log = logging.getLogger("kconnect.host.driver")  # Run as a program, its own name would be __main__.

_JVM_CHECK_S = 0.5
_LAST_WORD_S = 6.0
"""Later, a next life of the worker may have begun, and would have to say again what it wants."""


def main() -> int:
    direct = standard_error.take()
    order: dict[str, Any] = orjson.loads(sys.stdin.buffer.readline())
    settings = order_settings(order)
    shipping.begin(settings, "driver")
    telemetry = switch.begin(settings, "driver")
    ended, up, orphaned = threading.Event(), threading.Event(), threading.Event()
    # Ctrl-C in a terminal reaches the whole group; the worker decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _end(ended, up))
    threading.Thread(target=_watch_parent, args=(orphaned,), daemon=True).start()

    started = time.monotonic()
    host_count = sizes.hosts(host_range(settings.task_hosts), settings.spark).most
    output = Output()
    if direct is not None and (absent := masters.absent(settings.spark)) is not None:
        # Spark itself tries for a minute before it says so.
        standard_error.report(2, 0, absent)
    try:
        name = f"kconnect {settings.group_id} {settings.worker_id}"
        context = session.start(settings.spark, "kconnect.host.main", host_count, output, order["references"], name)
    except SparkLost as error:
        output.drain(1.0)
        log.error("%s", error)
        _close(telemetry)
        os._exit(1)
    up.set()
    report = standard_error.become(direct)
    log.info("Spark %s is up at %s after %.1f s", context.version, context.master, time.monotonic() - started)

    is_local = str(context.master).startswith("local")
    hosts = Hosts(context, entry.run, report, Room() if is_local else None)
    jvm = context._gateway.proc if context._gateway is not None else None
    topics = clients.topics(settings)
    control = {role: topics[role] for role in (Topic.CONFIG, Topic.ASSIGNMENT)}
    state, loggers, status = AssignmentState(), PythonLoggers(), 0
    waits = (lambda: not ended.is_set()) if jvm is None else (lambda: not ended.is_set() and jvm.poll() is None)
    reader = reader_once_up(clients.reader(settings, "driver"), control, waits)
    last_placement: Placement | None = None
    payloads: dict[int, bytes] = {}
    dedicated: frozenset[int] = frozenset()
    while not ended.is_set():
        if jvm is not None and jvm.poll() is not None:
            log.error("Spark's JVM (pid %d) has died with status %s", jvm.pid, jvm.returncode)
            status = 1
            break
        assert reader is not None, "there is one, or a reason to end"
        follows = reader.at_end
        for record in reader.read(timeout=_JVM_CHECK_S):
            if record.topic is Topic.ASSIGNMENT:
                state.apply(record)
            elif follows and isinstance(change := records.decode_config(record), LoggerLevel):
                logs.set_level(loggers, change)
        if reader.at_end:
            placement = state.placements.get(settings.worker_id)
            if placement is not last_placement:
                last_placement, payloads, dedicated = placement, _payloads(order, placement), _dedicated(placement)
            hosts.want(payloads, dedicated)
        try:
            hosts.check()
        except SparkLost as error:
            log.error("%s: the driver ends, to be started again", error)
            status = 1
            break
    if orphaned.is_set() and last_placement is not None and settings.scheduled_rebalance_max_delay_ms == 0:
        _give_up(settings, last_placement, order["incarnation"])
    hosts.close(3.0 if status == 0 else 0.0)
    if status == 0:
        context.stop()
    output.drain(1.0)
    # Threads that wait for a JVM that is gone would keep the process from ending.
    _close(telemetry)
    os._exit(status)


def _close(telemetry: Telemetry | None) -> None:
    """Have the last lines written, and sent."""
    if telemetry is not None:
        telemetry.close()
    logging.shutdown()


def _payloads(order: dict[str, Any], placement: Placement | None) -> dict[int, bytes]:
    """
    Return the order for each host that this life of the worker wants: `order`, its number as `host`, and its spec:
    `directories` and `memory` in any case, `unit` and `group` if there are any. Read next: `main.run`.
    """
    if placement is None or placement.incarnation != order["incarnation"]:
        return {}
    plain = {**order, "directories": (), "memory": None}
    return {
        number: orjson.dumps({**plain, "host": number, **assignment_records.pack_spec(placement.spec(number))})
        for number in placement.hosts or ()
    }


def _dedicated(placement: Placement | None) -> frozenset[int]:
    """Return the numbers of the hosts that are for one task."""
    if placement is None:
        return frozenset()
    return frozenset(number for number in placement.hosts or () if placement.spec(number).unit is not None)


def _give_up(settings: WorkerSettings, placement: Placement, incarnation: str) -> None:
    """
    Speak for the worker, which was killed: its group waits for it until its session is over, and the next life of it can't see
    whether hosts on other machines have ended.
    """
    if placement.hosts is None or placement.leaving or placement.incarnation != incarnation:
        return
    log.info("The worker %s has ended without a word: its units are given to others", settings.worker_id)
    try:
        writer = LogWriter(clients.internal(settings, "driver"), clients.topics(settings), _LAST_WORD_S)
        writer.write([assignment_records.placement(given_up(placement))], _LAST_WORD_S)
    except ConnectError as error:
        log.warning("That could not be said, so the others wait until its session is over: %s", error)


def _watch_parent(orphaned: threading.Event) -> None:
    # A worker that stops its driver says so, and also what becomes of its units.
    if not sys.stdin.buffer.read():
        orphaned.set()
    os.kill(os.getpid(), signal.SIGTERM)
    # If Spark hangs, the hosts must not outlive the worker by long.
    time.sleep(15)
    os._exit(1)


def _end(ended: threading.Event, up: threading.Event) -> None:
    ended.set()
    if not up.is_set():
        # Nothing runs yet. Not at once: the file that Spark is to read its settings from goes with the stack.
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
