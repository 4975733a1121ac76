"""
Plugins in Java that change what a call was given, or call the framework within it, from the same thread or another one: as
`tests/units/test_meddling.py` has it for Python, with the plugin of the fault matrix (`tests/rig/plugin_faults/java`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import jpype
import pytest

from kconnect.api.record import TopicPartition
from kconnect.converters.string import StringConverter
from kconnect.core.task.chain import Converters, SinkChain, SourceChain
from kconnect.core.task.errors import Counts, Errors
from kconnect.core.task.sink_pump import Intake
from kconnect.core.task.source_pump import SourceConversion, SourcePump
from kconnect.core.task.steps import Steps
from kconnect.core.task.topic_use import TopicUse
from kconnect.jvm import beans, classes, machine, source_task
from kconnect.jvm.chain import Chain
from kconnect.jvm.mixed import MixedSink, MixedSource
from kconnect.jvm.sink_task import SinkIntake
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.sandbox_child import Call
from kconnect.units.connector_unit import StoredOffsets
from kconnect.units.source_task import _Context
from tests.core.task.pumps import INTERVAL_S, SinkWorld, SourceWorld
from tests.core.task.records import Message, TextHeaders
from tests.integration.units import MemoryHost, MemoryStore, end, until
from tests.jvm.java import SIMPLE, STRING, part
from tests.rig.plugin_faults import java
from tests.rig.plugin_faults.places import JAVA_PLACES
from tests.rig.plugin_faults.plugin import meddling
from tests.rig.plugin_faults.watch import journal
from tests.support import starts
from tests.units.meddled import Deaf

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

_HOST = MemoryHost("127.0.0.1:1")
_PUBLIC = 1
NO_ARGUMENT = {
    "connector.constructor", "connector.constructor (host)", "connector.version", "connector.config", "connector.task_class",
    "connector.task_configs", "connector.stop", "source.poll", "source.commit", "source.stop", "sink.stop", "transform.close",
}  # fmt: skip
NO_CONTEXT = {
    "connector.constructor", "connector.constructor (host)", "connector.version", "connector.config", "connector.validate",
    "connector.alter_offsets",
}  # fmt: skip
API: dict[str, dict[str, str]] = {
    "connector.Connector": {
        "start": "connector.start", "stop": "connector.stop", "taskClass": "connector.task_class",
        "taskConfigs": "connector.task_configs", "validate": "connector.validate", "config": "nothing is given",
        "initialize": "the shim's", "reconfigure": "kconnect makes a new instance in its place",
    },
    "source.SourceConnector": {
        "alterOffsets": "connector.alter_offsets", "exactlyOnceSupport": "a map made for the call",
        "canDefineTransactionBoundaries": "a map made for the call",
    },
    "sink.SinkConnector": {"alterOffsets": "connector.alter_offsets"},
    "connector.Task": {"start": "source.start", "stop": "source.stop", "version": "nothing is given"},
    "source.SourceTask": {
        "initialize": "the shim's", "start": "source.start", "poll": "source.poll", "commit": "source.commit",
        "commitRecord": "source.commit_record", "stop": "source.stop",
    },
    "sink.SinkTask": {
        "initialize": "the shim's", "start": "sink.start", "open": "sink.open", "put": "sink.put", "stop": "sink.stop",
        "preCommit": "sink.pre_commit", "flush": "sink.flush", "close": "sink.close",
    },
    "transforms.Transformation": {"apply": "transform.apply", "close": "transform.close", "version": "nothing is given"},
    "transforms.predicates.Predicate": {"test": "predicate.test", "close": "nothing is given", "version": "nothing is given"},
    "storage.Converter": {
        "configure": "converter.configure", "fromConnectData": "converter.from_connect_data",
        "toConnectData": "converter.to_connect_data", "close": "nothing is given", "config": "nothing is given",
        "version": "nothing is given",
    },
    "storage.HeaderConverter": {
        "fromConnectHeader": "as a value's", "toConnectHeader": "as a value's", "version": "nothing is given",
    },
}  # fmt: skip
"""Each method of Connect's API, and the place of the matrix that has it, or why none needs to."""


