"""Options: what they say, what is refused, and that no message has a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from kconnect.errors import ConfigError
from kconnect.pyspark import options, places
from kconnect.pyspark.options import parse
from tests.docs.pages import DOCS

_TABLE = re.compile(r"(<!-- options: begin -->\n).*?(<!-- end -->)", re.DOTALL)
NEEDLE = "hunter2-needle"


def table() -> str:
    rows = [f"| `{row.name}` | {f'`{row.default}`' if row.default else 'none'} | {row.doc} |" for row in options.ROWS]
    return "\n".join(["| option | default | meaning |", "| --- | --- | --- |", *rows, ""])


def test_the_page_lists_all_options() -> None:
    page = (DOCS / "pyspark.md").read_text("utf-8")
    assert _TABLE.sub(lambda match: match[1] + table() + match[2], page) == page, (
        "python -m tests.pyspark.test_options writes it"
    )


def test_topics_are_enough() -> None:
    parsed = parse({"topics": "orders, lines,"})
    assert parsed.topics == ("orders", "lines")
    assert (parsed.starting, parsed.ending) == (places.EARLIEST, places.LATEST)
    assert parsed.has_topic
    assert not parse({"topics": "orders"}).has_topic
    assert parse({"connector": "shop"}).has_topic


def test_settings_of_clients_and_converters_lose_their_prefix() -> None:
    parsed = parse(
        {"topics": "t", "kafka.bootstrap.servers": "h:1", "value.converter": "AvroConverter", "value.converter.a.b": "c"}
    )
    assert parsed.kafka == {"bootstrap.servers": "h:1"}
    assert parsed.value == {"": "AvroConverter", "a.b": "c"}
    assert parsed.key is None


def test_names_are_found_in_any_case() -> None:
    assert parse({"TOPICS": "t", "FailOnDataLoss": "FALSE"}).fails_on_loss is False


@pytest.mark.parametrize(
    "given, told",
    [
        ({}, "topics, topics.pattern or connector"),
        ({"topics": ""}, "topics, topics.pattern or connector"),
        ({"subscribe": "t"}, "use topics"),
        ({"topics": "t", "bootstrap.servers": "h"}, "use kafka.bootstrap.servers"),
        ({"topic": "t"}, "do you mean topics"),
        ({"topics": "t", "provider": "kconnect"}, "CREATE TEMPORARY VIEW"),
        ({"topics": "t", "nonsense.of.mine": "1"}, "docs/pyspark.md"),
        ({"topics.pattern": "("}, "no regular expression"),
        ({"topics": "t", "mode": "maybe"}, "fail, drop or keep"),
        ({"topics": "t", "failOnDataLoss": "yes"}, "must be true or false"),
        ({"topics": "t", "maxOffsetsPerTrigger": "0"}, "whole number from 1"),
        ({"topics": "t", "startingOffsets": "yesterday"}, "earliest, latest"),
        ({"topics": "t", "startingOffsets": '{"t": {"x": 1}}'}, "t has x: 1"),
        ({"topics": "t", "startingOffsets": '{"t": {"0": -3}}'}, "t has 0: -3"),
        ({"topics": "t", "startingOffsets": "latest", "startingTimestamp": "1"}, "give one of the two"),
        ({"topics": "t", "endingTimestamp": "2026-01-01T00:00:00"}, "time zone"),
        ({"topics": "t", "endingTimestamp": "noon"}, "milliseconds since 1970"),
        ({"topics": "t", "value.converter.schemas.enable": "false"}, "must name the converter"),
        ({"topics": "t", "startingTimestamp": "3", "endingTimestamp": "2"}, "endingTimestamp: it lies before"),
        ({"topics": "t", "startingOffsets": '{"t": {"0": 3}}', "endingOffsets": '{"t": {"0": 2}}'}, "begins there at 3"),
        ({"topics": "t", "startingTimestamp": "9" * 20}, "64 bits"),
        ({"topics": "t", "kafka.isolation.level": "read_uncommitted"}, "sets it itself"),
        ({"connector.config": "{"}, "no JSON object"),
        ({"connector": "c", "connector.config": "{}", "connector.config.file": "x"}, "no connector.class"),
        ({"connector.config": '{"connector.class": "Datagen"}'}, "name the connector"),
    ],
)
def test_what_is_refused_names_option_and_remedy(given: Mapping[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(given)
    assert told in str(caught.value)


def test_a_time_is_ms_or_iso() -> None:
    assert places.of_time("1500").time_ms == 1500
    assert places.of_time("1970-01-01T00:00:01.5Z").time_ms == 1500
    assert places.of_time("1970-01-01T01:00:01+01:00").time_ms == 1000


def test_a_config_is_given_by_setting_or_as_rest_takes_it() -> None:
    by_setting = parse({"connector": "shop", "connector.config.connector.class": "Datagen", "connector.config.topic": "t"})
    assert by_setting.config == {"connector.class": "Datagen", "topic": "t"}
    body = {"name": "shop", "config": {"connector.class": "Datagen", "tasks.max": 2, "transforms.X.spareMe": True}}
    parsed = parse({"connector.config": json.dumps(body)})
    assert parsed.connector == "shop"
    assert parsed.config == {"name": "shop", "connector.class": "Datagen", "tasks.max": "2", "transforms.X.spareMe": "true"}


@pytest.mark.parametrize(
    "name, text",
    [
        ("kafka.sasl.password", NEEDLE),
        ("kafka.ssl.key.password", NEEDLE),
        ("kafka.sasl.jaas.config", f'x.PlainLoginModule required username="u" password="{NEEDLE}";'),
        ("kafka.sasl.jaas.config", f"x.PlainLoginModule required username=u password={NEEDLE};"),
        ("kafka.ssl.keystore.key", NEEDLE),
        ("value.converter.basic.auth.user.info", f"user:{NEEDLE}"),
        ("value.converter.basic.auth.user.info", f"${{env:USER}}:{NEEDLE}"),
        ("value.converter.schema.registry.url", f"http://user:{NEEDLE}@registry:8081"),
        ("connector.config.connection.password", NEEDLE),
        ("connector.config", json.dumps({"connector.class": "X", "connection.password": NEEDLE})),
        ("connector.config", json.dumps({"connector.class": "X", "connection.url": f"pg://u:{NEEDLE}@db/shop"})),
        ("rest.url", f"http://u:{NEEDLE}@worker:8083"),
    ],
)
def test_a_secret_as_it_is_is_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse({"topics": "t", "connector": "c", "value.converter": "AvroConverter", name: text})
    assert NEEDLE not in str(caught.value)
    assert "${file:" in str(caught.value)


@pytest.mark.parametrize(
    "name, text",
    [
        ("kafka.sasl.password", "${env:PW}"),
        ("kafka.sasl.jaas.config", 'x.PlainLoginModule required username="u" password="${env:PW}";'),
        ("value.converter.basic.auth.user.info", "${env:USER}:${env:PW}"),
        ("connector.config", json.dumps({"connector.class": "X", "connection.password": "${file:/run/db:pw}"})),
        ("kafka.ssl.truststore.location", "/etc/trust.p12"),
        ("kafka.sasl.username", "reader"),
    ],
)
def test_a_reference_is_taken_as_it_is(name: str, text: str) -> None:
    parse({"topics": "t", "connector": "c", "value.converter": "AvroConverter", name: text})


@pytest.mark.parametrize(
    "given", [{"endingOffsets": '{"t": {"0": 2}}'}, {"endingTimestamp": "5"}, {"endingOffsets": "earliest"}]
)
def test_an_end_is_for_batches_only(given: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match=rf"option {min(given)} .*availableNow=True"):
        options.require_endless(parse({"topics": "t", **given}))
    options.require_endless(parse({"topics": "t", "endingOffsets": "latest"}))


if __name__ == "__main__":
    path = DOCS / "pyspark.md"
    path.write_text(_TABLE.sub(lambda match: match[1] + table() + match[2], path.read_text("utf-8")), "utf-8")
