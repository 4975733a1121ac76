"""Which version of each plugin a config gets, and where those come from (KIP-891)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.core.settings.aliases import Alias
from kconnect.core.settings.worker import WorkerSettings, converters
from kconnect.errors import ConnectError
from kconnect.plugins import chain, environments
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.scan import INSTALLED
from tests.rig.systems.plugin_packages import PluginPackage

JSON = "org.apache.kafka.connect.json.JsonConverter"
ENTRIES = {
    "kconnect.connectors": {"Own": "own:OwnConnector"},
    "kconnect.converters": {"Paper": "paper:PaperConverter"},
    "kconnect.header_converters": {"Paper": "paper:PaperConverter"},
    "kconnect.transforms": {"Fold": "paper:Fold"},
    "kconnect.predicates": {"Thick": "paper:Thick"},
}
REST = {group: entries for group, entries in ENTRIES.items() if group != "kconnect.connectors"}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """`own` in two versions, each with converters and the like of that version, which `paper` has in a third."""
    root = tmp_path_factory.mktemp("plugins")
    for version in ("1.0", "2.0"):
        PluginPackage("own", version, {}, ENTRIES).install(root)
    PluginPackage("paper", "3.0", {}, REST).install(root)
    return Registry.scan([str(root)])


def worker(**texts: str) -> WorkerSettings:
    given = {
        **{"bootstrap.servers": "b:9092", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o"},
        **{"status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON},
    }
    return WorkerSettings.from_properties({**given, **{name.replace("_", "."): text for name, text in texts.items()}}, {})


def config(**texts: str) -> dict[str, str]:
    return {"connector.class": "Own", **{name.replace("_", "."): text for name, text in texts.items()}}


def names(directories: tuple[str, ...]) -> list[str]:
    return [Path(directory).name for directory in directories]


@pytest.mark.parametrize("which", ["key", "value", "header"])
@pytest.mark.parametrize(
    ("of_connector", "asked", "expected"),
    [
        ("1.0", None, "1.0"),
        ("2.0", None, "2.0"),
        (None, None, "2.0"),
        ("1.0", "latest", "3.0"),
        ("1.0", "[2.0,3.0)", "2.0"),
        ("2.0", "3.0", "3.0"),
        ("9.0", None, "3.0"),
    ],
)
def test_a_converter_that_the_config_names_comes_from_beside_the_connector(
    plugins: Registry, which: str, of_connector: str | None, asked: str | None, expected: str
) -> None:
    """Unless it asks for a version. Connect 4.1 and later; the text of the KIP knows newest versions only."""
    given: dict[str, str | None] = {**config(), f"{which}.converter": "Paper", f"{which}.converter.plugin.version": asked}
    given["connector.plugin.version"] = of_connector
    assert chain.converter(plugins, given, converters(worker()), which).find(plugins).version == expected


def test_what_is_installed_beside_kconnect_is_beside_nothing() -> None:
    """Such a connector has no directory of its own, and so the newest version counts, wherever it is."""

    def plugin(name: str, kind: str, version: str, location: str) -> PluginDesc:
        return PluginDesc(f"own.{name}", f"own:{name}", name, kind, version, location)

    found = [
        plugin("Own", "connector", "1.0", INSTALLED),
        plugin("Paper", "converter", "1.0", INSTALLED),
        plugin("Paper", "converter", "2.0", "/plugins/paper-2.0"),
    ]
    part = chain.converter(Registry(found), config(key_converter="Paper"), converters(worker()), "key")
    assert part.find(Registry(found)).version == "2.0"


@pytest.mark.parametrize(("of_worker", "expected"), [({}, "3.0"), ({"key_converter_plugin_version": "2.0"}, "2.0")])
def test_a_converter_of_the_worker_s_has_the_worker_s_version_or_the_newest(
    plugins: Registry, of_worker: dict[str, str], expected: str
) -> None:
    given = config(connector_plugin_version="1.0", key_converter_plugin_version="1.0")
    part = chain.converter(plugins, given, converters(worker(key_converter="Paper", **of_worker)), "key")
    assert (part.find(plugins).version, part.inherited) == (expected, True)


@pytest.mark.parametrize(("version", "reason"), [("9.9", "available versions: [1.0, 2.0, 3.0]"), ("[1", "Unbounded range: [1")])
def test_a_version_of_the_worker_s_that_is_none_keeps_no_worker_from_starting(
    plugins: Registry, version: str, reason: str
) -> None:
    """KIP-891: "Connectors which inherit these configurations may fail instead"; the error says whose setting it is."""
    settings = worker(key_converter="Paper", key_converter_plugin_version=version)
    with pytest.raises(ConnectError) as failed:
        chain.converter(plugins, config(), converters(settings), "key").find(plugins)
    assert f"The worker's key.converter=Paper with key.converter.plugin.version={version} can't be used" in str(failed.value)
    assert reason in str(failed.value)


@pytest.mark.parametrize(("asked", "expected"), [(None, "3.0"), ("latest", "3.0"), ("1.0", "1.0"), ("(,3.0)", "2.0")])
def test_a_transform_or_predicate_is_the_newest_unless_it_asks(plugins: Registry, asked: str | None, expected: str) -> None:
    """KIP-891: "If a .version property is left unset … the latest overall version is used." """
    alias = Alias("a", "transforms.a.", "Fold", asked, {})
    assert chain.transform(alias).find(plugins).version == expected
    assert chain.predicate(Alias("p", "predicates.p.", "Thick", asked, {})).find(plugins).version == expected


def test_an_environment_is_that_of_the_whole_chain_in_its_order(plugins: Registry) -> None:
    given = config(
        connector_plugin_version="2.0",
        value_converter="Paper",
        value_converter_plugin_version="3.0",
        transforms="b, a",
        transforms_a_type="Fold",
        transforms_b_type="Fold",
        transforms_b_plugin_version="1.0",
        predicates="p",
        predicates_p_type="Thick",
        predicates_p_plugin_version="2.0",
    )
    assert names(environments.directories(plugins, given, worker())) == ["own-2.0", "paper-3.0", "own-1.0"]
    assert names(environments.directories(plugins, config(), worker())) == ["own-2.0"]
    assert names(environments.directories(plugins, config(), worker(value_converter="Paper"))) == ["own-2.0", "paper-3.0"]


def test_a_sink_beside_a_source_brings_its_chain_and_not_its_connector(plugins: Registry) -> None:
    fold = {"transforms": "b", "transforms.b.type": "Fold", "transforms.b.plugin.version": "1.0"}
    beside = {**config(connector_class="Own", value_converter="Paper", value_converter_plugin_version="3.0"), **fold}
    given = {**config(connector_class="FileStreamSource"), **{f"into.{name}": value for name, value in beside.items()}}
    assert names(environments.directories(plugins, given, worker())) == ["paper-3.0", "own-1.0"]
    del given["into.connector.class"]
    assert names(environments.directories(plugins, given, worker())) == []


def test_what_can_not_be_found_adds_nothing_to_an_environment(plugins: Registry) -> None:
    given = config(
        connector_plugin_version="9.9",
        key_converter="Nope",
        value_converter="Paper",
        value_converter_plugin_version="(",
        transforms="t,u,t",
        transforms_t_negate="perhaps",
    )
    assert environments.directories(plugins, given, worker()) == ()
    assert environments.directories(plugins, {"transforms": None}, worker(key_converter="Nope")) == ()
    builtin = {"connector.class": "FileStreamSource", "key.converter": "StringConverter"}
    assert environments.directories(plugins, builtin, worker()) == ()


def java(*versions: str, stamp: str = "", before: Registry | None = None) -> Registry:
    """What a worker has with these versions of a Java plugin, after what it had before."""

    def plugin(version: str) -> PluginDesc:
        location = f"/plugins/own-{version}"
        return PluginDesc("own.Source", "java:own.Source", "Source", "connector", version, location, "source", stamp)

    made = Registry([plugin(version) for version in versions])
    made.before = () if before is None else (*before.before, before)
    return made


def test_a_reload_moves_those_java_connectors_only_that_get_something_else_by_it() -> None:
    """Others stay in the hosts that know what was there when they started."""

    def of(registry: Registry, version: str | None = None) -> tuple[str, ...]:
        given: dict[str, str | None] = {"connector.class": "own.Source", "connector.plugin.version": version}
        return environments.directories(registry, given, worker())

    one = java("1.0")
    assert of(one) == of(one, "1.0") == (environments.JVM,)
    two = java("1.0", "2.0", before=one)
    assert of(two, "1.0") == (environments.JVM,)
    assert of(two) == ("jvm:1,/plugins/own-1.0,/plugins/own-2.0",)
    assert {"/plugins/own-1.0", "/plugins/own-2.0"} < environments.places(of(two))
    again = java("1.0", before=two)
    assert of(again) == of(again, "1.0") == (environments.JVM,)
    replaced = java("1.0", stamp="other", before=again)
    assert of(replaced) == of(replaced, "1.0") == ("jvm:3,/plugins/own-1.0",), "the old files are in memory there"
    assert of(java(before=replaced)) == ()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"header.converter": "SimpleHeaderConverter", "value.converter": JSON}, []),
        ({"value.converter": "StringConvertor"}, ["Invalid value StringConvertor for configuration value.converter: "]),
        ({"header.converter": "No"}, ["Invalid value No for configuration header.converter: "]),
        ({"key.converter.plugin.version": "9"}, ["Invalid value StringConverter for configuration key.converter: "]),
    ],
)
def test_converters_of_a_worker_that_are_nowhere(changes: dict[str, str], expected: list[str]) -> None:
    topics = {f"{topic}.storage.topic": topic for topic in ("config", "offset", "status")}
    own = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
    settings = WorkerSettings.from_properties({"bootstrap.servers": "a:1", "group.id": "g", **topics, **own, **changes}, {})
    problems = [str(problem) for problem in chain.missing_converters(Registry.scan(None), converters(settings))]
    assert [problem.startswith(begin) for problem, begin in zip(problems, expected, strict=True)] == [True] * len(expected)
