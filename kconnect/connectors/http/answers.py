"""
Answers: what the service says to requests, as records of a topic.

The sink has a producer of its own for them, as other HTTP sinks have it: tasks have no other way to write to Kafka. Used by
`sink.py` and `checks.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

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
_BROKER = re.compile(r"(?:\w+://)?(?:\[[0-9A-Fa-f:.%]+\]|[\w.-]+)(?::\d{1,5})?")
_FLUSH_S = 30.0


class Answers:
    def __init__(self, config: Mapping[str, Any], props: Mapping[str, str]) -> None:
        """ConfigError for a setting that the producer has not."""
        producer_settings = passthrough.given(props, settings.PASSTHROUGH)
        self._topic: str = config[settings.ANSWERS]
        _check_brokers(settings.BROKERS, config[settings.BROKERS])
        for name, value in producer_settings.items():
            if ("." not in name and name not in _UNDOTTED) or name.startswith(("default.topic.config", "test.mock.")):
                raise ConfigError(f"{OWN}{name}", "[hidden]", "It is no setting of a producer: leave it out")
            if name in ("bootstrap.servers", "metadata.broker.list"):
                _check_brokers(f"{OWN}{name}", value)
        try:
            self._producer = Producer(
                {"bootstrap.servers": config[settings.BROKERS], "enable.idempotence": True, **producer_settings}
            )
        except KafkaException as error:
            raise ConfigError(f"{OWN}*", "[hidden]", error.args[0].str()) from None
        self._problem: KafkaError | None = None

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
        while True:
            try:
                self._producer.produce(self._topic, body, key, headers=dict(headers), on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE or "http_body_omitted" in headers:
                    raise
                # The service decides how long its answer is; that it has taken the request is kept.
                body, key = b"", None
                headers["http_body_omitted"] = "true"
            else:
                self._producer.poll(0)
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        self._problem = error or self._problem

    def flush(self) -> None:
        """ConnectError if one of them is not in Kafka: then the offsets of its records are not committed."""
        unsent_count = self._producer.flush(_FLUSH_S)
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


def _check_brokers(name: str, value: str) -> None:
    """Raise ConfigError for what is no list of brokers."""
    if not all(_BROKER.fullmatch(part.strip()) for part in value.split(",")):
        raise ConfigError(name, value, "It is a list of brokers, each as host:port, with commas between them")
