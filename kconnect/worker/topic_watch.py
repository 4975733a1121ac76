"""
Looks whether the internal topics are still those that a worker reads, and still keep what is in them.

Made and asked by `main.py`. A thread asks the brokers every five seconds what the topics' ids are, makes those anew that are
gone, and looks at cleanup policies once an hour and whenever this worker begins to lead. What follows for the worker is decided
in `core/herder/losses.py`.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Mapping

from kconnect.core.herder import events
from kconnect.core.state.records import Topic
from kconnect.errors import ConnectError
from kconnect.kafka.admin import Admin, InternalTopic
from kconnect.kafka.log import LogReader

log = logging.getLogger(__name__)

_LOOK_S = 5.0
_POLICIES_S = 3600.0


class TopicWatch:
    def __init__(self, admin: Admin, topics: Mapping[Topic, InternalTopic], look_s: float = _LOOK_S) -> None:
        """The topics are there already."""
        self._admin, self._topics, self._look_s = admin, topics, look_s
        self._names = {role: topic.name for role, topic in topics.items()}
        ids = admin.topic_ids(self._names.values())
        self.ids = {role: ids[name] for role, name in self._names.items() if name in ids}
        self._found: queue.SimpleQueue[Topic] = queue.SimpleQueue()
        self._todo: set[Topic] = set()
        self._given_up: set[Topic] = set()
        self._wake, self._closed = threading.Event(), False
        self._policies_at = time.monotonic() + _POLICIES_S
        self._thread = threading.Thread(target=self._run, name="topics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Returns at once."""
        self._closed = True
        self._wake.set()

    def look_at_policies(self) -> None:
        """Soon, and by the thread. From any thread."""
        self._policies_at = 0.0
        self._wake.set()

    def remade(self, reader: LogReader) -> list[events.Remade]:
        """
        Return the topics that are no longer those that `reader` has read; for the reader's thread. From now on the reader reads
        them from their beginning, but for the config topic: of that one it hands out nothing more.
        """
        while not self._found.empty():
            self._todo.add(self._found.get())
        self._todo |= reader.lost
        self._todo -= self._given_up
        remade_topics = []
        for role in sorted(self._todo, key=lambda role: role.value):
            try:
                id = self._admin.topic_ids([self._names[role]]).get(self._names[role])
                if role in reader.lost or id != self.ids.get(role):
                    if role is Topic.CONFIG:
                        reader.lost.add(role)
                        self._given_up.add(role)
                    else:
                        reader.begin_again(role)
                    self._policies_at = 0.0
                    remade_topics.append(events.Remade(role, id))
                if id is not None:
                    self.ids[role] = id
                self._todo.discard(role)
            except ConnectError as error:
                log.debug("Checking %s again: %s", self._names[role], error)
        return remade_topics

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(self._look_s)
            self._wake.clear()
            try:
                self._look()
            except ConnectError as error:
                log.debug("The internal topics could not be checked: %s", error)

    def _look(self) -> None:
        ids = self._admin.topic_ids(self._names.values())
        missing = [topic for topic in self._topics.values() if topic.name not in ids]
        if missing:
            # As at the start. A client that writes would have the broker make it, not compacted.
            self._admin.create(missing)
        for role, name in self._names.items():
            if name in ids and ids[name] != self.ids.get(role):
                self._found.put(role)
        if time.monotonic() >= self._policies_at:
            self._policies_at = time.monotonic() + _POLICIES_S
            try:
                for problem in self._admin.uncompacted(self._topics.values()):
                    log.error("%s Or change that topic's cleanup.policy to compact: `kconnect topics check` says how", problem)
            except ConnectError:
                self._policies_at = 0.0
                raise
