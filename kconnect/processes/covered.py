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
from kconnect.data import secret_texts

MOST = 200_000
"""Nothing is forgotten before there are so many, since whoever uses a secret may quote it at any time. Long ones count more."""
_ONE = 256
"""In characters: so many more of a text count as one more. Each restart may bring a secret of a megabyte, in a dozen forms."""
_HEAD = 4
"""Nothing shorter is covered."""
_FEW = 20
"""Of a value with more lines than these, each of them is covered only as it is."""


_Group = tuple[str, str]
"""An owner, and what is shown."""


class _Known(NamedTuple):
    """`shown` by the text that is covered, the latest last, and these texts by how they begin."""

    shown: dict[str, str]
    by_head: dict[str, tuple[str, ...]]


class Covered:
    """Thread-safe. At most `most` texts are kept, fewer if they are long."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known = _Known({}, {})
        self._groups: dict[str, _Group] = {}
        """Of each text that is covered."""
        self._lock = threading.Lock()

    def put(self, covered: Mapping[str, str], owner: str = "") -> None:
        """
        Cover the keys, in all their forms, by their values. They are `owner`'s, such as a connector's: what is too much for one
        is taken from what the same owner covers by the same text.
        """
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
                new.update(dict.fromkeys(() if is_one_of_many else secrets.forms(value), mark))
                # As it is it is the last to go.
                new.pop(value, None)
                new[value] = mark
        with self._lock:
            # Another one each time: lines are being written meanwhile. Those of values that have been replaced may still come.
            others_shown = {value: shown for value, shown in self._known.shown.items() if value not in new}
            # What another owner has covered already stays that one's.
            self._groups.update({value: (owner, mark) for value, mark in new.items() if value not in self._groups})
            shown = self._fitting({**others_shown, **new})
            self._groups = {value: self._groups[value] for value in shown}
            by_head: dict[str, list[str]] = defaultdict(list)
            for value in shown:
                by_head[value[:_HEAD]].append(value)
            self._known = _Known(shown, {head: tuple(values) for head, values in by_head.items()})

    def hide(self, text: str) -> str:
        """Return the text with references in place of what is covered, and of what there is of it where somebody has cut it."""
        shown, by_head = self._known
        if not shown:
            return text
        found: dict[str, str] = {}
        seen: dict[str, int] = {}
        """Up to where a value's beginning is known to stand: it is measured once."""
        for at in range(len(text) - _HEAD + 1):
            for value in by_head.get(text[at : at + _HEAD], ()):
                if text.startswith(value, at):
                    found[value] = shown[value]
                elif at >= seen.get(value, 0) and (head := secret_texts.head_of(value)) and text.startswith(head, at):
                    part = secret_texts.beginning(text, at, value)
                    seen[value] = at + max(len(part), len(head))
                    if part:
                        found.setdefault(part, shown[value])
        return references.substitute(text, found) if found else text

    def _fitting(self, shown: dict[str, str]) -> dict[str, str]:
        """Return what there is room for: the group that has most of it loses its oldest."""
        over = sum(map(_weight, shown)) - self._most
        if over <= 0:
            return shown
        weights: Counter[_Group] = Counter()
        for value in shown:
            weights[self._groups[value]] += _weight(value)
        remaining = dict(weights)
        while over > 0:
            # Down to the second largest, or as far as is needed.
            (largest, weight), *rest = sorted(remaining.items(), key=lambda item: -item[1])
            dropped = min(over, max(1, weight - (rest[0][1] if rest else 0)))
            remaining[largest] -= dropped
            over -= dropped
        drop = {group: weights[group] - remaining[group] for group in weights}
        fitting = {}
        for value, mark in shown.items():
            group = self._groups[value]
            if drop[group] > 0:
                drop[group] -= _weight(value)
            else:
                fitting[value] = mark
        return fitting


def _weight(text: str) -> int:
    return 1 + len(text) // _ONE
