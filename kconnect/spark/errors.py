"""What Spark's errors say: raised by `session.py` and `hosts.py`, and ended with by `host/driver.py`."""

from __future__ import annotations

import re

_PYTHON = re.compile(r"Error from python worker:(?P<words>.*?\S.*?)^PYTHONPATH was:", re.DOTALL | re.MULTILINE)
_REMEDY = "Each machine needs this worker's Python, with kconnect, at the same path, or spark.pyspark.python names it"


class SparkLost(Exception):
    """This session will not run anything, or not any more; another must be started. The text is for the log."""


def reason(error: Exception) -> str:
    """
    Return the reason that an error of Spark's gives, in one line.

    Python's first line only names the call into the JVM; what went wrong is in the one after it. Where an executor's Python has
    not come up, that line ends before what this Python has said.
    """
    if python := _PYTHON.search(str(error)):
        last_words = python["words"].strip().splitlines()[-1].strip()
        return f"an executor's Python ended at once: {last_words[:300]}. {_REMEDY}"
    lines = [line.strip(": \t") for line in str(error).splitlines()]
    text = next((line for line in lines if line and not line.startswith("An error occurred while calling")), repr(error))
    return re.sub(r"^(?:\w+\.)+(\w+(?:Exception|Error): )", r"\1", text).removeprefix("SparkException: ")[:500]
