"""A task's converters: what each is configured with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kconnect.api.converter import Converter
from kconnect.core.settings.worker import WorkerSettings
from kconnect.plugins.registry import Registry
from kconnect.units import converters

BUILT_IN = Registry.scan(None)
REQUIRED = {
    **{"bootstrap.servers": "b:9092", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o"},
    **{"status.storage.topic": "s", "key.converter": "Noting", "value.converter": "StringConverter"},
}


class Noting(Converter):
    seen: Mapping[str, Any]

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        type(self).seen = dict(configs)

    def from_connect_data(self, topic: str, schema: Any, value: Any, headers: Any = None) -> bytes | None:
        return None

    def to_connect_data(self, topic: str, data: bytes | None, headers: Any = None) -> Any:
        return None


class Plugins(Registry):
    def load(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> type[Any]:
        return Noting if name == "Noting" else super().load(name, kind, version, beside)


@pytest.mark.parametrize(
    ("config", "worker"),
    [
        ({"key.converter": "Noting", "key.converter.plugin.version": "[1,)", "key.converter.a": "1"}, {}),
        ({"key.converter.plugin.version": "2"}, {"key.converter.plugin.version": "[1,)", "key.converter.a": "1"}),
    ],
    ids=["the connector's", "the worker's"],
)
def test_a_version_is_no_setting_of_the_converter_s_own(config: dict[str, str], worker: dict[str, str]) -> None:
    """KIP-891: "The ".version" configurations will be stripped from the configuration before configuring"."""
    settings = WorkerSettings.from_properties({**REQUIRED, **worker}, {})
    converters.make(config, settings, Plugins(BUILT_IN.plugins))
    assert Noting.seen == {"a": "1", "converter.type": "key"}
