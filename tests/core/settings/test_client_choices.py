"""Texts that Kafka's Java clients take or refuse: each row was checked against the `ConfigDef`s of kafka-clients 4.3.1."""

from __future__ import annotations

import pytest

from kconnect.core.settings.client_choices import broken_rule, reset_age_ms


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acks", "all"),
        ("acks", " all "),
        ("acks", "-1"),
        ("compression.type", "zstd"),
        ("auto.offset.reset", "earliest"),
        ("auto.offset.reset", "none"),
        ("auto.offset.reset", "by_duration:PT1H"),
        ("auto.offset.reset", "by_duration:pt1h"),
        ("auto.offset.reset", "by_duration:PT0S"),
        ("isolation.level", "read_committed"),
        ("security.protocol", "ssl"),
        ("group.protocol", "classic"),
        ("linger.ms", "whatever"),
    ],
)
def test_what_java_takes(name: str, value: str) -> None:
    assert broken_rule(name, value) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acks", "ALL"),
        ("acks", "2"),
        ("acks", ""),
        ("compression.type", "GZIP"),
        ("compression.type", ""),
        ("auto.offset.reset", "Earliest"),
        ("auto.offset.reset", "smallest"),
        ("auto.offset.reset", "by_duration"),
        ("auto.offset.reset", "by_duration:"),
        ("auto.offset.reset", "by_duration:P1Y"),
        ("auto.offset.reset", "by_duration:-PT1H"),
        ("auto.offset.reset", "BY_DURATION:PT1H"),
        ("isolation.level", "READ_COMMITTED"),
        ("security.protocol", "tls"),
        ("client.dns.lookup", "default"),
    ],
)
def test_what_java_refuses(name: str, value: str) -> None:
    rule = broken_rule(name, value)
    assert rule is not None and ("must be one of" in rule or "must be either" in rule)


def test_the_age_of_what_a_consumer_begins_with() -> None:
    assert reset_age_ms(" by_duration:P1DT1H ") == 25 * 3_600_000
    assert reset_age_ms("latest") is None
