"""
Questions to brokers by an admin client of a task: what it is refused for good ends the waiting, and what it waits for is shown.

Made by `topics.py`, which creates the topics of a source, and by `admin.py` for a dead letter queue. An admin client reports by
itself only when it is polled, and waits for brokers that will never let it in until the request's time is over. Read next:
`refusals.py`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent import futures
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from kconnect.kafka.refusals import Access

_TURN_S, _PAUSE_S = 0.5, 0.1
_KEPT_S = 90.0
"""More than any request may take."""


class Asking:
    """ConnectError from any call: brokers have refused the client for good. Without an `access`, nobody looks for that."""

    def __init__(self, admin: AdminClient, access: Access | None = None) -> None:
        self._admin, self._access = admin, access

    def answer(self, future: Any) -> Any:
        """Return what a request's future has, or raise what it raises: the request itself has a limit of time."""
        if self._access is None:
            return future.result()
        while True:
            try:
                answer = future.result(_TURN_S)
            except futures.TimeoutError:
                try:
                    self.check()
                except BaseException:
                    keep(self._admin)
                    raise
                continue
            except ck.KafkaException:
                self.check()
                raise
            self._access.answered()
            return answer

    def topics(self, timeout: float) -> Any:
        """Return all topics that the client may see."""
        if self._access is None:
            return self._admin.list_topics(timeout=timeout).topics
        end = time.monotonic() + timeout
        while True:
            try:
                topics = self._admin.list_topics(timeout=_TURN_S).topics
            except ck.KafkaException:
                self.check()
                if time.monotonic() > end:
                    raise
                # It may have failed at once.
                time.sleep(_PAUSE_S)
                continue
            self._access.answered()
            return topics

    def check(self) -> None:
        """Have the client report what it was refused."""
        if self._access is not None:
            self._admin.poll(0)
            if (failure := self._access.failure()) is not None:
                raise failure


def keep(admin: AdminClient) -> None:
    """
    Hold a client that has a request under way, of which nobody waits for the answer, until that has come. Its own thread brings
    that, and runs Python for it: if the garbage collector came to end the client there, librdkafka would abort the process.
    """
    timer = threading.Timer(_KEPT_S, _forget, (admin,))
    timer.daemon = True
    timer.start()


def _forget(admin: AdminClient) -> None:
    """Let a client go, in the timer's thread."""


def settings(client: Mapping[str, Any], access: Access | None) -> dict[str, Any]:
    """Return the settings of an admin client that reports to this one."""
    return dict(client) if access is None else {**client, **access.callbacks}
