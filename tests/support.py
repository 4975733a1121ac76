"""What many tests need: waiting for a condition, with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def wait_until(condition: Callable[[], Any], timeout: float = 120.0, message: str = "the condition did not hold") -> Any:
    """What `condition` gives once it is true; an AssertionError after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"{message} within {timeout:.0f} s")
        time.sleep(0.05)
