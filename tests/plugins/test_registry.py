"""What is found by metadata alone, and under which names."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from kconnect.api import Predicate, Transformation
from kconnect.api.errors import BadRequestError, ConnectError, NotFoundError
from kconnect.plugins.registry import PluginDesc, Registry
from tests.plugins.conftest import install

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.fixture(scope="module")
def registry(plugin_path: list[str]) -> Registry:
    return Registry.scan(plugin_path)


def test_scanning_imports_nothing(plugin_path: list[str]) -> None:
    Registry.scan(plugin_path)
    assert "demo_connectors" not in sys.modules
    assert not any(directory.startswith(plugin_path[0]) for directory in sys.path)


@pytest.mark.parametrize(
    "name",
    [
        FILE_SOURCE,
        "kconnect.connectors.file_source.FileStreamSourceConnector",
        "kconnect.connectors.file_source:FileStreamSourceConnector",
        "FileStreamSourceConnector",
        "FileStreamSource",
        " FileStreamSource ",
    ],
)
def test_a_built_in_connector_has_many_names(registry: Registry, name: str) -> None:
    assert registry.find(name, "connector").class_name == FILE_SOURCE


TRANSFORMS = "org.apache.kafka.connect.transforms."
BOTH_PARTS = (
    "Cast",
    "ExtractField",
    "Flatten",
    "HeaderFrom",
    "HoistField",
    "InsertField",
    "MaskField",
    "ReplaceField",
    "SetSchemaMetadata",
    "TimestampConverter",
)
ONE_CLASS = ("DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter", "ValueToKey")
PREDICATES = ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
ALL_OF_CONNECT = [
    *(("transformation", f"{TRANSFORMS}{name}${part}") for name in BOTH_PARTS for part in ("Key", "Value")),
    *(("transformation", f"{TRANSFORMS}{name}") for name in ONE_CLASS),
    *(("predicate", f"{TRANSFORMS}predicates.{name}") for name in PREDICATES),
]


OF_OURS = [
    ("transformation", "kconnect.transforms.expression.Expression"),
    ("transformation", "kconnect.transforms.python.Python"),
    ("predicate", "kconnect.predicates.expression.Expression"),
]


def test_all_transforms_and_predicates_of_connect_are_built_in() -> None:
    kinds = ("transformation", "predicate")
    found = [(plugin.kind, plugin.class_name) for plugin in Registry.scan(None).plugins if plugin.kind in kinds]
    assert sorted(found) == sorted([*ALL_OF_CONNECT, *OF_OURS])


@pytest.mark.parametrize(("kind", "name"), OF_OURS)
def test_those_that_connect_has_not_are_found_by_their_simple_names(kind: str, name: str) -> None:
    found = Registry.scan(None).find(name.rsplit(".", 1)[-1], kind)
    assert found.class_name == name


@pytest.mark.parametrize(("kind", "java"), ALL_OF_CONNECT)
def test_a_built_in_transform_or_predicate_has_short_names_too(kind: str, java: str) -> None:
    registry = Registry.scan(None)
    simple = java.rsplit(".", 1)[-1]
    loaded = {registry.load(name, kind) for name in (java, simple, simple.replace("$", ""))}
    assert len(loaded) == 1
    made = loaded.pop()()
    assert isinstance(made, Transformation if kind == "transformation" else Predicate)
    assert all(key.doc for key in made.config().keys.values())


def test_kinds_are_apart(registry: Registry) -> None:
    assert registry.find("Json", "converter").class_name == "org.apache.kafka.connect.json.JsonConverter"
    with pytest.raises(NotFoundError, match="Failed to find any class that implements Converter and which name matches"):
        registry.find("FileStreamSource", "converter")


def test_an_ambiguous_alias_names_the_classes(registry: Registry) -> None:
    with pytest.raises(BadRequestError, match=r"^More than one connector matches alias FileStream\..*SinkConnector, "):
        registry.find("FileStream", "connector")


def test_an_unknown_class_lists_what_there_is(registry: Registry) -> None:
    text = f"which name matches Nope, available connectors are: .*{FILE_SOURCE}"
    with pytest.raises(NotFoundError, match=text):
        registry.find("Nope", "connector")


def test_nested_classes_have_java_s_names() -> None:
    plugin = PluginDesc(
        "org.apache.kafka.connect.transforms.ExtractField$Key",
        "kconnect.transforms.extract_field:ExtractField.Key",
        "ExtractField$Key",
        "transformation",
        "1",
        "installed",
    )
    registry = Registry([plugin])
    for name in ("ExtractField$Key", plugin.class_name, "kconnect.transforms.extract_field.ExtractField.Key"):
        assert registry.find(name, "transformation") is plugin


def test_the_newest_of_several_versions(tmp_path: Path) -> None:
    for version in ("1.9", "1.10", "1.10rc1"):
        install(
            tmp_path / f"v{version}",
            "thing",
            version,
            {"thing.py": f"class ThingConnector: release = '{version}'\n"},
            "[kconnect.connectors]\nThing = thing:ThingConnector\n",
        )
    registry = Registry.scan([str(tmp_path)])
    assert registry.find("Thing", "connector").version == "1.10"
    assert registry.find("Thing", "connector", "latest").version == "1.10"
    assert registry.find("Thing", "connector", "1.9").location == str(tmp_path / "v1.9")
    with pytest.raises(BadRequestError, match=r"Plugin thing.ThingConnector not found that matches .*\[2,2\], available "
                                              r"versions: \[1.9, 1.10rc1, 1.10\]"):
        registry.find("Thing", "connector", "2")


def test_of_two_copies_the_first_counts(tmp_path: Path) -> None:
    for directory in ("a", "b"):
        install(tmp_path / directory, "twin", "1", {}, "[kconnect.predicates]\nTwin = twin:Twin\n")
    twins = [plugin for plugin in Registry.scan([str(tmp_path)]).plugins if plugin.name == "Twin"]
    assert [twin.location for twin in twins] == [str(tmp_path / "a")]


def test_broken_plugins_are_listed_and_hide_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    install(tmp_path / "bad", "bad", "1", {}, "[kconnect.connectors]\nBad = no colon\nGood = good:GoodConnector\n")
    (tmp_path / "empty").mkdir()
    nameless = tmp_path / "nameless" / "x-1.dist-info"
    nameless.mkdir(parents=True)
    (nameless / "METADATA").write_text("Metadata-Version: 2.1\n")
    (tmp_path / "a-file").write_text("")
    with caplog.at_level(logging.WARNING):
        registry = Registry.scan([str(tmp_path), str(tmp_path / "missing")])
    reasons = {Path(plugin.location).name: plugin.reason for plugin in registry.broken}
    assert sorted(reasons) == ["bad", "empty", "missing", "nameless"]
    assert "Bad of bad in group kconnect.connectors is no colon: it must be module:Class" in reasons["bad"]
    assert "no distribution in it has entry points" in reasons["empty"]
    assert "can't be read" in reasons["missing"]
    assert "no Name" in reasons["nameless"]
    assert len(caplog.records) == 4
    assert registry.find("Good", "connector").location == str(tmp_path / "bad")


def test_loading_names_class_and_cause(tmp_path: Path) -> None:
    install(
        tmp_path / "loadable",
        "loadable",
        "1",
        {"loadable_by_test.py": "class Outer:\n    class Inner: ...\nvalue = 1\n", "unloadable_by_test.py": "1 / 0\n"},
        "[kconnect.transforms]\nInner = loadable_by_test:Outer.Inner\nValue = loadable_by_test:value\n"
        "Gone = loadable_by_test:Gone\nZero = unloadable_by_test:Zero\n",
    )
    registry = Registry.scan([str(tmp_path)])
    try:
        assert registry.load("Inner", "transformation").__qualname__ == "Outer.Inner"
        with pytest.raises(ConnectError, match="is not a class"):
            registry.load("Value", "transformation")
        with pytest.raises(ConnectError, match=r"The class loadable_by_test.Gone .* can't be imported: AttributeError"):
            registry.load("Gone", "transformation")
        with pytest.raises(ConnectError, match="can't be imported: ZeroDivisionError: division by zero"):
            registry.load("Zero", "transformation")
    finally:
        sys.path.remove(str(tmp_path / "loadable"))
        sys.modules.pop("loadable_by_test", None)
