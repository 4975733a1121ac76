"""
Settings of Kafka clients: from what users write, in Java's names, to what librdkafka takes.

`internal` and `topics` serve the worker, the Spark driver and the hosts; `producer`, `consumer` and `admin` the clients of a
task: the worker's own connection settings, its `producer.`, `consumer.` or `admin.` ones, and the connector's
`producer.override.`, `consumer.override.` or `admin.override.` ones, in rising order. Read next: `translation.py`, which has
the table from Java's settings to librdkafka's.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import confluent_kafka as ck

from kconnect.api.config import HIDDEN
from kconnect.core.cluster.lease import stopped_after_ms
from kconnect.core.settings import client_choices, lent_logins, secrets
from kconnect.core.settings.sink import GROUP_ID, group_errors
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.errors import ConfigError
from kconnect.kafka import fitting, group_protocol
from kconnect.kafka.servers import LEADERS_MS
from kconnect.kafka.translation import translate

log = logging.getLogger(__name__)

Client = dict[str, Any]

RESET_AGE_MS = "kconnect.reset.age.ms"
"""Not of librdkafka: how old the oldest record may be that a consumer begins with (`auto.offset.reset=by_duration:…`)."""

_NOBODY = "-"
_JAVAS_SESSION_MS, _JAVAS_POLL_MS = 45_000, 300_000
_TRANSACTIONAL_ID = "transactional.id"
_NO_TRANSACTIONS = (
    "Only the tasks of sources write in transactions, with ids that the worker gives them, if exactly.once.source.support is "
    "enabled in the worker file. Remove this setting"
)
_LONGEST_TRANSACTION_MS = 900_000
"""What brokers allow unless their `transaction.max.timeout.ms` says otherwise."""

_INTERNAL: Client = {
    "topic.metadata.refresh.interval.ms": LEADERS_MS,
    # A broker that answers slowly is no reason to hang up; one that has vanished would be waited for by half of this.
    "socket.timeout.ms": 20_000,
}
_SHARED = re.compile(
    r"bootstrap\.servers|client\.dns\.lookup|security\.protocol|(sasl|ssl)\..*|(send|receive)\.buffer\.bytes|"
    r"reconnect\.backoff(\.max)?\.ms|retry\.backoff(\.max)?\.ms|connections\.max\.idle\.ms|"
    r"socket\.connection\.setup\.timeout\.ms|metadata\.max\.age\.ms"
)


def library() -> str:
    """Return the version of librdkafka, which all clients are."""
    return str(ck.libversion()[0])


def topics(settings: WorkerSettings) -> dict[Topic, str]:
    """The names of the internal topics."""
    return {
        Topic.CONFIG: settings.config_storage_topic,
        Topic.OFFSET: settings.offset_storage_topic,
        Topic.STATUS: settings.status_storage_topic,
        Topic.ASSIGNMENT: settings.assignment_storage_topic,
    }


def internal(settings: WorkerSettings, name: str) -> Client:
    """Connection settings of one of the worker's own clients; `name` ends its client id."""
    client_id_set = settings.raw.get("client.id")
    client_id = "-".join(part for part in (settings.group_id, client_id_set, name) if part)
    # Java's default, where librdkafka's is lower: the two take the same configs.
    size = {"max.request.size": settings.raw.get("max.request.size", "1048576")}
    shared = _shared(settings)
    return {**_base(client_id, shared), **_INTERNAL, **translate(size), **translate(shared)}


def reader(settings: WorkerSettings, name: str) -> Client:
    """
    The same of a consumer that reads an internal topic by itself. librdkafka looks for the coordinator even of a group that it
    never joins, so it is the workers' own, which they may read.
    """
    return {**internal(settings, name), "group.id": settings.group_id}


def plain(settings: WorkerSettings, kind: str, who: str) -> Client:
    """The same of a command's `admin`, `consumer` or `producer`; the worker's `producer.` and the like don't count."""
    by_kind: dict[str, Client] = {
        "consumer": {"group.id": "kconnect-cli", "enable.auto.commit": False, "allow.auto.create.topics": False},
        # As Connect's workers write: Java's partitioner decides where a key is looked for.
        "producer": {"acks": "all", "enable.idempotence": True, "partitioner": "murmur2_random"},
    }
    return {**internal(settings, f"{who}-{kind}"), **by_kind.get(kind, {})}


