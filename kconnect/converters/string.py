"""
StringConverter: the text of any value, in one encoding. In Java it is `org.apache.kafka.connect.storage.StringConverter`.

What the text of a value is, `kconnect/api/values.py` says.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Importance, Type, Width
from kconnect.api.errors import ConfigError
from kconnect.api.record import Header
from kconnect.api.schema import OPTIONAL_STRING_SCHEMA, Schema, SchemaAndValue
from kconnect.api.values import to_text
from kconnect.converters.headers import CONVERTER_TYPE, AnyConverter

ENCODING = "converter.encoding"

CONFIG = ConfigDef(
    CONVERTER_TYPE,
    ConfigKey(
        *(ENCODING, Type.STRING, "UTF-8", Importance.HIGH, "Name of the character set."),
        width=Width.MEDIUM,
        display_name="Encoding",
    ),
)

_NULL = SchemaAndValue(OPTIONAL_STRING_SCHEMA, None)

# Java's UTF-16 and UTF-32 are big-endian where nothing says otherwise, Python's are what the machine is.
_WIDE = {"utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE), "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE)}

_JAVAS = "kconnect-java-utf16"


def _as_java(error: UnicodeError) -> tuple[str, int]:
    """In UTF-16, a first half of a pair that another unit follows than a second half takes that unit with it."""
    assert isinstance(error, UnicodeDecodeError)
    whole = error.encoding.lower().replace("_", "-").startswith("utf-16") and error.reason == "illegal UTF-16 surrogate"
    if not whole:
        return "\ufffd", error.end
    little = error.encoding.lower().endswith("le")
    unit = int.from_bytes(error.object[error.start : error.start + 2], "little" if little else "big")
    return "\ufffd", min(error.start + 4, len(error.object)) if 0xD800 <= unit < 0xDC00 else error.end


codecs.register_error(_JAVAS, _as_java)


class StringConverter(AnyConverter):
    def __init__(self) -> None:
        self._encoding = "utf-8"
        self._wide: tuple[bytes, bytes] | None = None

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        name = configs.get(ENCODING, "UTF-8")
        try:
            # Python also knows "encodings" from text to text; only encoding tells them from the others.
            "".encode(name)
            self._encoding = codecs.lookup(name).name
            self._wide = _WIDE.get(self._encoding)
        except (LookupError, TypeError, ValueError) as error:
            raise ConfigError(f"Unsupported encoding {name}") from error

    def config(self) -> ConfigDef:
        return CONFIG

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        if value is None:
            return None
        text = value if type(value) is str else to_text(value, schema)
        if self._wide is None:
            return text.encode(self._encoding, "replace")
        mark = self._wide[0] if self._encoding == "utf-16" else b""
        return mark + text.encode(f"{self._encoding}-be", "replace")

    def to_connect_data(
        self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None
    ) -> SchemaAndValue:
        if data is None:
            return _NULL
        if self._wide is None:
            return SchemaAndValue(OPTIONAL_STRING_SCHEMA, data.decode(self._encoding, "replace"))
        encoding = self._encoding if data.startswith(self._wide) else f"{self._encoding}-be"
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, data.decode(encoding, _JAVAS))

    def to_connect_all(self, topic: str, data: list[bytes]) -> tuple[Schema | None, list[Any]] | None:
        if self._wide is not None:
            return None
        encoding = self._encoding
        return OPTIONAL_STRING_SCHEMA, [each.decode(encoding, "replace") for each in data]
