"""
Values of one version of a schema as those of another: fields added with a default, fields gone, numbers widened.

For sink connectors whose files or tables have one schema while records come with several. Connect's `SchemaProjector`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.data.text import float32
from kconnect.errors import DataError

_WIDTH = {
    kind: width
    for width, kind in enumerate(
        (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64, SchemaType.FLOAT32, SchemaType.FLOAT64)
    )
}


class ProjectionError(DataError):
    """The schemas have no such relation (Connect's `SchemaProjectorException`)."""

    shown_as = "org.apache.kafka.connect.errors.SchemaProjectorException"


def project(source: Schema, value: Any, target: Schema) -> Any:
    """
    The value of schema `source` as one of `target`. Unset fields get the source's default, or else the target's.

    ProjectionError, with the fields on the way as causes of each other, where the schemas don't allow it.
    """
    _check(source, target)
    if value is None:
        if not source.optional or target.optional:
            return None
        if target.default is None:
            raise ProjectionError("Writer schema is optional, however, target schema does not provide a default value.")
        return target.default
    if source.optional and not target.optional and target.default is None:
        raise ProjectionError("Writer schema is optional, however, target schema does not provide a default value.")
    if target.type is SchemaType.STRUCT:
        return _struct(source, value, target)
    if target.type is SchemaType.ARRAY:
        of, to = source.value_schema, target.value_schema
        return list(value) if of is None or to is None else [project(of, item, to) for item in value]
    if target.type is SchemaType.MAP:
        return _map(source, value, target)
    return _primitive(source, value, target)


def _check(source: Schema, target: Schema) -> None:
    if source is target:
        return
    if source.type is not target.type and not _widens(source.type, target.type):
        raise ProjectionError(f"Schema type mismatch. source type: {source.type.value} and target type: {target.type.value}")
    if source.name != target.name:
        raise ProjectionError(
            f"Schema name mismatch. source name: {source.name or 'null'} and target name: {target.name or 'null'}"
        )
    if source.parameters != target.parameters:
        raise ProjectionError(
            f"Schema parameters not equal. source parameters: {_shown(source.parameters)} and target parameters: "
            f"{_shown(target.parameters)}"
        )


def _widens(source: SchemaType, target: SchemaType) -> bool:
    return source in _WIDTH and target in _WIDTH and _WIDTH[source] < _WIDTH[target]


def _struct(source: Schema, value: Struct, target: Schema) -> Struct:
    struct = Struct(target)
    for field in target.fields:
        source_field = source.field(field.name)
        if source_field is not None:
            try:
                projected = project(source_field.schema, value.get(field.name), field.schema)
            except ProjectionError as error:
                raise ProjectionError(f"Error projecting {field.name}") from error
            struct[field.name] = projected
        elif field.schema.optional:
            continue
        elif field.schema.default is not None:
            struct[field.name] = field.schema.default
        else:
            raise ProjectionError(f"Required field `{field.name}` is missing from source schema: {source!r}")
    return struct


def _map(source: Schema, value: dict[Any, Any], target: Schema) -> dict[Any, Any]:
    if source.key_schema is None or source.value_schema is None or target.key_schema is None or target.value_schema is None:
        return dict(value)
    return {
        project(source.key_schema, key, target.key_schema): project(source.value_schema, item, target.value_schema)
        for key, item in value.items()
    }


def _primitive(source: Schema, value: Any, target: Schema) -> Any:
    if source.type is target.type or not isinstance(value, int | float):
        return value
    if target.type is SchemaType.FLOAT32:
        return float32(value)
    if target.type is SchemaType.FLOAT64:
        # What a 32-bit number really is shows only now.
        return float32(value) if source.type is SchemaType.FLOAT32 else float(value)
    return int(value)


def _shown(parameters: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{name}={value}' for name, value in parameters.items())}}}" if parameters else "null"
