"""
The internal topics checked for a worker's REST API, in a process of its own: they may be large.

`worker/errands.py` starts it. What is looked for is `checking.py`'s business, as for `kconnect topics check`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.internal_topics import checking, reading
from kconnect.internal_topics.contents import Contents
from kconnect.kafka import clients
from kconnect.plugins import one_request


def main() -> None:
    one_request.serve(_work)


def _work(request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    settings = WorkerSettings.from_properties(request["worker"], {})
    client = clients.plain(settings, "admin", "topics")
    names = clients.topics(settings)
    contents = reading.read(client, {**names, Topic.SCHEMAS: settings.schema_storage_topic}, settings.group_id)
    if Topic.SCHEMAS in contents.topics:
        # It is made when the first schema is inferred.
        names = {**names, Topic.SCHEMAS: settings.schema_storage_topic}
    findings = checking.check(contents, int(time.time() * 1000), settings.exactly_once_enabled)
    return {
        "topics": [_topic(contents, role, name) for role, name in names.items()],
        "findings": [finding.data for finding in findings],
    }


def _topic(contents: Contents, role: Topic, name: str) -> dict[str, Any]:
    facts = contents.topics.get(role)
    if facts is None:
        return {"role": role.value, "topic": name, "there": False, "partitions": 0, "replication": 0, "records": 0}
    return {
        "role": role.value,
        "topic": name,
        "there": True,
        "partitions": facts.partitions,
        "replication": min(facts.replicas, default=0),
        "records": len(contents.of(role)),
    }


if __name__ == "__main__":
    main()
