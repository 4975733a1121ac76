"""
Which file systems the application opens: those of the sinks' stores, whatever else a table's own files name.

Hadoop opens any address whose scheme it has a class for, and some of these ask services of the network. Those that no store is
in get none. While a request is answered, its session has only that of the request's own store. Called by `main.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from kconnect import normal_forms

_CLOSED = "kconnect.ThisFileSystemIsNotOpenedHere"
"""No class has this name, and an error that says so names it."""
_NEVER = ("http", "https", "ftp", "sftp", "har")
_OLD = (
    *("webhdfs", "swebhdfs", "hftp", "wasb", "wasbs", "abfs", "adl", "s3", "s3n", "swift", "oss", "cosn", "obs", "tos", "o3fs"),
    *("ofs", "dbfs", "alluxio", "jfs"),
)
"""Those that no store's URL may begin with. Tables of the worker's own catalogs may be there."""
_OF_STORES = ("s3a", "hdfs", "abfss", "gs")


def close(spark: Any) -> None:
    """Take away what no store needs, but for that of which the worker's file names the class."""
    settings = {str(name) for name, _ in spark.sparkContext.getConf().getAll()}
    has_catalogs = any(name.startswith("spark.sql.catalog.") and "spark_catalog" not in name for name in settings)
    conf = spark._jsc.hadoopConfiguration()
    for scheme in (*_NEVER, *(() if has_catalogs else _OLD)):
        if f"spark.hadoop.{_setting(scheme)}" not in settings:
            conf.set(_setting(scheme), _CLOSED)


class Opened:
    """The file systems of one thread's session."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._own = ""
        self._default = str(normal_forms.split(str(spark._jsc.hadoopConfiguration().get("fs.defaultFS"))).scheme)

    def open(self, where: Mapping[str, Any]) -> None:
        """Have that of a table's store only. A catalog's tables are where the catalog says, and a viewfs:// leads elsewhere."""
        own = normal_forms.split(where["url"] if "url" in where else where["properties"].get(".warehouse", "")).scheme
        if own == self._own:
            return
        for scheme in _OF_STORES:
            if own in ("", "viewfs", scheme) or scheme == self._default:
                self._spark.conf.unset(_setting(scheme))
            else:
                self._spark.conf.set(_setting(scheme), _CLOSED)
        self._own = own


@contextlib.contextmanager
def closed(spark: Any, scheme: str) -> Iterator[None]:
    """
    Have a session open no files of a scheme meanwhile, not even by what others have opened. What is made in it, such as a
    catalog, keeps to that. A class that the worker's file names stays.
    """
    if f"spark.hadoop.{_setting(scheme)}" in {str(name) for name, _ in spark.sparkContext.getConf().getAll()}:
        yield
        return
    names = {_setting(scheme): _CLOSED, f"{_setting(scheme)}.disable.cache": "true"}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)


def _setting(scheme: str) -> str:
    return f"fs.{scheme}.impl"
