"""
kconnect's topics as frames of Spark: `spark.read.format("kconnect")`, `spark.readStream.format("kconnect")`.

A small package that runs in other people's Spark, on PySpark 4.0 to 4.3: importing it imports PySpark's data sources, and
neither Kafka's clients nor anything else of kconnect. `register(spark)` is all that a notebook calls. docs/pyspark.md is for
its users. Read next: `source.py`, then `options.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kconnect.pyspark.bad import drop_bad
from kconnect.pyspark.source import KconnectDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["KconnectDataSource", "drop_bad", "register"]

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """
    Make `format("kconnect")` known to a session, also to one of Spark Connect.

    Where Spark can hand filters to a source in Python (4.1 and newer), that is switched on for the session. Python packages are
    not sent along: kconnect must be installed where Spark's driver and its executors run Python.
    """
    spark.dataSource.register(KconnectDataSource)
    if spark.version.split(".")[:2] >= ["4", "1"]:
        spark.conf.set(_PUSHDOWN, "true")