@pytest.fixture(scope="module")
@starts("process")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's directory."""
    directory = tmp_path_factory.mktemp("faults")
    java.write_plugins(directory)
    machine.start()
    return directory / java.NAME


def test_each_method_of_connect_s_api_has_its_row(plugin: Path) -> None:
    for name, known in API.items():
        methods = jpype.JClass(f"org.apache.kafka.connect.{name}").class_.getDeclaredMethods()
        names = {str(method.getName()) for method in methods if method.getModifiers() & _PUBLIC}
        assert {name for name in names if not name.startswith("lambda")} == set(known), name
    rows = {place.name for place in JAVA_PLACES}
    assert {row for known in API.values() for row in known.values() if "." in row and "," not in row} <= rows


def faults(place: str) -> list[str]:
    """The faults that there is something for at a place."""
    of_part = not place.startswith(("connector.", "source.", "sink."))
    changes = [] if place in NO_ARGUMENT else ["changes"]
    return changes + ([] if of_part or place in NO_CONTEXT else ["thread", "within"])


class Cell:
    """A place and a fault, and what their settings are."""

    def __init__(self, plugin: Path, place: str = "", kind: str = "") -> None:
        self.plugin, self.place, self.kind = plugin, place, kind

    def settings(self, prefix: str = "") -> dict[str, str]:
        return {f"{prefix}place": self.place, f"{prefix}kind": self.kind}

    def task(self, connector: str) -> Any:
        # All tasks are of this thread, and so are the metrics that they make.
        beans.end()
        return classes.load("connector", f"faulty.{connector}", str(self.plugin))().task_class()()

    def part(self, kind: str, name: str, *more: bool) -> Any:
        made = classes.load(kind, f"faulty.{name}", str(self.plugin))()
        made.configure(self.settings(), *more)
        return made

    def chain(self) -> Chain:
        key, header = part("converter", STRING, True), part("header_converter", SIMPLE)
        chain = Chain(key, self.part("converter", "BadConverter", False), header)
        chain.add("t", self.part("transformation", "BadTransform"), self.part("predicate", "BadPredicate"), False)
        return chain


def source(cell: Cell, mixed: bool = False) -> Any:
    """A source task, from its start to its stop: what was sent, and which offset is stored."""
    task = cell.task("BadSource")
    chain = Chain() if mixed else cell.chain()
    tracks = task.begin(chain)
    world = SourceWorld(tracks=tracks, plugin=task)
    convert: Callable[[Any], Any] = source_task.SourceConversion(task, world.errors, tracks)
    if mixed:
        own = SourceChain(Converters(StringConverter(), StringConverter(), TextHeaders), world.errors)
        convert = MixedSource(task, SourceConversion(own, Steps([]), world.errors, True), world.errors, tracks)
    pump = SourcePump(world.delivery, convert)
    properties = {"topic": "t", "fault.pause.ms": "0", **cell.settings("fault.")}
    task.initialize(_Context(properties, StoredOffsets(MemoryStore(_HOST), lambda: False), None, Counts()))
    task.start(properties)
    for now in range(5):
        pump.step(task.poll() or (), now * INTERVAL_S)
    pump.end(failed=False)
    task.stop()
    chain.close()
    return [message[:3] for message in world.producer.taken], world.store.stored, properties.keys()


def sink(cell: Cell, mixed: bool = False) -> Any:
    """A sink task, from its start to its stop: what is committed."""
    task = cell.task("BadSink")
    chain = Chain() if mixed else cell.chain()

    def intake(errors: Errors, use: TopicUse) -> Intake:
        task.begin(chain, "group")
        if mixed:
            own = SinkChain(Converters(StringConverter(), StringConverter(), TextHeaders), errors)
            return MixedSink(task, own, Steps([]), errors, use)
        return SinkIntake(task, errors, use, lambda: world.consumer.assignment)

    world = SinkWorld(plugin=task, intake=intake)
    properties = {"topics": "t", **cell.settings("fault.")}
    task.initialize(world.pump.context)
    task.start(properties)
    places = TopicPartition("t", 0), TopicPartition("t", 1)
    world.consumer.assign(*places)
    for number in range(2):
        world.step(*(Message(("t", place.partition, number), b"v", b"k") for place in places), after=INTERVAL_S)
    world.step(after=INTERVAL_S)
    world.consumer.revoke(*places)
    task.stop()
    chain.close()
    return world.committed, properties.keys()


