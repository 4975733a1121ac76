"""
The numbers that a Python task tells of itself (`context.metric`), on their way to `/metrics`.

The task's threads write them, and `host/metrics.py` reads them in a thread of the host's. What Java plugins publish has another
way: `jvm/beans.py`. Read next: `core/metrics/published.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kconnect.core.task.answers import AnswerError

Labels = tuple[tuple[str, str], ...]

MOST = 5000
"""So many of one task are kept; labels may be what records have."""
_LONGEST = 200
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,99}")
_OURS = frozenset(("connector", "task", "host"))


class Numbers:
    """One task's. `tell` may be called from any of its threads while another one reads."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, Labels], float] = {}

    def tell(self, name: Any, value: Any, labels: Any = None) -> None:
        """Set a number; those beyond `MOST` are passed over. AnswerError for what is no number, or no name."""
        given: Mapping[str, str] = {} if labels is None else labels
        if not isinstance(given, Mapping):
            raise AnswerError(f"context.metric() was given {labels!r} as labels: it must be a map of texts")
        for text in (name, *given):
            if not isinstance(text, str) or _NAME.fullmatch(text) is None:
                raise AnswerError(f"context.metric() was given the name {text!r}: it must have letters, digits and _ only")
        if not _OURS.isdisjoint(given):
            raise AnswerError("context.metric() was given a label connector, task or host: those are set by the worker")
        try:
            number = float(value) if isinstance(value, int | float) else None
        except OverflowError:
            number = None
        if number is None:
            raise AnswerError(f"context.metric() was given {str(value)[:_LONGEST]} for {name}: it must be a number")
        key = name, tuple((label, str(text)[:_LONGEST]) for label, text in given.items())
        if key in self._values or len(self._values) < MOST:
            self._values[key] = number

    def by_labels(self) -> dict[Labels, dict[str, float]]:
        """Return what was told last."""
        found: dict[Labels, dict[str, float]] = {}
        # In one step of the interpreter: others write meanwhile.
        for (name, labels), value in list(self._values.items()):
            found.setdefault(labels, {})[name] = value
        return found
