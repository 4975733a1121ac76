"""
The consumer of one sink task: a member of the connector's group that reads in batches.

Made and read by `core/task/resting.py`, which stands between it and a sink task, and which is its listener: that is called
from within `read` and `close`. From the task's thread only. No call waits for the brokers without a limit: after an outage a
client may find none of them again (see `liveness.py`), and a commit that waits for the answer never returns. A client that has
given no sign of life for too long is replaced by a new one, as soon as a new one reaches the brokers.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import confluent_kafka as ck
import orjson

from kconnect.api.record import OffsetAndMetadata, TopicPartition
from kconnect.core.settings import internal_topics
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.sink import TOPIC_NAMES, TOPIC_PATTERN
from kconnect.core.task.errors import Counts
from kconnect.core.task.ports import Listener
from kconnect.core.task.resting import Standing
from kconnect.errors import ConnectError
from kconnect.java import regex
from kconnect.kafka import group_protocol, identities, liveness, servers, unreadable
from kconnect.kafka.beginnings import Beginnings
from kconnect.kafka.clients import RESET_AGE_MS
from kconnect.kafka.portions import Portions
from kconnect.kafka.refusals import Access
from kconnect.kafka.topics import require_name
from kconnect.kafka.wakeups import Wakeups

log = logging.getLogger(__name__)

T = TypeVar("T")

_KAFKAS_ONLY = InternalTopics()
_PATIENCE_S = 30.0
_MATCH_S = 0.5
"""For a name to be looked at by topics.regex: it has 249 characters at most."""
_LOOK_S = 30.0
_LEAVE_S = 10.0
"""Above what the client gives a request to leave, which is 5 s."""
_PROBE_S = 2.0
_PROBE_PAUSE_S = 5.0
_START_S = 1.0
_GROUP_S = 60.0
_REJOIN_S = (1.0, 2.0, 4.0, 5.0)
"""The pauses before a new client of the newer protocol joins in place of one that can't go on; the last one again and again."""
_MEMBER_AFTER, _UNKNOWN_AFTER, _DOUBTS = 3, 2, 4
"""
Heartbeats, since one that is refused ends the client. Statistics without one, since one of these may be older than the
subscription. Statistics in which some are unanswered, for a coordinator that answers seldom.
"""
_STEADY = '"join_state":"steady"'
"""What statistics say of a member that the group has taken in: without a partition, nothing else tells."""
_ABSENT = ck.KafkaError.UNKNOWN_TOPIC_OR_PART
"""The code of a topic that is not there. It may be made at any time."""
_STANDING_S = 5.0
"""Above what a fetch that finds nothing may hold up other requests for (`fetch.wait.max.ms`)."""


