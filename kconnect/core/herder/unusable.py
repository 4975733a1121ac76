"""
Tells of records that nobody can use: of each key once, and of no more keys than a log should have lines. Held by `herder.py`.
"""

from __future__ import annotations

from collections import Counter

from kconnect.core.herder.desk import Desk
from kconnect.core.state.records import Broken, Topic

_NOTED = 1000
"""Of so many keys is told that their records can't be used."""
_UNNOTED_MS = 60_000


class Unusable:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._noted: set[tuple[Topic, str]] = set()
        self._unnoted: Counter[Topic] = Counter()
        """Records of which the worker's log does not say so yet, as it has told of their keys."""
        self._told_at: int | None = None

    def read(self, record: Broken) -> None:
        if (record.topic, record.key) in self._noted or len(self._noted) >= _NOTED:
            self._unnoted[record.topic] += 1
            return
        self._noted.add((record.topic, record.key))
        topic, key, reason = record.topic.value, record.key, record.reason
        self._desk.say("WARNING", f"Ignoring a record of the {topic} topic with the key {key!r}: {reason}")

    def tell(self) -> None:
        """Log the unusable records: at once the first time, and then once a minute, because they may be many."""
        now = self._desk.now
        if self._unnoted and (self._told_at is None or now - self._told_at >= _UNNOTED_MS):
            self._told_at = now
            for topic, count in self._unnoted.items():
                more = f"{count} more unusable record{'s' if count > 1 else ''} of the {topic.value} topic"
                text = f"Ignored {more}; each key is logged once: `kconnect topics check` lists all of them"
                self._desk.say("WARNING", text)
            self._unnoted.clear()
