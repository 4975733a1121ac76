"""
StringConverter: the text of any value, in one encoding. In Java it is `org.apache.kafka.connect.storage.StringConverter`.

What the text of a value is, `kconnect/data/values.py` says.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Importance, Type, Width
from kconnect.api.record import Header
from kconnect.converters.encodings import JAVAS, replacement
from kconnect.converters.headers import CONVERTER_TYPE, AnyConverter
from kconnect.data.column import Column
from kconnect.data.schema import OPTIONAL_STRING_SCHEMA, Schema, SchemaAndValue
from kconnect.data.values import to_text
from kconnect.errors import ConfigError

ENCODING = "converter.encoding"

CONFIG = ConfigDef(
    CONVERTER_TYPE,
    ConfigKey(
        ENCODING,
        Type.STRING,
        "UTF-8",
        Importance.HIGH,
        "Name of the character set.",
        width=Width.MEDIUM,
        display_name="Encoding",
    ),
)

_NULL = SchemaAndValue(OPTIONAL_STRING_SCHEMA, None)

_MARKS = {"utf-32-be": codecs.BOM_UTF32_BE, "utf-32-le": codecs.BOM_UTF32_LE}
"""What Java skips even where the order is said; of UTF-16 it does not."""

# Java's UTF-16 and UTF-32 are big-endian where nothing says otherwise, Python's are what the machine is.
_WIDE = {"utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE), "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE)}


class StringConverter(AnyConverter):
    def __init__(self) -> None:
        self._encoding = "utf-8"
        self._errors = "replace"
        self._mark = b""
        self._wide: tuple[bytes, bytes] | None = None

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> None:
        name = configs.get(ENCODING, "UTF-8")
        try:
            # Python also knows "encodings" from text to text; only encoding tells them from the others.
            "".encode(name)
            self._encoding = codecs.lookup(name).name
            self._errors = replacement(self._encoding)
            self._wide = _WIDE.get(self._encoding)
            self._mark = _MARKS.get(self._encoding, b"")
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
            return text.encode(self._encoding, self._errors)
        # Java puts the mark before the first character.
        mark = self._wide[0] if text and self._encoding == "utf-16" else b""
        return mark + text.encode(f"{self._encoding}-be", self._errors)

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        if data is None:
            return _NULL
        if self._wide is None:
            return SchemaAndValue(OPTIONAL_STRING_SCHEMA, data.removeprefix(self._mark).decode(self._encoding, JAVAS))
        encoding = self._encoding if data.startswith(self._wide) else f"{self._encoding}-be"
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, data.decode(encoding, JAVAS))

    def from_connect_all(self, topic: str, column: Column) -> Sequence[bytes | None] | None:
        texts = column.values
        if self._wide is not None or set(map(type, texts)) != {str}:
            return None
        encoding, errors = self._encoding, self._errors
        return [text.encode(encoding, errors) for text in texts]

    def to_connect_all(self, topic: str, data: list[bytes]) -> Column | None:
        if self._wide is not None or self._mark:
            return None
        encoding = self._encoding
        return Column(OPTIONAL_STRING_SCHEMA, [text.decode(encoding, JAVAS) for text in data])
