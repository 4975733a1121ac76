"""
KIP-891 on a real worker, real Spark and real Kafka: a test for each claim of the text, in its order as far as that goes.

The plugins of `versioned.py` are in `plugin.path` in the versions 1.9 and 1.10, each in a directory of its own, and all have
dependencies that are in conflict. Their records say which versions have made them. The worker's own converters are one of a
version that is there, one of a version that is not, and one of a version that can't be read. The last tests come after an
upgrade: 2.0 was installed, 1.9 taken away, and the worker started again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.integration.transfer import read_topic_pairs
from tests.kip import versioned
from tests.support import wait_until

# A worker is started twice, and each time with Spark, which takes minutes on a machine that has much else to do.
pytestmark = pytest.mark.timeout(900)

Names = Callable[[str], str]

STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
GROUP = "kip-891"


@dataclass
class Fleet:
    """The worker with its plugins, and what its connectors have sent."""

    worker: WorkerProcess
    broker: Broker
    plugins: Path

    @property
    def client(self) -> Any:
        return self.worker.client

    def config(self, name: str, **settings: str) -> dict[str, str]:
        """Of a source that sends one record whenever it starts. Keys and headers don't follow the worker's settings."""
        converters = {"key.converter": STRING, "header.converter": SIMPLE}
        dotted = {key.replace("__", "."): value for key, value in settings.items()}
        return {"name": name, "connector.class": "FleetSource", "topic": name, "tasks.max": "1", **converters, **dotted}

    def values(self, topic: str) -> list[str]:
        found = read_topic_pairs(self.broker.bootstrap_servers, topic)
        return [value.decode() for _, value in found if value is not None]

    def next_value(self, name: str, known: int = 0) -> str:
        """The record that came after the `known` first ones."""

        def there() -> list[str] | None:
            try:
                found = self.values(name)
            except KeyError:  # no such topic yet
                return None
            return found if len(found) > known else None

        # Spark may only be starting, on a machine that does ten things besides.
        try:
            return wait_until(there, 400)[known]
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.client.status(name)}") from error

    def made_by(self, name: str, **settings: str) -> str:
        """Run a connector with these settings, of this name or changed; gives the record that it sends then."""
        existing = name in self.client.connectors()
        known = len(self.values(name)) if existing else 0
        self.client.put_config(name, self.config(name, **settings))
        return self.next_value(name, known)

    def running(self, *names: str) -> None:
        for name in names:
            self.client.wait_for(name, "RUNNING", tasks=1, timeout=240)


@pytest.fixture(scope="module")
def fleet(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    directory = tmp_path_factory.mktemp("kip-891")
    blue, green = directory / "plugins" / "blue", directory / "plugins" / "green"
    versioned.install(blue, "1.9")
    # Both ways of the text's example: versions side by side in one directory of plugin.path, and in several.
    versioned.install(green, "1.10")
    # Of the version that the connector above has not, and of none at all.
    for version in ("1.1", "1.2"):
        versioned.bar(version).unpack(green / "bar-connector")
    versioned.without_version(versioned.lone("0.0.1").unpack(green / "lone-unversioned"))
    versioned.lone("0.0.1-alpha").install(green)
    properties = {
        **QUICK,
        # Who starves for 3 s of a session of 4 s loses touch: its units begin anew, and tests count their records.
        "session.timeout.ms": "20000",
        "task.hosts": "1",
        "plugin.path": f"{blue},{green}",
        **{"value.converter": "Stamp", "value.converter.plugin.version": "1.9"},
        **{"key.converter": "Stamp", "key.converter.plugin.version": "9.9"},
        **{"header.converter": "StampHeader", "header.converter.plugin.version": "[bad"},
    }
    worker = WorkerProcess(directory, broker.bootstrap_servers, GROUP, properties=properties)
    try:
        # Worker Startup: invalid versions are no reason not to start.
        worker.start()
        yield Fleet(worker, broker, directory / "plugins")
    finally:
        worker.stop()


@pytest.fixture
def name(fleet: Fleet, unique: Names) -> Iterator[str]:
    """A connector's, and its topic's; it is deleted at the end."""
    chosen = unique(GROUP)
    yield chosen
    for each in fleet.client.connectors():
        if each.startswith(chosen):
            fleet.client.delete(each)


def errors(infos: dict[str, Any]) -> dict[str, list[str]]:
    return {row["value"]["name"]: row["value"]["errors"] for row in infos["configs"] if row["value"]["errors"]}


def row(infos: dict[str, Any], setting: str) -> dict[str, Any]:
    """The setting's default, recommended values and visibility."""
    (found,) = [each for each in infos["configs"] if each["value"]["name"] == setting]
    value = found["value"]
    return {
        "default": found["definition"]["default_value"],
        "recommended": value["recommended_values"],
        "visible": value["visible"],
    }


