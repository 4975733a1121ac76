"""
Maps of source partitions and offsets between Java and Python, as Connect itself writes them to its offset topic: by JSON.

Used by the adapters of connectors and tasks, for calls that are rare. Numbers come to Java as Connect's JsonConverter gives
them to a connector: whole ones as Long, others as Double.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jpype
import orjson

from kconnect.jvm import machine


@lru_cache(1)
def _json() -> Any:
    converter = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
    converter.configure(machine.to_map({"schemas.enable": "false"}), False)
    return converter


def to_java(fields: Mapping[str, Any] | None) -> Any:
    """A `java.util.Map`; None is null."""
    if fields is None:
        return None
    return _json().toConnectData("", jpype.JArray(jpype.JByte)(orjson.dumps(fields))).value()


def to_python(fields: Any) -> Any:
    """Convert a map or list as JSON does."""
    if fields is None:
        return None
    return orjson.loads(bytes(_json().fromConnectData("", None, fields)))
