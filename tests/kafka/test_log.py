"""What the internal topics' writer says without a broker; what it does with one is in tests/integration/test_log.py."""

from __future__ import annotations

from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.core.herder.effects import FencedError
from kconnect.core.state.records import Entry, Topic
from kconnect.errors import ConnectError
from kconnect.kafka import late_ends
from kconnect.kafka.log import LeaderWriter, LogWriter


@pytest.mark.parametrize("expires_s", [0.2, 60.0])
def test_brokers_that_do_not_answer_are_named(expires_s: float) -> None:
    writer = LogWriter({"bootstrap.servers": "127.0.0.1:9", "log_level": 0}, {Topic.CONFIG: "configs"}, expires_s)
    try:
        with pytest.raises(ConnectError, match=r"127\.0\.0\.1:9 did not acknowledge it in time\. Check that the brokers run"):
            writer.write([Entry(Topic.CONFIG, b"a", b"b")], 1.0)
    finally:
        writer.close(0)


class Fenced:
    """A leader's client that was fenced, and says so only when it is polled after the abort."""

    def __init__(self, code: int) -> None:
        self._failure = ck.KafkaException(ck.KafkaError(code, "no more", fatal=True))

    def begin_transaction(self) -> None:
        raise ck.KafkaException(ck.KafkaError(ck.KafkaError._STATE, "an operation is in progress"))

    def abort_transaction(self, timeout: float) -> None:
        pass

    def poll(self, timeout: float) -> int:
        raise self._failure


@pytest.mark.parametrize("code", [ck.KafkaError._FENCED, ck.KafkaError.INVALID_TXN_STATE])
def test_a_fenced_leader_s_write_is_to_be_decided_again(code: int) -> None:
    writer = LeaderWriter({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}, {Topic.CONFIG: "configs"}, "leader")
    fenced: Any = Fenced(code)
    writer._producer, writer._ends = fenced, late_ends.Ends()
    with pytest.raises(FencedError, match="Another worker now leads"):
        writer.write([], 1)
    with pytest.raises(FencedError, match="does not lead"):
        writer.write([], 1)