# Configuration


def test_what_is_not_given_is_the_newest(fleet: Fleet, name: str) -> None:
    """No version of the connector, of a converter that it names, of its transforms and predicates."""
    chain = {
        "value__converter": "Stamp",
        **{"transforms": "m", "transforms__m__type": "Mark", "transforms__m__predicate": "p"},
        **{"predicates": "p", "predicates__p__type": "IsVersion", "predicates__p__which": "1.10"},
    }
    assert fleet.made_by(name, **chain) == "source 1.10 of 1.10; mark 1.10 (); stamp 1.10 (converter.type)"
    # Its config says no more than the user wrote.
    assert not any("plugin.version" in setting for setting in fleet.client.get_config(name))


@pytest.mark.long
def test_any_single_version_can_be_changed_at_a_time(fleet: Fleet, name: str) -> None:
    """Each of the settings controls the plugin that it names, and only that."""
    settings = {
        "value__converter": "Stamp",
        **{"transforms": "m", "transforms__m__type": "Mark"},
        "connector__plugin__version": "1.10",
        "value__converter__plugin__version": "1.10",
        "transforms__m__plugin__version": "1.10",
    }
    record = "source {0} of {0}; mark {1} (); stamp {2} (converter.type)"
    assert fleet.made_by(name, **settings) == record.format("1.10", "1.10", "1.10")
    settings["connector__plugin__version"] = "1.9"
    assert fleet.made_by(name, **settings) == record.format("1.9", "1.10", "1.10")
    settings["value__converter__plugin__version"] = "1.9"
    assert fleet.made_by(name, **settings) == record.format("1.9", "1.10", "1.9")
    settings["transforms__m__plugin__version"] = "1.9"
    assert fleet.made_by(name, **settings) == record.format("1.9", "1.9", "1.9")
    # Changed together, where two go with each other only.
    settings.update({setting: "1.10" for setting in settings if setting.endswith("version")})
    assert fleet.made_by(name, **settings) == record.format("1.10", "1.10", "1.10")


def test_keys_and_headers_have_converters_in_versions_too(fleet: Fleet, name: str) -> None:
    settings = {
        **{"key__converter": "Stamp", "key__converter__plugin__version": "1.9"},
        **{"header__converter": "StampHeader", "header__converter__plugin__version": "[1.10,)"},
        **{"value__converter": "Stamp", "value__converter__plugin__version": "1.10", "headers": "yes"},
        **{"transforms": "k", "transforms__k__type": "org.apache.kafka.connect.transforms.HoistField$Key"},
        "transforms__k__field": "k",
    }
    fleet.made_by(name, **settings)
    consumer = ck.Consumer({"bootstrap.servers": fleet.broker.bootstrap_servers, "group.id": f"{name}-reader"})
    try:
        consumer.assign([ck.TopicPartition(name, 0, 0)])
        message = wait_until(lambda: consumer.poll(1))
        assert message.error() is None
        assert message.key().endswith(b"; stamp 1.9 (converter.type)")
        assert message.value().endswith(b"; stamp 1.10 (converter.type)")
        assert message.headers() == [("made", b"here; stamp 1.10 (converter.type)")]
    finally:
        consumer.close()


