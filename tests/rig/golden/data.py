"""Golden cases of Connect's data classes: texts and values, conversions, projection and validation."""

from __future__ import annotations

import re
from typing import Any

from kconnect.converters import json_schema
from kconnect.converters.json_readers import Readers
from kconnect.data import schema as schemas
from kconnect.data import values
from kconnect.data.projector import project
from kconnect.data.schema import NULL, Schema, SchemaAndValue, SchemaType
from tests.rig.golden import envelopes
from tests.rig.golden.errors import Case, Unreadable, expect, only, phase, same

_RESULTS = {
    "convertToByte": schemas.INT8_SCHEMA,
    "convertToShort": schemas.INT16_SCHEMA,
    "convertToInteger": schemas.INT32_SCHEMA,
    "convertToLong": schemas.INT64_SCHEMA,
    "convertToFloat": schemas.FLOAT32_SCHEMA,
    "convertToDouble": schemas.FLOAT64_SCHEMA,
}
"""What a function gives by its name; a Python number does not say it."""


def parse(case: Case) -> None:
    only(
        case, "id", "text", "schema_type", "value_json", "error",
        schema_name=..., schema=..., types=..., to_string=..., java_null=...,
    )  # fmt: skip

    def run() -> Any:
        with phase("parse"):
            found = values.parse_string(case["text"])
        with phase("convertToString"):
            return found, values.convert_to_string(*found)

    outcome = expect(case["error"], run)
    if case["error"] is not None:
        return
    (schema, value), text = outcome
    same(None if schema is None else schema.type.value, case["schema_type"], "schema_type")
    if case.get("java_null"):
        # Ours has no other null to give.
        same(SchemaAndValue(schema, value), NULL)
        return
    same(None if schema is None else schema.name, case["schema_name"], "schema_name")
    envelope = {"schema": case["schema"], "payload": case["value_json"], "types": case.get("types")}
    envelopes.check(SchemaAndValue(schema, value), envelope)
    same(text, case["to_string"], "to_string")


def convert(case: Case) -> None:
    only(case, "id", "function", "in", "out", "error", scale=...)
    name = case["function"]
    function = getattr(values, re.sub("(?=[A-Z])", "_", name).lower(), None)
    if function is None or not re.fullmatch(r"convertTo[A-Z][a-z]+", name):
        raise Unreadable(f"no such function: {name}")
    scale = [case["scale"]] if "scale" in case else []

    def run() -> Any:
        schema, value = envelopes.value_of(case["in"])
        with phase("convert"):
            return function(schema, value, *scale)

    found = expect(case["error"], run)
    if case["error"] is None:
        envelopes.check(SchemaAndValue(None, found), case["out"], implied=_implied(case))


def _implied(case: Case) -> Schema | None:
    name = case["function"]
    if name not in ("convertToList", "convertToMap"):
        return _RESULTS.get(name)
    # Elements are as wide as the schema says: the one given, or that of the text.
    schema, value = envelopes.value_of(case["in"])
    found = values.parse_string(value).schema if isinstance(value, str) else schema
    wanted = SchemaType.ARRAY if name == "convertToList" else SchemaType.MAP
    return found if found is not None and found.type is wanted else None


def projection(case: Case) -> None:
    only(case, "id", "in", "target", "out", "error")

    def run() -> Any:
        source, value = envelopes.value_of(case["in"])
        target = envelopes.schema_of(case["target"])
        if source is None or target is None:
            raise Unreadable("projection is from a schema to a schema")
        with phase("project"):
            return SchemaAndValue(target, project(source, value, target))

    found = expect(case["error"], run)
    if case["error"] is None:
        envelopes.check(found, case["out"])


def validation(case: Case) -> None:
    """Whether the schema can be built of its JSON, and whether the value is one of it."""
    only(case, "id", "schema", "in", "valid", "error", field=...)
    same(case["error"] is None, case["valid"], "valid")

    def run() -> Any:
        with phase("build"):
            schema = json_schema.read(case["schema"], Readers(False))
        if schema is None:
            raise Unreadable("there is no schema to validate against")
        value = envelopes.value_of(case["in"], exact=True).value
        with phase("validate"):
            schemas.validate(schema, value, case.get("field"))

    expect(case["error"], run)
