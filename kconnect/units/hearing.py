"""
The thread in which a Java source task hears of the records that Kafka has, also while its `poll` waits, as in Kafka Connect.

Held by `source_task.py`, at least once only: exactly once a record counts when its transaction is committed, which the task's
own thread does. Read next: `kconnect/jvm/acknowledgements.py`, which says whose turn it is.
"""

from __future__ import annotations

import logging
from typing import Any

from kconnect.core.task.ports import Producer
from kconnect.units import owners
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_FLUSH_S = 0.002
"""The task's own thread waits so long at most when it comes back from `poll`."""


class Hearing:
    """`acknowledgements` are those of the task, whose messages go by `producer`. The thread ends with `end`."""

    def __init__(self, unit: Unit, acknowledgements: Any, producer: Producer) -> None:
        self._acknowledgements, self._producer = acknowledgements, producer
        acknowledgements.begin(self._serve, unit.fail_from_outside)
        self._thread = owners.thread(unit, acknowledgements.run, f"{unit.spec.unit} acknowledgements")
        self._thread.start()

    def end(self, timeout: float) -> None:
        """Once the task's `stop` has returned, or is not waited for any more: the task hears of nothing from then on."""
        self._acknowledgements.end()
        self._thread.join(timeout)
        if self._thread.is_alive():
            log.error("The task's commitRecord() has not returned after %.0f s; kconnect no longer waits for it", timeout)

    def _serve(self, hurries: bool) -> int:
        if hurries:
            # Does not wait for `linger.ms`, in which a task that waits gives nothing more.
            self._producer.flush(_FLUSH_S)
        else:
            self._producer.check()
        return self._producer.active