def test_two_versions_run_in_parallel(fleet: Fleet, name: str) -> None:
    """Two connectors, and two transforms of one connector, each with its own version and its own dependencies."""
    old, new = f"{name}-old", f"{name}-new"
    both = {"transforms": "n,o", "transforms__n__type": "Mark", "transforms__o__type": "Mark"}
    fleet.client.create(old, fleet.config(old, connector__plugin__version="1.9", **both, transforms__n__plugin__version="1.9"))
    fleet.client.create(new, fleet.config(new, **both, transforms__o__plugin__version="1.9"))
    assert fleet.next_value(old) == "source 1.9 of 1.9; mark 1.9 (); mark 1.10 (); stamp 1.9 (converter.type)"
    assert fleet.next_value(new) == "source 1.10 of 1.10; mark 1.10 (); mark 1.9 (); stamp 1.9 (converter.type)"
    fleet.running(old, new)
    assert [fleet.client.status(each)["tasks"][0]["version"] for each in (old, new)] == ["1.9", "1.10"]


@pytest.mark.parametrize(
    ("version", "chosen"),
    [
        *(("1.9", "1.9"), ("[1.9]", "1.9"), ("1.9.0", "1.9"), ("latest", "1.10")),
        *(("[1.9,)", "1.10"), ("(,1.10)", "1.9"), ("[1.8,1.10),[2,)", "1.9"), ("[1.0,1.5),[1.9.1,3.0)", "1.10")),
    ],
)
def test_ranges_as_maven_writes_them(fleet: Fleet, version: str, chosen: str) -> None:
    """The latest installed version which satisfies the requirement; a bare version is a hard one, and 1.10 is after 1.9."""
    config = fleet.config("ranges", connector__plugin__version=version)
    infos = fleet.client.validate("FleetSource", config)
    assert errors(infos) == {}
    (since,) = [each["value"]["name"] for each in infos["configs"] if each["value"]["name"].startswith("since.")]
    assert since == f"since.{chosen}"


def test_the_version_of_a_converter_that_the_worker_names_is_ignored(fleet: Fleet, name: str) -> None:
    """`key.converter.plugin.version` without `key.converter`: silently ignored. Here it is the value's."""
    settings = {"value__converter__plugin__version": "(,1.5)"}
    assert errors(fleet.client.validate("FleetSource", fleet.config(name, **settings))) == {}
    assert fleet.made_by(name, **settings) == "source 1.10 of 1.10; stamp 1.9 (converter.type)"


def test_versions_never_reach_the_plugins(fleet: Fleet, name: str) -> None:
    """Stripped before `configure`; a setting `version` of the plugin's own is not meant, and reaches it."""
    settings = {
        **{"value__converter": "Stamp", "value__converter__plugin__version": "1.9", "value__converter__ink__1__9": "x"},
        **{"transforms": "m", "transforms__m__type": "Mark", "transforms__m__version": "mine"},
        **{"transforms__m__plugin__version": "1.9", "transforms__m__predicate": "p"},
        **{"predicates": "p", "predicates__p__type": "IsVersion", "predicates__p__which": "1.10"},
        "predicates__p__plugin__version": "1.10",
    }
    # The predicate says no if it finds its own version.
    expected = "source 1.10 of 1.10; mark 1.9 (version); stamp 1.9 (converter.type,ink.1.9)"
    assert fleet.made_by(name, **settings) == expected


# Worker startup


def test_the_worker_s_own_version(fleet: Fleet, name: str) -> None:
    """A connector that inherits the converter inherits its version, 1.9, and the rest of it is the newest all the same."""
    assert fleet.made_by(name) == "source 1.10 of 1.10; stamp 1.9 (converter.type)"


