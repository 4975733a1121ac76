"""
A stream of `format("kconnect")` in a process of its own, for tests that kill it.

`python -m tests.spark.streamer BOOTSTRAP TOPIC FOLDER SEED` starts it, stops it after some time, and starts it again, until the
process is killed. It writes a line at each start.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.sessions import is_late, session

SCHEMA = "id long, _partition int, _offset long, _timestamp timestamp, _deleted boolean"
LIMITS = {"maxOffsetsPerTrigger": "37", "maxRecordsPerPartition": "10"}


def start(spark: SparkSession, bootstrap: str, topic: str, folder: Path, **options: str) -> StreamingQuery:
    options = {"kafka.bootstrap.servers": bootstrap, "topics": topic, **options}
    stream = spark.readStream.format("kconnect").options(**options).schema(SCHEMA).load()
    writer = stream.writeStream.format("parquet").option("path", str(folder / "out"))
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def main() -> None:
    bootstrap, topic, folder, number = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    dice = random.Random(number)
    with session(folder) as spark:
        while True:
            query = start(spark, bootstrap, topic, folder, **LIMITS)
            sys.stdout.write("started\n")
            sys.stdout.flush()
            # Some are stopped while they start, which may take long, or in their first batch.
            waits = dice.random() < 0.7
            while waits and not query.recentProgress and query.exception() is None:
                time.sleep(0.2)
            time.sleep(dice.uniform(0, 6))
            error = query.exception()
            if error is not None and not is_late(error):
                raise SystemExit(str(error))
            query.stop()


if __name__ == "__main__":
    main()
