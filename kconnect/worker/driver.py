"""
The Spark driver process of a worker: it tails the worker's placement and keeps a Spark task running for each host in it.

`main.py` starts it as a child and starts it again when it dies. Its only argument comes as one JSON line on standard input,
where no process list shows it; the end of standard input is the end of the worker, and so of this process.
Read next: `spark/hosts.py`.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from typing import Any

import orjson

from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import Topic
from kconnect.kafka import clients
from kconnect.kafka.log import LogReader
from kconnect.spark import session
from kconnect.spark.errors import SparkLost
from kconnect.spark.hosts import Hosts
from kconnect.worker import host, logs

log = logging.getLogger("kconnect.worker.driver")  # Run as a program, its own name would be __main__.

_JVM_CHECK_S = 0.5


def main() -> int:
    order: dict[str, Any] = orjson.loads(sys.stdin.buffer.readline())
    settings = WorkerSettings.from_properties(order["properties"], {})
    logs.configure(format=settings.log_format)
    logs.hide_secrets(settings.raw)
    ended = threading.Event()
    threading.Thread(target=_watch_parent, args=(ended,), daemon=True).start()
    # Ctrl-C in a terminal reaches the whole group; the worker decides when this process ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: ended.set())

    started = time.monotonic()
    wanted = settings.task_hosts if settings.task_hosts > 0 else os.cpu_count() or 1  # As `main.py` counts them.
    try:
        spark = session.start(settings.spark, preload="kconnect.worker.host", hosts=wanted)
    except SparkLost as error:
        log.error("%s", error)
        logging.shutdown()
        os._exit(1)
    context = spark.sparkContext
    log.info("Spark %s is up at %s after %.1f s", spark.version, context.master, time.monotonic() - started)

    def payload(number: int) -> bytes:
        return orjson.dumps({**order, "host": number})

    hosts = Hosts(context, host.run, payload)
    jvm = context._gateway.proc if context._gateway is not None else None
    reader = LogReader(clients.internal(settings, "driver"), {Topic.ASSIGNMENT: settings.assignment_storage_topic})
    state = AssignmentState()
    status = 0
    while not ended.is_set():
        for record in reader.read(timeout=_JVM_CHECK_S):
            state.apply(record)
        if jvm is not None and jvm.poll() is not None:
            log.error("Spark's JVM (pid %d) has died with status %s", jvm.pid, jvm.returncode)
            status = 1
            break
        if reader.at_end:
            placement = state.placements.get(settings.worker_id)
            mine = placement is not None and placement.incarnation == order["incarnation"]
            hosts.want(placement.hosts or () if placement is not None and mine else ())
        try:
            hosts.check()
        except SparkLost as error:
            log.error("%s: the driver ends, to be started again", error)
            status = 1
            break
    hosts.close(3.0 if status == 0 else 0.0)
    if status == 0:
        spark.stop()
    # Threads that wait for a JVM that is gone would keep the process from ending.
    logging.shutdown()
    os._exit(status)


def _watch_parent(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()
    # If Spark hangs, the hosts must not outlive the worker by long.
    time.sleep(10)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
