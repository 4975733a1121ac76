"""Config providers in Java: `kconnect/jvm/providers.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kconnect.core.settings.references import Resolved
from kconnect.errors import ConfigError
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import Registry

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]


@pytest.fixture
def registry(java_plugin: Path) -> Registry:
    return Registry.scan([str(java_plugin.parent)])


def resolved(registry: Registry, config: Mapping[str, str], **more: str) -> Resolved:
    worker = {"config.providers": "s", "config.providers.s.class": "rig.Secrets", "config.providers.s.param.begin": "canary-"}
    return Providers(registry, {**worker, **more}).resolve([config])


def test_references_are_replaced_by_what_a_provider_in_java_gives(registry: Registry) -> None:
    config = {"password": "x${s:any:one}y${s:two}"}
    found = resolved(registry, config, **{"config.providers.s.param.ttl": "5000"})
    assert found.config(config) == {"password": "xcanary-oneycanary-two"}
    assert found.ttl_ms == 5000
    assert resolved(registry, config).ttl_ms is None


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("bad", "the provider s has failed: there is no bad"),
        ("worse", "the provider s has failed: java.lang.IllegalStateException"),
    ],
)
def test_a_failure_is_told_without_what_may_be_secret(registry: Registry, path: str, said: str) -> None:
    config = {"password": f"${{s:{path}:one}}"}
    with pytest.raises(ConfigError) as error:
        resolved(registry, config).config(config)
    assert said in str(error.value) and "canary" not in str(error.value)


def test_a_key_that_is_not_there(registry: Registry) -> None:
    config = {"password": "${s:none:one}"}
    with pytest.raises(ConfigError, match="one"):
        resolved(registry, config).config(config)
