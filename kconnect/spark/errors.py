"""What Spark's errors say: raised by `session.py` and `hosts.py`, and ended with by `host/driver.py`."""

from __future__ import annotations

import re


class SparkLost(Exception):
    """This session will not run anything, or not any more; another must be started. The text is for the log."""


def reason(error: Exception) -> str:
    """
    Return the reason that an error of Spark's gives, in one line.

    Python's first line only names the call into the JVM; what went wrong is in the one after it.
    """
    lines = [line.strip(": \t") for line in str(error).splitlines()]
    text = next((line for line in lines if line and not line.startswith("An error occurred while calling")), repr(error))
    return re.sub(r"^(?:\w+\.)+(\w+(?:Exception|Error): )", r"\1", text).removeprefix("SparkException: ")[:500]