@pytest.mark.parametrize(
    ("inherited", "reason"),
    [
        ("key.converter", "Plugin stamp.StampConverter not found that matches the version range [9.9,9.9]"),
        ("header.converter", "Unbounded range: [bad"),
    ],
)
def test_connectors_fail_that_inherit_a_version_which_is_not_there(
    fleet: Fleet, name: str, inherited: str, reason: str
) -> None:
    """The worker has started with them. What inherits them fails, and says whose setting it is; nothing else is hurt."""
    config = fleet.config(name)
    del config[inherited]
    fleet.client.create(name, config)
    status = fleet.client.wait_for(name, "FAILED", tasks=1, timeout=240)
    (task,) = status["tasks"]
    assert f"The worker's {inherited}=" in task["trace"]
    assert reason in task["trace"]
    other = f"{name}-other"
    assert fleet.made_by(other) == "source 1.10 of 1.10; stamp 1.9 (converter.type)"
    # Mended by the connector's own config.
    assert fleet.made_by(name) == "source 1.10 of 1.10; stamp 1.9 (converter.type)"


# REST API


def listed(fleet: Fleet, word: str) -> list[dict[str, str]]:
    return [each for each in fleet.client.plugins(connectors_only=False) if word in each["class"]]


def test_each_version_is_a_plugin_of_its_own_the_default_last(fleet: Fleet) -> None:
    for path, kind in (
        *(("fleet.FleetSourceConnector", "source"), ("stamp.StampConverter", "converter")),
        *(("stamp.StampHeaderConverter", "header_converter"), ("mark.Mark", "transformation"), ("gate.IsVersion", "predicate")),
    ):
        assert listed(fleet, path) == [{"class": path, "type": kind, "version": version} for version in ("1.9", "1.10")]
    connectors = [each["class"] for each in fleet.client.plugins()]
    assert connectors.count("fleet.FleetSourceConnector") == 2
    assert "mark.Mark" not in connectors


def test_what_has_no_version_is_earlier_than_all_that_have_one(fleet: Fleet) -> None:
    path, kind = "lone.Lone", "transformation"
    assert listed(fleet, path) == [{"class": path, "type": kind}, {"class": path, "type": kind, "version": "0.0.1-alpha"}]
    infos = fleet.client.validate("FleetSource", fleet.config("n", transforms="l", transforms__l__type="Lone"))
    assert row(infos, "transforms.l.plugin.version")["recommended"] == ["0.0.1-alpha", "undefined"]


def test_two_versions_in_one_directory_are_not_installed_correctly(fleet: Fleet) -> None:
    """The text leaves open what happens: the plugin is not there, and the log says what to do."""
    assert listed(fleet, "bar.") == []
    log = fleet.worker.log.read_text(errors="replace")
    assert f"Plugins in {fleet.plugins / 'green' / 'bar-connector'}: it has the metadata of bar in the versions 1.1" in log
    assert "Install each version into a directory of its own" in log


@pytest.mark.parametrize(
    ("plugin", "setting"), [("FleetSource", "since"), ("Stamp", "ink"), ("Mark", "ink"), ("IsVersion", "ink")]
)
def test_the_settings_of_a_version(fleet: Fleet, plugin: str, setting: str) -> None:
    def own(version: str | None) -> list[str]:
        names = [each["name"] for each in fleet.client.plugin_config(plugin, version)]
        return [each for each in names if each.startswith(f"{setting}.")]

    assert (own(None), own("1.9"), own("1.10")) == ([f"{setting}.1.10"], [f"{setting}.1.9"], [f"{setting}.1.10"])
    with pytest.raises(RestError) as refused:
        fleet.client.plugin_config(plugin, "9.9")
    assert refused.value.status == 400
    assert refused.value.message.endswith("not found that matches the version range [9.9,9.9], available versions: [1.9, 1.10]")


def status_records(fleet: Fleet, name: str) -> dict[str, dict[str, Any]]:
    """The last status record of each unit, as other workers read it."""
    found = read_topic_pairs(fleet.broker.bootstrap_servers, f"{GROUP}-status")
    keys = {f"status-connector-{name}".encode(), f"status-task-{name}-0".encode()}
    return {key.decode(): json.loads(value) for key, value in found if key in keys and value is not None}