@cache
def plugins_with(plugin: Path) -> Registry:
    name = "faulty.BadSource"
    own = PluginDesc(name, f"java:{name}", "BadSource", "connector", "1.0", str(plugin), "source")
    return Registry([*Registry.scan([]).plugins, own])


def connector(cell: Cell, name: str = "BadSource") -> Any:
    """A connector in its thread: its statuses, and the task configs that it has published."""
    host = MemoryHost("127.0.0.1:1", plugins_with(cell.plugin))  # type: ignore[arg-type]
    config = {"connector.class": f"faulty.{name}", "tasks.max": "1", "topic": "t", **cell.settings("fault.")}
    unit = host.unit(config, task=None)
    until(lambda: host.configs or "FAILED" in host.states)
    end(unit)
    failures = [text for state, text in host.statuses if text and state.value != "UNASSIGNED"]
    (configs,) = host.configs[-1][0]
    return list(dict.fromkeys(host.states)), failures, configs.keys(), unit.config().keys()


def validation(cell: Cell) -> Any:
    """What REST would answer to a config, and to other offsets."""
    plugins = plugins_with(cell.plugin)
    asked = {"name": "c", "connector.class": "faulty.BadSource", "topic": "t", **cell.settings("fault.")}
    call = Call(plugins, Deaf(), {"converters": {}}, Providers(plugins, {}))  # type: ignore[arg-type]
    infos = call.validate("faulty.BadSource", dict(asked))
    errors = {row["value"]["name"]: row["value"]["errors"] for row in infos["configs"] if row["value"]["errors"]}
    return errors, call.alter_offsets("faulty.BadSource", dict(asked), [({"bad": "1"}, {"number": 1})])


WORLDS: Mapping[str, Callable[[Cell], Any]] = {
    "source": source,
    "source, mixed": partial(source, mixed=True),
    "sink": sink,
    "sink, mixed": partial(sink, mixed=True),
    "connector": connector,
    "validation": validation,
}
PARTS = ("transform.", "predicate.", "converter.")
TAKEN_PLACES = {"connector.validate": "validation", "connector.alter_offsets": "validation"}


def worlds(place: str) -> list[str]:
    """The worlds that make a call."""
    if place in TAKEN_PLACES:
        return [TAKEN_PLACES[place]]
    if place.startswith(PARTS):
        return {"converter.from_connect_data": ["source"], "converter.to_connect_data": ["sink"]}.get(place, ["source", "sink"])
    kind = place.partition(".")[0]
    return [world for world in WORLDS if world.partition(",")[0] == kind]


@cache
def control(plugin: Path, world: str) -> Any:
    return WORLDS[world](Cell(plugin))


DIFFERENT: dict[tuple[str, str, str], Callable[[Any], Any]] = {
    # A record's source partition and offset are the very maps that the task gave, as in Connect: who changes these changes what
    # is stored. What the task changes in `commitRecord` comes too late for that.
    ("changes", "transform.apply", "source"): lambda same: (same[0], {"{'struck': 'yes'}": {"struck": "yes"}}, same[2]),
    ("changes", "predicate.test", "source"): lambda same: (same[0], {"{'struck': 'yes'}": {"struck": "yes"}}, same[2]),
}
"""What comes of a fault that does come to something, by fault, place and world, of what comes without."""


@pytest.mark.parametrize("fault", meddling.KINDS)
@pytest.mark.parametrize("world", WORLDS)
def test_who_meddles_harms_nothing(plugin: Path, world: str, fault: str) -> None:
    seen: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    for place in [place.name for place in JAVA_PLACES if world in worlds(place.name) and fault in faults(place.name)]:
        before = len(journal([plugin / "home"]))
        seen[place] = WORLDS[world](Cell(plugin, place, fault))
        expected[place] = DIFFERENT.get((fault, place, world), lambda same: same)(control(plugin, world))
        struck = journal([plugin / "home"])[before:]
        assert {(each.place, each.kind) for each in struck} == {(place, fault)}
    assert seen == expected
