"""
The console's types of what REST takes and answers: made from the same schemas as `/openapi.json`, so that they stand once.

`python -m tests.docs.test_answers` writes them anew; `test_console_types.py` then holds the console against them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kconnect.rest import app, schemas

FILE = Path(__file__).parents[2] / "kconnect" / "console" / "answers.d.ts"
HEAD = """\
// What the worker's REST API takes and answers. Written by `python -m tests.docs.test_answers` from
// kconnect/rest/schemas.py and what is declared beside the operations: change it there.
"""
_NAMES = {"string": "string", "boolean": "boolean", "integer": "number", "number": "number", "null": "null"}
_BARE = re.compile(r"[A-Za-z_]\w*")


def type_of(schema: dict[str, Any]) -> str:
    """Return a schema as TypeScript has it. Raise KeyError for a type that JSON has not."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "oneOf" in schema:
        return " | ".join(type_of(each) for each in schema["oneOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " | ".join(_of_kind(kind, schema) for kind in kinds) or "unknown"


def _of_kind(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"({type_of(schema.get('items', {}))})[]"
    if kind != "object":
        return _NAMES[kind]
    required = schema.get("required", ())
    fields = [
        f"{name if _BARE.fullmatch(name) else json.dumps(name)}{'' if name in required else '?'}: {type_of(each)}"
        for name, each in schema.get("properties", {}).items()
    ]
    if fields:
        return "{ " + "; ".join(fields) + " }"
    values = schema.get("additionalProperties")
    return f"Record<string, {type_of(values) if isinstance(values, dict) else 'unknown'}>"


def written() -> str:
    assert app.OPERATIONS, "modules declare their own schemas as they are imported"
    types = (
        f"\n/** {schema['description']} */\nexport type {name} = {type_of(schema)};\n"
        if "description" in schema
        else f"\nexport type {name} = {type_of(schema)};\n"
        for name, schema in sorted(schemas.SCHEMAS.items())
    )
    return HEAD + "".join(types)


def test_the_console_has_the_types_that_the_schemas_say() -> None:
    assert FILE.read_text("utf-8") == written(), "python -m tests.docs.test_answers writes them anew"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", None]}, '"a" | null'),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Row"}}, "(Row)[]"),
        (
            {"type": "object", "properties": {"a-b": {"type": "integer"}, "c": {}}, "required": ["c"]},
            '{ "a-b"?: number; c: unknown }',
        ),
        ({"type": ["object", "null"], "additionalProperties": {"type": "number"}}, "Record<string, number> | null"),
    ],
)
def test_what_a_schema_is_in_typescript(schema: dict[str, Any], expected: str) -> None:
    assert type_of(schema) == expected


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
