"""What comes out otherwise of a changed chain; `tests/integration/test_cli_dlq.py` asks workers for the one that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kconnect.cli import connector_file
from kconnect.cli.chains import against
from kconnect.cli.chains.preview import run
from kconnect.cli.files import InputError
from tests.transforms.test_golden import PLUGINS

CONFIG = {
    "name": "orders",
    "connector.class": "com.acme.OrdersSource",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "transforms": "mask",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "card",
}
RECORD: dict[str, Any] = {"topic": "orders", "value": {"id": 7, "card": "4111"}}


def of_file(tmp_path: Path, text: str, name: str = "changes.yaml") -> dict[str, str]:
    (tmp_path / name).write_text(text)
    return against.changed(CONFIG, tmp_path / name)


def test_settings_of_a_file_go_on_top_and_null_takes_one_away(tmp_path: Path) -> None:
    found = of_file(tmp_path, "transforms.mask.fields: id\nvalue.converter.schemas.enable: null\ntasks.max: 2\n")
    without = {name: text for name, text in CONFIG.items() if name != "value.converter.schemas.enable"}
    assert found == {**without, "transforms.mask.fields": "id", "tasks.max": "2"}


def test_a_file_with_a_class_is_the_whole_new_config(tmp_path: Path) -> None:
    whole = {"name": "orders", "config": {"connector.class": "com.acme.OrdersSource", "tasks.max": None}}
    assert of_file(tmp_path, json.dumps(whole), "orders.json") == {"name": "orders", "connector.class": "com.acme.OrdersSource"}


def test_a_file_without_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no connector's config"):
        of_file(tmp_path, "")


@pytest.fixture
def compared() -> Iterator[Any]:
    """What differs between the chain above and one with changes, for a record."""
    with ExitStack() as stack:

        def compare(record: Any = RECORD, **changes: str) -> list[against.Change]:
            settings = connector_file.worker_of(None)
            chains = []
            for config in (CONFIG, {**CONFIG, **{name.replace("__", "."): text for name, text in changes.items()}}):
                chains.append(connector_file.build("config", config, "source", settings, PLUGINS))
                stack.callback(chains[-1].close)
            return against.differences(*(run(chain, record, "record") for chain in chains))

        yield compare


def test_nothing_differs_of_the_same_chain(compared: Any) -> None:
    assert compared() == []
    assert compared(tasks__max="7") == []


def test_fields_and_bytes_that_differ_are_shown(compared: Any) -> None:
    assert compared(transforms__mask__fields="id") == [
        ("~", "value.id", "7 → 0"),
        ("~", "value.card", '"" → "4111"'),
        ("~", "bytes value", '{"id":7,"card":""}  (18 bytes) → {"id":0,"card":"4111"}  (22 bytes)'),
    ]


def test_bytes_alone_may_differ(compared: Any) -> None:
    ((mark, place, text),) = compared(value__converter__schemas__enable="true")
    assert (mark, place) == ("~", "bytes value")
    assert text.startswith('{"id":7,"card":""}') and '"payload":' in text


def test_a_record_that_fails_or_is_dropped_says_so(compared: Any) -> None:
    ((_, place, text),) = compared(transforms__mask__fields="id", transforms__mask__replacement="x")
    assert place == "record" and text.startswith("out → failed at mask: DataException")
    ((_, _, text),) = compared(transforms="mask,drop", transforms__drop__type="Filter")
    assert text == "out → dropped"


def test_a_failure_that_is_tolerated_now_comes_out_otherwise(compared: Any) -> None:
    odd = {"topic": "orders", "value": "4111"}
    assert compared(odd) == []
    ((_, _, text),) = compared(odd, errors__tolerance="all")
    assert text.startswith("failed at mask") and " → skipped at mask" in text


def test_the_summary_counts() -> None:
    assert against.summary(3, 0) == "3 records: all are unchanged"
    assert against.summary(1, 0) == "1 record: it is unchanged"
    assert against.summary(3, 1) == "3 records: 1 differs, 2 unchanged"
