"""
What a client has read and its reader has not been given yet: records whose headers together would take too much memory.

A header of ten bytes takes more than a hundred as an object, and a record may have 100,000 of them, so what is a small batch
for a broker can be a large one for a process. Headers become objects once somebody looks at them; so that is done in portions.
Held by `consumer.py` and `reader.py`, each for its own client. Read next: `message_headers.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import confluent_kafka as ck

from kconnect.kafka import message_headers

MOST_HEADERS = 100_000
"""Of a portion, unless one record alone has more."""


class Portions:
    def __init__(self, most: int = MOST_HEADERS) -> None:
        self._most = most
        self._kept: list[ck.Message] = []

    def __bool__(self) -> bool:
        return bool(self._kept)

    def waits(self, stopped: Collection[tuple[str, int]] = ()) -> bool:
        """Return whether there is something to hand over of partitions that are not `stopped`."""
        return any(_place(message) not in stopped for message in self._kept)

    def portion(
        self, messages: Sequence[ck.Message], limit: int, stopped: Collection[tuple[str, int]] = ()
    ) -> list[ck.Message]:
        """Take what was read now, and return what to hand over: `limit` messages at most, each header with a name."""
        if self._kept:
            self._kept += messages
            ready = [message for message in self._kept if _place(message) not in stopped] if stopped else self._kept
            ready = ready[:limit]
        else:
            ready = list(messages)
        count = message_headers.mend(ready, self._most) if ready else 0
        if self._kept:
            returned = set(map(id, ready[:count]))
            self._kept = [message for message in self._kept if id(message) not in returned]
        else:
            self._kept = ready[count:]
        return ready[:count]

    def drop(self, places: Collection[tuple[str, int]]) -> None:
        """Forget what was read of these partitions: they are somebody else's, or are read from another offset on."""
        if self._kept:
            self._kept = [message for message in self._kept if _place(message) not in places]


def _place(message: ck.Message) -> tuple[str, int]:
    return message.topic() or "", message.partition() or 0
