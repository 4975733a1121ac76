"""Attacks by whoever may create connectors on the logins of the machine: of its environment, its container and its role."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from obstore.exceptions import BaseError, UnknownConfigurationKeyError
from obstore.store import AzureStore, GCSStore, S3Store
from sqlalchemy.engine import make_url

from kconnect.api import ConfigError
from kconnect.connectors import databases
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.iceberg import logins
from kconnect.connectors.objects import logins as logins_of_stores
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
    ("az://b", {"AZURE_CREDENTIAL_TYPE": "managed_identity"}, {"endpoint": "https://evil.example", "account_key": "YWFh"}),
    # What is no whole login leaves a library to look for the machine's.
    ("s3://b", {}, {"proxy_url": "http://evil.example", "secret_access_key": "s"}),
    ("az://b", {}, {"endpoint": "https://evil.example", "client_secret": "s"}),
    ("az://b", {}, {"endpoint": "https://evil.example", "client_secret": "s", "client_id": "i", "tenant_id": ""}),
    ("az://b", AZURES, {"use_emulator": "true", "proxy_url": "http://evil.example"}),
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
        ("s3://b", {}, {"proxy_url": "http://proxy:3128", "access_key_id": "k", "secret_access_key": "s"}),
        ("az://b", {}, {"endpoint": "https://evil.example", "account_key": "YWFh", "account_name": "shop"}),
        ("az://b", AZURES, {"endpoint": "https://shop.blob.core.windows.net"}),
        ("az://b", {**AZURES, "AZURE_ENDPOINT": "https://here.example"}, {"endpoint": "https://here.example"}),
        ("az://b", AZURES, {"allow_invalid_certificates": "false"}),
        ("az://b", {}, {"use_emulator": "true", "proxy_url": "http://proxy:3128"}),
        ("az://b", {}, {"endpoint": "https://x", "client_secret": "s", "client_id": "i", "AZURE_TENANT_ID": "t"}),
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


PASSED_OVER = (
    ("gs://b", "use_emulator"),
    ("s3://b", "use_emulator"),
    ("gs://b", "token"),
    ("gs://b", "aws_token"),
    ("gs://b", "azure_skip_signature"),
    ("s3://b", "secret_key"),
    ("az://b", "google_bearer_token"),
    ("az://b", "aws_skip_signature"),
)


@pytest.mark.parametrize(("store", "option"), PASSED_OVER)
def test_an_option_that_a_cloud_has_not_is_no_login(no_login: pytest.MonkeyPatch, store: str, option: str) -> None:
    """
    A config has an address, and for a login an option of another cloud. A library passes that over, and takes the machine's.
    """
    given = {"base_url" if store == "gs://b" else "endpoint": "https://evil.example", option: "true"}
    with pytest.raises(ConfigError, match=f"store.options.{option} is not among the options"):
        options.given(props(store, given), HostFiles({}))


def test_an_option_is_given_once(no_login: pytest.MonkeyPatch) -> None:
    """A config says that it needs no login, and under the same option's other name that it does: nobody knows what counts."""
    given = {"base_url": "https://evil.example", "skip_signature": "true", "google_skip_signature": "false"}
    with pytest.raises(ConfigError, match="are one option"):
        options.given(props("gs://b", given), HostFiles({}))


@pytest.mark.parametrize(
    ("store", "option", "passed"),
    [
        ("az://b", "AZURE_STORAGE_ACCESS_KEY", "account_key"),
        ("az://b", " azure_storage_token ", "bearer_token"),
        ("gs://b", "google_service_account_path", "service_account"),
        ("s3://b", "token", "aws_session_token"),
        ("s3a://b", "endpoint_url", "aws_endpoint"),
    ],
)
def test_an_option_has_one_name_for_libraries(store: str, option: str, passed: str) -> None:
    """Control: what has been looked at under one name is not passed on under another one that a library may not know."""
    assert options.given({"store": store, f"store.options.{option}": "x"}, HostFiles({})).store == {passed: "x"}


@pytest.mark.parametrize(("url", "kind"), [("s3://b", S3Store), ("az://b", AzureStore), ("gs://b", GCSStore)])
def test_the_library_knows_each_option(no_login: pytest.MonkeyPatch, url: str, kind: Any) -> None:
    """Control: what it does not know it refuses, and the sink of Delta's passes it over."""
    with pytest.raises(UnknownConfigurationKeyError):
        kind("b", config={"nonsense": "x"})
    cloud = str(logins_of_stores.cloud_of(url))
    for name in {name for names in options.SAFE[cloud] for name in names.split()}:
        passed = options.given(props(url, {"skip_signature": "true", name: "true"}), HostFiles({})).store
        # Its value may be none that it takes.
        with contextlib.suppress(BaseError, ValueError):
            try:
                kind("b", config=passed)
            except UnknownConfigurationKeyError:
                pytest.fail(f"{url} has no option {passed}")


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
    # What is no whole login leaves a library to look for the machine's.
    ({}, {"adls.account-host": "evil.example", "adls.client-secret": "s"}, "adls.account-host"),
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
