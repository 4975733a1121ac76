"""
What no line of a process may say: texts, each with the reference that is shown in its place.

Held by `logs.py`, which asks for each line and each status. There may be very many: each secret has a dozen forms, and a bundle
of certificates thousands of lines. So they are found by how they begin, and what takes up too much room is the first to go, not
what others have. Read next: `core/settings/references.py`.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from kconnect.api.config import HIDDEN
from kconnect.core.settings import references, secrets

MOST = 200_000
"""Nothing is forgotten before there are so many, since whoever uses a secret may quote it at any time."""
_HEAD = 4
"""Nothing shorter is covered."""
_FEW = 20
"""Of a value with more lines than these, each of them is covered only as it is."""


class _Known(NamedTuple):
    """`shown` by the text that is covered, the latest last, and these texts by how they begin."""

    shown: dict[str, str]
    by_head: dict[str, tuple[str, ...]]


class Covered:
    """Thread-safe. At most `most` texts are kept."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known = _Known({}, {})
        self._lock = threading.Lock()

    def put(self, covered: Mapping[str, str]) -> None:
        """Cover the keys, in all their forms, by their values."""
        of_reference: dict[str, list[str]] = defaultdict(list)
        for value, reference in covered.items():
            of_reference[reference].append(value)
        new: dict[str, str] = {}
        for reference, values in of_reference.items():
            # Within JSON, it would have to be written in another way there.
            mark = reference if json.dumps(reference) == f'"{reference}"' else HIDDEN
            lines = {line.strip() for value in values if "\n" in value for line in value.splitlines()}
            for value in values:
                # Such lines have little that is written in another way elsewhere.
                is_one_of_many = len(lines) > _FEW and value in lines
                new.update(dict.fromkeys({value} if is_one_of_many else secrets.forms(value), mark))
        with self._lock:
            # Another one each time: lines are being written meanwhile. Those of values that have been replaced may still come.
            others_shown = {value: shown for value, shown in self._known.shown.items() if value not in new}
            shown = self._fitting({**others_shown, **new})
            by_head: dict[str, list[str]] = defaultdict(list)
            for value in shown:
                by_head[value[:_HEAD]].append(value)
            self._known = _Known(shown, {head: tuple(values) for head, values in by_head.items()})

    def hide(self, text: str) -> str:
        """Return the text with references in place of what is covered."""
        shown, by_head = self._known
        if not shown:
            return text
        values = {
            value
            for at in range(len(text) - _HEAD + 1)
            for value in by_head.get(text[at : at + _HEAD], ())
            if text.startswith(value, at)
        }
        return references.substitute(text, {value: shown[value] for value in values}) if values else text

    def _fitting(self, shown: dict[str, str]) -> dict[str, str]:
        """Return what there is room for: whatever has most of it loses its oldest."""
        over = len(shown) - self._most
        if over <= 0:
            return shown
        counts = Counter(shown.values())
        remaining = dict(counts)
        while over > 0:
            # Down to the second largest, or as far as is needed.
            (largest, count), *rest = sorted(remaining.items(), key=lambda item: -item[1])
            dropped = min(over, max(1, count - (rest[0][1] if rest else 0)))
            remaining[largest] -= dropped
            over -= dropped
        drop = {reference: counts[reference] - remaining[reference] for reference in counts}
        fitting = {}
        for value, reference in shown.items():
            if drop[reference]:
                drop[reference] -= 1
            else:
                fitting[value] = reference
        return fitting
