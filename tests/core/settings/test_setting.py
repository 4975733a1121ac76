"""Rows that know the type of what they hold; `settings/setting.py`. Who reads them is tested beside the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kconnect.api.config import NO_DEFAULT, ConfigDef, Importance, Range, Type
from kconnect.core.settings.setting import BOOLEAN, INT, LIST, STRING, table
from kconnect.core.settings.worker import WORKER_CONFIG, WorkerSettings
from kconnect.errors import ConfigError


class House:
    rooms_max = INT("rooms.max", 3, Range.at_least(1), "most rooms")
    street = STRING("street")
    _guests = LIST("guests", None)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    @property
    def guests(self) -> list[str]:
        return self._guests or ["nobody"]


def test_a_class_is_its_own_table_in_the_order_of_its_attributes() -> None:
    made = table(House)
    assert list(made.keys) == ["rooms.max", "street", "guests"]
    assert made.keys["rooms.max"].type is Type.INT
    assert made.keys["street"].default is NO_DEFAULT
    assert made.keys["street"].importance is Importance.HIGH


def test_an_attribute_is_what_the_table_parsed() -> None:
    house = House(table(House).parse({"rooms.max": " 4 ", "street": "Long"}))
    rooms: int = house.rooms_max
    assert (rooms, house.street, house.guests) == (4, "Long", ["nobody"])


def test_a_row_is_read_by_its_name_and_not_by_its_place() -> None:
    first, second = INT("first", 1), BOOLEAN("second", False)
    parsed = ConfigDef(second.key, first.key).parse({"first": "2"})
    assert (first.of(parsed), second.of(parsed)) == (2, False)


def test_an_attribute_has_its_settings_name() -> None:
    # Python 3.12 raises what `__set_name__` raised; those before wrap it.
    with pytest.raises((TypeError, RuntimeError)):
        type("Wrong", (), {"cellars": INT("rooms.max", 1)})


def test_every_setting_of_a_worker_is_an_attribute() -> None:
    for name in WORKER_CONFIG.keys:
        attribute = name.replace(".", "_")
        assert hasattr(WorkerSettings, attribute) or hasattr(WorkerSettings, f"_{attribute}"), name


def test_one_setting_is_read_by_its_type_and_default() -> None:
    rooms, street = House.rooms_max, House.street
    assert rooms.read({"rooms.max": " 4 "}) == 4
    assert rooms.read({"rooms.max": None}) == rooms.read({}) == 3
    # Its rule is validation's.
    assert rooms.read({"rooms.max": "0"}) == 0
    with pytest.raises(ConfigError, match="Not a number of type INT"):
        rooms.read({"rooms.max": "many"})
    with pytest.raises(ConfigError, match='Missing required configuration "street"'):
        street.read({})


def test_a_list_that_is_a_default_is_not_shared() -> None:
    row = LIST("names", [])
    row.read({}).append("one")
    assert row.read({}) == []
