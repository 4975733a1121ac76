"""
The second store of connectors with an offset topic of their own: what they have stored there, in the worker's topic.

So a connector goes on where it was if it gives its topic up, and tools that read the worker's topic see all connectors. Used by
`offsets.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from kconnect.core.state.records import Entry
from kconnect.units.offset_topic import OffsetTopic

log = logging.getLogger(__name__)

_COPY_S = 1.0


class Copies:
    """
    Takes what connectors have stored in their own topics to the worker's, as far as that can be done: from a thread of its own,
    once a second the newest of each partition.
    """

    def __init__(self, topic: OffsetTopic, expires_s: float, holds_lease: Callable[[], bool]) -> None:
        self._topic, self._expires_s, self._holds_lease = topic, expires_s, holds_lease
        self._waiting: dict[bytes, tuple[object, Entry]] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        """Held while something is written, so that no copy comes after what deletes it."""
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()

    def put(self, owner: object, entries: Iterable[Entry]) -> None:
        with self._lock:
            self._waiting.update((entry.key, (owner, entry)) for entry in entries)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="offset copies", daemon=True)
                self._thread.start()

    def delete(self, entries: Sequence[Entry], timeout: float) -> None:
        """Now; ConnectError if it can't be done."""
        with self._writing:
            with self._lock:
                for entry in entries:
                    self._waiting.pop(entry.key, None)
            self._topic.write(entries, timeout)

    def flush(self, owner: object) -> None:
        """Write what waits for this owner. What is not acknowledged in time has expired by then, and won't come later."""
        self._write(lambda whose: whose is owner)

    def forget(self, owner: object) -> None:
        with self._lock:
            self._waiting = {key: copy for key, copy in self._waiting.items() if copy[0] is not owner}

    def close(self) -> None:
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(_COPY_S):
            if self._waiting and self._holds_lease():
                self._write(lambda _: True)

    def _write(self, is_wanted: Callable[[object], bool]) -> None:
        with self._writing:
            with self._lock:
                due = {key: copy for key, copy in self._waiting.items() if is_wanted(copy[0])}
                self._waiting = {key: copy for key, copy in self._waiting.items() if key not in due}
            if not due:
                return
            try:
                self._topic.write([entry for _, entry in due.values()], self._expires_s)
            except Exception as error:  # noqa: BLE001 - the own topic has them, and comes first
                log.warning("Offsets of a connector's own topic were not copied to %s: %s", self._topic.topic, error)
