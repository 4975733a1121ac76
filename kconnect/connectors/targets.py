"""
Targets that get their names from topics: a line in the log where two topics have one.

Databases and search engines take names for the same that differ by case, or can't have some characters. Then the records of two
topics stand in one table or index, and those with the same key replace each other, which the config need not mean. Used by
`search/actions.py` and `sql/tables.py`. Read next: `names.py`.
"""

from __future__ import annotations

import logging

from kconnect.connectors import names

log = logging.getLogger(__name__)

_KEPT = 10_000


class Targets:
    """`kind` is what they are, such as a table; `remedy` what tells them apart."""

    def __init__(self, kind: str, remedy: str) -> None:
        self._kind, self._remedy = kind, remedy
        self._topics: dict[str, str] = {}
        """The first topic of each target."""

    def note(self, target: str, topic: str) -> None:
        """Remember that a topic goes to a target, and warn if another one does, once for each such topic."""
        first = self._topics.setdefault(target, topic)
        if first == topic or self._topics.get(f"{topic}\0") == target:
            return
        # No topic has such a name, and no target.
        self._topics[f"{topic}\0"] = target
        log.warning(
            "The topics %s and %s go to the same %s, %s: records with the same key replace each other there. %s",
            names.shown(first),
            names.shown(topic),
            self._kind,
            names.shown(target),
            self._remedy,
        )
        if len(self._topics) >= _KEPT:
            # Records may have any topics, by a transform.
            self._topics.clear()
