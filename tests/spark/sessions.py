"""A session of Spark on this machine for tests of `format("kconnect")`, and topics for it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

import kconnect.pyspark

T = TypeVar("T")

_TRIES = 30


@contextmanager
def session(folder: Path, **settings: str) -> Iterator[SparkSession]:
    """A session that writes an event log into `folder`. Its Python processes are of this very Python."""
    before = {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")}
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    (folder / "events").mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master("local[2]").config("spark.driver.host", "127.0.0.1")
    own = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.eventLog.compress": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.port": "0",
        "spark.driver.memory": "600m",
        **settings,
    }
    for name, value in own.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        kconnect.pyspark.register(spark)
        yield spark
    finally:
        spark.stop()
        for name, was in before.items():
            os.environ.pop(name, None)
            if was is not None:
                os.environ[name] = was


def is_late(error: BaseException | None) -> bool:
    """Whether Spark gave up a Python process that did not start within its ten seconds, which no setting changes."""
    return error is not None and "failed to connect back" in str(error)


def patiently(run: Callable[[], T]) -> T:
    """Run a stream or a read, and again as long as the machine is too busy for Spark's ten seconds, as the page has it."""
    for _ in range(_TRIES):
        try:
            return run()
        except Exception as error:
            if not is_late(error):
                raise
    return run()


def topic(bootstrap: str, name: str, partitions: int = 2, **config: str) -> str:
    """Create a topic, and return its name."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result()
    return name


def produce(bootstrap: str, name: str, contents: Iterable[Any], partition: int = -1, **message: Any) -> None:
    """Write values, each as it is if it is bytes or None, or else as JSON."""
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for content in contents:
        text = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
        producer.produce(name, text, partition=partition, **message)
        producer.poll(0)
    assert producer.flush(60) == 0


def read(spark: SparkSession, bootstrap: str, options: Mapping[str, Any], schema: str | None = None) -> DataFrame:
    reader = spark.read.format("kconnect").options(**{"kafka.bootstrap.servers": bootstrap, **options})
    return patiently((reader if schema is None else reader.schema(schema)).load)
