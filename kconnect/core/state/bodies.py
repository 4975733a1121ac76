"""
Functions that read the keys and values of internal topics. Each returns what it is named after, or raises `BadRecord`.

Called by `records.py` and `assignment_records.py`, which turn a `BadRecord` into a `Broken`.
"""

from __future__ import annotations

from typing import Any

import orjson


class BadRecord(Exception):
    """The record in hand can't be used; the text says why and quotes nothing of the value."""


def text_key(key: bytes | None) -> str:
    if key is None:
        raise BadRecord("no key")
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise BadRecord("key is not UTF-8") from None


def parsed(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        raise BadRecord("not JSON") from None


def json_object(value: bytes | None) -> dict[str, Any]:
    if value is None:
        raise BadRecord("a tombstone has no meaning here")
    return as_object(parsed(value))


def as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRecord("not a JSON object where one is needed")
    return value


def properties(body: dict[str, Any]) -> dict[str, str | None]:
    texts = body.get("properties")
    if not isinstance(texts, dict):
        raise BadRecord("no `properties` object in the value")
    if not all(value is None or isinstance(value, str) for value in texts.values()):
        raise BadRecord("a property is neither text nor null")
    return texts


def integer(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRecord(f"`{name}` is not an integer")
    return value


def text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise BadRecord(f"`{name}` is not text")
    return value


def split_task(text: str) -> tuple[str, int]:
    """Names may contain dashes, so the number is what follows the last one."""
    name, dash, number = text.rpartition("-")
    if not dash or not number.isascii() or not number.isdigit():
        raise BadRecord("no task number after the last dash")
    return name, int(number)
