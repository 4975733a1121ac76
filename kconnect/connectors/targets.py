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
        self._first: dict[str, str] = {}
        """The first topic of each target."""
        self._told: set[tuple[str, str]] = set()
        """Other topics of a target that were logged, with it."""

    def note(self, target: str, topic: str) -> None:
        """Remember that a topic goes to a target, and warn if another one does, once for each such topic."""
        if len(self._first) + len(self._told) >= _KEPT:
            # Records may choose topics and targets without end.
            self._first.clear()
            self._told.clear()
        first = self._first.setdefault(target, topic)
        if first == topic or (topic, target) in self._told:
            return
        self._told.add((topic, target))
        log.warning(
            "The topics %s and %s go to the same %s, %s: records with the same key replace each other there. %s",
            names.shown(first),
            names.shown(topic),
            self._kind,
            names.shown(target),
            self._remedy,
        )
