"""Attacks by whoever may create connectors on the logins of the machine: of its environment, its container and its role."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from kconnect.api import ConfigError
from kconnect.connectors import databases
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.iceberg import logins
from kconnect.connectors.objects import options

AZURES = {"AZURE_STORAGE_ACCOUNT_NAME": "shop", "AZURE_STORAGE_TOKEN": "canary-token"}
KEY = json.dumps({"gcs_base_url": "https://evil.example", "disable_oauth": True})
AWAY: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
    ("s3://b", {}, {"region": "evil.example/"}),
    ("s3://b", {}, {"AWS_Default_Region": "evil.example#"}),
    ("", {}, {"region": "x.evil.example"}),
    ("s3://b", {}, {"proxy_url": "http://evil.example", "allow_invalid_certificates": "true"}),
    ("s3://b", {}, {"aws_root_certificate": "-----BEGIN CERTIFICATE-----"}),
    ("az://b", AZURES, {"endpoint": "https://evil.example"}),
    ("az://b", AZURES, {"azure_storage_endpoint": "https://evil.example", "account_key": "YWFh"}),
    ("az://b", AZURES, {"endpoint": "https://evil.example/x.blob.core.windows.net"}),
    ("az://b", AZURES, {"endpoint": "https://shop.blob.core.windows.net@evil.example"}),
    ("az://b", AZURES, {"account_name": "evil.example/x"}),
    ("a\tz://b", {}, {"azure_storage_account_name": "evil.example?"}),
    ("abfss://b@shop.dfs.core.windows.net", {}, {"endpoint": "https://evil.example"}),
    ("https://shop.blob.core.WINDOWS.net/b", {}, {"endpoint": "https://evil.example"}),
    ("gs://b", {}, {"base_url": "https://evil.example"}),
    ("gs://b", {"GOOGLE_BEARER_TOKEN": "canary"}, {"service_account_key": KEY}),
)


@pytest.fixture
def no_login(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without a login of any cloud."""
    for name in ("AZURE_STORAGE_TOKEN", "AZURE_STORAGE_SAS_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BEARER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def props(store: str, given: dict[str, str]) -> dict[str, str]:
    """Return the settings of a store, with these options; a region stands in S3's own setting."""
    named = {"s3.region": given["region"]} if "region" in given else {}
    return {"store": store, **named, **{f"store.options.{name}": value for name, value in given.items() if name not in named}}


@pytest.mark.parametrize(("store", "environment", "given"), AWAY)
def test_no_store_takes_the_machine_s_login_elsewhere(
    no_login: pytest.MonkeyPatch, store: str, environment: dict[str, str], given: dict[str, str]
) -> None:
    """A config names an address, a proxy, or a name that becomes one: the tokens of the machine must not go there."""
    for name, value in environment.items():
        no_login.setenv(name, value)
    with pytest.raises(ConfigError, match=r"login of the hosts' environment|becomes a part of a host's name") as caught:
        options.given(props(store, given), HostFiles({}))
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("store", "environment", "given"),
    [
        ("s3://b", {}, {"region": "eu-west-1", "endpoint": "http://minio:9000", "allow_http": "true"}),
        ("s3://b", {}, {"proxy_url": "http://proxy:3128", "secret_access_key": "s"}),
        ("az://b", {}, {"endpoint": "https://evil.example", "account_key": "YWFh", "account_name": "shop"}),
        ("az://b", AZURES, {"endpoint": "https://shop.blob.core.windows.net"}),
        ("az://b", {**AZURES, "AZURE_ENDPOINT": "https://here.example"}, {"endpoint": "https://here.example"}),
        ("az://b", AZURES, {"allow_invalid_certificates": "false"}),
        ("az://b", {}, {"use_emulator": "true"}),
        ("gs://b", {}, {"base_url": "https://storage.eu.rep.googleapis.com"}),
        ("gs://b", {"GOOGLE_APPLICATION_CREDENTIALS": "/x"}, {"service_account_key": "{}"}),
        ("https://files.example/b", {}, {"proxy_url": "http://proxy:3128"}),
    ],
)
def test_what_is_ordinary_of_stores(
    no_login: pytest.MonkeyPatch, store: str, environment: dict[str, str], given: dict[str, str]
) -> None:
    """Control: a login of the config's own, and addresses of the clouds or of the environment."""
    for name, value in environment.items():
        no_login.setenv(name, value)
    options.given(props(store, given), HostFiles({}))


