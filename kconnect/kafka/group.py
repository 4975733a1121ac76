"""
Membership of the cluster: a consumer group on the assignment topic, whose owner of partition 0 leads.

`GroupMember` runs a thread of its own and calls back; used by `worker/main.py`. The records themselves are read by
`log.py`: this consumer never fetches. Read next: `core/herder/leader.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import confluent_kafka as ck

from kconnect.errors import ConnectError

log = logging.getLogger(__name__)


_PATIENCE_S = 3.0
"""What a coordinator may take beyond the session to notice that a member is gone."""
_ASK_S = 0.5


class Member(NamedTuple):
    """
    A member as the coordinator describes it: its client id, and the topics it owns partitions of, none while that is being
    settled. `is_ours`: it speaks a consumer's protocol, as kconnect's workers do and Kafka Connect's do not.
    """

    url: str
    topics: frozenset[str]
    is_ours: bool = True


def worker_of(url: str) -> str:
    """Return the id of the worker that a member calls itself."""
    return url.split("://", 1)[-1].rstrip("/")


def urls(members: Sequence[Member]) -> dict[str, str]:
    """
    Return the members' URLs by the ids of workers. Whoever may join the group may call itself a worker that another one is; of
    two URLs for one address that with https counts, lest others read what is sent there.
    """
    by_safety = sorted((member.url for member in members), key=lambda url: url.lower().startswith("https://"))
    return {worker_of(url): url for url in by_safety}


def conflict(members: Sequence[Member], group_id: str, url: str, topic: str, mine: int) -> str | None:
    """Why a worker with this URL and assignment topic can't be in the group beside these, `mine` of which are itself."""
    for member in members:
        if not member.is_ours:
            return _strange(group_id)
        if member.topics and topic not in member.topics:
            return (
                f"Another cluster uses the group {group_id}, too: its member {member.url} has the assignment topic "
                f"{', '.join(sorted(member.topics))}, and this worker {topic}. Both would lead with the transactional id "
                f"connect-cluster-{group_id}, and fence each other for ever. Give one of the clusters another `group.id`, or "
                "all workers the same `assignment.storage.topic` and other internal topics."
            )
    if sum(member.url == url for member in members) > mine:
        return (
            f"Another live worker of the group {group_id} has the same URL, {url}, and so the same id. End one of them, or "
            "give each its own `rest.advertised.host.name` and `rest.advertised.port`, or its own `listeners`."
        )
    return None


def _strange(group_id: str) -> str:
    return (
        f"The group {group_id} has members that are not kconnect workers, most likely Kafka Connect workers on the same "
        "topics. Stop all of them first, or choose another `group.id` and other topics."
    )


class Entrance:
    """
    Whether a worker may join its group: not beside a live one of its id, nor within another cluster. `find` asks who is
    there. One that has just died is there for as long as its session lasts, so this is waited for.
    """

    def __init__(self, find: Callable[[], Sequence[Member]], group_id: str, url: str, topic: str, session_ms: int) -> None:
        self._find = find
        self._what = group_id, url, topic
        self._limit_s = session_ms / 1000 + _PATIENCE_S
        self._asked_at = float("-inf")
        self._since: float | None = None
        self.is_ours = False
        """Whether who is there shows that the group is that of the worker's cluster. An empty one may yet become another's."""

    def is_open(self, is_predecessor_dead: bool, now: float) -> bool:
        """
        Return whether the worker may enter; if not, ask again. `is_predecessor_dead`: whoever had this id last is surely gone.
        Raise ConnectError if it may never enter.
        """
        if now - self._asked_at < _ASK_S:
            return False
        self._asked_at = now
        try:
            members = self._find()
        except (ConnectError, ck.KafkaException) as error:
            log.warning("The members of the group could not be read: %s", error)
            return False
        problem = conflict(members, *self._what, mine=int(is_predecessor_dead))
        self.is_ours = problem is None and any(member.topics for member in members)
        if problem is None and (self.is_ours or not members):
            return True
        if self._since is None:
            self._since = now
            log.info("Waiting for the group: %s", problem or "a leader is being elected")
        if now - self._since < self._limit_s:
            return False
        if problem is not None:
            raise ConnectError(problem)
        return True


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
            self._on_fatal(ConnectError(_strange(self._group_id)))
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
