"""
What a cluster has written to its config, status and offset topics, in a form that can be compared.

Of the config topic all values of each key count, in their order; of the other two the last value of each key, and of statuses
also which states there were: how often one is written, and what is seen on the way, is a matter of time. Called by `run.py`.
"""

from __future__ import annotations

import json
from typing import Any

from tests.rig.parity.cluster import Cluster
from tests.rig.parity.normal import Same
from tests.rig.systems import recorder


def read(cluster: Cluster, same: Same) -> dict[str, Any]:
    """By topic (`config`, `status`, `offsets`) what each key has, normalised."""
    config = _entries(cluster, "configs", same)
    status = _entries(cluster, "status", same)
    offsets = _entries(cluster, "offsets", same)
    return {
        "records: config topic": config,
        "records: status topic": last_states(status),
        "records: offsets topic": {key: values[-1] for key, values in offsets.items()},
    }


def last_states(values_by_key: dict[str, list[Any]]) -> dict[str, Any]:
    """
    The last value of each key and the states that were seen. The use of a topic that was forgotten is left out: whether a sink
    that is soon deleted has read one before that is a matter of time.
    """
    found: dict[str, Any] = {}
    for key, values in values_by_key.items():
        if values[-1] is not None or not key.startswith('"status-topic-'):
            seen = sorted({f"{value['state']} {','.join(sorted(value))}" for value in values if _lasts(value)})
            found[key] = {"last": values[-1], "seen": seen}
    return found


def _lasts(value: dict[str, Any] | None) -> bool:
    return value is not None and value.get("state") not in (None, "UNASSIGNED", "RESTARTING")


def _entries(cluster: Cluster, topic: str, same: Same) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for message in recorder.read(cluster.bootstrap_servers, f"{cluster.name}-{topic}"):
        key, value = message.key(), message.value()
        values = found.setdefault(json.dumps(same(_json(key))), [])
        made = same(_json(value))
        if not values or values[-1] != made:
            values.append(made)
    return found


def _json(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")
