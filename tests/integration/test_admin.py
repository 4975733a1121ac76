"""Questions to a group's coordinator, through the loss of the broker: `kconnect/kafka/admin.py`."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka as ck
import pytest

from kconnect.api.errors import ConnectError
from kconnect.kafka import admin
from kconnect.local.broker import Broker
from tests.support import wait_until


@pytest.mark.parametrize("ask", [admin.Admin.members, admin.Admin.committed], ids=["members", "offsets"])
def test_a_question_that_had_no_answer_leaves_nothing_that_hurts_when_the_broker_is_back(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, ask: Callable[[admin.Admin, str], object]
) -> None:
    asked = admin.Admin({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    wait_until(lambda: answers(asked, ask), 30)
    monkeypatch.setattr(admin, "_GROUP_S", 2)
    broker.kill()
    try:
        for _ in range(2):
            with pytest.raises(ConnectError, match="No broker answered for the group within 2 s"):
                ask(asked, "nobody")
    finally:
        broker.start()
    monkeypatch.undo()
    # With a limit of librdkafka's own, the process is aborted about here, or no question is ever answered again.
    wait_until(lambda: answers(asked, ask), 30)


def answers(asked: admin.Admin, ask: Callable[[admin.Admin, str], object]) -> bool:
    """A coordinator that has just started says that it is none yet."""
    try:
        return not ask(asked, "nobody")
    except (ck.KafkaException, ConnectError):
        return False
