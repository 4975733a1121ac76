"""
A transform, a predicate, a converter and a config provider that misbehave where their settings say, as in `bad.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.config_provider import ConfigData, ConfigProvider
from kconnect.api.converter import Converter
from kconnect.api.predicate import Predicate
from kconnect.api.record import Header, SinkRecord, SourceRecord
from kconnect.api.transformation import Transformation
from kconnect.data.schema import STRING_SCHEMA, Schema, SchemaAndValue

from . import faults

SETTINGS = ConfigDef(
    ConfigKey("place", Type.STRING, "", doc="Which call misbehaves; none without it."),
    ConfigKey("kind", Type.STRING, "", doc="How."),
)


class _Part:
    _place, _kind = "", ""

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        self._place, self._kind = str(configs.get("place", "")), str(configs.get("kind", ""))
        self.at("configure", configs)

    def config(self) -> ConfigDef:
        return SETTINGS

    def version(self) -> str:
        return "1.0"

    def at(self, call: str, *given: Any) -> None:
        place = f"{type(self).__name__.removeprefix('Bad').lower()}.{call}"
        if place == self._place:
            faults.strike(place, self._kind, given)

    def close(self) -> None:
        self.at("close")


class BadTransform(_Part, Transformation[Any]):
    def apply(self, record: Any) -> Any:
        answer = record.new_record()
        self.at("apply", record)
        return answer


class BadPredicate(_Part, Predicate):
    def test(self, record: SourceRecord | SinkRecord) -> bool:
        self.at("test", record)
        return True


class BadConverter(_Part, Converter):
    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        answer = None if value is None else str(value).encode()
        self.at("from_connect_data", value, headers)
        return answer

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        self.at("to_connect_data", data, headers)
        return SchemaAndValue(STRING_SCHEMA, None if data is None else data.decode())


class BadProvider(ConfigProvider):
    """`${bad:hang:x}` misbehaves; `${bad:hang@host:x}` not where configs are validated."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """There is nothing to set."""

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        kind, _, where = path.partition("@")
        answer = ConfigData(dict.fromkeys(keys, "value"))
        if kind in faults.KINDS and not (where == "host" and faults.in_sandbox()):
            faults.strike("provider.get (host)" if where else "provider.get", kind, (keys,))
        return answer
