"""
Makes a class archive for Spark's JVM: with it Spark's start takes 2.4 s of a processor instead of 4.2.

`python -m kconnect.spark.archive` takes 20 s and 70 MB, and `scripts/setup` calls that. Read next: `class_archive.py`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from kconnect import archive_mapping
from kconnect.spark import class_archive, session
from kconnect.spark.output import Output


def make() -> None:
    """
    Start Spark, run a job as a host's is, and keep the classes that it took; nothing to do if that was done before.

    Raises:
        OSError: the environment's directory can't be written
        SparkLost: Spark does not start
    """
    path = class_archive.path()
    if path is None or class_archive.is_there():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(f".{os.getpid()}")
    try:
        options = " ".join((session.JVM, *archive_mapping.IN_PLACE, f"-XX:ArchiveClassesAtExit={aside}"))
        spark_settings = {"spark.driver.extraJavaOptions": options}
        context = session.start(spark_settings, "kconnect.spark.archive", 1, Output())
        gateway = context._gateway
        assert gateway is not None
        context.parallelize([b""], 1).foreachPartition(_nothing)
        context.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        for old in path.parent.glob("spark-*.jsa"):
            old.unlink()
        aside.rename(path)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def _nothing(rows: Iterable[bytes]) -> None:
    list(rows)


if __name__ == "__main__":
    make()
