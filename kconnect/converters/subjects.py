"""
A pinned schema that stands in a schema registry, as a version of a subject, in Avro.

`json.py` reads it when a task starts (`schema.subject`), and `kconnect schemas --subject` registers what a sink has inferred.
Both ask the registry that the converter's own settings name, and no other. Read next: `schema_registry.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api.config import ConfigDef
from kconnect.converters import avro_schema, avro_schema_readers
from kconnect.converters.avro_schema import Dialect
from kconnect.converters.avro_types import dumps, parse
from kconnect.converters.avro_values import read_default
from kconnect.converters.schema_registries import open_registry
from kconnect.converters.schema_registry import Registry, texts_of_references
from kconnect.converters.schema_registry_login import CONFIG_KEYS
from kconnect.data.schema import Schema
from kconnect.errors import ConfigError, ConnectError, DataError, RetriableError

SUBJECT, VERSION, LATEST = "schema.subject", "schema.subject.version", "latest"
_NAME = "Pin it with `schema.content` instead, which takes all names"


def registry_of(configs: Mapping[str, Any]) -> Registry:
    """Return the registry that a converter's settings name. ConfigError if they name none, or can't be used."""
    return open_registry(ConfigDef(*CONFIG_KEYS).parse(configs))


def version_of(text: str) -> int | None:
    """Return the version that a setting asks for, None for the newest. ConfigError for what is none."""
    if text.strip().lower() == LATEST:
        return None
    if not text.strip().isascii() or not text.strip().isdigit() or int(text) < 1:
        raise ConfigError(VERSION, text, f"must be a whole number from 1 on, or {LATEST}")
    return int(text)


def read(registry: Registry, subject: str, version: int | None) -> Schema:
    """Return a version of a subject. ConfigError if there is none, or if plain JSON can't be held against it."""
    try:
        registered = registry.by_version(subject, version)
        if registered.type != "AVRO":
            raise DataError(f"it is of the type {registered.type}, and only schemas in AVRO are read")
        avro = parse(registered.text, texts_of_references(registry, registered))
        schema = avro_schema_readers.to_connect(avro, Dialect(), read_default, registered.version)
        if schema is None:
            raise DataError("it says nothing of its values' type")
        _require_plain(schema, "")
    except RetriableError as error:
        reason = f"The task needs the schema of {SUBJECT}={subject} to start: {str(error).partition('; errors.retry')[0]}"
        raise ConnectError(f"{reason}. With errors.restart.max.attempts it is started again by itself") from error
    except (RecursionError, TypeError):
        raise ConfigError(
            SUBJECT, subject, "what the registry has there is nested too deeply, or has no version. Name another subject"
        ) from None
    except DataError as error:
        raise ConfigError(SUBJECT, subject, f"{error}. Name a subject with a schema that plain JSON can have") from error
    return schema


def _require_plain(schema: Schema, path: str) -> None:
    """Raise DataError for types of Avro for which JSON has no form of its own."""
    where = f"the field {path!r}" if path else "it"
    if avro_schema.is_union(schema):
        raise DataError(f"{where} is a union of several types")
    if avro_schema.is_fixed(schema):
        raise DataError(f"{where} is bytes of a fixed length")
    for field in schema.fields:
        _require_plain(field.schema, f"{path}.{field.name}" if path else field.name)
    for part in (schema.key_schema, schema.value_schema):
        if part is not None:
            _require_plain(part, f"{path}[]")


def text_of(schema: Schema) -> str:
    """Return a schema as a registry takes it. DataError, naming the field, for a name that Avro can't have."""
    _require_names(schema)
    return dumps(avro_schema.to_avro(schema, Dialect()))


def _require_names(schema: Schema) -> None:
    for field in schema.fields:
        if not (field.name.isascii() and field.name.isidentifier()):
            raise DataError(f"Avro can't have a field of the name {field.name!r}, only letters, digits and _. {_NAME}")
        _require_names(field.schema)
    if schema.value_schema is not None:
        _require_names(schema.value_schema)


def register(registry: Registry, subject: str, schema: Schema) -> int:
    """Return the version of the subject that is this schema from now on. What the registry says, as it says it."""
    text = text_of(schema)
    registry.register(subject, text, (), False)
    registered = registry.lookup(subject, text, (), False)
    if registered is None:
        raise ConnectError(f"The registry took a schema for the subject {subject}, and does not find it there")
    return registered.version
