"""What many tests need: waiting for a condition, with a limit; and what cases are made up from."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from kconnect.rest.client import ConnectClient

EXPLORE = bool(os.environ.get("KCONNECT_EXPLORE"))
"""
Look for faults with new cases. Otherwise they are the same each time: a change is to be refused for what it did, not because
the dice have found at last what has been wrong for long.
"""

NIGHT = bool(os.environ.get("KCONNECT_NIGHT"))
_BY_DAY = 0.4


def examples(by_night: int) -> int:
    """Return how many cases of a property are tried: by day a part of those of a night."""
    return by_night if NIGHT else max(1, round(by_night * _BY_DAY))


def seed(variable: str) -> int:
    """What `variable` says, which repeats a run that was told; otherwise always the same, but a new one for who explores."""
    return int(os.environ.get(variable) or (random.SystemRandom().randrange(1_000_000) if EXPLORE else 1))


_Fixture = TypeVar("_Fixture", bound=Callable[..., Any])


def starts(mark: str) -> Callable[[_Fixture], _Fixture]:
    """Written below `@pytest.fixture`: it starts processes, so who uses it has this mark."""

    def noted(fixture: _Fixture) -> _Fixture:
        fixture.starts = mark  # type: ignore[attr-defined]
        return fixture

    return noted


def marks_of_fixtures(item: pytest.Item) -> set[str]:
    """What `starts` says of the fixtures that a test uses; those that are only asked for by name while it runs don't count."""
    info = getattr(item, "_fixtureinfo", None)
    found = [definitions[-1].func for definitions in info.name2fixturedefs.values()] if info else []
    return {fixture.starts for fixture in found if hasattr(fixture, "starts")}


def stop(client: ConnectClient, name: str) -> None:
    """Until nothing of it runs: a request for its offsets waits for that too, but for 15 s only."""
    client.stop(name)
    client.wait_for(name, "STOPPED", tasks=0, timeout=240)


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
