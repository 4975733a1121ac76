"""Golden cases of converters: keys and values, several calls on one instance, and headers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from kconnect.data.column import Column
from kconnect.data.schema import NULL
from tests.rig.golden import envelopes, plugins
from tests.rig.golden.errors import Case, Difference, Unreadable, expect, only, phase, same

Convert = Callable[[Case], Any]


def converter(case: Case) -> None:
    only(
        case, "id", "direction", "converter", "config", "isKey", "topic", "bytes_base64", "error",
        text=..., out=..., validation=..., **{"in": ...},
    )  # fmt: skip

    def run() -> Any:
        return _key_or_value(case)(case)

    _check(case, case, run)


def sequence(case: Case) -> None:
    only(case, "id", "converter", "config", "isKey", "topic", "steps", "results")
    convert = _key_or_value(case)
    same(len(case["results"]), len(case["steps"]), "how many results")
    for at, (step, result) in enumerate(zip(case["steps"], case["results"])):
        only(step, "direction", text=..., bytes_base64=..., **{"in": ...})
        only(result, "error", text=..., bytes_base64=..., out=...)

        def run(step: Case = step) -> Any:
            return convert(step)

        try:
            _check(step, result, run)
        except Difference as different:
            raise Difference(different.expected, different.got, f"step {at} {different.where}") from different


def header_converter(case: Case) -> None:
    only(
        case, "id", "direction", "converter", "config", "topic", "header", "bytes_base64", "error",
        text=..., out=..., java_null=..., validation=..., **{"in": ...},
    )  # fmt: skip

    def run() -> Any:
        made = plugins.load(case["converter"], "header_converter")()
        with phase("configure"):
            made.configure({"converter.type": "header", **case["config"]})
        if case["direction"] == "fromConnectHeader":
            schema, value = envelopes.value_of(case["in"])
            with phase("fromConnectHeader"):
                return made.from_connect_header(case["topic"], case["header"], schema, value)
        with phase("toConnectHeader"):
            return made.to_connect_header(case["topic"], case["header"], _bytes_of(case))

    _check(case, case, run)


def _key_or_value(case: Case) -> Convert:
    made = plugins.load(case["converter"], "converter")()
    with phase("configure"):
        made.configure(case["config"], case["isKey"])

    def convert(step: Case) -> Any:
        if step["direction"] == "fromConnectData":
            schema, value = envelopes.value_of(step["in"])
            with phase("fromConnectData"):
                written = made.from_connect_data(case["topic"], schema, value)
            together = _at_once(lambda: made.from_connect_all(case["topic"], Column(schema, [value, value])))
            if together is not None:
                same(list(together), [written, written], "many at once")
            return written
        data = _bytes_of(step)
        with phase("toConnectData"):
            read = made.to_connect_data(case["topic"], data)
        if data is not None:
            together = _at_once(lambda: made.to_connect_all(case["topic"], [data, data]))
            if together is not None:
                same(together.schema, read.schema, "schema of many at once")
                found = [envelopes.plain(each, read.schema) for each in together]
                same(found, [envelopes.plain(read.value, read.schema)] * 2, "many at once")
        return read

    return convert


def _at_once(convert: Callable[[], Any]) -> Any:
    """What the form for many gives; None where it leaves them to the other one."""
    try:
        return convert()
    except Exception:  # noqa: BLE001 - as the chain has it
        return None


def _check(step: Case, result: Case, run: Callable[[], Any]) -> None:
    if step["direction"] not in ("fromConnectData", "toConnectData", "fromConnectHeader", "toConnectHeader"):
        raise Unreadable(f"no such direction: {step['direction']}")
    found = expect(result["error"], run)
    if result["error"] is not None:
        return
    if step["direction"].startswith("from"):
        _check_bytes(found, _bytes_of(result), envelopes.has_unordered_map(step["in"]))
    elif result.get("java_null"):
        # Ours has no other null to give.
        same(found, NULL)
    else:
        envelopes.check(found, result["out"])


def _bytes_of(holder: Case) -> bytes | None:
    encoded = holder["bytes_base64"]
    return None if encoded is None else base64.b64decode(encoded)


def _check_bytes(found: bytes | None, wanted: bytes | None, any_order: bool) -> None:
    """The very bytes; only entries of a map may come in another order, as a Java map has none."""
    if found == wanted:
        return
    if not any_order or found is None or wanted is None or sorted(found) != sorted(wanted) or _loaded(found) != _loaded(wanted):
        raise Difference(wanted, found, "bytes")


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data, parse_int=str, parse_float=str)
    except ValueError:
        return data