def producer(settings: WorkerSettings, connector: str, task: int, config: Mapping[str, str | None]) -> Client:
    """The producer of a source task."""
    client = _producer(settings, connector, task, config)
    fitting.require("producer", client, origin(settings, "producer.", config))
    return client


def _producer(
    settings: WorkerSettings, connector: str, task: int, config: Mapping[str, str | None], own_id: bool = False
) -> Client:
    """
    Return a producer's settings before it is checked whether they fit together. With `own_id`, it gets a transactional id.
    """
    asked = _asked(settings, "producer.", config)
    if asked.pop(_TRANSACTIONAL_ID, None) is not None and not (own_id or settings.exactly_once_enabled):
        name, value = origin(settings, "producer.", config)(_TRANSACTIONAL_ID) or (_TRANSACTIONAL_ID, "")
        raise ConfigError(name, value, _NO_TRANSACTIONS)
    # First, for it tells of what is no number.
    translated = _translated(asked, origin(settings, "producer.", config))
    tuned: Client = {
        **_base(f"connector-producer-{connector}-{task}", asked),
        # Java's default partitioner: another one would put keys where no Java client looks for them.
        "partitioner": "murmur2_random",
        "acks": "all",
        "enable.idempotence": _idempotence(asked),
        # As Connect: never give up on what can be retried; a task that can't reach its brokers waits.
        "message.timeout.ms": 2147483647,
        # Java's request.timeout.ms. What is under way to a broker that has vanished goes to the new leader after this time.
        "socket.timeout.ms": 30_000,
        "topic.metadata.refresh.interval.ms": LEADERS_MS,
        "message.max.bytes": 1048576,
        # Batches are what makes it quick: with 5 ms and 16 KB, Java's defaults, a record costs three times as much CPU.
        "linger.ms": 20,
        "queue.buffering.max.kbytes": 32 * 1024,
        # Above what fits into the bytes, so that these alone are the bound.
        "queue.buffering.max.messages": 1_000_000,
    }
    return {**tuned, **translated}


def leader_id(settings: WorkerSettings) -> str:
    """Return the transactional id of whoever leads the workers, as in Connect."""
    return f"connect-cluster-{settings.group_id}"


def transactional_id(settings: WorkerSettings, connector: str, task: int | None) -> str:
    """
    Return the transactional id of an exactly-once source task, as in Connect: whoever fences its producer has to know it. None
    as the task: of who changes the offsets of all. Raise ConfigError if it is the leader's, whom its first use would fence.
    """
    own_id = "-".join([settings.group_id, connector, *([] if task is None else [str(task)])])
    if own_id == leader_id(settings):
        raise ConfigError(
            f"The connector {connector} would write with the transactional id {own_id}, which is that of the workers' leader. "
            "Create it under another name"
        )
    return own_id


