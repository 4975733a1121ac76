"""
What became of a connector, as the internal topics still tell it. Made by `rest/own.py`.

Read next: `core/describe/changes.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kconnect.core.describe import changes
from kconnect.core.herder import effects
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request

_MOST = 200


@dataclass(frozen=True, slots=True)
class GetChanges(Request[Body]):
    """`GET /kconnect/connectors/{c}/changes`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        office.desk.require(self.name)
        history = changes.of(self.name, (yield from ask(effects.ReadChanges(self.name))))
        return {
            "name": self.name,
            "since": history.begins_ms,
            "restarts": history.restarts(),
            "changes": [_event(event) for event in history.events[-_MOST:]],
        }


def _event(event: changes.Event) -> dict[str, Any]:
    unit = event.unit
    what = None if unit is None else "connector" if unit.is_connector else "task"
    return {
        "at": event.at_ms,
        "of": what,
        "task": unit.task if unit is not None and what == "task" else None,
        "text": event.text,
    }
