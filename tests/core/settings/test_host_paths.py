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
        ("any", "fi\tle:///etc", "/etc"),
        ("any", "\x01file:///etc", "/etc"),
        ("any", "url:file:/etc/passwd", "/etc/passwd"),
        ("any", "file://[/etc", "file://[/etc"),
        ("file", "/data/a://../../etc/passwd", "/data/a://../../etc/passwd"),
        ("connection.url", "jdbc:h2:file:/data/shop;MODE=MySQL", "/data/shop"),
        ("connection.url", "jdbc:derby:/data/shop;create=true", "/data/shop"),
        ("connection.url", "jdbc:hsqldb:file:/data/shop", "/data/shop"),
        ("connection.url", "jdbc:duckdb:/data/shop", "/data/shop"),
        ("gcs.credentials.path", "/keys/gcs.json", "/keys/gcs.json"),
        ("keyfile", "/keys/bq.json", "/keys/bq.json"),
        ("openlineage.integration.config.file.path", "/etc/x", "/etc/x"),
        ("kerberos.keytab.path", "/k/user.keytab", "/k/user.keytab"),
        ("hadoop.conf.dir", "/etc/hadoop", "/etc/hadoop"),
        ("neo4j.security.cert-files", "/certs/ca.pem", "/certs/ca.pem"),
        ("driver.oracle.net.wallet_location", "/wallet", "/wallet"),
        ("camel.source.endpoint.privateKeyFile", "../key", "../key"),
        ("gcp.credentials.file.path", "/keys/x.json", "/keys/x.json"),
        ("connection.url", "jdbc:postgresql://h/d?ssl=true&sslkey=/certs/key.pk8", "/certs/key.pk8"),
        ("connection.url", "jdbc:x://h/d?cloudSqlGoogleCredentialsPath=%2Fkeys%2Fx", "/keys/x"),
        ("camel.source.path.directoryName", "/in", "/in"),
        ("x.sasl.jaas.config", JAAS, "/k/user.keytab"),
    ],
)
def test_what_names_a_file(setting: str, value: str, path: str) -> None:
    assert list(named({setting: value})) == [(setting, path)]


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ("http://h/x,file:///etc/passwd", ["/etc/passwd"]),
        ("jar:file:/in/x.jar!/y, file:/z", ["/in/x.jar!/y, file:/z", "/in/x.jar", "/z"]),
        ("sqlite:///file:/in/%252e%252e/x.db?uri=true", ["/in/%252e%252e/x.db", "/in/%2e%2e/x.db", "/in/../x.db"]),
        ("sqlite:///file:/x.db#/../in/y?uri=true", ["/x.db"]),
    ],
)
def test_a_text_in_which_several_parsers_see_several_files(value: str, paths: list[str]) -> None:
    assert [path for _, path in named({"any": value})] == paths


def test_more_addresses_than_anybody_looks_at_are_one_that_is_allowed_nowhere() -> None:
    found = [path for _, path in named({"any": "a,file:/in" * 100_000})]
    assert len(found) < 110
    assert "" in found


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("topics.dir", "topics"),
        ("http.api.url", "http://h/file"),
        ("path.format", "'year'=YYYY"),
        ("page.pointer", "/next"),
        ("connection.url", "jdbc:postgresql://h/shop"),
        ("connection.url", "jdbc:sqlite::memory:"),
        ("connection.url", "jdbc:h2:mem:shop"),
        ("connection.url", "jdbc:h2:tcp://h/~/shop"),
        ("connection.url", "jdbc:derby://h:1527/shop"),
        ("connection.url", "jdbc:hsqldb:hsql://h/shop"),
        ("keyfile", '{"type": "service_account"}'),
        ("query", "select 'file:' || name from files"),
        ("file", ""),
        ("ssl.keystore.key", "-----BEGIN PRIVATE KEY-----"),
        ("profile", "/x"),
    ],
)
def test_what_names_none(setting: str, value: str) -> None:
    assert list(named({setting: value})) == []


KERBEROS = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true principal="a@B" '


@pytest.mark.parametrize(
    "option",
    [
        r'keyTab="\/k\/user.keytab"',
        r'keyTab="/ok/\../\../k/user.keytab"',
        r'keyTab="/ok/\056\056/k/user.keytab"',
        '"keyTab"="/k/user.keytab"',
        "'keyTab'='/k/user.keytab'",
        "keyTab='/ok/a;/../../k/user.keytab'",
        'keyTab/**/="/k/user.keytab"',
        'keyTab=/**/"/k/user.keytab"',
        'x=a/*" */ keyTab="/k/user.keytab" /*"*/',
        'x="y" // z="\n" keyTab="/k/user.keytab"',
        'x=a/ y=\n"keyTab"="/k/user.keytab"',
    ],
)
def test_a_login_line_that_could_be_read_in_two_ways_names_what_no_folder_has(option: str) -> None:
    """Java's reader took a file elsewhere from such a line, where this one saw none, or one below the allowed folders."""
    for line in (f"{KERBEROS}{option};", f"{KERBEROS}{option} storeKey=true;"):
        paths = [path for _, path in named({"target.cluster.sasl.jaas.config": line})]
        assert paths
        assert not any(path.startswith("/") for path in paths), paths


@pytest.mark.parametrize(
    ("option", "path"),
    [
        ('keyTab="/ok/ /../../k/user.keytab"', "/ok/ /../../k/user.keytab"),
        ('keyTab="/ok/;/../../k/user.keytab"', "/ok/;/../../k/user.keytab"),
        ('KEYTAB = "/k/user.keytab"\n serviceName="kafka"', "/k/user.keytab"),
        ('useTicketCache=true ticketCache="/tmp/krb5cc_0"', "/tmp/krb5cc_0"),
    ],
)
def test_a_login_line_names_its_files(option: str, path: str) -> None:
    assert list(named({"x.sasl.jaas.config": f"{KERBEROS}{option};"})) == [("x.sasl.jaas.config", path)]


def test_a_login_line_without_files_names_none() -> None:
    plain = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="keyTab" password="a\\"b/*";'
    for line in (plain, f"{KERBEROS};", f'{KERBEROS}serviceName="kafka";\n'):
        assert not list(named({"sasl.jaas.config": line}))
