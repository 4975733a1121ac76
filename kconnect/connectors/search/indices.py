"""
Indices: indexes and data streams are made before the first document goes there, with a mapping by its schema.

Used by `task.py`. What is there already is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import NotFoundError, RequestError

from kconnect.api import ConnectError, Schema, SchemaType, schema
from kconnect.connectors.search import settings

_KEPT = 50_000
"""Names of indexes that are known to be there."""
_SIMPLE = {
    SchemaType.INT8: "byte",
    SchemaType.INT16: "short",
    SchemaType.INT32: "integer",
    SchemaType.INT64: "long",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.BYTES: "binary",
}
_LOGICAL = {schema.DECIMAL: "double", schema.DATE: "date", schema.TIMESTAMP: "date", schema.TIME: "keyword"}


class Indices:
    def __init__(self, client: OpenSearch, config: Mapping[str, Any]) -> None:
        self._client = client
        self._create: bool = config[settings.CREATE]
        self._streams = config[settings.STREAM].lower() != "none"
        self._known: set[str] = set()

    def forget(self) -> None:
        """Look again: somebody may have deleted one."""
        self._known.clear()

    def ensure(self, name: str, own: Schema | None) -> None:
        """
        Create the index if it does not exist. `own` says what mapping it gets. Raise ConnectError if it may not be created.
        """
        if name in self._known:
            return
        if not self._is_there(name):
            if not self._create:
                kind = "data stream" if self._streams else "index"
                raise ConnectError(f"There is no {kind} {name}: create it, or set {settings.CREATE}=true")
            if self._streams:
                self._make_stream(name)
            else:
                self._make(name, own)
        if len(self._known) >= _KEPT:
            # Records may name indexes, as many as there are.
            self._known.clear()
        self._known.add(name)

    def _is_there(self, name: str) -> bool:
        if not self._streams:
            return bool(self._client.indices.exists(index=name))
        try:
            self._client.indices.get_data_stream(name=name)
        except NotFoundError:
            return False
        return True

    def _make(self, name: str, own: Schema | None) -> None:
        body = {} if own is None or own.type is not SchemaType.STRUCT else {"mappings": mapping(own)}
        try:
            self._client.indices.create(index=name, body=body)
        except RequestError as error:
            if error.error != "resource_already_exists_exception":
                raise

    def _make_stream(self, name: str) -> None:
        try:
            self._client.indices.create_data_stream(name=name)
        except RequestError as error:
            if error.error == "resource_already_exists_exception":
                return
            # Elasticsearch has templates for logs and metrics; OpenSearch has none.
            template = {"index_patterns": [name], "data_stream": {}, "priority": 100}
            self._client.indices.put_index_template(name=name, body=template)
            self._client.indices.create_data_stream(name=name)


def mapping(own: Schema) -> dict[str, Any]:
    """Return the mapping of values of a schema."""
    if own.name in _LOGICAL:
        return {"type": _LOGICAL[own.name]}
    if own.type is SchemaType.STRUCT:
        return {"properties": {field.name: mapping(field.schema) for field in own.fields}}
    if own.type is SchemaType.ARRAY and own.value_schema is not None:
        return mapping(own.value_schema)
    if own.type is SchemaType.STRING:
        return {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
    return {"type": _SIMPLE[own.type]} if own.type in _SIMPLE else {"type": "object"}
