"""
What the topic of schemas says of a connector's topics, folded: for tasks that go on with it, and for REST.

Called by `units/inferring.py` and `worker/world.py`. Read next: `schema_topic.py`; for the rules, `converters/inference.py`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kconnect.converters import inference, json_schema
from kconnect.converters.inference import NOTHING, Kind, Shape
from kconnect.converters.json_writers import Writers
from kconnect.core.state.schema_records import Key
from kconnect.errors import DataError

log = logging.getLogger(__name__)


class Known(NamedTuple):
    """The inferred schema of the keys or the values of one topic; `at_ms` is when it was written, in ms since 1970."""

    shape: Shape = NOTHING
    version: int = 0
    at_ms: int = 0


class Fold(NamedTuple):
    """`known` is what is known by (part, topic). `lost` are the keys of statements that differ from what holds."""

    known: dict[tuple[str, str], Known]
    lost: set[Key]


def folded(statements: Mapping[Key, Any]) -> dict[tuple[str, str], Known]:
    """Return what is known by (part, topic): all that was said, and of two that differ in a field the first."""
    return fold(statements).known


def fold(statements: Mapping[Key, Any]) -> Fold:
    """
    Return what `folded` does, with the statements that lost. A statement moves to the end of the topic when its task says more:
    one that lost must not stand there then, for it would be the first.
    """
    result = Fold({}, set())
    for key, value in statements.items():
        before = result.known.get((key.part, key.topic), Known())
        try:
            now = Known(inference.of_plain(value["shape"]), int(value["version"]), int(value.get("at", 0)))
        except (DataError, AttributeError, KeyError, TypeError, ValueError) as error:
            log.warning("What the topic of schemas has of %s is passed over: %s", key, error)
            continue
        shape, agree = inference.merged(before.shape, now.shape)
        if not agree:
            result.lost.add(key)
        versions, times = max(before.version, now.version), max(before.at_ms, now.at_ms)
        result.known[key.part, key.topic] = Known(shape, versions, times)
    return result


def shown(statements: Mapping[Key, Any]) -> Iterator[dict[str, Any]]:
    """
    Yield the schemas as REST gives them, by topic: `content` is what `schema.content` takes. One is made at a time: a sink may
    have a thousand topics, each with a thousand fields.
    """
    subjects: dict[tuple[str, str], list[Key]] = {}
    for key in statements:
        subjects.setdefault((key.topic, key.part), []).append(key)
    for topic, part in sorted(subjects):
        inferred = folded({key: statements[key] for key in subjects[topic, part]}).get((part, topic))
        if inferred is None:
            continue
        schema = inference.schema_of(inferred.shape, inferred.version)
        body = None if schema is None else json_schema.write(schema, Writers(False, False, 0))
        if body is not None:
            # A schema that is pinned counts no versions.
            body.pop("version", None)
        yield {
            "topic": topic,
            "part": part,
            "version": inferred.version,
            "at": inferred.at_ms,
            "content": None if body is None else _content(body),
            "fields": [{"field": path, "type": kind} for path, kind in _paths(inferred.shape)],
        }


def _content(body: Any) -> str:
    """
    Return a schema for a config. Records name its fields: in a config `${file:…}` would be a reference, and the name then the
    secret that it stands for.
    """
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).replace("${", r"\u0024{")


def _paths(shape: Shape, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields with their types, at any depth; one that has none yet is `null`."""
    if shape.kind is Kind.OBJECT and (shape.fields or not path):
        for name, field_shape in shape.fields.items():
            yield from _paths(field_shape, f"{path}.{name}" if path else name)
    elif shape.kind is Kind.ARRAY and shape.element is not None and shape.element.kind is not Kind.NOTHING:
        yield from _paths(shape.element, f"{path}[]")
    else:
        is_scalar = shape.kind not in (Kind.OBJECT, Kind.ARRAY)
        yield path or "*", ("mixed text" if shape.mixed else shape.kind.value) if is_scalar else "null"