def test_statuses_say_which_version_runs(fleet: Fleet, name: str) -> None:
    client = fleet.client
    client.create(name, fleet.config(name, connector__plugin__version="1.9"))

    def versions(state: str, tasks: int = 1) -> tuple[Any, ...]:
        status = client.wait_for(name, state, tasks=tasks, timeout=240)
        shown = (status["connector"]["version"], *(task["version"] for task in status["tasks"]))
        records = status_records(fleet, name)
        assert records[f"status-connector-{name}"]["version"] == shown[0]
        return shown

    assert versions("RUNNING") == ("1.9", "1.9")
    assert client.task_status(name, 0)["version"] == "1.9"
    assert status_records(fleet, name)[f"status-task-{name}-0"]["version"] == "1.9"
    client.pause(name)
    assert versions("PAUSED") == ("1.9", "1.9")
    client.stop(name)
    assert versions("STOPPED", tasks=0) == ("1.9",)
    client.resume(name)
    assert versions("RUNNING") == ("1.9", "1.9")
    client.put_config(name, fleet.config(name, fail="yes"))
    assert versions("FAILED") == ("1.10", "1.10")
    assert client.task_status(name, 0)["version"] == "1.10"


# Metrics


def test_metrics_say_which_versions_run(fleet: Fleet, name: str) -> None:
    chain = {
        **{"transforms": "m,n", "transforms__m__type": "Mark", "transforms__n__type": "Mark"},
        **{"transforms__n__plugin__version": "1.9", "transforms__n__predicate": "p"},
        **{"predicates": "p", "predicates__p__type": "IsVersion", "predicates__p__which": "1.9"},
        "predicates__p__plugin__version": "1.9",
    }
    fleet.made_by(name, connector__plugin__version="1.9", key__converter="Stamp", **chain)

    def samples() -> dict[str, list[dict[str, str]]]:
        found: dict[str, list[dict[str, str]]] = {}
        text = httpx.get(f"{fleet.worker.url}metrics", timeout=60).text
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.labels.get("connector") == name and sample.name.endswith("_info"):
                    found.setdefault(sample.name.removeprefix("kafka_connect_"), []).append(sample.labels)
        return found

    found = wait_until(lambda: (got := samples()).get("connector_transform_info") and got)
    (task,) = found["connector_task_info"]
    builtin = task["header_converter_version"]
    assert task == {
        **{"connector": name, "task": "0"},
        **{"connector_class": "fleet.FleetSourceConnector", "connector_type": "source", "connector_version": "1.9"},
        **{"task_class": "fleet.FleetSourceTask", "task_version": "1.9"},
        **{"key_converter_class": "stamp.StampConverter", "key_converter_version": "1.10"},
        **{"value_converter_class": "stamp.StampConverter", "value_converter_version": "1.9"},
        **{"header_converter_class": SIMPLE, "header_converter_version": fleet.client.root()["version"]},
    }
    assert builtin
    assert sorted(found["connector_transform_info"], key=lambda labels: labels["transform"]) == [
        {"connector": name, "task": "0", "transform": alias, "transform_class": "mark.Mark", "transform_version": version}
        for alias, version in (("m", "1.10"), ("n", "1.9"))
    ]
    predicate = {"predicate": "p", "predicate_class": "gate.IsVersion", "predicate_version": "1.9"}
    assert found["connector_predicate_info"] == [{"connector": name, "task": "0", **predicate}]


# Validation


def not_found(path: str) -> str:
    return f"Plugin {path} not found that matches the version range [9.9,9.9], available versions: [1.9, 1.10]"


def test_without_a_version_errors_are_the_class_s_only(fleet: Fleet) -> None:
    """Also if no plugin of that name is installed, whatever the version."""
    settings = {
        **{"value__converter": "Nope", "value__converter__plugin__version": "9.9"},
        **{"transforms": "t,u", "transforms__t__type": "Nope", "transforms__u__type": "Nope"},
        **{"transforms__t__plugin__version": "9.9", "transforms__t__predicate": "p"},
        **{"predicates": "p", "predicates__p__type": "Nope", "predicates__p__plugin__version": "9.9"},
    }
    infos = fleet.client.validate("FleetSource", fleet.config("n", **settings))
    assert sorted(errors(infos)) == ["predicates.p.type", "transforms.t.type", "transforms.u.type", "value.converter"]


