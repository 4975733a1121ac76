"""
The process that Spark forks task hosts from, with everything heavy imported already.

Spark runs it on each executor as `spark.python.daemon.module`; `session.py` sets that. What is imported before the fork is
shared by all hosts of an executor: 55 MB a host become 30. Nothing here may create a Kafka client: librdkafka's threads do
not survive a fork. Read next: `hosts.py`.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
from types import ModuleType, SimpleNamespace

from kconnect import peers

PRELOAD = "KCONNECT_PRELOAD"
"""Environment variable: the modules to import, separated by commas."""


SAFE_PATH, KCONNECTS = "PYTHONSAFEPATH", "kconnect"
"""
Environment variable: this process imports nothing from the directory in which Spark starts it, whose files others may have left
there. Any value has this effect; by ours the daemon knows that nobody else has set it. Python 3.10 does not know it.
"""


def preload() -> None:
    for name in filter(None, os.environ.get(PRELOAD, "").split(",")):
        try:
            importlib.import_module(name)
        except ImportError as error:
            # The host will fail with the same error, where it can be reported; the daemon must serve the others.
            print(f"kconnect: preloading {name} failed: {error}", file=sys.stderr)  # noqa: T201


def guard(module: ModuleType) -> None:
    """Have PySpark's daemon, in this module, answer processes of this user alone."""
    if peers.is_known():
        # It has a name of its own for what it makes its listener of, and goes on after an interrupted `accept`.
        guarded = {**vars(socket), "socket": peers.Guarded}
        vars(module)["socket"] = SimpleNamespace(**guarded)


if __name__ == "__main__":
    import pyspark.daemon

    if os.environ.get(SAFE_PATH) == KCONNECTS:
        # What plugins start is theirs.
        del os.environ[SAFE_PATH]
    guard(pyspark.daemon)
    preload()
    pyspark.daemon.manager()
