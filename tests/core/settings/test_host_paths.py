"""Which settings of a config name files of the worker's machine."""

from __future__ import annotations

import pytest

from kconnect.core.settings.host_paths import named

JAAS = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k/user.keytab";'


@pytest.mark.parametrize(
    ("setting", "value", "path"),
    [
        ("file", "/data/lines", "/data/lines"),
        ("file", "lines", "lines"),
        ("schema.history.internal.file.filename", "/data/history", "/data/history"),
        ("offset.storage.file.filename", "/data/offsets", "/data/offsets"),
        ("signal.file", "/data/signals", "/data/signals"),
        ("input.path", "/in", "/in"),
        ("spool.dir", "/tmp/x", "/tmp/x"),
        ("store.url", "file:///data/my%20lake", "/data/my lake"),
        ("any.setting", "FILE:/data", "/data"),
        ("iceberg.catalog.warehouse", "file:///data/lake", "/data/lake"),
        ("connection.url", "jdbc:sqlite:/data/shop.db", "/data/shop.db"),
        ("connection.url", "sqlite:////data/shop.db?timeout=5", "/data/shop.db"),
        ("iceberg.catalog.uri", "sqlite+pysqlite:////data/shop.db", "/data/shop.db"),
        ("producer.override.ssl.truststore.location", "/certs/trust.jks", "/certs/trust.jks"),
        ("reporter.producer.ssl.ca.location", "/certs/ca.pem", "/certs/ca.pem"),
        ("database.sslrootcert", "/certs/ca.pem", "/certs/ca.pem"),
        ("x.sasl.jaas.config", JAAS, "/k/user.keytab"),
    ],
)
def test_what_names_a_file(setting: str, value: str, path: str) -> None:
    assert list(named({setting: value})) == [(setting, path)]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("topics.dir", "topics"),
        ("http.api.url", "http://h/file"),
        ("path.format", "'year'=YYYY"),
        ("page.pointer", "/next"),
        ("connection.url", "jdbc:postgresql://h/shop"),
        ("connection.url", "jdbc:sqlite::memory:"),
        ("file", ""),
        ("ssl.keystore.key", "-----BEGIN PRIVATE KEY-----"),
        ("profile", "/x"),
    ],
)
def test_what_names_none(setting: str, value: str) -> None:
    assert list(named({setting: value})) == []
