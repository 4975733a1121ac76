"""An admin client that asks a broker which is no longer a group's coordinator is replaced; it would ask it for ever."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient

from kconnect.errors import ConnectError
from kconnect.kafka import admin as admin_module
from kconnect.kafka.admin import Admin
from kconnect.kafka.codes import STARTING
from kconnect.local.broker import free_port


class Stale:
    """Asks a broker that refuses, as librdkafka does after the coordinator has moved away from a broker that lives."""

    def __init__(self, code: int) -> None:
        self._code = code

    def describe_consumer_groups(self, groups: list[str], request_timeout: float) -> dict[str, Future[Any]]:
        answer: Future[Any] = Future()
        answer.set_exception(ck.KafkaException(ck.KafkaError(self._code)))
        return dict.fromkeys(groups, answer)


@pytest.mark.parametrize("code", STARTING)
def test_a_client_whose_coordinator_has_moved_is_replaced(bootstrap: str, code: int) -> None:
    admin = Admin({"bootstrap.servers": bootstrap})
    stale: Any = Stale(code)
    admin._client = stale
    with pytest.raises(ConnectError, match="The coordinator of the group workers has moved"):
        admin.members("workers")
    assert isinstance(admin._client, AdminClient)


def test_a_client_that_is_refused_for_another_reason_stays(bootstrap: str) -> None:
    admin = Admin({"bootstrap.servers": bootstrap})
    stale: Any = Stale(ck.KafkaError.GROUP_AUTHORIZATION_FAILED)
    admin._client = stale
    with pytest.raises(ck.KafkaException):
        admin.members("workers")
    assert admin._client is stale


class Refusing:
    """A client whose user may not create topics."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.list_topics = AdminClient(settings).list_topics

    def create_topics(self, topics: list[Any], request_timeout: float) -> dict[str, Future[None]]:
        refused: Future[None] = Future()
        cause = ck.KafkaError(ck.KafkaError.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        refused.set_exception(ck.KafkaException(cause))
        return {topic.topic: refused for topic in topics}


def test_a_topic_that_may_not_be_created_names_the_right(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_module, "AdminClient", Refusing)
    with pytest.raises(ConnectError) as refused:
        admin_module.ensure_topic({"bootstrap.servers": bootstrap}, "dead", 1, 1, "Set the replication factor.")
    right = "Grant the user Create on the topic dead or on the cluster, or create it yourself."
    assert str(refused.value) == f"The topic dead could not be created: Authorization failed. {right}"


def test_where_no_broker_answers_the_address_and_the_remedy_are_named() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(ConnectError, match=f"{address} within .*`kconnect broker start` runs a local one"):
        Admin({"bootstrap.servers": address}, 0.5).cluster_id()
