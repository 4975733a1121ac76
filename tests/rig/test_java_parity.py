"""The parts of the comparison of Java connectors that need no worker: its rules, and what is known to differ."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from tests.rig.java_parity import normal
from tests.rig.java_parity.cases import CASES
from tests.rig.java_parity.known import KNOWN
from tests.rig.parity.compare import differences
from tests.rig.parity.expected import Known
from tests.rig.test_parity import COMPATIBILITY


def places(theirs: object, ours: object) -> list[str]:
    return [difference.where for difference in differences("t", theirs, ours)]


def test_each_case_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.id)
def test_what_is_known_to_differ_is_in_the_docs(known: Known) -> None:
    lines = COMPATIBILITY.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith(f"| {known.row} |")], f"no row begins with: {known.row}"


def test_a_time_is_replaced_only_if_it_is_of_the_run() -> None:
    now = time.time()
    rule = normal.time_since(now - 60, "ms")
    assert rule(int(now * 1000)) == "<time of the run, ms>"
    assert rule(str(int(now * 1000))) == "<time of the run, ms>"
    for other in (int((now - 3600) * 1000), int((now + 3600) * 1000), int(now), 0, None, True, "soon"):
        assert rule(other) == other


def test_ranks_keep_what_is_equal_and_what_came_later() -> None:
    parts = {"lsn": r"^\d+$", "sequence": r"\d+", "id": r"(?<=:)\d+$"}
    data = [{"lsn": 700, "sequence": '["500","700"]'}, {"lsn": 900, "id": "3:500", "other": 900}]
    made = normal.apply(normal.Ranks("lsn", parts, data).rules, data)
    assert made == [
        {"lsn": "<lsn 1>", "sequence": '["<lsn 0>","<lsn 1>"]'},
        {"lsn": "<lsn 2>", "id": "3:<lsn 0>", "other": 900},
    ]
    swapped = [{"lsn": 900, "sequence": '["500","900"]'}, {"lsn": 700, "id": "3:500", "other": 900}]
    assert places(made, normal.apply(normal.Ranks("lsn", parts, swapped).rules, swapped)) != []


def test_ranks_leave_what_has_no_such_number() -> None:
    data = [{"id": 5}, {"id": "text"}, {"id": None}]
    assert normal.apply(normal.Ranks("lsn", {"id": r"(?<=:)\d+$"}, data).rules, data) == data


def test_the_order_of_fields_counts() -> None:
    one, other = (
        normal.with_order(normal.parsed(text)) for text in (b'{"a": 1, "b": [{"c": 1}]}', b'{"b": [{"c": 1}], "a": 1}')
    )
    assert places(one, other) == ["<order>[0]", "<order>[1]"]


def test_keys_and_values_are_json_texts_or_bytes() -> None:
    assert [normal.parsed(data) for data in (None, b"", b"5", b'"5"', b"{", b"\xff\x00")] == [
        None,
        "",
        5,
        "5",
        "{",
        "bytes ff00",
    ]
