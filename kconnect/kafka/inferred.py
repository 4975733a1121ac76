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
from kconnect.converters.inference import NOTHING, Kind, Misfit, Shape
from kconnect.converters.json_writers import Writers
from kconnect.core.state.schema_records import Key
from kconnect.errors import DataError

log = logging.getLogger(__name__)


class Known(NamedTuple):
    """The inferred schema of the keys or the values of one topic; `at_ms` is when it was written, in ms since 1970."""

    shape: Shape = NOTHING
    version: int = 0
    at_ms: int = 0


def folded(said: Mapping[Key, Any]) -> dict[tuple[str, str], Known]:
    """Return what is known by (part, topic): all that was said, and of two that differ the first."""
    found: dict[tuple[str, str], Known] = {}
    for key, value in said.items():
        before = found.get((key.part, key.topic), Known())
        try:
            now = Known(inference.of_plain(value["shape"]), int(value["version"]), int(value.get("at", 0)))
            shape = inference.grown(before.shape, now.shape, before.shape)
        except Misfit:
            found[key.part, key.topic] = before
        except (DataError, AttributeError, KeyError, TypeError, ValueError) as error:
            log.warning("What the topic of schemas has of %s is passed over: %s", key, error)
        else:
            found[key.part, key.topic] = Known(shape, max(before.version, now.version), max(before.at_ms, now.at_ms))
    return found


def shown(said: Mapping[Key, Any]) -> list[dict[str, Any]]:
    """Return the schemas as REST gives them, by topic: `content` is what `schema.content` takes."""
    found = []
    for (part, topic), known in sorted(folded(said).items(), key=lambda each: (each[0][1], each[0][0])):
        schema = inference.schema_of(known.shape, known.version)
        body = None if schema is None else json_schema.write(schema, Writers(False, False, 0))
        if body is not None:
            # A schema that is pinned counts no versions.
            body.pop("version", None)
        found.append(
            {
                "topic": topic,
                "part": part,
                "version": known.version,
                "at": known.at_ms,
                "content": None if body is None else _content(body),
                "fields": [{"field": path, "type": kind} for path, kind in _paths(known.shape)],
            }
        )
    return found


def _content(body: Any) -> str:
    """
    Return a schema for a config. Records name its fields: in a config `${file:…}` would be a reference, and the name then the
    secret that it stands for.
    """
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).replace("${", r"\u0024{")


def _paths(shape: Shape, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields with their types, at any depth; one that has none yet is `null`."""
    if shape.kind is Kind.OBJECT and (shape.fields or not path):
        for name, each in shape.fields.items():
            yield from _paths(each, f"{path}.{name}" if path else name)
    elif shape.kind is Kind.ARRAY and shape.element is not None and shape.element.kind is not Kind.NOTHING:
        yield from _paths(shape.element, f"{path}[]")
    else:
        known = shape.kind not in (Kind.OBJECT, Kind.ARRAY)
        yield path or "*", ("mixed text" if shape.mixed else shape.kind.value) if known else "null"
