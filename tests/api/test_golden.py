"""Values, projection and validation against what Connect 4.3.1's own classes did."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kconnect.api import schema as schemas
from kconnect.api import values
from kconnect.api.projector import project
from kconnect.api.schema import NULL
from kconnect.converters import json_schema
from kconnect.converters.json_readers import Readers
from tests.golden import envelopes


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("values.jsonl")))
def test_parse_string(case: dict[str, Any]) -> None:
    found = values.parse_string(case["text"])
    if case.get("java_null") or case["text"] is None:
        assert found == NULL
        return
    envelope = {"schema": case["schema"], "payload": case["value_json"], "types": case.get("types")}
    envelopes.assert_same(found, envelope)
    assert values.convert_to_string(*found) == case["to_string"]


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("values_convert.jsonl")))
def test_convert(case: dict[str, Any]) -> None:
    convert = getattr(values, re.sub("(?=[A-Z])", "_", case["function"]).lower())
    scale = [case["scale"]] if "scale" in case else []
    schema, value = envelopes.input_of(case["in"])
    if case["error"] is not None:
        with pytest.raises(Exception) as raised:
            convert(schema, value, *scale)
        envelopes.assert_error(raised.value, case["error"])
        return
    found = convert(schema, value, *scale)
    # A number's width is what the function's name says, but that of those inside.
    envelopes.assert_same(schemas.SchemaAndValue(None, found), case["out"], widths=isinstance(found, list | dict))


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("projector.jsonl")))
def test_project(case: dict[str, Any]) -> None:
    source, value = envelopes.input_of(case["in"])
    target = envelopes.schema_of(case["target"])
    assert source is not None
    assert target is not None
    if case["error"] is None:
        envelopes.assert_same(schemas.SchemaAndValue(target, project(source, value, target)), case["out"])
        return
    with pytest.raises(Exception) as raised:
        project(source, value, target)
    envelopes.assert_error(raised.value, case["error"])
    cause = case["error"].get("cause")
    if cause is not None:
        assert isinstance(raised.value.__cause__, Exception)
        envelopes.assert_error(raised.value.__cause__, cause)


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("validate.jsonl")))
def test_validate(case: dict[str, Any]) -> None:
    if case["valid"]:
        run_validation(case)
        return
    with pytest.raises(Exception) as raised:
        run_validation(case)
    envelopes.assert_error(raised.value, case["error"])


def run_validation(case: dict[str, Any]) -> None:
    schema = json_schema.read(case["schema"], Readers(False))
    assert schema is not None
    envelope = case["in"]
    value = envelopes.exact_value_of(envelope) if envelope["schema"] is None else envelopes.value_of(envelope).value
    schemas.validate(schema, value, case.get("field"))
