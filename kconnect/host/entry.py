"""
What Spark calls in an executor's Python process to have a task host there.

Spark sends a function by its name, so the driver needs this module alone: a host's own are 12 MB, and a third of a second.
Used by `driver.py`, which hands it to Spark. Read next: `main.py`.
"""

from __future__ import annotations

from collections.abc import Iterable


def run(payloads: Iterable[bytes]) -> None:
    """Be one host until the log says that it is no longer needed."""
    # Spark's daemon has imported it already, before the fork.
    from kconnect.host import main

    main.run(payloads)
