"""
The process that Spark forks task hosts from, with everything heavy imported already.

Spark runs it on each executor as `spark.python.daemon.module`; `session.py` sets that. What is imported before the fork is
shared by all hosts of an executor: 55 MB a host become 30. Nothing here may create a Kafka client: librdkafka's threads do
not survive a fork. Read next: `hosts.py`.
"""

from __future__ import annotations

import importlib
import os
import sys

PRELOAD = "KCONNECT_PRELOAD"
"""Environment variable: the modules to import, separated by commas."""


def preload() -> None:
    for name in filter(None, os.environ.get(PRELOAD, "").split(",")):
        try:
            importlib.import_module(name)
        except ImportError as error:
            # The host will fail with the same error, where it can be reported; the daemon must serve the others.
            print(f"kconnect: preloading {name} failed: {error}", file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