def test_options_of_the_client_are_the_client_s() -> None:
    """Control: obstore ends in a panic for those that it finds among a store's."""
    found = options.given(props("az://b", {"azure_allow_http": "true", "account_key": "YWFh"}), HostFiles({}))
    assert found == ({"account_key": "YWFh"}, {"allow_http": "true"})


HERE = "https://catalog.example"
LENT: tuple[tuple[dict[str, Any], dict[str, str], str], ...] = (
    ({"credential": "id:canary", "uri": HERE}, {"oauth2-server-uri": "https://evil.example/token"}, "oauth2-server-uri"),
    ({"token": "canary", "uri": HERE}, {"s3.signer.uri": "https://evil.example"}, "s3.signer.uri"),
    ({"credential": "id:canary"}, {"uri": "https://evil.example"}, "uri"),
    ({"auth": {"type": "oauth2"}}, {"uri": "https://evil.example"}, "uri"),
    ({"adls.sas-token": "canary"}, {"adls.account-host": "evil.example", "adls.account-key": "a"}, "adls.account-host"),
    ({}, {"adls.account-name": "evil.example/x"}, "adls.account-name"),
    ({}, {"adls.blob-storage-authority": "evil.example", "adls.connection-string": "x"}, "adls.blob-storage-authority"),
    ({}, {"gcs.service.host": "https://evil.example/storage.googleapis.com"}, "gcs.service.host"),
    ({}, {"s3.region": "evil.example/"}, "s3.region"),
)


@pytest.mark.parametrize(("environment", "given", "name"), LENT, ids=[f"{name}-{len(given)}" for _, given, name in LENT])
def test_no_catalog_takes_the_login_of_the_hosts_elsewhere(
    environment: dict[str, Any], given: dict[str, str], name: str
) -> None:
    """A config names a catalog that the hosts have a login for, or a cloud's store, elsewhere: no login goes there."""
    with pytest.raises(ConfigError, match=r"login of the hosts' environment|becomes a part of a host's name") as caught:
        logins.check(given, environment)
        logins.check_files({**environment, **given}, environment)
    assert caught.value.name == f"iceberg.catalog.{name}"
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "given"),
    [
        ({"credential": "id:secret", "uri": HERE}, {"uri": HERE, "warehouse": "lake", "s3.endpoint": "http://minio:9000"}),
        ({}, {"uri": HERE, "oauth2-server-uri": "https://login.example", "credential": "id:secret"}),
        ({}, {"uri": HERE, "s3.region": "eu-west-1", "s3.signer.uri": "https://signer.example"}),
        ({}, {"adls.account-name": "shop", "adls.blob-storage-authority": ".blob.core.usgovcloudapi.net"}),
        ({}, {"adls.blob-storage-authority": "127.0.0.1:10000", "adls.account-key": "a"}),
        ({}, {"gcs.service.host": "http://fake:4443", "gcs.oauth2.token": "t"}),
        ({"oauth2-server-uri": HERE, "credential": "id:secret"}, {"oauth2-server-uri": HERE}),
    ],
)
def test_what_is_ordinary_of_catalogs(environment: dict[str, str], given: dict[str, str]) -> None:
    """Control: addresses that the environment says itself, and those of a config with a login of its own."""
    logins.check(given, environment)
    logins.check_files({**environment, **given}, environment)


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("postgresql+psycopg://u@evil.example/d", True),
        ("postgresql+psycopg2://u@/d?host=evil.example", True),
        ("postgresql://u@evil.example,db.example/d", True),
        ("mysql+mysqldb://u@evil.example/d", True),
        ("postgresql+psycopg://u:p@evil.example/d", False),
        ("postgresql+psycopg://u@evil.example/d?password=p", False),
        ("postgresql+psycopg://u@db.example/d", False),
        ("postgresql+psycopg://u@/d", False),
        ("mysql+pymysql://u@evil.example/d", False),
        ("sqlite:///x.db", False),
    ],
)
def test_no_database_gets_the_password_of_the_environment(monkeypatch: pytest.MonkeyPatch, url: str, refused: bool) -> None:
    """A config names a server and no password: that of the environment, which the driver's library finds, must not go there."""
    for name in ("PGPASSWORD", "MYSQL_PWD"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("PGHOST", "db.example")
    try:
        databases.check_login("connection.url", make_url(url))
    except ConfigError as error:
        assert refused, error
        assert "has a password" in str(error)
        assert "canary" not in str(error)
    else:
        assert not refused
