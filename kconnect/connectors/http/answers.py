"""
Answers: what the service says to requests, as records of a topic.

The sink has a producer of its own for them, as other HTTP sinks have it: tasks have no other way to write to Kafka. Used by
`sink.py` and `checks.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kconnect import small_files
from kconnect.api import ConfigError, ConnectError
from kconnect.connectors import passthrough
from kconnect.connectors.http import settings
from kconnect.connectors.http.requests import Request

OWN = settings.PASSTHROUGH.prefix
"""
Settings of the producer begin with it; their names are librdkafka's. Those that load code, read files or ask elsewhere never
get here: the framework refuses them under any prefix.
"""
_UNDOTTED = frozenset(("acks", "retries", "debug", "partitioner"))
"""The other names without a dot are confluent-kafka's, for callbacks and the like."""
_FLUSH_S = 30.0
_TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE)
_OMITTED = "http_body_omitted"
_MOST = 64 * 1024**2
"""So many bytes of refused answers are kept until they are sent once more."""


class _Refused(NamedTuple):
    """An answer that brokers have refused as too large, maybe only for others in its request. None: it is too much to keep."""

    body: bytes | None
    key: bytes | None
    headers: dict[str, str | bytes | None]


class Answers:
    def __init__(self, config: Mapping[str, Any], props: Mapping[str, str]) -> None:
        """ConfigError for a setting that the producer has not."""
        producer_settings = passthrough.given(props, settings.PASSTHROUGH)
        self._topic: str = config[settings.ANSWERS]
        passthrough.check_brokers(settings.BROKERS, config[settings.BROKERS])
        for name, value in producer_settings.items():
            if ("." not in name and name not in _UNDOTTED) or name.startswith(
                ("default.topic.config", "delivery.report.", "test.mock.")
            ):
                raise ConfigError(f"{OWN}{name}", "[hidden]", "It is no setting of a producer: leave it out")
            if name in ("bootstrap.servers", "metadata.broker.list"):
                passthrough.check_brokers(f"{OWN}{name}", value)
        small_files.require(producer_settings, OWN)
        try:
            self._producer = Producer(
                {"bootstrap.servers": config[settings.BROKERS], "enable.idempotence": True, **producer_settings}
            )
        except KafkaException as error:
            raise ConfigError(f"{OWN}*", "[hidden]", error.args[0].str()) from None
        self._problem: KafkaError | None = None
        self._refused: list[_Refused] = []
        self._room = _MOST

    def keep(self, request: Request, status: int, body: bytes) -> None:
        """The answer to a request, with the place of its first record."""
        first = request.records[0]
        headers = {
            "input_record_topic": first.original_topic,
            "input_record_partition": str(first.original_partition),
            "input_record_offset": str(first.original_offset),
            "input_record_count": str(len(request.records)),
            "http_status": str(status),
        }
        key = first.key if isinstance(first.key, str | bytes) else None if first.key is None else str(first.key)
        self._send(body, key, headers)

    def _send(self, body: bytes | None, key: str | bytes | None, headers: Mapping[str, str | bytes | None]) -> None:
        while True:
            try:
                self._producer.produce(self._topic, body, key, headers=dict(headers), on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                if error.args[0].code() not in _TOO_LARGE or _OMITTED in headers:
                    raise
                # The service decides how long its answer is; that it has taken the request is kept.
                body, key, headers = b"", None, {**headers, _OMITTED: "true"}
            else:
                self._producer.poll(0)
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        headers = dict(message.headers() or ()) if error is not None else {}
        if error is None or error.code() not in _TOO_LARGE or _OMITTED in headers:
            self._problem = error or self._problem
            return
        body, key = message.value() or b"", message.key()
        self._room -= len(body) + len(key or b"")
        self._refused.append(_Refused(body, key, headers) if self._room >= 0 else _Refused(None, None, headers))

    def flush(self) -> None:
        """ConnectError if one of them is not in Kafka: then the offsets of its records are not committed."""
        unsent_count = self._producer.flush(_FLUSH_S)
        refused, self._refused, self._room = self._refused, [], _MOST
        for answer in refused if not unsent_count else ():
            # By itself first: if that is refused, too, the topic takes less than the producer does.
            if answer.body is not None:
                self._send(*answer)
                unsent_count = self._producer.flush(_FLUSH_S)
            if answer.body is None or self._refused:
                self._refused.clear()
                self._send(b"", None, {**answer.headers, _OMITTED: "true"})
                unsent_count = self._producer.flush(_FLUSH_S)
            if unsent_count:
                break
        problem, self._problem = self._problem, None
        if unsent_count or problem is not None:
            reason = problem.str() if problem is not None else f"the brokers did not take them within {_FLUSH_S:.0f} s"
            raise ConnectError(f"Answers of the service can't be written to the topic {self._topic}: {reason}")

    def probe(self, timeout_s: float) -> None:
        """ConnectError if no broker answers."""
        try:
            self._producer.list_topics(timeout=timeout_s)
        except KafkaException as error:
            raise ConnectError(f"The brokers can't be reached: {error.args[0].str()}") from None
