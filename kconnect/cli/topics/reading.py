"""
Reads internal topics from brokers, with no worker alive: all that is committed, and how Kafka keeps it.

`read` gives `Contents` up to where the topics ended when it was called, `follow` goes on from there. Both only read, and join
no group. Errors say which topic, and what to do. Read next: `contents.py`; for the worker's own reader, `kafka/log.py`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

from kconnect.cli.topics.contents import Contents, Stored, TopicFacts
from kconnect.core.state.records import Topic
from kconnect.errors import ConnectError, ForbiddenError, NotFoundError, UnavailableError
from kconnect.kafka.codes import AWAY, MOVING, STARTING
from kconnect.kafka.positions import Place, Positions

Client = Mapping[str, Any]

_ANSWER_S = 20.0
_SILENT_S = 60.0
"""A broker that sends nothing for so long, while something is left to be read, is away."""
_FORBIDDEN = (
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    ck.KafkaError.GROUP_AUTHORIZATION_FAILED,
    ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)


def read(
    client: Client, names: Mapping[Topic, str], group: str = "", progress: Callable[[int], None] = lambda read: None
) -> Contents:
    """
    What `names` hold; a topic that is not there is in `missing`, and NotFoundError if none is. `group` is the workers', to see
    whether one lives. `progress` gets the number of records that were read so far, now and then.
    """
    found = describe(client, names, group)
    if not found.topics:
        missing = ", ".join(names.values())
        raise NotFoundError(f"{'These topics do' if len(names) > 1 else 'The topic does'} not exist: {missing}; name the "
        "right ones")
    reader = _Reader(client, {facts.name: (role, facts.partitions) for role, facts in found.topics.items()})
    try:
        ends, hidden = reader.ends()
        for role, facts in found.topics.items():
            own = {partition: end for (name, partition), end in ends.items() if name == facts.name}
            behind = tuple(partition for name, partition in hidden if name == facts.name)
            found.topics[role] = TopicFacts(**{**vars(facts), "ends": own, "open_at": behind})
        for some in reader.until(ends):
            found.records += some
            progress(len(found.records))
    finally:
        reader.close()
    # As a worker reads each topic: in the order of its partitions' offsets.
    found.records.sort(key=lambda record: (record.role.value, record.partition, record.offset))
    return found


def follow(client: Client, contents: Contents) -> Iterator[Stored]:
    """What is written after `contents` were read, as it comes; for ever."""
    reader = _Reader(client, {facts.name: (role, facts.partitions) for role, facts in contents.topics.items()})
    try:
        reader.begin({(facts.name, n): end for facts in contents.topics.values() for n, end in facts.ends.items()})
        while True:
            yield from reader.some(0.5)
    finally:
        reader.close()


def describe(client: Client, names: Mapping[Topic, str], group: str = "") -> Contents:
    """The topics without their records. `ends` are not known."""
    reached = _Reached()
    settings: dict[str, Any] = {**client, "error_cb": reached}
    admin = AdminClient(settings)
    cluster = reached.cluster(admin, str(client.get("bootstrap.servers")))
    contents = Contents({}, [], brokers=len(cluster.brokers), cluster_id=str(cluster.cluster_id or ""), group=group)
    for role, name in names.items():
        found = _described(admin, name)
        if found is None:
            contents.missing[role] = name
            continue
        partitions = sorted(found.partitions, key=lambda each: each.id)
        known, own = _settings(admin, name)
        contents.topics[role] = TopicFacts(
            name, tuple(len(p.replicas) for p in partitions), tuple(len(p.isr) for p in partitions), known, own
        )
    contents.members = members(client, group) if group else None
    return contents


class _Reached:
    """
    Waits for the first answer: for long if brokers are slow, for a moment only if they refuse connections, as where the address
    is wrong.
    """

    _STEP_S = 3.0

    def __init__(self) -> None:
        self._down = False

    def __call__(self, error: ck.KafkaError) -> None:
        self._down = self._down or error.code() == ck.KafkaError._ALL_BROKERS_DOWN

    def cluster(self, admin: AdminClient, servers: str) -> Any:
        begun = time.monotonic()
        while True:
            try:
                return admin.list_topics(timeout=self._STEP_S)
            except ck.KafkaException as error:
                admin.poll(0)
                waited = time.monotonic() - begun
                if waited > _SILENT_S or (self._down and waited > self._STEP_S) or error.args[0].code() not in AWAY:
                    _raise(error.args[0], f"the brokers at {servers}")


def members(client: Client, group: str) -> tuple[str, ...] | None:
    """
    The client ids of a group's members, which in kconnect's are the workers' URLs; None without the right to see them.

    UnavailableError if the brokers don't answer.
    """
    admin = AdminClient(dict(client))
    end = time.monotonic() + _SILENT_S
    while True:
        try:
            # The call that is to replace this one knows groups of consumers only, and Connect's are none.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                found = admin.list_groups(group=group, timeout=_ANSWER_S)
            errors = [each.error for each in found if each.error is not None]
            if not errors:
                return tuple(sorted(str(member.client_id) for each in found for member in each.members))
            cause: Any = errors[0]
        except ck.KafkaException as error:
            cause = error.args[0]
        if cause.code() in _FORBIDDEN:
            return None
        if cause.code() not in STARTING or time.monotonic() > end:
            _raise(cause, f"the group {group}")
        time.sleep(0.5)


def _described(admin: AdminClient, name: str) -> Any:
    """None for a topic that is not there. Whoever asks for its metadata instead has brokers create it."""
    end = time.monotonic() + _SILENT_S
    while True:
        try:
            return admin.describe_topics(ck.TopicCollection([name]), request_timeout=_ANSWER_S)[name].result()
        except ck.KafkaException as error:
            cause = error.args[0]
            if cause.code() == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            if cause.code() not in MOVING or time.monotonic() > end:
                _raise(cause, f"the topic {name}")
        time.sleep(0.2)


def _settings(admin: AdminClient, name: str) -> tuple[dict[str, str] | None, frozenset[str]]:
    resource = ConfigResource(ResourceType.TOPIC, name)
    end = time.monotonic() + _ANSWER_S
    while True:
        try:
            found = admin.describe_configs([resource], request_timeout=_ANSWER_S)[resource].result()
            break
        except ck.KafkaException as error:
            cause = error.args[0]
            if cause.code() in _FORBIDDEN:
                return None, frozenset()
            # A topic that has just been made is unknown to some broker for a moment.
            if cause.code() != ck.KafkaError.UNKNOWN_TOPIC_OR_PART or time.monotonic() > end:
                _raise(cause, f"the settings of the topic {name}")
        time.sleep(0.1)
    own = frozenset(each.name for each in found.values() if each.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)
    return {each.name: each.value for each in found.values() if each.value is not None}, own


class _Reader:
    """One consumer of all partitions of some topics. It is in no group, and commits nothing."""

    def __init__(self, client: Client, topics: Mapping[str, tuple[Topic, int]]) -> None:
        self._roles = {name: role for name, (role, _) in topics.items()}
        self._places = [(name, number) for name, (_, partitions) in topics.items() for number in range(partitions)]
        self._client = dict(client)
        settings = {
            **client,
            "group.id": "kconnect-topics",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "allow.auto.create.topics": False,
        }
        self._consumer = ck.Consumer(settings)
        self._positions: dict[tuple[str, int], int] = {}

    def ends(self) -> tuple[dict[tuple[str, int], int], list[tuple[str, int]]]:
        """Where each partition ends for who reads what is committed, and those that go on behind that."""
        ends = self._ends()
        positions = Positions(self._client)
        spans = positions.spans(map(Place._make, self._places))
        # Asked the second time: what was committed in between is no open transaction.
        later = self._ends()
        return ends, [place for place in self._places if later[place] < spans[Place(*place)].end]

    def _ends(self) -> dict[tuple[str, int], int]:
        found = {}
        for name, number in self._places:
            end = time.monotonic() + _ANSWER_S
            while True:
                try:
                    partition = ck.TopicPartition(name, number)
                    _, high = self._consumer.get_watermark_offsets(partition, timeout=_ANSWER_S, cached=False)
                    found[name, number] = high
                    break
                except ck.KafkaException as error:
                    if error.args[0].code() not in MOVING or time.monotonic() > end:
                        _raise(error.args[0], f"the topic {name}")
                time.sleep(0.2)
        return found

    def begin(self, positions: Mapping[tuple[str, int], int]) -> None:
        self._positions = dict(positions)
        self._consumer.assign([ck.TopicPartition(name, number, at) for (name, number), at in positions.items()])

    def until(self, ends: Mapping[tuple[str, int], int]) -> Iterator[list[Stored]]:
        """All from the beginnings to `ends`; nothing of what is behind them."""
        self.begin(dict.fromkeys(self._places, ck.OFFSET_BEGINNING))
        heard = time.monotonic()
        while any(self._positions[place] < end for place, end in ends.items() if end > 0):
            before = dict(self._positions)
            names = {role: name for name, role in self._roles.items()}
            found = self.some(1.0)
            if self._positions != before:
                heard = time.monotonic()
            elif time.monotonic() - heard > _SILENT_S:
                left = sorted({name for (name, number), end in ends.items() if self._positions[name, number] < end})
                raise UnavailableError(f"The brokers sent nothing of {', '.join(left)} for {_SILENT_S:.0f} s; see whether "
                "they run")
            yield [record for record in found if record.offset < ends[names[record.role], record.partition]]

    def some(self, timeout: float) -> list[Stored]:
        """What has come, after `timeout` seconds at most."""
        found = []
        first = self._consumer.poll(timeout)
        for message in () if first is None else (first, *self._consumer.consume(2000, timeout=0)):
            error = message.error()
            name, number, at = str(message.topic()), message.partition(), message.offset()
            if error is None:
                assert number is not None
                assert at is not None
                self._positions[name, number] = at + 1
                kind, moment = message.timestamp()
                headers = tuple((header[0], _bytes(header[1])) for header in message.headers() or ())
                record = Stored(self._roles[name], number, at, message.key(), message.value(), moment, kind, headers)
                found.append(record)
            elif error.code() == ck.KafkaError._PARTITION_EOF:
                # Markers of transactions take offsets that no record fills.
                assert number is not None
                assert at is not None
                self._positions[name, number] = at
            elif error.code() in _FORBIDDEN or error.fatal():
                _raise(error, f"the topic {name}")
        return found

    def close(self) -> None:
        self._consumer.close()


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _raise(error: ck.KafkaError, what: str) -> NoReturn:
    if error.code() in _FORBIDDEN:
        raise ForbiddenError(f"No right to read {what}: give the login of somebody who may, with --command-config or "
        "--worker-file")
    if error.code() in (*AWAY, ck.KafkaError._RESOLVE):
        raise UnavailableError(
            f"No broker answered for {what} ({error.str()}). Start one, or correct the address and how to log in."
        )
    if error.code() in (ck.KafkaError.UNKNOWN_TOPIC_OR_PART, ck.KafkaError._UNKNOWN_TOPIC):
        raise NotFoundError(f"There is no longer {what}")
    raise ConnectError(f"Kafka refused to tell of {what}: {error.str()}")