def transactional_producer(
    settings: WorkerSettings, connector: str, task: int, config: Mapping[str, str | None], longest_ms: int
) -> Client:
    """The producer of an exactly-once source task, whose transactions are meant to be open for up to `longest_ms`."""
    forced: Client = {
        "acks": "all",
        "enable.idempotence": True,
        "transactional.id": transactional_id(settings, connector, task),
    }
    asked = _asked(settings, "producer.", config)
    for name, value in forced.items():
        value_asked = asked.get(name, "").strip()
        if value_asked and value_asked.lower() not in (str(value).lower(), *(("-1",) if name == "acks" else ())):
            log.warning(
                "The producer setting %s=%s of %s is ignored: exactly-once sources have %s",
                name,
                value_asked,
                connector,
                value,
            )
    client = {**_producer(settings, connector, task, config, own_id=True), **forced}
    # Brokers end a transaction by themselves after this time. Java's default of a minute is also the default interval between
    # commits, so that transactions by interval would never live to see theirs.
    usual_ms = max(60_000, min(longest_ms + 60_000, _LONGEST_TRANSACTION_MS))
    timeout_ms = int(client.setdefault("transaction.timeout.ms", usual_ms))
    # A message that comes later comes too late; the client refuses to start with more.
    given_ms = [int(client.pop(name)) for name in ("delivery.timeout.ms", "message.timeout.ms") if name in client]
    client["message.timeout.ms"] = min(*given_ms, timeout_ms) if given_ms else timeout_ms
    # A request to a broker that has vanished must end long before its messages do, so that they can go to the new leader. What
    # is asked of the transactions' coordinator ends by that time only: librdkafka keeps a connection of its own for it.
    client["socket.timeout.ms"] = min(int(client["socket.timeout.ms"]), max(int(client["message.timeout.ms"]) // 6, 10))
    fitting.require("producer", client, origin(settings, "producer.", config))
    return client


def consumer(settings: WorkerSettings, connector: str, task: int, config: Mapping[str, str | None]) -> Client:
    """
    The consumer of a sink task; `max.poll.records` and `RESET_AGE_MS`, if they are there, are for the caller to take out and
    heed.
    """
    asked = _asked(settings, "consumer.", config)
    tuned: Client = {
        **_base(f"connector-consumer-{connector}-{task}", asked),
        "group.id": _group(settings, connector, asked),
        "partition.assignment.strategy": "cooperative-sticky",
        "auto.offset.reset": "earliest",
        # Not the clients' 45 s: after kill -9 a task starts again at once, and would wait for its own ghost. Nor the worker's:
        # a member outlives the election of another coordinator as its host does.
        "session.timeout.ms": stopped_after_ms(settings.session_timeout_ms, settings.handover_grace_ms),
        "heartbeat.interval.ms": min(settings.heartbeat_interval_ms, settings.session_timeout_ms // 3),
        # Java's defaults, where librdkafka's differ.
        "isolation.level": "read_uncommitted",
        "allow.auto.create.topics": True,
        # With the default of 1 s the consumer idles whenever its queue was full for a moment.
        "fetch.queue.backoff.ms": 5,
        # Brokers answer as soon as there is a record: this is how often they say that there is none. Java's is 500; what is
        # asked on the same connection meanwhile waits.
        "fetch.wait.max.ms": 1000,
        "queued.max.messages.kbytes": 16384,
        "topic.metadata.refresh.interval.ms": LEADERS_MS,
        # Java's request.timeout.ms.
        "socket.timeout.ms": 30_000,
    }
    forced = {"enable.auto.commit": False, "enable.auto.offset.store": False}
    where = origin(settings, "consumer.", config)
    client = {**tuned, **_translated(asked, where, "consumer"), **forced}
    for name in group_protocol.unfit(client):
        if client.pop(name, None) is not None and name in asked:
            _warn_of_protocol(*(where(name) or (name, "")), group_protocol.reason(name))
    _settle_times(client, asked)
    fitting.require("consumer", client, where)
    for doubt in fitting.doubts(client, where):
        log.warning("The consumer of %s will not work well: %s", connector, doubt)
    age_ms = client_choices.reset_age_ms(asked.get(client_choices.AUTO_OFFSET_RESET, ""))
    return client if age_ms is None else {**client, RESET_AGE_MS: age_ms}


@lru_cache(maxsize=1000)
def _warn_of_protocol(setting: str, value: str, reason: str) -> None:
    log.warning("The client setting %s=%s has no effect: %s", setting, value, reason)


def _settle_times(client: Client, asked: Mapping[str, str]) -> None:
    """Have the times that nobody asked for fit to those that somebody did: Java's defaults differ from these."""
    if group_protocol.is_new(client):
        return
    session_ms, heartbeat_ms = int(client["session.timeout.ms"]), int(client["heartbeat.interval.ms"])
    if "heartbeat.interval.ms" not in asked:
        client["heartbeat.interval.ms"] = min(heartbeat_ms, max(1, session_ms // 3))
    elif "session.timeout.ms" not in asked:
        session_ms = client["session.timeout.ms"] = max(session_ms, min(3 * heartbeat_ms, _JAVAS_SESSION_MS))
    if "max.poll.interval.ms" not in asked:
        # To Java's clients, one has nothing to do with the other.
        client["max.poll.interval.ms"] = max(session_ms, _JAVAS_POLL_MS)


def apart(client: Client) -> Client:
    """Return a task's consumer's settings for a consumer that reads without being a member of its group."""
    not_for_it = ("max.poll.records", "group.instance.id", RESET_AGE_MS)
    return {name: value for name, value in group_protocol.apart(client).items() if name not in not_for_it}


def admin(settings: WorkerSettings, connector: str, config: Mapping[str, str | None]) -> Client:
    """The client that asks brokers to do something for a connector: the worker's `admin.`, its `admin.override.`."""
    asked = _asked(settings, "admin.", config)
    where = origin(settings, "admin.", config)
    client = {**_base(f"connector-adminclient-{connector}", asked), **_translated(asked, where, "consumer")}
    fitting.require("admin", client, where)
    return client


def problems(settings: WorkerSettings) -> Iterator[ConfigError]:
    """Yield what is wrong with the worker file's settings of the clients of connectors, whatever these set themselves."""
    exactly_once = settings.exactly_once_enabled
    makers: tuple[Callable[[], Client], ...] = (
        lambda: transactional_producer(settings, _NOBODY, 0, {}, 0) if exactly_once else producer(settings, _NOBODY, 0, {}),
        lambda: consumer(settings, _NOBODY, 0, {}),
        lambda: admin(settings, _NOBODY, {}),
    )
    for make in makers:
        try:
            make()
        except ConfigError as error:
            yield error


def topic_admin(settings: WorkerSettings, connector: str, config: Mapping[str, str | None]) -> Client:
    """The same, for topics that the connector's producer is to write to: they must be where that one is."""
    asked = _asked(settings, "admin.", config)
    target, connection = _connection(_asked(settings, "producer.", config)), _connection(asked)
    followed = _following(target, connection, _shared(settings), _overridden("admin", config))
    # In the place of the whole connection: what the other brokers must not have is what is missing in it.
    asked = {**{name: text for name, text in asked.items() if name not in connection}, **followed}
    return {**_base(f"connector-adminclient-{connector}", asked), **translate(asked, "consumer")}


def topic_admin_prefix(settings: WorkerSettings, config: Mapping[str, str | None]) -> str:
    """Return how a connector's settings begin by which `topic_admin` connects."""
    shared = _servers(_shared(settings))
    target, admin_servers = (_servers(_asked(settings, f"{kind}.", config)) for kind in ("producer", "admin"))
    return "producer.override." if target != shared and admin_servers == shared else "admin.override."


@dataclass(frozen=True)
class OffsetClients:
    """Connection settings of what reaches a source connector's own offset topic, which is where its producer writes."""

    producer: Client
    consumer: Client
    admin: Client
    elsewhere: bool
    """Whether that is another Kafka cluster than the worker's, as far as addresses tell."""


def offsets(settings: WorkerSettings, connector: str, config: Mapping[str, str | None]) -> OffsetClients:
    """
    Return the settings of the clients of an own offsets topic. As in `topic_admin`, whoever redirects the producer alone means
    the others, too.
    """
    asked = {kind: _connection(_asked(settings, f"{kind}.", config)) for kind in ("producer", "consumer", "admin")}
    shared, target = _shared(settings), asked["producer"]
    elsewhere = _servers(target) != _servers(shared)
    by_kind: dict[str, Client] = {}
    for kind, connection in asked.items():
        followed = _following(target, connection, shared, _overridden(kind, config))
        size = {"max.request.size": settings.raw.get("max.request.size", "1048576")}
        base = _base(f"connector-offsets-{connector}-{kind}", followed)
        by_kind[kind] = {**base, **_INTERNAL, **translate(size), **translate(followed)}
    return OffsetClients(**by_kind, elsewhere=elsewhere)


def group_of(settings: WorkerSettings, connector: str, config: Mapping[str, str | None]) -> str:
    """The consumer group of a sink connector's tasks."""
    return _group(settings, connector, _asked(settings, "consumer.", config))


def _group(settings: WorkerSettings, connector: str, asked: Mapping[str, str]) -> str:
    """
    Return the consumer group of a sink connector. Raise ConfigError if it is the workers' own: a member that is no worker ends
    the cluster. The connector's name counts, which its config need not have.
    """
    group = asked.get("group.id", "").strip() or f"connect-{connector}"
    for problem in group_errors({GROUP_ID: group}, {"name": connector}, settings.group_id).values():
        raise ConfigError(f"{problem}. Set {GROUP_ID}, or create the connector under another name")
    return group


def _asked(settings: WorkerSettings, prefix: str, config: Mapping[str, str | None]) -> dict[str, str]:
    override = f"{prefix}override."
    overrides = {k[len(override) :]: v for k, v in config.items() if k.startswith(override) and v is not None}
    for name, value in overrides.items():
        # Whoever wrote the config into its topic, or when: another worker may have had another policy.
        for problem in settings.override_policy.problems(name, value):
            raise ConfigError(f"{override}{name} can't be used: {problem}")
    inherited = {**_shared(settings), **settings.with_prefix(prefix)}
    if lent_logins.SERVERS not in settings.override_policy.unsafe:
        refusal = lent_logins.problem(settings.raw, prefix, overrides)
        if refusal is not None:
            raise ConfigError(refusal)
        for name in lent_logins.lent(settings.raw, prefix, overrides):
            inherited.pop(name, None)
    return {**inherited, **overrides}


def origin(settings: WorkerSettings, prefix: str, config: Mapping[str, str | None]) -> fitting.Origin:
    """Return what says where a client's setting was set: by the connector, or in the worker file."""

    def find(name: str) -> tuple[str, str] | None:
        for place, where in ((config, f"{prefix}override."), (settings.raw, prefix), (settings.raw, "")):
            for alias in fitting.same(name):
                value = place.get(f"{where}{alias}")
                if value is not None and (where or _SHARED.fullmatch(alias)):
                    return f"{where}{alias}", HIDDEN if secrets.is_secret(alias) else value.strip()
        return None

    return find


def _translated(asked: Mapping[str, str], where: fitting.Origin, kind: str = "producer") -> Client:
    """Translate a client's settings. ConfigError for one that can't be used, by the name under which it was set."""
    try:
        return translate(asked, kind)
    except ConfigError as error:
        name = error.name or ""
        setting = where(name)
        if setting is None:
            raise
        rule = str(error).partition(f" for configuration {name}: ")[2]
        raise ConfigError(setting[0], setting[1], rule) from None


def _shared(settings: WorkerSettings) -> dict[str, str]:
    return _connection(settings.raw)


def _connection(asked: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in asked.items() if _SHARED.fullmatch(name)}


def _following(
    target: Mapping[str, str], connection: Mapping[str, str], shared: Mapping[str, str], overridden: frozenset[str]
) -> Mapping[str, str]:
    """
    Return the connection of a client whose topics are where the producer writes (`target`), if only the producer was
    redirected: the client would look for them where they are not. Its login is its own setting where it has one.
    """
    if _servers(target) == _servers(shared) or _servers(connection) != _servers(shared):
        return connection
    # A login of the worker's own for this kind of client is for the worker's brokers.
    own_settings = {name: text for name, text in connection.items() if text != shared.get(name)}
    return {
        **target,
        **{name: text for name, text in own_settings.items() if name in overridden or not lent_logins.LOGIN.fullmatch(name)},
    }


def _overridden(kind: str, config: Mapping[str, str | None]) -> frozenset[str]:
    """Return the names of the settings that a connector overrides of a kind of client."""
    prefix = f"{kind}.override."
    return frozenset(name[len(prefix) :] for name, text in config.items() if name.startswith(prefix) and text is not None)


def _servers(asked: Mapping[str, str]) -> frozenset[str]:
    return frozenset(part.strip() for part in asked.get("bootstrap.servers", "").split(","))


def _base(client_id: str, asked: Mapping[str, str]) -> Client:
    return {
        # Java's defaults: with librdkafka's a client lets a broker that is back wait for up to 10 s.
        "reconnect.backoff.ms": "50",
        "reconnect.backoff.max.ms": asked.get("reconnect.backoff.ms", "1000"),
        "client.id": client_id,
        "logger": _client_log(),
        "error_cb": _ErrorLog(client_id),
        # Brokers close idle connections as a matter of course.
        "log.connection.close": False,
    }


def _idempotence(asked: Mapping[str, str]) -> bool:
    """Return whether the producer is idempotent: as in Java, unless another setting rules it out."""
    return not (
        asked.get("acks", "all") not in ("all", "-1")
        or asked.get("retries") == "0"
        or int(asked.get("max.in.flight.requests.per.connection", 5)) > 5
    )


@cache
def _client_log() -> logging.Logger:
    """Return the logger for librdkafka's own lines; `logging` must not see the thousands of equal ones of an outage."""
    logger = logging.getLogger("kconnect.kafka.client")
    logger.addFilter(_Repeats())
    return logger


class _Repeats(logging.Filter):
    """Lets a text pass once a minute. Texts that differ only in how long something took are the same."""

    _KEPT = 1000

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        return self.is_new(record.getMessage())

    def is_new(self, text: str) -> bool:
        text, now = re.sub(r"\(after \d+ms[^)]*\)", "", text), time.monotonic()
        if now - self._said.get(text, -math.inf) < 60:
            return False
        if len(self._said) >= self._KEPT:
            self._said.clear()
        self._said[text] = now
        return True


class _ErrorLog:
    """Logs what a client reports by itself. Errors of calls come elsewhere."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._repeats = _Repeats()

    def __call__(self, error: ck.KafkaError) -> None:
        if self._repeats.is_new(error.str()):
            log.warning("%s: %s", self._client_id, error.str())
