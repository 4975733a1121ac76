"""
kconnect: Kafka Connect's API, topics and configs; the data pipeline on Spark, in Python.

Plugin authors start at `kconnect.api`; who wants to see how it works at `kconnect/worker/main.py`. Importing this package
imports nothing else, so that the command line starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

CONNECT_VERSION = "4.3.1"
"""The Kafka Connect whose API is kept, and whose plugins these are: what clients and configs go by. No other place says it."""

__version__: str
"""kconnect's own, which `GET /` tells as a part of `commit`."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> str:
        # The version is written in setup.cfg only; asking for it takes 20 ms, so only who wants it pays.
        if name == "__version__":
            from importlib.metadata import PackageNotFoundError, version

            try:
                value = version("kconnect")
            except PackageNotFoundError:
                value = version("kconnect-client")
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