class TaskConsumer:
    """
    `config` is the connector's: `topics`, or `topics.regex`, says what is read. Topics that come to match are found as
    often as the client refreshes what it knows of topics.

    Partitions are paused one by one, or held all together, which counts for those that are assigned later as well.
    `patience_s` is how long the group may owe an answer before the client is no longer trusted. `internal` are topics that
    a pattern passes over. A `stats_cb` in `client` is told what the client says of itself, now and then. `access` is what
    was refused to the task's consumers, this one and others before.

    ConnectError for what can never be read: no broker to be found, no topic's name, or an internal topic.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        config: Mapping[str, str],
        listener: Listener,
        patience_s: float = _PATIENCE_S,
        internal: InternalTopics = _KAFKAS_ONLY,
        access: Access | None = None,
    ) -> None:
        self._internal = internal
        self._passed_over: list[str] = []
        self._topics = [topic for topic in TOPIC_NAMES.read(config) if topic]
        for topic in self._topics:
            # What begins with ^ the client would even take for a pattern of its own.
            require_name(topic)
            internal.require_data(TOPIC_NAMES.key.name, topic)
        servers.require(client)
        # Java's, so topics are looked for here: librdkafka's own patterns are of another kind.
        self._pattern = None if self._topics else regex.compile(TOPIC_PATTERN.read(config))
        self._late: set[str] = set()
        refresh_ms = int(client.get("topic.metadata.refresh.interval.ms", servers.LEADERS_MS))
        # Unless somebody wants it sooner: this is about all topics that there are.
        self._look_s = _LOOK_S if refresh_ms == servers.LEADERS_MS else refresh_ms / 1000
        self._looked_at = 0.0
        self._newer = group_protocol.is_new(client)
        # By the newer protocol, partitions come and go one by one in any case.
        self._cooperative = self._newer or client["partition.assignment.strategy"] == "cooperative-sticky"
        self._listener = listener
        self.assignment: set[TopicPartition] = set()
        self._taken: set[TopicPartition] = set()
        self._paused: set[TopicPartition] = set()
        self._begun: dict[TopicPartition, int] = {}
        """Where reading was told to begin, or to go on: that is where it stands until something has been read there."""
        self._starts: dict[TopicPartition, int] = {}
        self._ask_at = 0.0
        self._from_end = client.get("auto.offset.reset") in ("latest", "largest", "end")
        self._held = False
        self._closed = False
        self._waking = threading.Lock()
        self._error: Exception | None = None
        self._client = dict(client)
        self._client.pop("statistics.interval.ms", None)
        self._tells: Callable[[str], object] = self._client.pop("stats_cb", lambda _: None)
        self._beginnings = Beginnings(self._client.pop(RESET_AGE_MS, None))
        self._access = access or Access(self._client, Counts(), time.monotonic)
        self._patience_s = patience_s
        # A client that waits for a wake-up is not being polled, and gives its partitions up after that time.
        self._longest_s = int(client.get("max.poll.interval.ms", 300_000)) / 3000
        self._asked_at: float | None = None
        """
        Since when the group owes an answer: to a commit, or to a member that lost its partitions. Answers come within `read`
        only, so what passes outside does not count.
        """
        self._rejoin_at: float | None = None
        """When another client takes the place of one that can't go on, or may not know its partitions."""
        self._rejoins = self._silent_looks = self._unanswered = self._doubts = 0
        self._left_at = time.monotonic()
        self._probe_at = self._left_at + patience_s
        self._commits = 0
        self._number = 0
        self._ends, self._stalls = unreadable.Ends(), unreadable.Stalls()
        self._portions = Portions()
        self._consumer = self._new(0)
        self._wakeups = Wakeups()
        self._wakeups.attach(self._consumer)

    @property
    def topics(self) -> list[str]:
        return list(self._topics)

    def subscribe(self) -> None:
        if self._pattern is not None:
            self._look_for_topics()
        self._subscribe()

    def _subscribe(self) -> None:
        if self._newer and self._pattern is None:
            self._have_created()
        if self._topics:
            self._consumer.subscribe(self._topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    def _have_created(self) -> None:
        """Ask for each topic, as a member of the classic protocol does: that has brokers create it, if they may."""
        try:
            for topic in self._topics:
                self._consumer.list_topics(topic, timeout=_START_S)
        except ck.KafkaException as error:
            log.debug("The topics can't be asked for: %s", error.args[0].str())

    def _look_for_topics(self) -> bool:
        """Whether the topics that match the pattern are others than before."""
        assert self._pattern is not None
        self._looked_at = time.monotonic()
        try:
            existing = self._consumer.list_topics(timeout=_PROBE_S).topics
        except ck.KafkaException as error:
            log.warning("Topics could not be listed: %s", error.args[0].str())
            return False
        matching = [name for name in sorted(existing) if self._is_matched(name)]
        readable = [name for name in matching if not self._internal.protects(name)]
        # Kafka's own go without a word, as in Kafka Connect.
        passed_over = [name for name in matching if name not in readable and name in self._internal.names]
        if passed_over != self._passed_over:
            self._passed_over = passed_over
            log.warning(
                "topics.regex also matches internal topics of this cluster, which are passed over: %s. To read them, set "
                "%s=true in the worker file",
                ", ".join(passed_over) or "none any more",
                internal_topics.SETTING,
            )
        before, self._topics = self._topics, readable or self._topics
        return before != self._topics

    def _is_matched(self, topic: str) -> bool:
        """Whether the pattern matches. Who may make topics names them: one that keeps it busy is passed over, aloud."""
        assert self._pattern is not None
        try:
            return self._pattern.matches(topic, _MATCH_S) is not None
        except regex.LateError as error:
            if topic not in self._late:
                self._late.add(topic)
                log.warning("The topic %s is passed over: %s", topic, error)
            return False

    def read(self, limit: int, timeout: float) -> list[ck.Message]:
        """
        Return up to `limit` messages, as soon as there is one; none after `timeout` seconds without, or once `wake` is called.
        """
        self._taken.clear()
        if self._rejoin_at is not None:
            if time.monotonic() >= self._rejoin_at:
                self._rejoin()
        elif self._asked_at is not None:
            self._asked_at += time.monotonic() - max(self._left_at, self._asked_at)
            if time.monotonic() - self._asked_at > self._patience_s and not self._replace(
                f"The group has not answered for {self._patience_s:.0f} s, but its brokers do"
            ):
                self._asked_at = time.monotonic() - self._patience_s + _PROBE_PAUSE_S
        elif not self.assignment and time.monotonic() > self._probe_at:
            self._probe()
        try:
            messages = self._read(limit, timeout)
        finally:
            self._left_at = time.monotonic()
        if messages:
            self._access.read(messages)
        elif (failure := self._access.failure()) is not None:
            raise failure
        return messages

    def _read(self, limit: int, timeout: float) -> list[ck.Message]:
        self._raise()
        if self._beginnings.waiting:
            for place, offset in self._beginnings.found(self._consumer, self.assignment):
                self._go_on_at(place, offset)
        looks = self._pattern is not None and self._rejoin_at is None and time.monotonic() - self._looked_at > self._look_s
        if looks and self._look_for_topics():
            log.info("Topics that match topics.regex: %s", ", ".join(self._topics))
            self._subscribe()
        waits = bool(self._portions) and self._portions.waits(self._stopped)
        # Asked in any case: within it, the group may take partitions away.
        first = _asked(
            lambda: self._consumer.poll(0) if waits else self._wakeups.next(self._consumer, min(timeout, self._longest_s))
        )
        if self._error is not None:
            self._raise()
        if first is None and not waits:
            return []
        messages = [first] if first is not None else []
        if limit > 1 and not waits:
            # `consume` alone would wait the whole time for the last of `limit` messages.
            messages += _asked(lambda: self._consumer.consume(limit - 1, timeout=0))
        if self._error is not None:
            self._raise()
        good = messages
        # To map a method costs half of calling it in an expression.
        if any(map(ck.Message.error, messages)):
            good = [message for message in messages if message.error() is None]
            for message in messages:
                error = message.error()
                if error is not None and self._newer and error.code() == ck.KafkaError._FATAL:
                    self._end_client(error)
                    continue
                if (
                    error is None
                    or self._beginnings.takes(error, message)
                    or self._access.heard(error, self._topic(error, message))
                ):
                    continue
                self._error = self._error or _failure(error, message)
            if not good and not waits:
                self._raise()
        if self._taken:
            # Read, and then taken away within this very call: the next owner gets these.
            good = [message for message in good if (message.topic(), message.partition()) not in self._taken]
        good = self._portions.portion(good, limit, self._stopped if self._portions else ())
        failure = self._ends.failure(self._consumer, good, self.assignment) if good else None
        if failure is not None:
            # What is before it is read first, and committed.
            good, self._error = good[: failure[0]], failure[1]
        return good

    def _topic(self, error: ck.KafkaError, message: ck.Message) -> str:
        """Return the topic of an error. That of a heartbeat names none."""
        is_heartbeats = self._newer and error.str().startswith("ConsumerGroupHeartbeat")
        return message.topic() or (", ".join(self._topics) if is_heartbeats else "")

    def _end_client(self, error: ck.KafkaError) -> None:
        """
        Give up a client of the newer protocol that can't go on. It has no partitions any more, and says so to nobody. Some of
        what ends it passes: a member of the same name that was killed, a right that was taken away.
        """
        self._access.heard(error, "")
        self._take_away(self._listener.lost, places(self.assignment))
        self._doubts = 0
        self._rejoin_at = time.monotonic() + _REJOIN_S[min(self._rejoins, len(_REJOIN_S) - 1)]
        self._rejoins += 1

    def _rejoin(self) -> None:
        self._rejoin_at = None
        doubts = bool(self._doubts)
        why = "An answer of the group's coordinator was lost" if doubts else "The group's coordinator has refused this client"
        if not self._replace(why, in_order=doubts):
            self._rejoin_at = time.monotonic() + _PROBE_PAUSE_S

    @property
    def _stopped(self) -> set[TopicPartition]:
        return self.assignment if self._held else self._paused & self.assignment

    def _go_on_at(self, place: TopicPartition, offset: int) -> None:
        """Read a partition from `offset` on that its client does not read, for it had no place to begin at: no seek helps."""
        self._begun[place] = offset
        if self._cooperative:
            self._consumer.incremental_unassign(places([place]))
            self._consumer.incremental_assign([ck.TopicPartition(*place, offset)])
        else:
            positions = self._consumer.position(places(self.assignment - {place}))
            for at in positions:
                if at.offset < 0:
                    at.offset = self._begun.get(TopicPartition(at.topic, at.partition), ck.OFFSET_STORED)
            self._consumer.assign([*positions, ck.TopicPartition(*place, offset)])
        self._consumer.pause(places(self._stopped))

    def wake(self) -> None:
        """End the wait of a `read`. From any thread."""
        with self._waking:
            if not self._closed:
                self._wakeups.wake()

    @property
    def commits(self) -> bool:
        """Whether a commit is under way."""
        return self._commits > 0

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """
        Begin to commit; the listener's `committed` hears of it. A failure is warned of: another attempt may succeed, or
        somebody else owns the partition.

        Within the listener's `revoked` too: the request leaves before the one that gives the partitions up, on the same
        connection, so whoever gets them finds what was committed. To wait for the answer there could take for ever.
        """
        request = [ck.TopicPartition(*place, at.offset, metadata=at.metadata) for place, at in offsets.items()]
        try:
            self._consumer.commit(offsets=request, asynchronous=True)
        except ck.KafkaException as error:
            log.warning("Committing offsets failed: %s", error.args[0].str())
            self._listener.commit_failed()
            return
        self._commits += 1
        self._asked_at = self._asked_at or time.monotonic()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on at `offset`. ConnectError if the partition can't be read there."""
        if partition in self._beginnings.waiting:
            self._beginnings.waiting.discard(partition)
            self._go_on_at(partition, offset)
        else:
            seek(self._consumer, partition, offset)
        self._portions.drop([partition])
        self._begun[partition] = offset

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self._paused.update(partitions)
        if not self._held:
            self._consumer.pause(places(partitions))

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self._paused.difference_update(partitions)
        if not self._held:
            self._consumer.resume(places(partitions))

    def hold(self) -> None:
        """Read nothing, and remain in the group."""
        if not self._held:
            self._held = True
            self._consumer.pause(places(self.assignment))

    def release(self) -> None:
        if self._held:
            self._held = False
            self._consumer.resume(places(self.assignment - self._paused))

    def lags(self) -> dict[TopicPartition, int | None]:
        """
        Return the number of records still to come in each partition, as of the last fetch; None while that is unknown.

        Where nothing has been read yet the group's offset counts, which is asked for once, for a second at most.
        """
        positions = {
            TopicPartition(at.topic, at.partition): at.offset for at in self._consumer.position(places(self.assignment))
        }
        self._starts = {place: at for place, at in self._starts.items() if place in positions}
        with_start = self._starts.keys() | self._begun.keys()
        unread = [place for place, at in positions.items() if at < 0 and place not in with_start]
        if unread and time.monotonic() >= self._ask_at:
            self._find_starts(unread)
        lags: dict[TopicPartition, int | None] = {}
        for place, position in positions.items():
            at = position if position >= 0 else self._begun.get(place, self._starts.get(place, -1))
            _, high = self._consumer.get_watermark_offsets(ck.TopicPartition(*place), cached=True)
            if high >= 0 and at < 0 and self._from_end:
                at = high
            lags[place] = max(0, high - at) if high >= 0 and at >= 0 else 0 if high == 0 else None
        return lags

    def group_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """
        Return the group's committed offsets of these partitions, without those that have none. Raise ConnectError if no broker
        answers.
        """
        try:
            answer = self._consumer.committed(places(partitions), timeout=_GROUP_S) if partitions else []
        except ck.KafkaException as error:
            raise ConnectError(f"The group's offsets can't be read: {error.args[0].str()}") from error
        for at in answer:
            if at.error is not None:
                raise ConnectError(f"The group's offset in {at.topic}-{at.partition} can't be read: {at.error.str()}")
        return known_offsets(answer)

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return identities.end_offsets(self._consumer, partitions)

    def standing(self) -> dict[TopicPartition, Standing] | None:
        """
        Return where reading stands, which is nowhere if none of its topics is there. None unless this member alone reads all of
        them, and nothing is outstanding in either direction; nor while no broker answers.
        """
        idle = self._asked_at is None and not self._commits and not self._paused and not self._portions
        if self._pattern is not None or not idle:
            return None
        try:
            topics = [self._consumer.list_topics(topic, timeout=_STANDING_S).topics[topic] for topic in self._topics]
            group = self._consumer.committed(places(self.assignment), timeout=_STANDING_S) if self.assignment else []
        except ck.KafkaException as error:
            log.debug("Where the group stands can't be read: %s", error.args[0].str())
            return None
        existing = {TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions}
        if any(topic.error is not None and topic.error.code() != _ABSENT for topic in topics):
            return None
        if existing != self.assignment or any(at.error for at in group):
            return None
        committed = known_offsets(group)
        positions = {TopicPartition(at.topic, at.partition): at.offset for at in self._consumer.position(group)}
        standings = {}
        for place, at in positions.items():
            _, high = self._consumer.get_watermark_offsets(ck.TopicPartition(*place), cached=True)
            # In one that has never had a record, there is only one place to be.
            unread = self._begun.get(place, committed.get(place, 0 if high == 0 else None))
            standings[place] = Standing(at if at >= 0 else unread, committed.get(place))
        return standings

    @property
    def from_end(self) -> bool:
        """Whether a partition of which the group has no offset is read from where it ends, or from somewhere before."""
        return self._from_end or self._beginnings.age_ms is not None

    def _find_starts(self, unread: list[TopicPartition]) -> None:
        try:
            answer = self._consumer.committed(places(unread), timeout=_START_S)
        except ck.KafkaException as error:
            log.debug("The group's offsets can't be read: %s", error.args[0].str())
            self._ask_at = time.monotonic() + _PROBE_PAUSE_S
            return
        self._starts.update({TopicPartition(at.topic, at.partition): at.offset for at in answer if at.error is None})

    def close(self, limit: float) -> None:
        """
        Leave the group; the listener's `revoked` is called for what is still owned, and its commit is waited for, for at
        most `limit` seconds. The last call of all.

        A client that still owes an answer then is left alone with it: while it closes it looks for no coordinator any more, so
        after an outage it would take the minute that a request may take. What it sends late carries its old generation, with
        which brokers take nothing once somebody else owns the partitions.
        """
        if self.assignment:
            self._take_away(self._listener.revoked, places(self.assignment))
        elif not self._newer:
            # With a cooperative assignor, librdkafka (2.16) closes a member without partitions and does not leave the group: it
            # is a member until its session ends, and nobody can change the group's offsets meanwhile.
            self._consumer.unsubscribe()
        with self._waking:
            self._closed = True
            self._wakeups.detach(self._consumer)
            self._wakeups.close()
        self._wait_for_commits(limit)
        if self._commits:
            log.warning("No answer to an offset commit within %.0f s: the last records may be delivered again", limit)
            self._number += 1  # what it still hears concerns nobody
            _in_background(self._consumer.close)
        elif not _within(_LEAVE_S, self._consumer.close):
            log.warning("The consumer has not left its group within %.0f s and is abandoned", _LEAVE_S)
        # As in producer.py: the client's threads end now, not when the garbage collector comes by.
        del self._consumer
        self._raise()

    def _wait_for_commits(self, limit: float) -> None:
        end = time.monotonic() + limit
        while self._commits and time.monotonic() < end:
            with contextlib.suppress(UnicodeDecodeError):
                self._consumer.poll(0.05)

    def _probe(self) -> None:
        """Ask the brokers something: a member that has nothing to read does not notice that it finds none."""
        self._probe_at = time.monotonic() + self._patience_s
        try:
            if self._topics:
                self._consumer.list_topics(self._topics[0], timeout=_PROBE_S)
            else:
                self._consumer.list_topics(timeout=_PROBE_S)
        except ck.KafkaException as error:
            if liveness.is_lost(error.args[0]):
                self._replace("The client finds no brokers, but another one does")

    def _replace(self, why: str, in_order: bool = False) -> bool:
        """
        Join the group by a new client. False, with nothing changed, if brokers do not answer it. `in_order`, what was delivered
        is committed by the old one.
        """
        fresh = liveness.successor(lambda: self._new(self._number + 1), lambda client: client.list_topics(timeout=_PROBE_S))
        if fresh is None:
            return False
        log.warning("%s: rejoining the group", why)
        if in_order:
            self._take_away(self._listener.revoked, places(self.assignment))
            self._wait_for_commits(_LEAVE_S)
        self._take_away(self._listener.lost, places(self.assignment))
        old, self._consumer = self._consumer, fresh
        self._wakeups.detach(old)
        self._wakeups.attach(fresh)
        self._number += 1
        if self._commits:
            self._listener.commits_lost(self._commits)
        self._commits, self._asked_at = 0, None
        self._silent_looks = self._unanswered = self._doubts = 0
        self._stalls = unreadable.Stalls()
        liveness.retire(old)
        self.subscribe()
        return True

    def _new(self, number: int) -> ck.Consumer:
        def answered(error: ck.KafkaError | None, partitions: list[ck.TopicPartition]) -> None:
            if number == self._number:
                self._answered(error, partitions)

        def looked(statistics: str) -> None:
            if number == self._number:
                self._tells(statistics)
                try:
                    self._look_for_membership(statistics)
                    failure = self._stalls.look(statistics, self.assignment if self._held else self._paused)
                except orjson.JSONDecodeError as error:
                    failure = unreadable.of_names(error)
                self._error = self._error or failure

        def reported(error: ck.KafkaError) -> None:
            if number == self._number:
                self._access.heard(error)

        interval_ms = unreadable.STATISTICS_MS // 2 if self._newer else unreadable.STATISTICS_MS
        statistics = {"statistics.interval.ms": interval_ms, "stats_cb": looked}
        reports = {"on_commit": answered, "error_cb": reported, "throttle_cb": self._access.throttled}
        return ck.Consumer({**self._client, **statistics, **reports})

    def _look_for_membership(self, statistics: str) -> None:
        is_steady = _STEADY in statistics
        if is_steady:
            self._access.is_member()
        coordinator = group_protocol.coordinator(statistics) if self._newer else None
        if coordinator is None or not self._topics or self._rejoin_at is not None:
            return
        self._silent_looks = self._silent_looks + 1 if coordinator.is_up and not coordinator.heartbeats else 0
        if self._silent_looks >= _UNKNOWN_AFTER:
            self._access.knows_no_protocol()
        elif coordinator.is_up and coordinator.heartbeats >= _MEMBER_AFTER and not is_steady:
            self._access.joined()
        has_lost = coordinator.unanswered > self._unanswered
        self._unanswered = coordinator.unanswered
        if has_lost or self._doubts:
            self._doubts += 1
            if coordinator.is_up and (not has_lost or self._doubts >= _DOUBTS):
                self._rejoin_at = time.monotonic()

    def _is_old(self, consumer: ck.Consumer) -> bool:
        return consumer is not getattr(self, "_consumer", None)

    def _answered(self, error: ck.KafkaError | None, partitions: list[ck.TopicPartition]) -> None:
        self._commits -= 1
        self._asked_at = time.monotonic() if self._commits else None
        if error is not None:
            log.warning("Committing offsets failed: %s", error.str())
        committed = {} if error is not None else _committed(partitions)
        if committed:
            self._listener.committed(committed)
        refused = error or next((partition.error for partition in partitions if partition.error is not None), None)
        if refused is None:
            self._access.answered()
        else:
            self._listener.commit_failed()
            self._access.waits("committing offsets", refused.str())

    def _assigned(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        if self._is_old(consumer):
            return
        partitions = self._asked_for(partitions)
        self._access.joined()
        self._rejoins = 0
        if not self._commits:
            self._asked_at = None
        new = [TopicPartition(assigned.topic, assigned.partition) for assigned in partitions]
        self.assignment.update(new)
        # Back within one `read`, as with eager assignors: its position has moved on, so what comes now must be kept.
        self._taken.difference_update(new)
        was_held, self._held = self._held, True  # What the listener pauses or resumes is not the client's yet.
        starts: Mapping[TopicPartition, int] = {}
        if new and not self._closed:
            try:
                starts = self._listener.assigned(new)
            except Exception as error:  # noqa: BLE001 - kept, and raised outside of the client's callback
                self._error = error
        self._held = was_held
        for place, partition in zip(new, partitions):
            self._begun.pop(place, None)
            if place in starts:
                partition.offset = self._begun[place] = starts[place]
        if self._cooperative:
            self._consumer.incremental_assign(partitions)
        else:
            self._consumer.assign(partitions)
        self._consumer.pause(places(new if was_held else self._paused.intersection(new)))

    def _asked_for(self, partitions: list[ck.TopicPartition]) -> list[ck.TopicPartition]:
        """
        Return the partitions of topics that the config names, and have the next read fail if there are others. A group's
        members and its coordinator say what is assigned, and a sink writes where the topic's name leads.
        """
        others = {partition.topic for partition in partitions if not self._reads(partition.topic)}
        if not others:
            return partitions
        setting = TOPIC_NAMES.key.name if self._pattern is None else TOPIC_PATTERN.key.name
        self._error = ConnectError(
            f"The group assigns the topic {min(others)[:300]!r}, which {setting} does not name. Another member of the group, "
            "or the brokers, assign what this task has not asked for: see who else uses the group, and restart the task"
        )
        return [partition for partition in partitions if partition.topic not in others]

    def _reads(self, topic: str) -> bool:
        if self._pattern is None or topic in self._topics:
            return topic in self._topics
        # The group may not know yet of what has come to match, or does not match any more.
        return self._is_matched(topic) and not self._internal.protects(topic)

    def _revoked(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        if not self._is_old(consumer):
            self._take_away(self._listener.revoked, partitions)
        self._unassign(consumer, partitions)

    def _lost(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        if not self._is_old(consumer):
            self._asked_at = self._asked_at or time.monotonic()
            # It joins again, and is told all of its partitions then.
            self._doubts = 0
            self._take_away(self._listener.lost, partitions)
        self._unassign(consumer, partitions)

    def _take_away(self, tell: Any, partitions: list[ck.TopicPartition]) -> None:
        lost = [TopicPartition(taken_partition.topic, taken_partition.partition) for taken_partition in partitions]
        lost = [partition for partition in lost if partition in self.assignment]
        try:
            if lost:
                tell(lost)
        except Exception as error:  # noqa: BLE001 - kept, and raised outside of the client's callback
            self._error = error
        self.assignment.difference_update(lost)
        self._beginnings.waiting.difference_update(lost)
        self._paused.difference_update(lost)
        self._taken.update(lost)
        self._portions.drop(lost)

    def _unassign(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        if self._cooperative:
            consumer.incremental_unassign(partitions)
        else:
            consumer.unassign()

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error


def places(partitions: Iterable[TopicPartition]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(*partition) for partition in partitions]


def known_offsets(answers: Iterable[ck.TopicPartition]) -> dict[TopicPartition, int]:
    """Return the offsets of an answer about a group, as far as it has them."""
    return {TopicPartition(at.topic, at.partition): at.offset for at in answers if at.offset >= 0}


def seek(consumer: ck.Consumer, partition: TopicPartition, offset: int) -> None:
    """ConnectError if the partition can't be read there."""
    try:
        consumer.seek(ck.TopicPartition(*partition, offset))
    except ck.KafkaException as error:
        raise ConnectError(f"Can't read {tuple(partition)} from offset {offset}: {error.args[0].str()}") from error


def _committed(answer: Iterable[ck.TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets of an answer that are committed. Log a warning for each that is not."""
    offsets = {}
    for partition in answer:
        if partition.error is None:
            offsets[TopicPartition(partition.topic, partition.partition)] = OffsetAndMetadata(
                partition.offset, partition.metadata or ""
            )
        else:
            log.warning(
                "Committing the offset of %s-%d failed: %s", partition.topic, partition.partition, partition.error.str()
            )
    return offsets


def _asked(ask: Callable[[], T]) -> T:
    """Return what a client answers. ConnectError if it can't, for the names that its brokers have."""
    try:
        return ask()
    except UnicodeDecodeError as error:
        # Of what it logs, which comes with any call. All else are bytes.
        raise unreadable.of_names(error) from None


def _in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, name="old consumer", daemon=True)
    thread.start()
    return thread


def _within(limit: float, work: Callable[[], object]) -> bool:
    """Whether `work` is done within `limit` seconds; what is not goes on by itself."""
    thread = _in_background(work)
    thread.join(limit)
    return not thread.is_alive()


def _failure(error: ck.KafkaError, message: ck.Message) -> ConnectError | None:
    """Return what the task fails with; None for what the client gets over, which is warned of."""
    if error.code() in unreadable.NOT_UNPACKED:
        return unreadable.of_error(message)
    # What waiting does not mend; `refusals.py` has the rest of that.
    if error.fatal() or error.code() == ck.KafkaError._AUTO_OFFSET_RESET:
        return ConnectError(f"Reading from Kafka failed: {error.str()}")
    log.warning("Reading from Kafka: %s", error.str())
    return None
