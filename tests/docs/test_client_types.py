"""
The types of what `rest/client.py` is answered: made from the same schemas as `/openapi.json`, so that they stand once.

`python -m tests.docs.test_client_types` writes them anew. They are for type checkers alone: what a worker of another version, a
Kafka Connect or somebody in their place answers is not looked at. `test_answers.py` does the same for the console.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.rest import app, schemas

FILE = Path(__file__).parents[2] / "kconnect" / "rest" / "answers.pyi"
HEAD = '''\
"""
What a worker's REST API takes and answers, for type checkers.

Written by `python -m tests.docs.test_client_types` from `schemas.py` and what is declared beside the operations: change it
there.
"""

from typing import Any, Literal, TypeAlias, TypedDict

from typing_extensions import NotRequired
'''
_MOST_IN_LINE = 10
_NAMES = {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "null": "None"}


def type_of(schema: dict[str, Any], name: str, more: dict[str, dict[str, Any]]) -> str:
    """
    Return a schema as Python has it. What is an object within another goes into `more`, by a name that begins with `name`.
    Raise KeyError for a type that JSON has not.
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "oneOf" in schema:
        return " | ".join(type_of(each, name, more) for each in schema["oneOf"])
    if "enum" in schema:
        values = [value for value in schema["enum"] if value is not None]
        texts = [f'"{value}"' if isinstance(value, str) else repr(value) for value in values]
        # As ruff has it, where a line would be too long.
        lines = "".join(f"\n        {text}," for text in texts) + "\n    "
        within = lines if len(texts) > _MOST_IN_LINE else ", ".join(texts)
        return f"Literal[{within}]{' | None' if None in schema['enum'] else ''}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " | ".join(_of_kind(kind, schema, name, more) for kind in kinds) or "Any"


def _of_kind(kind: str, schema: dict[str, Any], name: str, more: dict[str, dict[str, Any]]) -> str:
    if kind == "array":
        return f"list[{type_of(schema.get('items', {}), f'{name}Item', more)}]"
    if kind != "object":
        return _NAMES[kind]
    if schema.get("properties"):
        more[name] = schema
        return name
    values = schema.get("additionalProperties")
    return f"dict[str, {type_of(values, f'{name}Value', more) if isinstance(values, dict) else 'Any'}]"


def declared(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the statement that declares a schema, and then those of the objects within it."""
    more: dict[str, dict[str, Any]] = {}
    if schema.get("type") != "object" or not schema.get("properties"):
        yield f"{name}: TypeAlias = {type_of(schema, f'{name}Value', more)}"
    else:
        required = schema.get("required", ())
        fields: dict[str, str] = {}
        for field, each in schema["properties"].items():
            kind = type_of(each, name + "".join(word.capitalize() for word in field.split("_")), more)
            fields[field] = kind if field in required else f"NotRequired[{kind}]"
        if any(keyword.iskeyword(field) or not field.isidentifier() for field in fields):
            entries = [f'        "{field}": {kind},' for field, kind in fields.items()]
            yield "\n".join((f"{name} = TypedDict(", f'    "{name}",', "    {", *entries, "    },", ")"))
        else:
            yield "\n".join([f"class {name}(TypedDict):", *(f"    {field}: {kind}" for field, kind in fields.items())])
    for inner, each in more.items():
        yield from declared(inner, {**each, "type": "object"})


def written() -> str:
    assert app.OPERATIONS, "modules declare their own schemas as they are imported"
    statements = [text for name, schema in sorted(schemas.SCHEMAS.items()) for text in declared(name, schema)]
    return f"{HEAD}\n" + "\n\n".join(statements) + "\n"


def test_the_client_has_the_types_that_the_schemas_say() -> None:
    assert FILE.read_text("utf-8") == written(), "python -m tests.docs.test_client_types writes them anew"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["array", "null"], "items": {"type": "integer"}}, ["X: TypeAlias = list[int] | None"]),
        ({"enum": ["a", None]}, ['X: TypeAlias = Literal["a"] | None']),
        (
            {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {}}}}, "required": ["a"]},
            ["class X(TypedDict):\n    a: XA", "class XA(TypedDict):\n    b: NotRequired[Any]"],
        ),
    ],
)
def test_what_a_schema_is_in_python(schema: dict[str, Any], expected: list[str]) -> None:
    assert list(declared("X", schema)) == expected


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
