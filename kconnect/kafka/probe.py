"""
Whether one broker takes a client's settings, and what its user may do. Nothing is written: brokers tell what they allow.

Called by `cli/checkup/brokers.py`, which says what is to be done. Read next: `admin.py`, for what a worker does at its start.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AclOperation, AdminClient

from kconnect.errors import ConnectError, ForbiddenError, NotFoundError, UnavailableError
from kconnect.kafka.codes import STARTING
from kconnect.kafka.failures import failure

SETTINGS, LOGIN, TLS, PROTOCOL = "settings", "login", "tls", "protocol"
"""What a broker, or the client itself, does not take."""

_NEVER_S = 3600
_GROUP_S = 5.0
_PATIENCE_S = 1.0
_WORDS = {AclOperation.READ: "Read", AclOperation.WRITE: "Write", AclOperation.CREATE: "Create"}


class RefusedError(ConnectError):
    """`stage` is one of those above; the text is the client's."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(reason)
        self.stage = stage


@dataclass(frozen=True)
class Greeting:
    """`brokers` are those that clients are sent on to: id, host and port of each."""

    cluster_id: str
    brokers: Sequence[tuple[int, str, int]]


def greet(server: str, client: Mapping[str, Any], limit_s: float) -> Greeting:
    """RefusedError if this server does not answer within the limit, or takes no client like this one."""
    errors: list[ck.KafkaError] = []
    # What goes wrong is told by the caller, not in the log.
    quiet = {"error_cb": errors.append, "log_level": 0, "bootstrap.servers": server}
    try:
        producer = ck.Producer({**client, **quiet})
    except ck.KafkaException as error:
        raise RefusedError(SETTINGS, error.args[0].str()) from error
    end = time.monotonic() + limit_s
    while True:
        try:
            metadata = producer.list_topics(timeout=_PATIENCE_S)
            return Greeting(
                str(metadata.cluster_id), [(broker.id, broker.host, broker.port) for broker in metadata.brokers.values()]
            )
        except ck.KafkaException as error:
            last = error.args[0]
        producer.poll(0)
        # What would go on for ever is not waited for: librdkafka tries again whatever it is told.
        if time.monotonic() > end or _hopeless(errors):
            raise _refused(errors, last)


def _refused(errors: Sequence[ck.KafkaError], last: ck.KafkaError) -> RefusedError:
    error = _hopeless(errors)
    if error is not None:
        return RefusedError(LOGIN if error.code() == ck.KafkaError._AUTHENTICATION else TLS, _reason(error))
    telling = [error for error in errors if error.code() != ck.KafkaError._ALL_BROKERS_DOWN] or [last]
    return RefusedError(PROTOCOL, _reason(telling[0]))


def _hopeless(errors: Sequence[ck.KafkaError]) -> ck.KafkaError | None:
    """The first that tells of a login or of TLS; a handshake that broke off has the code of a lost connection."""
    codes = (ck.KafkaError._AUTHENTICATION, ck.KafkaError._SSL)
    return next((error for error in errors if error.code() in codes or "SSL handshake" in error.str()), None)


def _reason(error: ck.KafkaError) -> str:
    """Without the name of the thread that librdkafka begins with."""
    return " ".join(error.str().rpartition("/bootstrap: ")[2].split())


class Rights:
    """The rights that brokers grant the user of `client`: Read, Write and Create."""

    def __init__(self, client: Mapping[str, Any], limit_s: float) -> None:
        self._client = {**client, "log_level": 0}
        self._limit_s = limit_s
        # A client that is gone takes its requests with it.
        self._admin = AdminClient(self._client)

    def on_cluster(self) -> set[str]:
        try:
            asked = self._admin.describe_cluster(include_authorized_operations=True, request_timeout=self._limit_s)
            return _words(asked.result().authorized_operations)
        except ck.KafkaException as error:
            raise failure(error.args[0], "the cluster", self._client) from error

    def on_topics(self, names: Collection[str]) -> dict[str, set[str] | NotFoundError | ForbiddenError]:
        """Return the rights on each topic, or an error for a topic that does not exist or may not be described."""
        topics = ck.TopicCollection(list(names))
        asked = self._admin.describe_topics(topics, include_authorized_operations=True, request_timeout=self._limit_s)
        rights: dict[str, set[str] | NotFoundError | ForbiddenError] = {}
        for name in names:
            try:
                rights[name] = _words(asked[name].result().authorized_operations)
            except ck.KafkaException as error:
                raised = failure(error.args[0], f"the topic {name}", self._client)
                if not isinstance(raised, NotFoundError | ForbiddenError):
                    raise raised from error
                rights[name] = raised
        return rights

    def on_group(self, group: str) -> set[str]:
        """UnavailableError while no broker coordinates the group, as in a cluster that has just been started."""
        end = time.monotonic() + self._limit_s
        while time.monotonic() < end:
            # librdkafka must not be the one that gives up, and the client goes with the request: see Admin._describe in
            # admin.py.
            admin = AdminClient(self._client)
            asked = admin.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=_NEVER_S)
            try:
                return _words(asked[group].result(min(self._limit_s, _GROUP_S)).authorized_operations)
            except futures.TimeoutError:
                continue
            except ck.KafkaException as error:
                if error.args[0].code() not in STARTING:
                    raise failure(error.args[0], f"the group {group}", self._client) from error
            time.sleep(0.2)
        raise UnavailableError(f"No broker answered for the group {group} within {self._limit_s:.0f} s")


def _words(operations: Collection[AclOperation] | None) -> set[str]:
    allowed = set(operations or ())
    return {word for operation, word in _WORDS.items() if {operation, AclOperation.ALL} & allowed}