def test_a_version_that_is_not_there_is_the_class_s_error_and_the_version_s(fleet: Fleet, name: str) -> None:
    settings = {
        **{"value__converter": "Stamp", "value__converter__plugin__version": "9.9"},
        **{"transforms": "t", "transforms__t__type": "Mark", "transforms__t__plugin__version": "9.9"},
        **{"transforms__t__predicate": "p"},
        **{"predicates": "p", "predicates__p__type": "IsVersion", "predicates__p__plugin__version": "9.9"},
        "predicates__p__which": "1.9",
    }
    config = fleet.config(name, **settings)
    expected = {
        **{setting: [not_found("stamp.StampConverter")] for setting in ("value.converter", "value.converter.plugin.version")},
        **{f"transforms.t.{setting}": [not_found("mark.Mark")] for setting in ("type", "plugin.version")},
        **{f"predicates.p.{setting}": [not_found("gate.IsVersion")] for setting in ("type", "plugin.version")},
    }
    assert errors(fleet.client.validate("FleetSource", config)) == expected
    # This will fail connector creation.
    with pytest.raises(RestError) as refused:
        fleet.client.create(name, config)
    assert refused.value.status == 400
    assert not_found("mark.Mark") in refused.value.message
    config = fleet.config(name, connector__plugin__version="9.9")
    problem = [not_found("fleet.FleetSourceConnector")]
    assert errors(fleet.client.validate("FleetSource", config)) == {
        "connector.class": problem,
        "connector.plugin.version": problem,
    }
    with pytest.raises(RestError) as refused:
        fleet.client.create(name, config)
    assert refused.value.status == 400
    assert problem[0] in refused.value.message
    assert name not in fleet.client.connectors()


def test_classes_are_recommended(fleet: Fleet) -> None:
    """Of transforms and predicates, and of key, value and header converters."""
    settings = {"transforms": "t", "transforms__t__type": "Mark", "predicates": "p", "predicates__p__type": "IsVersion"}
    infos = fleet.client.validate("FleetSource", fleet.config("n", **settings))
    for setting, path in {
        **{f"{which}.converter": "stamp.StampConverter" for which in ("key", "value")},
        "header.converter": "stamp.StampHeaderConverter",
        "transforms.t.type": "mark.Mark",
        "predicates.p.type": "gate.IsVersion",
    }.items():
        offered = row(infos, setting)["recommended"]
        assert path in offered, setting
        assert len(offered) == len(set(offered)) > 1, setting


def test_versions_are_recommended_the_newest_first_and_it_is_the_default(fleet: Fleet) -> None:
    """A bare version, which would pin it; null and none if the class is invalid."""
    settings = {
        **{"key__converter": "Stamp", "header__converter": "Nope"},
        **{"transforms": "t,u", "transforms__t__type": "Mark", "transforms__u__type": "Nope"},
        **{"predicates": "p", "predicates__p__type": "IsVersion", "predicates__p__plugin__version": "(,1.10)"},
    }
    infos = fleet.client.validate("FleetSource", fleet.config("n", **settings))
    known = {"default": "1.10", "recommended": ["1.10", "1.9"], "visible": True}
    for plugin in ("connector", "key.converter", "value.converter", "transforms.t", "predicates.p"):
        assert row(infos, f"{plugin}.plugin.version") == known, plugin
    unknown: dict[str, object] = {"default": None, "recommended": []}
    assert row(infos, "header.converter.plugin.version") == {**unknown, "visible": False}
    assert {**row(infos, "transforms.u.plugin.version"), "visible": None} == {**unknown, "visible": None}


# Upgrades: 2.0 is installed and 1.9 removed, which takes a restart of the worker


@dataclass
class Upgraded:
    """What ran before, by what its version says; `sent` is what each had sent by then."""

    fleet: Fleet
    sent: dict[str, int]

    def runs_in(self, name: str, version: str) -> None:
        """All that it has sent since then came from that version. A task may begin with what an earlier one has configured."""
        self.fleet.next_value(name, self.sent[name])
        wait_until(lambda: self.fleet.values(name)[-1] == f"source {version} of {version}")
        since = self.fleet.values(name)[self.sent[name] :]
        assert {value.rsplit(" of ")[0] for value in since} == {f"source {version}"}


