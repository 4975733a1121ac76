"""
Settings that nothing in a validated config declares: mostly misspelt ones, which Connect ignores in silence.

Pure. The herder logs them, and the command line tells them, of Apache Kafka Connect's answers too.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Collection, Iterator, Mapping
from typing import Any

_MOST, _LONGEST, _NEAR = 10, 100, 0.8
_MOST_KNOWN, _COMPARED = 1000, 3
"""
Among more names none is looked for, and so many of the likest are compared letter by letter. That takes up to the third power
of their length, and the herder waits for it, so that who may create connectors could hold up a worker for hours.
"""

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
        near = _nearest(name, known_names)
        if near is not None:
            yield f"The setting {name} is unknown; did you mean {near}?"
        elif not name.startswith(_PASSED_ON):
            yield f"The setting {name} is unknown, and has no effect unless a plugin reads it without declaring it"
    if len(unknown) > _MOST:
        yield f"{len(unknown) - _MOST} more settings are unknown"


def _nearest(name: str, known_names: Collection[str]) -> str | None:
    """Return the known name that is most like another one; None if none is like it, or if it would take long to tell."""
    if len(name) > _LONGEST or len(known_names) > _MOST_KNOWN:
        return None
    matcher = difflib.SequenceMatcher(b=name)
    alike = []
    for known in known_names:
        if len(known) <= _LONGEST:
            matcher.set_seq1(known)
            # Upper bounds, which are had quickly.
            if matcher.real_quick_ratio() >= _NEAR and (most := matcher.quick_ratio()) >= _NEAR:
                alike.append((most, known))
    compared = []
    for _, known in heapq.nlargest(_COMPARED, alike):
        matcher.set_seq1(known)
        compared.append((matcher.ratio(), known))
    ratio, nearest = max(compared, default=(0.0, None))
    return nearest if ratio >= _NEAR else None
