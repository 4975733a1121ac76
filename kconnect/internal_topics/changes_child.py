"""
What became of a connector, read for a worker's REST API in a process of its own: the topics may be large, and slow to read.

`worker/errands.py` starts it. Read next: `core/describe/changes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.core.describe import changes
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.kafka import clients, stamped
from kconnect.plugins import one_request

_LIMIT_S, _MOST_BYTES = 30.0, 2**25
_MOST = 200


def main() -> None:
    one_request.serve(_work)


def _work(request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    settings, name = WorkerSettings.from_properties(request["worker"], {}), request["connector"]
    client, names = clients.plain(settings, "consumer", "changes"), clients.topics(settings)
    roles = {role: names[role] for role in (Topic.CONFIG, Topic.STATUS)}
    history = changes.of(name, stamped.read(client, roles, changes.keys((name,)), _LIMIT_S, _MOST_BYTES))
    return {
        "name": name,
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


if __name__ == "__main__":
    main()
