"""Transforms of whole batches, and records changed in place, make what the ordinary forms make of the same records."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kconnect.api import ConnectError
from kconnect.core.task.batch import FEW, Batch
from kconnect.units.transforms import Transforms
from tests.golden import envelopes

from .test_golden import PLUGINS, chain_config, record_of

CASES = [case for case in envelopes.load("transforms.jsonl") if case["error"] is None or case["error"]["phase"] != "configure"]
PASSES = {"topic": "any", "partition": 0, "timestamp": 5, "offset": 3, "key": None, "value": None, "headers": []}


def shown(record: Any) -> Any:
    """Everything there is to a record, classes of numbers included."""
    if record is None:
        return None
    slots = [name for kind in type(record).__mro__ for name in getattr(kind, "__slots__", ())]
    return {name: deep(getattr(record, name)) for name in slots}


def deep(value: Any) -> Any:
    if isinstance(value, dict):
        return [(deep(key), deep(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [deep(item) for item in value]
    if hasattr(value, "_values"):
        return (value.schema, deep(value._values))
    if hasattr(value, "key") and hasattr(value, "schema"):
        return (value.key, value.schema, deep(value.value))
    return (type(value).__name__, repr(value) if isinstance(value, float) else value)


def outcome(transforms: Transforms, records: list[Any]) -> Any:
    try:
        return [shown(record) for record in transforms.steps.apply(records)]
    except ConnectError as error:
        return (str(error), type(error.__cause__).__name__, str(error.__cause__))


@pytest.mark.parametrize("case", envelopes.as_params(CASES))
def test_a_batch_is_changed_as_its_records_are(case: dict[str, Any]) -> None:
    config = chain_config([case])
    ordinary, owned = Transforms(config, PLUGINS), Transforms(config, PLUGINS, owned=True)
    for size in (1, FEW):
        one_by_one = outcome(ordinary, [record_of(case["kind"], case["in"]) for _ in range(size)])
        at_once = outcome(owned, [record_of(case["kind"], case["in"]) for _ in range(size)])
        assert at_once == one_by_one


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("chains.jsonl")))
def test_a_batch_of_different_records_goes_through_a_chain(case: dict[str, Any]) -> None:
    config = chain_config(case["steps"])
    bodies = [body for body, out in zip(case["ins"], case["outs"], strict=True) if out["error"] is None]
    ordinary, owned = Transforms(config, PLUGINS), Transforms(config, PLUGINS, owned=True)
    kind = "sink" if bodies and "offset" in bodies[0] else "source"
    expected = [outcome(ordinary, [record_of(kind, body)]) for body in bodies]
    assert outcome(owned, [record_of(kind, body) for body in bodies]) == [each for found in expected for each in found]
    for body, found in zip(bodies, expected, strict=True):
        assert outcome(owned, [record_of(kind, body) for _ in range(FEW)]) == found * FEW


def test_columns_are_what_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the tests above: cases do come to the column forms, and many of them are taken."""
    taken: list[Batch] = []
    ordinary = Batch.replace
    monkeypatch.setattr(Batch, "replace", lambda batch, **parts: (taken.append(batch), ordinary(batch, **parts))[1])
    found: Counter[str] = Counter()
    for case in CASES:
        if case["error"] is None:
            records = [record_of(case["kind"], case["in"]) for _ in range(FEW)]
            Transforms(chain_config([case]), PLUGINS, owned=True).steps.apply(records)
            found[case["class"].rpartition(".")[2].partition("$")[0]] += len(taken)
            taken.clear()
    names = ("Cast", "ExtractField", "Flatten", "HoistField", "InsertField", "MaskField", "RegexRouter", "ReplaceField")
    assert {name for name, count in found.items() if count} == {*names, "TimestampConverter", "ValueToKey"}
    # Not those that cast a whole value, have a predicate, or lack what they ask for.
    assert found.total() >= 150, found


def test_a_bad_record_in_a_column_is_found_alone() -> None:
    cast = {"class": "org.apache.kafka.connect.transforms.Cast$Value", "config": {"spec": "n:int8"}}
    insert = {
        "class": "org.apache.kafka.connect.transforms.InsertField$Value",
        "config": {"static.field": "s", "static.value": "v"},
    }
    owned = Transforms(chain_config([insert, cast]), PLUGINS, owned=True)
    bodies = [{**PASSES, "key": _plain(None), "value": _plain({"n": n})} for n in "1x345678901"]
    records = [record_of("sink", body) for body in bodies]
    with pytest.raises(ConnectError, match="the transform t1 failed at any-0@3"):
        owned.steps.apply(records)
    assert [record.value for record in records][:3] == [{"n": 1, "s": "v"}, {"n": "x", "s": "v"}, {"n": "3", "s": "v"}]


def _plain(payload: Any) -> dict[str, Any]:
    return {"schema": None, "payload": payload}
