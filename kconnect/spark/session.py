"""
The Spark session of a driver: which settings kconnect needs, and which the user may choose.

Called by `worker/driver.py`. Every `spark.*` key of the worker file arrives here; those in `_OURS` can't be changed, as the
hosts' behaviour rests on them. Read next: `hosts.py`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kconnect.spark.daemon import PRELOAD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_DEFAULTS = {
    # In local mode a slot is only a thread: many, so that a host never waits for one. The second number is how often
    # Spark starts a host that died again before it gives the job up (then `hosts.py` does).
    "spark.master": "local[64,8]",
    "spark.app.name": "kconnect",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k",
    "spark.log.level": "WARN",
    "spark.task.maxFailures": "8",
    "spark.ui.showConsoleProgress": "false",
}

_OURS = {
    # A speculative copy would run a host twice.
    "spark.speculation": "false",
    # Each host begins in a clean process.
    "spark.python.worker.reuse": "false",
    "spark.python.daemon.module": "kconnect.spark.daemon",
}


def settings(user: Mapping[str, str], preload: str) -> dict[str, str]:
    """The configuration of the session. A user's value for one of ours is dropped with a warning."""
    for key, value in _OURS.items():
        if user.get(key, value) != value:
            log.warning("Ignoring %s: kconnect's task hosts need %s here", key, value)
    found = {**_DEFAULTS, **user, **_OURS, f"spark.executorEnv.{PRELOAD}": preload}
    if found["spark.master"].startswith("local"):
        # Nobody from elsewhere has any business with a driver whose executor is itself.
        found = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", **found}
    return found


def start(user: Mapping[str, str], preload: str) -> SparkSession:
    """Start the JVM and the session: 4 to 8 seconds."""
    from pyspark.sql import SparkSession

    # The setting alone has no effect for a session that Python starts. On other machines the user's names their Python.
    os.environ["PYSPARK_PYTHON"] = user.get("spark.pyspark.python", sys.executable)
    builder = SparkSession.builder
    for key, value in settings(user, preload).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
