"""
kconnect: Kafka Connect's API, topics and configs; the data pipeline on Spark, in Python.

Plugin authors start at `kconnect.api`; who wants to see how it works at `kconnect/worker/main.py`. Importing this package
imports nothing else, so that the command line starts at once.
"""

from __future__ import annotations

__version__ = "0.1.0"
