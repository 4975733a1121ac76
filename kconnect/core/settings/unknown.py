"""
Settings that nothing in a validated config declares: mostly misspelt ones, which Connect ignores in silence.

Pure. The herder logs them, and the command line tells them, of Apache Kafka Connect's answers too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

_MOST, _LONGEST, _NEAR = 10, 100, 0.8

_PASSED_ON = (
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "producer.override.",
    "consumer.override.",
    "admin.override.",
)
"""What stands below goes to others, who may take more than they declare."""

LABEL = "label."
"""What begins so is for people: no connector has such settings, and Kafka Connect passes by what it does not know."""


def told(config: Mapping[str, Any], infos: Mapping[str, Any]) -> Iterator[str]:
    """
    A sentence for each, ten at most. `infos` is the answer to the config's validation.

    >>> rows = [{"value": {"name": name}} for name in ("connector.class", "tasks.max")]
    >>> list(told({"task.max": "2"}, {"configs": rows}))
    ['The setting task.max is unknown; did you mean tasks.max?']
    """
    known_names = {
        part["name"] for row in infos.get("configs", ()) for part in (row.get("definition"), row.get("value")) if part
    }
    if "connector.class" not in known_names:
        # Not the answer of a worker that tells all.
        return
    unknown = sorted(name for name in config.keys() - known_names if not name.startswith(LABEL))
    for name in unknown[:_MOST]:
        near = difflib.get_close_matches(name, known_names, 1, _NEAR) if len(name) <= _LONGEST else []
        if near:
            yield f"The setting {name} is unknown; did you mean {near[0]}?"
        elif not name.startswith(_PASSED_ON):
            yield f"The setting {name} is unknown, and has no effect unless a plugin reads it without declaring it"
    if len(unknown) > _MOST:
        yield f"{len(unknown) - _MOST} more settings are unknown"
