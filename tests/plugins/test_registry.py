"""What is found by metadata alone, and under which names."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import kconnect
from kconnect.api import Predicate, Transformation
from kconnect.errors import BadRequestError, ConnectError, NotFoundError
from kconnect.plugins.registry import PluginDesc, PluginVersionError, Registry, class_name
from tests.rig.systems.plugin_packages import PluginPackage

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


# Pinned on Connect, as its validation offers it, and the examples of KIP-891.
@pytest.mark.parametrize("version", ["4.3.1", "[3.5,)", "[2.3.2,2.4),[2.4.2,2.5),[2.5.2,2.6),[2.6.1,)"])
def test_connect_s_own_plugins_have_connect_s_version(registry: Registry, version: str) -> None:
    own = [plugin for plugin in registry.plugins if plugin.class_name.startswith("org.apache.kafka.")]
    assert len(own) > 40
    for plugin in own:
        assert registry.find(plugin.class_name, plugin.kind, version).version == kconnect.CONNECT_VERSION
        if plugin.kind in ("connector", "converter", "header_converter"):
            assert registry.load(plugin.class_name, plugin.kind)().version() == kconnect.CONNECT_VERSION


def test_what_connect_has_not_has_kconnect_s_version(registry: Registry) -> None:
    ours = [plugin for plugin in registry.plugins if plugin.python_path.startswith("kconnect.")]
    others = [plugin for plugin in ours if not plugin.class_name.startswith("org.apache.kafka.")]
    assert {plugin.name for plugin in others} >= {"Expression", "Python", "AvroConverter"}
    assert {plugin.version for plugin in others} == {kconnect.__version__}


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
        code = {"thing.py": f"class ThingConnector: release = '{version}'\n"}
        PluginPackage("thing", version, code, {"kconnect.connectors": {"Thing": "thing:ThingConnector"}}).install(tmp_path)
    registry = Registry.scan([str(tmp_path)])
    assert registry.versions("Thing", "connector") == ["1.10", "1.10rc1", "1.9"]
    assert registry.versions("Nope", "connector") == []
    for wanted, version in (
        *((None, "1.10"), ("latest", "1.10"), ("1.9", "1.9"), (" [1.9] ", "1.9"), ("[1.9,1.10)", "1.10rc1")),
        *(("[1.9,1.10-alpha)", "1.9"), ("(,1.9],[5,)", "1.9"), ("1.9.0", "1.9")),
    ):
        assert registry.find("Thing", "connector", wanted).location == str(tmp_path / f"thing-{version}"), wanted
    with pytest.raises(
        PluginVersionError,
        match=r"^Plugin thing.ThingConnector not found that matches the version range "
        r"\[2,2\], available versions: \[1.9, 1.10rc1, 1.10\]$",
    ):
        registry.find("Thing", "connector", "2")
    with pytest.raises(BadRequestError, match=r"^Unbounded range: \[1$"):
        registry.find("Thing", "connector", "[1")
    with pytest.raises(NotFoundError):
        registry.find("Nope", "connector", "[1")


def test_two_versions_of_a_module_are_there_at_once(tmp_path: Path) -> None:
    for version in ("1", "2"):
        code = {"pair_by_test.py": f"class Pair: release = '{version}'\n"}
        PluginPackage("pair", version, code, {"kconnect.predicates": {"Pair": "pair_by_test:Pair"}}).install(tmp_path)
    registry = Registry.scan([str(tmp_path)])
    try:
        assert registry.load("Pair", "predicate", "1").release == "1"
        second = registry.load("Pair", "predicate", "2")
        assert (second.release, class_name(second)) == ("2", "pair_by_test.Pair")
        assert registry.load("Pair", "predicate", "1").release == "1"
    finally:
        sys.path[:] = [entry for entry in sys.path if not entry.startswith(str(tmp_path))]
        sys.modules.pop("pair_by_test", None)


def test_loading_names_class_and_cause(tmp_path: Path) -> None:
    code = {"loadable_by_test.py": "class Outer:\n    class Inner: ...\nvalue = 1\n", "unloadable_by_test.py": "1 / 0\n"}
    entries = {
        **{"Inner": "loadable_by_test:Outer.Inner", "Value": "loadable_by_test:value"},
        **{"Gone": "loadable_by_test:Gone", "Zero": "unloadable_by_test:Zero"},
    }
    PluginPackage("loadable", "1", code, {"kconnect.transforms": entries}).unpack(tmp_path / "loadable")
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


def test_a_process_of_the_worker_s_sees_the_directories_that_the_worker_has_seen(tmp_path: Path) -> None:
    def install(version: str, name: str = "late") -> Path:
        modules = {"kconnect.transforms": {"Late": "late:Late"}}
        return PluginPackage("late", version, {"late.py": ""}, modules).unpack(tmp_path / f"{name}-{version}")

    gone, copy, kept = install("1.0"), install("1.5"), install("1.5", "same")
    worker = Registry.scan([str(tmp_path)])
    assert worker.directories == [str(gone), str(copy), str(kept)]
    install("2.0")
    for directory in (gone, copy):
        shutil.rmtree(directory)
    host = Registry.scan([str(tmp_path)], worker.directories)
    assert [host.find("Late", "transformation").version, host.find("Late", "transformation").location] == ["1.5", str(kept)]
    with pytest.raises(PluginVersionError, match=r"available versions: \[1.5\]"):
        host.find("Late", "transformation", "1.0")
    assert host.class_names("connector") == worker.class_names("connector")


ICEBERG, OURS = "org.apache.iceberg.connect.IcebergSinkConnector", "kconnect.connectors.iceberg.connector.IcebergSinkConnector"


def with_java(*classes: str) -> Registry:
    """What is installed beside kconnect, and Java plugins with these connectors."""
    java = [
        PluginDesc(name, f"java:{name}", name.rsplit(".", 1)[-1], "connector", "1.9.2", f"/plugins/{name}", "sink")
        for name in classes
    ]
    return Registry([*Registry.scan(None).plugins, *java])


NAMES = ["IcebergSinkConnector", "IcebergSink", "Iceberg", OURS, "kconnect.connectors.iceberg.connector:IcebergSinkConnector"]


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_config_keeps_its_class_when_a_java_plugin_is_installed(name: str) -> None:
    before, after = Registry.scan(None), with_java(ICEBERG, "com.acme.Expression")
    assert before.find(name, "connector").class_name == after.find(name, "connector").class_name == OURS
    assert before.class_of_new_configs(name) == name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("IcebergSinkConnector", ICEBERG),
        (" IcebergSinkConnector ", ICEBERG),
        (ICEBERG, ICEBERG),
        ("IcebergSink", OURS),
        ("Iceberg", OURS),
        (OURS, OURS),
    ],
)
def test_in_new_configs_a_short_name_is_java_s_if_it_is_so_in_connect(name: str, meant: str) -> None:
    registry = with_java(ICEBERG)
    assert registry.find(registry.class_of_new_configs(name), "connector").class_name == meant


def test_a_name_that_two_java_plugins_have_is_ours_or_ambiguous_as_before() -> None:
    registry = with_java(ICEBERG, "com.acme.IcebergSinkConnector", "com.acme.FileStreamSinkConnector")
    assert registry.class_of_new_configs("IcebergSinkConnector") == "IcebergSinkConnector"
    assert registry.find("IcebergSinkConnector", "connector").class_name == OURS
    # One that stands for a class of Connect's is ambiguous in Connect, too.
    with pytest.raises(BadRequestError, match="More than one connector matches alias FileStreamSinkConnector"):
        registry.find("FileStreamSinkConnector", "connector")
