"""Which Spark settings are ours, which the user's, and that none of them is on a command line."""

from __future__ import annotations

import logging

import pytest

from kconnect.core.settings import properties
from kconnect.spark import session


def test_the_user_chooses_but_for_what_hosts_rest_on(caplog: pytest.LogCaptureFixture) -> None:
    user = {"spark.master": "spark://h.invalid:7077", "spark.executor.memory": "2g", "spark.speculation": "true"}
    with caplog.at_level(logging.WARNING):
        found = session.settings(user, "a.b", 2)
    assert found["spark.master"] == "spark://h.invalid:7077"
    assert found["spark.executor.memory"] == "2g"
    assert found["spark.speculation"] == "false"
    assert "spark.speculation" in caplog.text
    assert found["spark.cores.max"] == "2"


def test_a_local_driver_listens_on_loopback_only() -> None:
    assert session.settings({}, "", 2)["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.mark.parametrize("text", ["local[64,8]", "a=b:c d#!\\", "é€😀", "-XX:+UseSerialGC -Xss512k"])
def test_texts_survive_the_properties_file(text: str) -> None:
    line = f"{session._escape('spark.key')}={session._escape(text)}\n"
    assert line.isascii()
    assert properties.load(line) == {"spark.key": text}
