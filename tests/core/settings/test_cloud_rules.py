"""What a config may not have of clouds: metadata services, external accounts, Google's services elsewhere."""

from __future__ import annotations

import base64
import json

import pytest

from kconnect.connectors import addresses
from kconnect.core.settings.cloud_rules import is_metadata_service
from kconnect.core.settings.unsafe import of_config

EXTERNAL = {"type": "external_account", "credential_source": {"file": "/etc/passwd"}, "token_url": "https://evil.example"}
SERVICE_ACCOUNT = {"type": "service_account", "client_email": "a@b", "token_uri": "https://oauth2.googleapis.com/token"}


def parts(**settings: str) -> set[str]:
    return {danger.part for danger in of_config({name.replace("_", "."): value for name, value in settings.items()})}


@pytest.mark.parametrize(
    "value",
    [
        *(
            "http://169.254.169.254/latest/",
            "http://169.254.169.254:80",
            "http://user@169.254.170.2/x",
            "HTTP://169.254.43518/",
        ),
        *("http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/", "http://0169.0254.0169.0254/"),
        *(
            "http://[fd00:ec2::254]/",
            "http://[::ffff:a9fe:a9fe]:80/",
            "http://[fe80::1%25eth0]/",
            "http://[64:ff9b::a9fe:a9fe]/",
        ),
        *(
            "http://metadata.google.internal/",
            "http://metadata/x",
            "http://METADATA.google.internal./",
            "h:1, 169.254.169.254:9092",
        ),
        *(
            "http://%31%36%39.254.169.254/",
            "http://\uff11\uff16\uff19\u3002254.169.254/",
            "jdbc:x:(HOST=169.254.169.254)(PORT=80)",
        ),
        *(
            "http://100.100.100.200/",
            "http://168.63.129.16/",
            "http://192.0.0.192/",
            "169.254.169.254",
            "jdbc:x://h?proxy=169.254.1.1",
        ),
    ],
)
def test_metadata_services_are_known_in_all_spellings(value: str) -> None:
    """Whoever may create connectors has one read the token that a cloud gives the machine: it is refused."""
    assert parts(http_api_url=value) == {"cloud.metadata"}
    assert list(of_config({"http.api.url": value}, ["cloud.metadata"])) == [], "the worker's file allows it"


@pytest.mark.parametrize(
    "value",
    [
        *(
            "http://10.1.2.3:8083/metadata",
            "http://localhost/169.254",
            "metadata",
            "2852039166",
            "kafka:9092,[::1]:9092",
            "1.2.3.4",
        ),
        *(
            "value.ip == '169.254.169.254'",
            "http://metadata.example.com/",
            "http://schema-registry:8081",
            "a@b.example",
            "::",
            "=:",
        ),
    ],
)
def test_what_is_no_metadata_service(value: str) -> None:
    assert parts(http_api_url=value) == set()


def test_what_is_dialled_is_looked_at_by_the_same_list() -> None:
    """The two lists, of what a config says and of what is dialled, have the same networks."""
    for address in (
        *("169.254.0.1", "169.254.255.254", "fe80::1", "fd00:ec2::254", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
        *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "169.253.1.1", "10.0.0.1", "::1", "127.0.0.1"),
        *("100.100.100.201", "fd00:ec3::254", "2001:db8::1", "8.8.8.8"),
    ):
        assert is_metadata_service(address) == addresses.is_metadata_service(address), address


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(EXTERNAL),
        json.dumps(EXTERNAL).replace("credential_", "\\u0063redential_"),
        base64.b64encode(json.dumps(EXTERNAL).encode()).decode(),
        "base64:" + base64.urlsafe_b64encode(json.dumps(EXTERNAL).encode()).decode().rstrip("="),
        json.dumps({"type": "impersonated_service_account", "source_credentials": EXTERNAL}),
    ],
)
def test_credentials_that_fetch_a_file_and_send_it(text: str) -> None:
    """Whoever may create connectors has Google's library send a file of the worker, or its login, to their own address."""
    assert parts(keyfile=text) == {"cloud.external.account"}


def test_ordinary_credentials() -> None:
    key = json.dumps(SERVICE_ACCOUNT)
    assert parts(keyfile=key) == set()
    assert parts(gcs_credentials_json=base64.b64encode(key.encode()).decode()) == set()
    assert parts(columns="external_account,credential_source") == set()


def test_the_machines_login_goes_to_google_only() -> None:
    assert parts(gcs_endpoint="https://evil.example") == {"gcs.endpoint"}
    assert parts(gcs_endpoint="https://storage.googleapis.com") == set()
    assert parts(gcs_endpoint="http://localhost:4443") == set()
    assert parts(gcs_endpoint="https://evil.googleapis.com.example", other_keyfile="x") == {"gcs.endpoint"}
    assert parts(gcs_endpoint="http://fake-gcs:4443", gcs_credentials_json="{}") == set()
    assert parts(gcp_spanner_host="https://evil.example") == {"gcp.spanner.host"}
    assert parts(cps_endpoint="europe-west1-pubsub.googleapis.com:443") == set()


def test_the_name_of_an_account_is_no_host() -> None:
    name = "camel.kamelet.azure-storage-blob-sink.accountName"
    assert {danger.part for danger in of_config({name: "evil.example/x"})} == {"cloud.account.name"}
    assert list(of_config({name: "mystore1"})) == []


@pytest.mark.parametrize("text", ["//", "@", "a,", "=", "\\u0063", "{", "aaaa", "1.", "%25"])
def test_a_long_text_does_not_take_long(text: str) -> None:
    """A test's own limit is enough, where a pattern would take hours."""
    list(of_config({"x": text * (400_000 // len(text))}))