REQUIREMENTS = {
    **{"up-unset": None, "up-latest": "latest", "up-pinned": "1.10", "up-ranged": "[1.9,2.0)", "up-gone": "1.9"},
    "up-below": "(,1.10)",
}


@pytest.fixture(scope="module")
def upgraded(fleet: Fleet) -> Iterator[Upgraded]:
    for name, version in REQUIREMENTS.items():
        asked = {} if version is None else {"connector__plugin__version": version}
        fleet.client.create(name, fleet.config(name, **asked, value__converter=STRING))
    before = {name: fleet.next_value(name) for name in REQUIREMENTS}
    newest, oldest = "source 1.10 of 1.10", "source 1.9 of 1.9"
    assert before == {
        **dict.fromkeys(("up-unset", "up-latest", "up-pinned", "up-ranged"), newest),
        **dict.fromkeys(("up-gone", "up-below"), oldest),
    }
    fleet.running(*REQUIREMENTS)
    sent = {name: len(fleet.values(name)) for name in REQUIREMENTS}
    fleet.worker.stop()
    shutil.rmtree(fleet.plugins / "blue")
    versioned.install(fleet.plugins / "blue", "2.0")
    fleet.worker.start()
    yield Upgraded(fleet, sent)
    for name in REQUIREMENTS:
        fleet.client.delete(name)


@pytest.mark.parametrize(
    ("name", "version"), [("up-unset", "2.0"), ("up-latest", "2.0"), ("up-pinned", "1.10"), ("up-ranged", "1.10")]
)
@pytest.mark.long
def test_requirements_are_read_anew_when_a_worker_starts_it(upgraded: Upgraded, name: str, version: str) -> None:
    """What asks for nothing follows the newest; what has a version keeps it across upgrades of the cluster."""
    upgraded.runs_in(name, version)


@pytest.mark.parametrize(("name", "range"), [("up-gone", "[1.9,1.9]"), ("up-below", "(,1.10)")])
@pytest.mark.long
def test_a_version_that_was_removed_fails_what_asks_for_it(upgraded: Upgraded, name: str, range: str) -> None:
    client = upgraded.fleet.client
    # Its task may have said so before.
    wait_until(lambda: client.status(name)["connector"]["state"] == "FAILED", 240)
    status = client.status(name)
    assert (
        f"Plugin fleet.FleetSourceConnector not found that matches the version range {range}, available versions: [1.10, 2.0]"
    ) in status["connector"]["trace"]
    assert status["connector"]["version"] is None
    # And nothing else.
    upgraded.fleet.running("up-unset", "up-latest", "up-pinned", "up-ranged")
    # Mended by its config alone.
    upgraded.fleet.client.patch_config(name, {"connector.plugin.version": "[1.9,)"})
    upgraded.runs_in(name, "2.0")
    upgraded.fleet.running(name)


@pytest.mark.long
def test_a_two_phase_upgrade_and_its_rollback(upgraded: Upgraded, name: str) -> None:
    """Installed first, and used later: by configs alone, for one connector at a time."""
    fleet = upgraded.fleet
    assert fleet.made_by(name, connector__plugin__version="1.10", value__converter=STRING) == "source 1.10 of 1.10"
    pid = fleet.worker.pid
    assert fleet.made_by(name, connector__plugin__version="2.0", value__converter=STRING) == "source 2.0 of 2.0"
    assert fleet.made_by(name, connector__plugin__version="1.10", value__converter=STRING) == "source 1.10 of 1.10"
    assert fleet.worker.running
    assert fleet.worker.pid == pid


@pytest.mark.long
def test_what_is_installed_is_listed_anew(upgraded: Upgraded) -> None:
    assert [each["version"] for each in listed(upgraded.fleet, "fleet.")] == ["1.10", "2.0"]
