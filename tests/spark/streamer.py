"""
A stream of `format("kconnect")` in a process of its own, for tests that kill it.

`python -m tests.spark.streamer BOOTSTRAP TOPIC FOLDER` reads on until it is killed, and says `reads` once it does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.sessions import session

SCHEMA = "id long, _partition int, _offset long, _timestamp timestamp, _deleted boolean"


def start(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> StreamingQuery:
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "topics": topic,
        "maxOffsetsPerTrigger": "37",
        "maxRecordsPerPartition": "10",
    }
    stream = spark.readStream.format("kconnect").options(**options).schema(SCHEMA).load()
    writer = stream.writeStream.format("parquet").option("path", str(folder / "out"))
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def main() -> None:
    bootstrap, topic, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    with session(folder) as spark:
        query = start(spark, bootstrap, topic, folder)
        while not query.recentProgress and query.isActive:
            query.awaitTermination(1)
        sys.stdout.write("reads\n")
        sys.stdout.flush()
        query.awaitTermination()


if __name__ == "__main__":
    main()
