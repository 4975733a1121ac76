"""Rules of response headers and origins, read as Kafka Connect reads them."""

from __future__ import annotations

import pytest

from kconnect.core.settings.browsers import Cors, HeaderRule, cors, header_rules
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError

NAME = "response.http.headers.config"
MINIMAL = {
    "bootstrap.servers": "a:9092",
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "x",
    "value.converter": "x",
}


def test_header_rules() -> None:
    text = 'set X-A:one, "add X-B: two, three", SETDATE Expires: 60000,addDate Y:-1 , set CSP:frame-ancestors https://a'
    assert header_rules(NAME, text) == (
        HeaderRule(True, "X-A", "one", False),
        HeaderRule(False, "X-B", "two, three", False),
        HeaderRule(True, "Expires", "60000", True),
        HeaderRule(False, "Y", "-1", True),
        HeaderRule(True, "CSP", "frame-ancestors https://a", False),
    )
    assert header_rules(NAME, " ") == ()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("set", "Invalid format of header config. Expected: '[action] [header name]:[header value]'"),
        ("set X:a,", "Invalid format of header config. "),
        ("drop X:a", "Invalid header config action: 'drop'. Expected one of [set, add, setDate, addDate]"),
        ("add X-A", "Invalid format of header name and header value pair. Expected: '[header name]:[header value]'"),
        ("add X-A:", "Invalid format of header name and header value pair. "),
        ("add X A:b", "Invalid header name 'X A'. "),
        ("set X-Ä:b", "Invalid header name 'X-Ä'. "),
        ("setDate Expires:soon", "Invalid date 'soon'. "),
        ("set X:ä", "Invalid header value. "),
    ],
)
def test_header_rules_refused(text: str, rule: str) -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value .*for configuration response\.http\.headers\.config: ") as caught:
        header_rules(NAME, text)
    assert rule in str(caught.value)


def test_origins() -> None:
    assert cors("", "GET") is None
    assert cors("https://a.example, https://b.example", "") == Cors(
        ("https://a.example", "https://b.example"), None, ("GET", "POST", "HEAD")
    )
    assert cors("*", "GET,PUT") == Cors(("*",), None, ("GET", "PUT"))
    assert cors(r"https://a.example,https://.*\.b,http://(c|d)", "") == Cors(
        ("https://a.example",), r"(?:https://.*\.b)|(?:http://(c|d))", ("GET", "POST", "HEAD")
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (NAME, "drop X:a", f"Invalid value drop X:a for configuration {NAME}: Invalid header config action: 'drop'"),
        ("access.control.allow.origin", "http://(a", "configuration access.control.allow.origin: The pattern can't be read"),
        ("rest.extension.classes", "com.acme.Auth", "use `listeners.https.*`, for users and passwords `rest.authentication.*`"),
    ],
)
def test_a_worker_file_with_these_is_refused(name: str, value: str, said: str) -> None:
    WorkerSettings.from_properties({**MINIMAL, name: ""}, {})
    with pytest.raises(ConfigError) as caught:
        WorkerSettings.from_properties({**MINIMAL, name: value}, {})
    assert said in str(caught.value)
