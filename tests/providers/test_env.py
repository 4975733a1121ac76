"""The provider of environment variables."""

from __future__ import annotations

import logging

import pytest

from kconnect.api import ConfigError, ConnectError
from kconnect.providers.env_config_provider import EnvVarConfigProvider


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_DB", "one")
    monkeypatch.setenv("MY_APP_DB", "two")


def made(**parameters: str) -> EnvVarConfigProvider:
    provider = EnvVarConfigProvider()
    provider.configure({name.replace("_", "."): value for name, value in parameters.items()})
    return provider


def test_only_variables_whose_whole_name_the_java_pattern_matches() -> None:
    found = made(allowlist_pattern="APP_\\p{Upper}+").get("", ["APP_DB", "MY_APP_DB", "APP_NOPE"])
    assert found.data == {"APP_DB": "one"}


def test_without_a_pattern_all_and_that_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert made().get("", ["MY_APP_DB"]).data == {"MY_APP_DB": "two"}
    assert "EnvVarConfigProvider has no allowlist.pattern" in caplog.text


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value \( for configuration allowlist.pattern"):
        made(allowlist_pattern="(")


def test_a_path_means_nothing() -> None:
    with pytest.raises(ConnectError, match="have no path"):
        made().get("/etc", ["APP_DB"])
