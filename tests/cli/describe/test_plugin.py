"""By which names `kconnect describe plugin` finds a plugin: `kconnect/cli/describe/plugin.py`."""

from __future__ import annotations

import pytest

from kconnect.cli.describe.plugin import is_called

DATAGEN = "kconnect.connectors.datagen.connector.DatagenSourceConnector"
JSON = "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.parametrize("name", [DATAGEN, "DatagenSourceConnector", "DatagenSource", "Datagen"])
def test_a_connector_is_found_by_what_configs_call_it(name: str) -> None:
    assert is_called(DATAGEN, name)


@pytest.mark.parametrize(
    ("class_name", "name"), [(DATAGEN, "Data"), (DATAGEN, ""), (JSON, "JsonConnector"), ("a.Connector", "")]
)
def test_other_names_are_others(class_name: str, name: str) -> None:
    assert not is_called(class_name, name)


def test_a_converter_is_found_without_its_ending() -> None:
    assert is_called(JSON, "Json") and is_called(JSON, "JsonConverter")
