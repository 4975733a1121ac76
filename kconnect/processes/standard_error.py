"""
Where a worker's Spark driver writes what it has to say: to the worker until Spark is up, and then to where the worker writes.

`worker/driver.py` starts the driver with a pipe for its standard error and, by the environment, the descriptor of its own one;
`host/driver.py` takes that over. So the worker knows why a driver did not start, and reads none of what hosts say later.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "KCONNECT_STDERR"
"""Environment variable: the descriptor of the worker's standard error."""


def take() -> int | None:
    """Return the descriptor, if there is one, and keep it from processes that this one starts."""
    text = os.environ.pop(VARIABLE, None)
    return None if text is None else int(text)


def become(direct: int | None) -> None:
    """Write to that descriptor from now on, instead of to the worker."""
    if direct is not None:
        sys.stderr.flush()
        os.dup2(direct, 2)
        os.close(direct)
