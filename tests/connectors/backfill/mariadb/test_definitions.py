"""What is read from a table's definition, and made of a key, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.api import ConfigError, ConnectError
from kconnect.connectors.backfill.mariadb import ddl, keys
from kconnect.connectors.backfill.mariadb.defaults import default_of
from kconnect.connectors.backfill.mariadb.history import statements
from kconnect.connectors.backfill.mariadb.history_client import client_settings
from kconnect.connectors.backfill.mariadb.keys import KeyColumn
from kconnect.connectors.backfill.mariadb.sessions import Place
from kconnect.connectors.backfill.mariadb.source import MariaDbBackfillConnector
from kconnect.connectors.backfill.mariadb.tables import Name
from kconnect.connectors.backfill.mariadb.types import Modes, reading_of
from kconnect.testing import config_errors

DEFINITION = """CREATE TABLE `a``b` (
  `not null` int(11) DEFAULT 7 COMMENT 'PRIMARY KEY (`x`), default 5',
  `x,)
` varchar(5) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL DEFAULT 'it''s ) , \\'' /*M!100301 COMPRESSED*/,
  `e` enum('a,b','c''d',')') NOT NULL,
  `g` int(11) GENERATED ALWAYS AS (`not null` + if(1,2,3)) VIRTUAL,
  `t` timestamp NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  `n` bigint(20) unsigned zerofill DEFAULT nextval(`s`.`q`),
  PRIMARY KEY (`x,)
`,`e`),
  UNIQUE KEY `u` (`not null`),
  KEY `k` (`g`),
  CONSTRAINT `c` CHECK (`e` <> 'default')
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='x'
"""


def test_a_definition_is_read_whatever_is_in_its_names_and_texts() -> None:
    columns, key = ddl.parse(DEFINITION)
    assert [column.name for column in columns] == ["not null", "x,)\n", "e", "g", "t", "n"]
    first, text, enum, generated, moment, number = columns
    assert (first.type, first.default, first.is_optional, first.comment) == ("int", "7", True, "PRIMARY KEY (`x`), default 5")
    assert (text.arguments, text.default, text.is_optional) == (["5"], "'it''s ) , \\''", False)
    assert enum.arguments == ["'a,b'", "'c''d'", "')'"]
    assert (generated.default, generated.is_optional) == (None, True)
    assert (moment.is_now, moment.is_optional) == (True, True)
    assert (number.is_unsigned, number.default, number.is_now) == (True, None, False)
    assert key == ddl.Key("PRIMARY", ["x,)\n", "e"], True)


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        ("`a` int NOT NULL, UNIQUE KEY `u` (`a`)", ddl.Key("u", ["a"], True)),
        ("`a` int DEFAULT NULL, UNIQUE KEY `u` (`a`)", None),
        ("`a` int NOT NULL, `b` int, UNIQUE KEY `u` (`a`,`b`), UNIQUE KEY `v` (`a`)", ddl.Key("v", ["a"], True)),
        ("`a` text NOT NULL, PRIMARY KEY (`a`(5))", ddl.Key("PRIMARY", ["a"], False)),
        ("`a` int NOT NULL, KEY `k` (`a`)", None),
        # In the order of hashes nothing can be read, and a period is no column.
        ("`a` text NOT NULL, UNIQUE KEY `u` (`a`) USING HASH", ddl.Key("u", ["a"], False)),
        ("`a` int NOT NULL, PRIMARY KEY (`a`,`p` WITHOUT OVERLAPS)", ddl.Key("PRIMARY", ["a"], False)),
        ("`hash` int NOT NULL, PRIMARY KEY (`hash`) USING BTREE", ddl.Key("PRIMARY", ["hash"], True)),
    ],
)
def test_the_key_is_the_primary_one_or_a_unique_one_without_nulls(parts: str, key: ddl.Key | None) -> None:
    assert ddl.parse(f"CREATE TABLE `t` ({parts})").key == key


@pytest.mark.parametrize("text", ["CREATE TABLE `t` (`a`)", "CREATE TABLE `t` (PRIMARY KEY)"])
def test_what_is_no_definition_is_told(text: str) -> None:
    with pytest.raises(ConnectError, match="not understood"):
        ddl.parse(text)


@pytest.mark.parametrize(
    ("column", "default"),
    [
        ("int(11) DEFAULT -7", -7),
        ("int(11) DEFAULT (1 + 1)", None),
        ("bigint(20) unsigned DEFAULT 18446744073709551615", 2**63 - 1),
        ("varchar(9) DEFAULT 'it''s'", "it''s"),
        ("varchar(9) DEFAULT ucase('x')", None),
        ("datetime(3) NOT NULL DEFAULT '0000-00-00 00:00:00.000'", 0),
        ("datetime(3) DEFAULT '0000-00-00 00:00:00.000'", None),
        ("date DEFAULT current_timestamp()", 0),
        ("timestamp(3) DEFAULT '2024-01-02 03:04:05.100'", "2024-01-02T03:04:05.100Z"),
        ("year(4) DEFAULT 0000", 2000),
        ("bit(9) DEFAULT b'100000001'", b"\x01\x01"),
        ("bit(1) DEFAULT b'1'", True),
        ("uuid DEFAULT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", None),
        ("decimal(5,2) DEFAULT 1.50", "1.50"),
    ],
)
def test_a_default_is_read_as_debezium_does(column: str, default: Any) -> None:
    [parsed] = ddl.parse(f"CREATE TABLE `t` (`a` {column})").columns
    assert default_of(parsed, Modes("string")) == default


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("inet6 DEFAULT NULL", "The type inet6 is not understood"),
        ("point DEFAULT NULL COMMENT 'x'", "has a comment"),
    ],
)
def test_a_type_that_debezium_can_not_read_is_told(column: str, text: str) -> None:
    [parsed] = ddl.parse(f"CREATE TABLE `t` (`a` {column})").columns
    with pytest.raises(ConnectError, match=text):
        reading_of(parsed, Modes())


@pytest.mark.parametrize(
    ("column", "value"),
    [("date", "2024-02-30"), ("year(4)", "0000"), ("datetime", "2024-02-30 00:00:00")],
)
def test_a_value_that_debezium_can_not_read_is_told(column: str, value: str) -> None:
    [parsed] = ddl.parse(f"CREATE TABLE `t` (`a` {column} DEFAULT NULL)").columns
    convert = reading_of(parsed, Modes()).convert
    assert convert is not None
    with pytest.raises(ConnectError, match="Debezium can't read: change it, or leave its column out"):
        convert(value)


def test_rows_behind_a_key_are_found_by_its_index() -> None:
    columns = [KeyColumn("a`", "varchar", "latin1"), KeyColumn("b", "int", None)]
    assert keys.behind(columns, ["E9", "7"]) == (
        "`a``` >= _latin1 x'E9' AND ((`a``` > _latin1 x'E9') OR (`a``` = _latin1 x'E9' AND `b` > 7))"
    )
    assert keys.behind(columns, ["E9", "7"], "<") == (
        "`a``` <= _latin1 x'E9' AND ((`a``` < _latin1 x'E9') OR (`a``` = _latin1 x'E9' AND `b` < 7))"
    )
    assert keys.behind(columns, ["E9"], ">=") == "`a``` >= _latin1 x'E9'"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", "1 or 1=1"),
        ("int", ""),
        ("varchar", "E9' or ''='"),
        ("varbinary", "0g"),
        ("datetime", "2024-01-01' or '"),
        ("uuid", "a0eebc99"),
        ("decimal", "1e5"),
        ("enum", "'a'"),
    ],
)
def test_a_key_of_an_offset_that_is_none_comes_into_no_statement(kind: str, text: str) -> None:
    with pytest.raises(ConnectError, match="a key that is none"):
        keys.behind([KeyColumn("a", kind, "utf8mb4")], [text])


def test_files_of_the_log_are_ordered_by_their_numbers() -> None:
    places = [Place("log.1000000", 30), Place("log.1000000", 4), Place("log.999999", 5)]
    assert sorted(places, key=lambda place: place.order) == places[::-1]


def test_the_history_is_that_of_debeziums_snapshot() -> None:
    tables = {Name("b", "t"): "CREATE TABLE `t` (…)", Name("a`", "u"): "CREATE TABLE `u` (…)"}
    databases = {"a`": ("utf8mb4", "utf8mb4_bin"), "b": ("latin1", "latin1_swedish_ci"), "c": ("latin1", "latin1_bin")}
    assert [tuple(each) for each in statements("latin1", "latin1_swedish_ci", databases, tables)] == [
        ("", "SET character_set_server=latin1, collation_server=latin1_swedish_ci"),
        ("a`", "DROP TABLE IF EXISTS `a```.`u`"),
        ("b", "DROP TABLE IF EXISTS `b`.`t`"),
        ("a`", "DROP DATABASE IF EXISTS `a```"),
        ("a`", "CREATE DATABASE `a``` CHARSET utf8mb4 COLLATE utf8mb4_bin"),
        ("a`", "USE `a```"),
        ("a`", "CREATE TABLE `u` (…)"),
        ("b", "DROP DATABASE IF EXISTS `b`"),
        ("b", "CREATE DATABASE `b` CHARSET latin1 COLLATE latin1_swedish_ci"),
        ("b", "USE `b`"),
        ("b", "CREATE TABLE `t` (…)"),
    ]


PRODUCER = "schema.history.internal.producer."


def test_a_login_of_the_historys_producer_is_carried_over() -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{module} required username="a" password="b\\"c";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "-----BEGIN",
        "linger.ms": "5",
    }
    assert client_settings("b:1, c:2", {f"{PRODUCER}{name}": value for name, value in given.items()}) == {
        "bootstrap.servers": "b:1, c:2",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "a",
        "sasl.password": 'b"c',
        "ssl.ca.pem": "-----BEGIN",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.jaas.config", "com.sun.security.auth.module.Krb5LoginModule required secret=s;"),
        ("sasl.jaas.config", 'PlainLoginModule required username="a";'),
        ("ssl.truststore.location", "/etc/store.jks"),
        ("ssl.keystore.location", "/etc/store.jks"),
        ("sasl.login.callback.handler.class", "a.B"),
    ],
)
def test_a_login_that_can_not_be_carried_over_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{PRODUCER}(?:{name}|ssl.truststore.type)".replace(".", "\\.")) as raised:
        client_settings("b:1", {f"{PRODUCER}{name}": value})
    assert "secret" not in str(raised.value)


CONFIG = {
    "database.hostname": "localhost",
    "database.user": "u",
    "topic.prefix": "cdc",
    "schema.history.internal.kafka.topic": "h",
    "schema.history.internal.kafka.bootstrap.servers": "localhost:9092",
    "backfill.debezium.version": "3.5.0.Final",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decimal.handling.mode", "rounded"),
        ("bigint.unsigned.handling.mode", "text"),
        ("time.precision.mode", "connect"),
        ("enable.time.adjuster", "false"),
        ("binary.handling.mode", "hex"),
        ("include.schema.comments", "true"),
        ("table.include.list", "shop.(t"),
        ("backfill.debezium.version", "3.6.0.Final"),
        ("message.key.columns", "a:b"),
        ("column.mask.hash.SHA-256.with.salt.x", "shop.t.note"),
        ("snapshot.select.statement.overrides", "shop.t"),
        ("skipped.operations", "t, r"),
        ("database.ssl.mode", "prefer"),
        ("database.ssl.keystore", "/etc/passwd"),
        ("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory"),
        ("schema.history.internal.kafka.bootstrap.servers", "no broker"),
        (f"{PRODUCER}ssl.keystore.location", "/etc/passwd"),
        ("converters", "mine"),
    ],
)
def test_what_would_change_debeziums_records_is_refused(name: str, value: str) -> None:
    assert not config_errors(MariaDbBackfillConnector, CONFIG)
    assert name in config_errors(MariaDbBackfillConnector, {**CONFIG, name: value})
