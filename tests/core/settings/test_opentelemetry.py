from __future__ import annotations

import pytest

from kconnect.core.settings import opentelemetry, secrets
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from tests.core.settings.test_worker import MINIMAL


def settings(**changed: str) -> WorkerSettings:
    return WorkerSettings.from_properties({**MINIMAL, **{f"opentelemetry.{name}": text for name, text in changed.items()}}, {})


def test_headers_are_read_as_the_field_writes_them() -> None:
    given = settings(headers="Authorization=Bearer%20a%3Db, x-tenant = one=two")
    assert opentelemetry.headers(given.opentelemetry_headers) == {"authorization": "Bearer a=b", "x-tenant": "one=two"}


@pytest.mark.parametrize("text", ["canary-1", "=canary-1", "a b=canary-1", "a=canary-1%0d%0ab: c", "a=canary-1%c3%a9"])
def test_what_is_no_header_is_refused_without_a_word_of_it(text: str) -> None:
    with pytest.raises(ConfigError, match=r"opentelemetry.headers must be name=value pairs") as raised:
        settings(headers=text)
    assert "canary" not in str(raised.value)


def test_headers_are_secret() -> None:
    assert secrets.is_secret("opentelemetry.headers")
    assert not secrets.is_secret("opentelemetry.record.headers")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "collector:4318",
        "grpc://collector:4317",
        "http://",
        "http://ann:canary-1@c:4318",
        "http://c/?token=canary-1",
        "http://c:x",
    ],
)
def test_an_endpoint_is_a_url_without_a_login(url: str) -> None:
    with pytest.raises(ConfigError, match=r"opentelemetry.endpoint must be a URL") as raised:
        settings(endpoint=url)
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [("signals", "traces,profiles"), ("traces.sample.ratio", "1.5"), ("traces.sample.ratio", "nan"), ("signals", "")],
)
def test_other_values_are_refused_by_their_names(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"opentelemetry.{name}"):
        settings(**{name: text})
