"""
The converters of a frame: kconnect's own by the names that connectors use, or JSON of either kind if nobody names one.

Made by `frame.py`: on the driver for the schema, and in executors for rows. A name without a package is that of an entry
point in `kconnect.converters`, so an installed package may bring more. Read next: `api/converter.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from kconnect.api.converter import Converter
from kconnect.api.record import Header
from kconnect.converters import json_text
from kconnect.data.column import Column
from kconnect.data.schema import NULL, Schema, SchemaAndValue
from kconnect.errors import ConfigError, DataError

_GROUP = "kconnect.converters"
_PACKAGES = (
    *(f"org.apache.kafka.connect.{part}" for part in ("json", "storage", "converters")),
    "io.confluent.connect.avro",
)
_ENVELOPE = re.compile(rb'\s*\{\s*"(?:schema|payload)"\s*:')


def make(which: str, settings: Mapping[str, str] | None, only_own: bool = False) -> Converter:
    """
    Return a converter, configured; `which` is `key.converter` or `value.converter`, and `settings` has its name as `""`. Raise
    ConfigError, naming the option, if there is none of that name, or a setting can't be used. With `only_own`, it is one of
    kconnect's own packages: the name comes from a connector's config.
    """
    if settings is None:
        return AnyJson()
    name = settings[""]
    kind = _class(which, name, only_own)
    own = {key: text for key, text in settings.items() if key}
    is_pinned = own.get("schema.content") or own.get("schema.subject")
    if kind.__name__ == "JsonConverter" and _is_plain(own) and not is_pinned:
        # The frame's schema is inferred once, for all of its tasks.
        return AnyJson(has_schemas=False)
    converter = kind()
    converter.configure({**own, "converter.type": which.partition(".")[0]}, which.startswith("key"))
    return converter


def _is_plain(settings: Mapping[str, str]) -> bool:
    """Whether messages are JSON without schemas."""
    return settings.get("schemas.enable", "").strip().lower() == "false" or (
        settings.get("schemas.infer", "").strip().lower() == "true"
    )


def _class(which: str, name: str, only_own: bool) -> type[Converter]:
    package, _, short = name.rpartition(".")
    points = {point.name: point for point in metadata.entry_points(group=_GROUP)}
    if only_own:
        points = {key: point for key, point in points.items() if point.value.startswith("kconnect.converters.")}
    if (package and package not in _PACKAGES) or short not in points:
        raise ConfigError(
            which,
            name,
            f"there is no such converter in Python: use one of {', '.join(sorted(points))}, or Java's name of one of these, or "
            "install a package that has it",
        )
    loaded: type[Converter] = points[short].load()
    return loaded


class AnyJson(Converter):
    """
    JSON without a schema; with `has_schemas`, also with its schema beside it, as `JsonConverter` writes it by default: each
    message says which. Numbers are what is written: Connect's converter makes others of those beyond 64 bits. With `texts`,
    what has no schema beside it is a text as it is: of a topic that has no objects nobody has said that it is JSON.
    """

    def __init__(self, has_schemas: bool = True, texts: bool = False) -> None:
        from kconnect.converters.json import JsonConverter

        self._texts = texts

        self._enveloped = JsonConverter() if has_schemas else None
        if self._enveloped is not None:
            self._enveloped.configure({"schemas.enable": "true", "converter.type": "value"}, False)

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Do nothing: it has no settings."""

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Iterable[Header] | None = None
    ) -> bytes | None:
        raise DataError("frames are read only")

    def to_connect_data(self, topic: str, data: bytes | None, headers: Iterable[Header] | None = None) -> SchemaAndValue:
        if data is None:
            return NULL
        if self._enveloped is not None and _ENVELOPE.match(data) is not None:
            try:
                return self._enveloped.to_connect_data(topic, data)
            except DataError:
                # Or an object that has a field of this name.
                if _is_envelope(data):
                    raise
        if self._texts:
            try:
                return SchemaAndValue(None, data.decode("utf-8"))
            except UnicodeDecodeError:
                raise DataError("it is neither JSON nor a text in UTF-8") from None
        plain = json_text.MISSING if json_text.has_long_fraction(data) else json_text.loads_quickly(data)
        if plain is json_text.MISSING:
            # Not `loads`: a number beyond all of floating point would be infinity.
            plain = _slowly(data)
        return SchemaAndValue(None, None if plain is json_text.MISSING else plain)

    def to_connect_all(self, topic: str, data: list[bytes]) -> Column | None:
        if self._texts:
            return None
        enveloped = [_ENVELOPE.match(text) is not None for text in data] if self._enveloped is not None else [False]
        if all(enveloped):
            return self._enveloped.to_connect_all(topic, data) if self._enveloped is not None else None
        if any(enveloped) or json_text.has_long_fraction(b",".join(data)):
            return None
        plains = json_text.loads_each(data)
        return None if plains is None else Column(None, plains)


def _is_envelope(data: bytes) -> bool:
    """
    Whether a message has a schema beside it, rather than a field with such a name. One whose schema or payload is wrong is an
    envelope all the same: as an object without a schema it would be a row of nulls.
    """
    try:
        plain = json_text.loads(data)
    except DataError:
        return False
    return (
        type(plain) is dict
        and plain.keys() == {"schema", "payload"}
        and (plain["schema"] is None or (type(plain["schema"]) is dict and "type" in plain["schema"]))
    )


def _slowly(data: bytes) -> Any:
    try:
        return json_text.loads_with_digits(data)
    except DataError as error:
        cause = error.__cause__
        # These have no part of the text in them, and Connect's words, which speak of converters, help nobody here.
        place = f" ({cause.msg} at character {cause.pos})" if isinstance(cause, json.JSONDecodeError) else ""
        raise DataError(f"it is no JSON that can be read{place}") from error
