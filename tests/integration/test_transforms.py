"""Transforms and predicates of plugins in the tasks' loops, on a real broker (KIP-585)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kconnect.api.config import ConfigDef
from kconnect.api.predicate import Predicate
from kconnect.api.transformation import Transformation

from .units import (
    MemoryHost,
    Numbers,
    Plugins,
    Shelf,
    committed,
    create,
    end,
    numbers,
    sink_of,
    source_of,
    until,
    values,
    write,
)

pytestmark = pytest.mark.integration


class Append(Transformation):
    """Adds `text` to the value. Has a setting that the framework's `negate` masks."""

    def configure(self, configs: Mapping[str, str]) -> None:
        assert "predicate" not in configs
        assert "negate" not in configs
        self.text = configs["text"]

    def apply(self, record: Any) -> Any:
        return record.new_record(value=f"{record.value}{self.text}")

    def config(self) -> ConfigDef:
        return ConfigDef()


class Drop(Append):
    def configure(self, configs: Mapping[str, str]) -> None:
        assert not configs

    def apply(self, record: Any) -> Any:
        return None


class Ends(Predicate):
    """Whether the value ends with `text`."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self.text = configs["text"]

    def test(self, record: Any) -> bool:
        if record.value == "666":
            raise ValueError("not this one")
        return str(record.value).endswith(self.text)

    def config(self) -> ConfigDef:
        return ConfigDef()


CHAIN = {
    "transforms": "tail, drop",
    "transforms.tail.type": "Append",
    "transforms.tail.text": "!",
    "transforms.tail.predicate": "even",
    "transforms.tail.negate": "true",
    "transforms.drop.type": "Drop",
    "transforms.drop.predicate": "even",
    "predicates": "even",
    "predicates.even.type": "Ends",
    "predicates.even.text": "0",
}
PLUGINS = {"Append": Append, "Drop": Drop, "Ends": Ends}
EXPECTED = [f"{number}!" for number in numbers(100) if not number.endswith("0")]


def source_host(bootstrap: str, made: list[Numbers], task: type[Numbers] = Numbers) -> MemoryHost:
    def make() -> Numbers:
        made.append(task())
        return made[-1]

    return MemoryHost(bootstrap, Plugins(Numbers=source_of(make), **PLUGINS))


def test_a_source_s_records_pass_the_chain_and_dropped_ones_move_the_offset(bootstrap: str, topic: str) -> None:
    host = source_host(bootstrap, [])
    unit = host.unit({"connector.class": "Numbers", "topic": topic, **CHAIN})
    until(lambda: {"last": 100} in host.offsets.values())
    end(unit)
    assert values(bootstrap, topic) == EXPECTED


def test_a_sink_gets_what_the_chain_left_and_all_offsets_are_committed(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, numbers(100))
    shelf = Shelf()
    host = MemoryHost(bootstrap, Plugins(Shelf=sink_of(lambda: shelf), **PLUGINS))
    unit = host.unit({"name": f"sink-{topic}", "connector.class": "Shelf", "topics": topic, **CHAIN})
    until(lambda: committed(bootstrap, f"connect-sink-{topic}", topic) == {0: 100})
    end(unit)
    assert shelf.values == EXPECTED


def test_an_error_in_a_predicate_fails_the_task_and_names_the_transform(bootstrap: str, topic: str) -> None:
    host = source_host(bootstrap, [])
    unit = host.unit({"connector.class": "Numbers", "topic": topic, "limit": "700", **CHAIN})
    until(lambda: "FAILED" in host.states)
    end(unit)
    trace = host.statuses[-1][1] or ""
    assert "the transform tail failed" in trace
    assert "not this one" in trace
    assert host.writes[-1] == {"last": 665}, "what comes before the bad record is done"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"transforms": "a"}, 'Missing required configuration "transforms.a.type"'),
        ({"transforms": "a", "transforms.a.type": "Nope"}, "transforms.a (Nope) can't be used"),
        ({"transforms": "a", "transforms.a.type": "Drop", "transforms.a.predicate": "p"}, "there is no predicate of that"),
    ],
)
def test_a_chain_that_can_t_be_built_fails_the_task(bootstrap: str, topic: str, config: dict[str, str], message: str) -> None:
    host = source_host(bootstrap, [])
    unit = host.unit({"connector.class": "Numbers", "topic": topic, **config})
    until(lambda: "FAILED" in host.states)
    end(unit)
    assert message in (host.statuses[-1][1] or "")


def test_expressions_and_functions_of_an_allowed_folder(bootstrap: str, topic: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def twice(record):\n    return record.new_record(value=record.value * 2)\n")
    create(bootstrap, topic)
    made: list[Numbers] = []

    def make() -> Numbers:
        made.append(Numbers())
        return made[-1]

    host = MemoryHost(bootstrap, Plugins(Numbers=source_of(make)), **{"python.transform.path": str(tmp_path)})
    config = {
        "connector.class": "Numbers",
        "topic": topic,
        "limit": "10",
        "transforms": "few,twice",
        "transforms.few.type": "Expression",
        "transforms.few.drop": "int(value) > 3",
        "transforms.twice.type": "Python",
        "transforms.twice.function": "mine:twice",
        "transforms.twice.predicate": "one",
        "transforms.twice.negate": "true",
        "predicates": "one",
        "predicates.one.type": "Expression",
        "predicates.one.expression": "value == '1'",
    }
    unit = host.unit(config)
    until(lambda: host.offsets.get("{'of': 'numbers'}") == {"last": 10})
    end(unit)
    assert values(bootstrap, topic) == ["1", "22", "33"]
    # The control: where the worker allows no folder, the same task fails.
    refused = MemoryHost(bootstrap, Plugins(Numbers=source_of(make)))
    unit = refused.unit(config)
    until(lambda: refused.states[-1:] == ["FAILED"])
    end(unit)
    assert "python.transform.path" in (refused.statuses[-1][1] or "")
