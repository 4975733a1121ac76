"""What the internal topics' writer says without a broker; what it does with one is in tests/integration/test_log.py."""

from __future__ import annotations

import pytest

from kconnect.core.state.records import Entry, Topic
from kconnect.errors import ConnectError
from kconnect.kafka.log import LogWriter


@pytest.mark.parametrize("expires_s", [0.2, 60.0])
def test_brokers_that_do_not_answer_are_named(expires_s: float) -> None:
    writer = LogWriter({"bootstrap.servers": "127.0.0.1:9", "log_level": 0}, {Topic.CONFIG: "configs"}, expires_s)
    try:
        with pytest.raises(ConnectError, match=r"127\.0\.0\.1:9 did not acknowledge it in time\. Check that the brokers run"):
            writer.write([Entry(Topic.CONFIG, b"a", b"b")], 1.0)
    finally:
        writer.close(0)
