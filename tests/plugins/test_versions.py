"""Several versions of plugins side by side, as REST and validation show them (KIP-891)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.errors import BadRequestError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from tests.rig.systems.plugin_packages import PluginPackage

pytestmark = pytest.mark.process

MODULE = """
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.connector import SourceConnector
from kconnect.api.converter import Converter
from kconnect.api.predicate import Predicate
from kconnect.api.task import SourceTask
from kconnect.api.transformation import Transformation

TABLE = ConfigDef(ConfigKey("since.{version}", Type.STRING, None))


class OldSource(SourceConnector):
    def version(self): return "{version}"
    def start(self, props): ...
    def stop(self): ...
    def task_class(self): return SourceTask
    def task_configs(self, max_tasks): return [{{}}]
    def config(self): return TABLE


class OldTransform(Transformation):
    def configure(self, configs): ...
    def apply(self, record): return record
    def config(self): return TABLE


class OldPredicate(Predicate):
    def configure(self, configs): ...
    def test(self, record): return True
    def config(self): return TABLE


class OldConverter(Converter):
    def configure(self, configs, is_key): ...
    def from_connect_data(self, topic, schema, value, headers=None): return value
    def to_connect_data(self, topic, data, headers=None): return data
    def config(self): return TABLE
"""

KINDS = {"connectors": "Source", "transforms": "Transform", "predicates": "Predicate", "converters": "Converter"}
BASE: dict[str, str | None] = {"name": "c", "connector.class": "OldSource"}
NOT_FOUND = "Plugin {} not found that matches the version range [9.9,9.9], available versions: [1.9, 1.10]"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    root = tmp_path_factory.mktemp("versions")
    # Each kind is a module of its own, so that one connector may have different versions of different kinds.
    for kind, name in KINDS.items():
        for version in ("1.10", "1.9"):
            files = {f"old_{kind}.py": MODULE.format(version=version)}
            entries = {f"kconnect.{kind}": {f"Old{name}": f"old_{kind}:Old{name}"}}
            PluginPackage(f"old-{kind}", version, files, entries).install(root)
    worker = {"value.converter": "OldConverter", "key.converter": "org.apache.kafka.connect.storage.StringConverter"}
    made = Sandbox(Registry.scan([str(root)]), [str(root)], 30, converters=worker)
    yield made
    made.close()


def ask(sandbox: Sandbox, **changed: str | None) -> dict[str, dict[str, Any]]:
    """The rows by their names."""
    infos = sandbox.validate("OldSource", {**BASE, **changed})
    return {(row["definition"] or row["value"])["name"]: row for row in infos["configs"]}


def errors(rows: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    return {name: row["value"]["errors"] for name, row in rows.items() if row["value"]["errors"]}


def shown(row: dict[str, Any]) -> tuple[Any, Any]:
    return row["definition"]["default_value"], row["value"]["recommended_values"]


def test_each_version_is_listed_the_newest_last(sandbox: Sandbox) -> None:
    rows = [row for row in sandbox.list_plugins(connectors_only=False) if row["class"].startswith("old_")]
    assert [(row["class"].split(".")[1], row["type"], row["version"]) for row in rows] == [
        *(("OldSource", "source", "1.9"), ("OldSource", "source", "1.10")),
        *(("OldTransform", "transformation", "1.9"), ("OldTransform", "transformation", "1.10")),
        *(("OldPredicate", "predicate", "1.9"), ("OldPredicate", "predicate", "1.10")),
        *(("OldConverter", "converter", "1.9"), ("OldConverter", "converter", "1.10")),
    ]


@pytest.mark.parametrize(("version", "taken"), [(None, "1.10"), ("latest", "1.10"), ("1.9", "1.9"), ("1.9.0", "1.9")])
@pytest.mark.parametrize("kind", KINDS)
def test_a_version_s_own_settings(sandbox: Sandbox, kind: str, version: str | None, taken: str) -> None:
    assert sandbox.plugin_config(f"Old{KINDS[kind]}", version)[0]["name"] == f"since.{taken}"


@pytest.mark.parametrize("version", ["(,1.10)", "[1.9]", "1.9,1.10", "[1.9],[1.10]"])
def test_a_version_s_own_settings_by_no_range(sandbox: Sandbox, version: str) -> None:
    """KIP-891: in a URL the version is an exact one."""
    with pytest.raises(BadRequestError, match=f"^Invalid version specification: {re.escape(version)} is a range. Give one"):
        sandbox.plugin_config("OldSource", version)


def test_each_plugin_of_a_config_in_the_version_asked_for(sandbox: Sandbox) -> None:
    config = {
        "connector.plugin.version": "1.9",
        "key.converter": "OldConverter",
        "key.converter.plugin.version": "[1.10]",
        "transforms": "t",
        "transforms.t.type": "OldTransform",
        "transforms.t.plugin.version": "(,1.10)",
        "transforms.t.predicate": "p",
        "predicates": "p",
        "predicates.p.type": "OldPredicate",
        "predicates.p.plugin.version": "latest",
    }
    rows = ask(sandbox, **config)
    assert errors(rows) == {}
    assert {name for name in rows if "since" in name} == {
        *("since.1.9", "key.converter.since.1.10", "transforms.t.since.1.9", "predicates.p.since.1.10"),
    }
    # The next request asks for others, of the same modules.
    assert "transforms.t.since.1.10" in ask(sandbox, **{**config, "transforms.t.plugin.version": "1.10"})


def test_versions_to_choose_from_the_newest_first(sandbox: Sandbox) -> None:
    config = {"transforms": "t,u", "transforms.t.type": "OldTransform", "transforms.u.type": "Nope"}
    rows = ask(sandbox, **config, **{"header.converter": "Nope"})
    old = ("1.10", ["1.10", "1.9"])
    assert shown(rows["connector.plugin.version"]) == old
    assert rows["connector.plugin.version"]["value"]["value"] == "1.10"
    assert shown(rows["transforms.t.plugin.version"]) == old
    assert shown(rows["transforms.u.plugin.version"]) == (None, [])
    assert shown(rows["value.converter.plugin.version"]) == old, "the worker's"
    assert shown(rows["header.converter.plugin.version"]) == (None, [])
    assert not rows["header.converter.plugin.version"]["value"]["visible"]


def test_a_connector_that_is_not_there_in_that_version(sandbox: Sandbox) -> None:
    config = {**BASE, "connector.plugin.version": "9.9", "tasks.max": "0", "transforms": "t", "key.converter": "Nope"}
    for _ in range(2):  # Connect's second answer is a 500
        infos = sandbox.validate("OldSource", config)
        rows = {row["definition"]["name"]: row for row in infos["configs"]}
        problem = NOT_FOUND.format("old_connectors.OldSource")
        assert errors(rows) == {
            "connector.class": [problem],
            "connector.plugin.version": [problem],
            "tasks.max": ["Invalid value 0 for configuration tasks.max: Value must be at least 1"],
        }
        assert infos["error_count"] == 3
        assert infos["groups"] == ["Common", "Transforms", "Predicates", "Error Handling"]
        assert shown(rows["connector.plugin.version"]) == ("1.10", ["1.10", "1.9"])
        assert "topic.creation.groups" not in rows
        # As in Connect, of a converter that is given.
        assert rows["key.converter.plugin.version"]["value"]["visible"] is True
        assert rows["header.converter.plugin.version"]["value"]["visible"] is False


def test_what_is_no_version(sandbox: Sandbox) -> None:
    with pytest.raises(BadRequestError, match=r"^Unbounded range: \[bad$"):
        ask(sandbox, **{"connector.plugin.version": "[bad"})
    unreadable = {
        **{"key.converter": "OldConverter", "key.converter.plugin.version": "[bad"},
        **{"transforms": "t", "transforms.t.type": "OldTransform", "transforms.t.plugin.version": "(1"},
        # Of the worker's converters, which these say nothing of: refused all the same, as by Connect.
        **{"value.converter.plugin.version": "[2,1]", "header.converter.plugin.version": "[1,2"},
    }
    assert errors(ask(sandbox, **unreadable)) == {
        "key.converter.plugin.version": ["Unbounded range: [bad"],
        "value.converter.plugin.version": ["Range defies version ordering: [2,1]"],
        "header.converter.plugin.version": ["Unbounded range: [1,2"],
        "transforms.t.type": ["Unbounded range: (1"],
        "transforms.t.plugin.version": ["Unbounded range: (1"],
    }


def test_others_that_are_not_there_in_that_version(sandbox: Sandbox) -> None:
    config = {
        **{"key.converter": "OldConverter", "key.converter.plugin.version": "9.9"},
        **{"transforms": "t", "transforms.t.type": "OldTransform", "transforms.t.plugin.version": "9.9"},
    }
    rows = ask(sandbox, **config)
    converter, transform = NOT_FOUND.format("old_converters.OldConverter"), NOT_FOUND.format("old_transforms.OldTransform")
    assert errors(rows) == {
        "key.converter": [converter],
        "key.converter.plugin.version": [converter],
        "transforms.t.type": [transform],
        "transforms.t.plugin.version": [transform],
    }
    assert [name for name in rows if name.startswith("transforms.t.")] == ["transforms.t.type", "transforms.t.plugin.version"]


def test_an_unknown_class_is_the_class_s_error_only(sandbox: Sandbox) -> None:
    config = {
        **{"key.converter": "Nope", "key.converter.plugin.version": "9.9"},
        **{"transforms": "t", "transforms.t.type": "Nope", "transforms.t.plugin.version": "9.9"},
    }
    assert list(errors(ask(sandbox, **config))) == ["key.converter", "transforms.t.type"]


def test_the_version_of_a_converter_that_the_worker_chose_does_not_count(sandbox: Sandbox) -> None:
    assert errors(ask(sandbox, **{"value.converter.plugin.version": "9.9"})) == {}


def test_two_versions_of_one_transform_in_a_chain(sandbox: Sandbox) -> None:
    config = {
        "transforms": "t,u",
        **{"transforms.t.type": "OldTransform", "transforms.t.plugin.version": "1.9"},
        **{"transforms.u.type": "OldTransform", "transforms.u.plugin.version": "1.10"},
    }
    rows = ask(sandbox, **config)
    assert errors(rows) == {}
    assert {name for name in rows if "since" in name} >= {"transforms.t.since.1.9", "transforms.u.since.1.10"}
