"""
Membership of the cluster: a consumer group on the assignment topic, whose owner of partition 0 leads.

`GroupMember` runs a thread of its own and calls back; used by `worker/main.py`. The records themselves are read by
`log.py`: this consumer never fetches. Read next: `core/herder/leader.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.api.errors import ConnectError

log = logging.getLogger(__name__)


class GroupMember:
    """
    `on_change(owned)` is called from this object's thread at every rebalance, with whether this member owns the
    partition now; `on_fatal(error)` when it can't be a member. `client.id` is the worker's URL: the leader reads the
    members from the group's description.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        topic: str,
        group_id: str,
        url: str,
        timeouts_ms: tuple[int, int, int],
        on_change: Callable[[bool], None],
        on_fatal: Callable[[Exception], None],
    ) -> None:
        session, heartbeat, rebalance = timeouts_ms
        self._topic = topic
        self._group_id = group_id
        self._on_change, self._on_fatal = on_change, on_fatal
        self._owned = False
        self._stop = threading.Event()
        self._consumer = ck.Consumer(
            {
                **client,
                "client.id": url,
                "group.id": group_id,
                "partition.assignment.strategy": "cooperative-sticky",
                "session.timeout.ms": session,
                "heartbeat.interval.ms": min(heartbeat, session // 3),
                "max.poll.interval.ms": max(rebalance, session),
                "enable.auto.commit": False,
                "auto.offset.reset": "latest",
            }
        )
        self._thread = threading.Thread(target=self._run, name="group", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def leave(self, timeout: float) -> None:
        """Leave the group at once, so that the others need not wait for the session to time out."""
        self._stop.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._revoked)
        try:
            while not self._stop.is_set():
                message = self._consumer.poll(0.2)
                error = message.error() if message is not None else None
                if error is not None:
                    self._failed(error)
        except Exception as error:  # noqa: BLE001 - reported: a worker that is in no group must not go on unnoticed
            self._on_fatal(error)
        finally:
            self._consumer.close()

    def _failed(self, error: ck.KafkaError) -> None:
        if error.code() == ck.KafkaError.INCONSISTENT_GROUP_PROTOCOL:
            self._stop.set()
            self._on_fatal(
                ConnectError(
                    f"The group {self._group_id} has members that are not kconnect workers, most likely Kafka Connect "
                    "workers on the same topics. Stop all of them first, or choose another `group.id` and other topics."
                )
            )
        else:
            log.warning("Group %s: %s", self._group_id, error.str())

    def _assigned(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        if partitions:
            consumer.incremental_assign(partitions)
            # Owning the partition is the point; its records are read elsewhere.
            consumer.pause(partitions)
            self._owned = True
        self._on_change(self._owned)

    def _revoked(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        if partitions:
            self._owned = False
            self._on_change(False)
            consumer.incremental_unassign(partitions)
