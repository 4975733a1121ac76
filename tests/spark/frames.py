"""
What a notebook does with `format("kconnect")`, in a process of its own: on another PySpark, or by Spark Connect.

`python -m tests.spark.frames BOOTSTRAP TOPIC FOLDER [REMOTE]` prints what it has read as JSON.
"""

from __future__ import annotations

import functools
import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import kconnect.pyspark
from tests.spark.sessions import patiently, session


def _drain(once: Any) -> None:
    once.start().awaitTermination()


def read(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> dict[str, Any]:
    """Read a topic as a batch, by a filter, and twice as a stream."""
    options = {"kafka.bootstrap.servers": bootstrap, "topics": topic, "maxOffsetsPerTrigger": "1000"}
    frame = spark.read.format("kconnect").options(**options).load()
    sizes = []
    for _ in range(2):
        stream = spark.readStream.format("kconnect").options(**options).load()
        writer = stream.writeStream.format("parquet").option("path", str(folder / "out"))
        once = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
        patiently(functools.partial(_drain, once))
        sizes.append(spark.read.parquet(str(folder / "out")).count())
    return {
        "version": spark.version,
        "schema": frame.schema.simpleString(),
        "rows": frame.count(),
        "deleted": frame.filter("_deleted").count(),
        "filtered": sorted(row["id"] for row in frame.filter("_partition = 0 and _offset < 3").select("id").collect()),
        "stream": sizes,
    }


def main() -> None:
    bootstrap, topic, folder, *remote = sys.argv[1:]
    opened: AbstractContextManager[SparkSession] = session(Path(folder))
    if remote:
        spark = SparkSession.builder.remote(remote[0]).getOrCreate()
        kconnect.pyspark.register(spark)
        opened = nullcontext(spark)
    with opened as spark:
        found = read(spark, bootstrap, topic, Path(folder))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
