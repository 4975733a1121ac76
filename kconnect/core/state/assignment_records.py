"""
The bytes of the assignment topic. Only kconnect has this topic; Connect keeps the same facts in its group protocol.

`decode_assignment` turns a `LogRecord` into one of the dataclasses below, or into `Broken` or `NewerFormat`; the fold in
`assignment.py` calls it. The other functions are named after what they write, and return an `Entry`; the herder and the hosts
call them. Unknown fields are ignored. Read next: `assignment.py`; for the topics that Connect has too, `records.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from kconnect.core.state import bodies
from kconnect.core.state.records import Broken, Entry, LogRecord, Topic, UnitId, Units

FORMAT = 1
"""Version of the assignment topic's records. A worker that meets a newer one does not lead."""


@dataclass(frozen=True, slots=True)
class Leader:
    """
    `term` counts the leaders that there have been; see `AssignmentState.term`. `topics` are the ids that Kafka gave to
    the config and offset topics, by role, as far as they are known.
    """

    worker: str
    url: str
    generation: int
    term: int = 0
    topics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The units that `worker` is to run. `units` is None if the worker left and its assignment is gone."""

    worker: str
    units: Units | None
    generation: int = 0
    config_offset: int = 0


SPARK = "spark:"
"""
Stands among a spec's directories for a process that may start a Spark application for lakes. A worker has one such host: the
application takes a JVM and its memory, and commits for all.
"""


@dataclass(frozen=True, slots=True)
class HostSpec:
    """
    The purpose of a host; units of equal specs share hosts. `directories` are those of `plugin.path` that its units' plugins
    come from, in the order in which they are searched. `unit` is the only one that it may run, if it is dedicated to one, and
    `memory` how many bytes its process may then use. `group` tells those apart that are suspected of having ended their host;
    nobody is in group 0.
    """

    directories: tuple[str, ...] = ()
    unit: UnitId | None = None
    memory: int | None = None
    group: int = 0


PLAIN = HostSpec()
"""Of a host for all whose plugins are installed beside kconnect, and that are to share hosts."""


@dataclass(frozen=True, slots=True)
class Placement:
    """
    The distribution of a worker's units over its hosts: host -> unit -> run. `revision` rises with each placement of one
    incarnation; `run` of a unit rises with each restart that was asked for. `hosts` is None if the worker is gone. A worker
    that is `leaving` gives its units away and takes no new ones, and so does one that is `down`: its Spark has ended, and the
    hosts of it with it. One that is `resting` is down because nobody has anything to run. `process` is the worker's, as in
    `Held`. `specs` names the hosts that are not `PLAIN`; a number keeps its spec for as long as a process of that number may
    live. `config_offset` is up to where the worker had read the config topic (exclusive, as Connect counts it): a config that
    is newer may want another spec, so no host starts it yet.
    """

    worker: str
    hosts: Mapping[int, Mapping[UnitId, int]] | None
    generation: int = 0
    revision: int = 0
    incarnation: str = ""
    leaving: bool = False
    specs: Mapping[int, HostSpec] = field(default_factory=dict)
    config_offset: int = 0
    down: bool = False
    process: tuple[str, int, float] | None = None
    version: str = ""
    """Of kconnect; empty from a worker that did not say so yet."""
    resting: bool = False
    is_secure: bool = False
    """Whether the worker is reached by https: no other address of it, which only its group says, gets anybody's login."""

    def spec(self, host: int) -> HostSpec:
        return self.specs.get(host, PLAIN)

    @property
    def takes_units(self) -> bool:
        return not (self.leaving or self.down)

    @property
    def may_run_units(self) -> bool:
        """Whether it takes units, or would as soon as there is anything to run."""
        return self.takes_units or (self.resting and not self.leaving)


@dataclass(frozen=True, slots=True)
class Held:
    """
    The units that a host really runs, or is about to run. It has read the assignment of `generation` and the placement of
    `revision` when it says so. `process` is [node, pid, start time]: whoever is on the same node can see whether it lives.
    `sequence` rises with each declaration of one incarnation, so that the host knows which of its own it has read back.
    `waiting` are those of `units` that start no producer before the task sets before their own are fenced (KIP-618). `stuck`
    are those of `units` that were asked to stop and did not in time: they end with the process only. `blamed` are those of
    `units` that are not started, for they have ended the process that was this host before; `suspected` are those that may
    have.
    """

    worker: str
    host: int
    units: Units | None
    generation: int = 0
    revision: int = 0
    incarnation: str = ""
    worker_incarnation: str = ""
    process: tuple[str, int, float] | None = None
    sequence: int = 0
    waiting: Mapping[UnitId, Wait] = field(default_factory=dict)
    stuck: Units = frozenset()
    blamed: Mapping[UnitId, Blame] = field(default_factory=dict)
    suspected: Units = frozenset()


class Blame(NamedTuple):
    """The unit of this spec (`UnitSpec` tells what the numbers mean) has ended its host's process; `reason` says how."""

    config_offset: int
    run: int
    reason: str


class Wait(NamedTuple):
    """A task of the set that the commit at `tasks_offset` made waits, since its host's declaration `sequence`."""

    tasks_offset: int
    sequence: int


@dataclass(frozen=True, slots=True)
class FencingFailed:
    """
    The failure of a fencing before the task set of `tasks_offset`: units that wait for it wait in vain. `error` is the reason;
    None if it holds no longer. It concerns the waits of `hosts`, (worker, number) -> (incarnation, sequence of the declaration
    that was read).
    """

    connector: str
    error: str | None
    tasks_offset: int = -1
    hosts: Mapping[tuple[str, int], tuple[str, int]] = field(default_factory=dict)

    def answers(self, worker: str, host: int, incarnation: str, wait: Wait) -> bool:
        """Whether that wait of that life of a host is among those."""
        host_life = self.hosts.get((worker, host))
        return (
            self.tasks_offset == wait.tasks_offset
            and host_life is not None
            and (host_life[0] == incarnation and wait.sequence <= host_life[1])
        )


@dataclass(frozen=True, slots=True)
class GeneratedTasks:
    """Task configs as a connector instance made them, with the config offset that it had seen; None: connector gone."""

    name: str
    configs: tuple[Mapping[str, str | None], ...] | None
    config_offset: int = 0


@dataclass(frozen=True, slots=True)
class TopicsReset:
    """
    The topics that `connector` has used were forgotten for the `number`th time: tasks that still use some are to say so
    again (KIP-558). None: the connector is gone. Hosts don't read the status topic, so this tells them.
    """

    connector: str
    number: int | None


@dataclass(frozen=True, slots=True)
class Drained:
    """
    Somebody wants nothing to run on `worker`, whichever life of it, until that is taken back (`is_drained` False). Versions
    before it take the record for a broken one, and go on; while one of them leads, the worker is given units.
    """

    worker: str
    is_drained: bool


AssignmentRecord = Leader | Assignment | Placement | Held | GeneratedTasks | TopicsReset | FencingFailed | Drained


@dataclass(frozen=True, slots=True)
class NewerFormat:
    """A record of the assignment topic that a newer kconnect wrote."""

    key: str
    format: int


def decode_assignment(record: LogRecord) -> AssignmentRecord | NewerFormat | Broken:
    try:
        key = bodies.text_key(record.key)
        body = None if record.value is None else bodies.json_object(record.value)
        if body is not None and bodies.integer(body, "format") > FORMAT:
            return NewerFormat(key, bodies.integer(body, "format"))
        if key == "leader":
            if body is None:
                raise bodies.BadRecord("tombstone")
            numbers = (bodies.integer(body, "generation"), int(body.get("term", 0)))
            topics = {role: str(id) for role, id in bodies.as_object(body.get("topics") or {}).items()}
            return Leader(bodies.text(body, "worker"), bodies.text(body, "url"), *numbers, topics)
        if key.startswith("assignment-"):
            worker = key[len("assignment-") :]
            if body is None:
                return Assignment(worker, None)
            units = _units(body.get("units"))
            return Assignment(worker, units, bodies.integer(body, "generation"), bodies.integer(body, "config_offset"))
        if key.startswith("placement-"):
            worker = key[len("placement-") :]
            if body is None:
                return Placement(worker, None)
            hosts = {int(host): dict(_by_unit(units)) for host, units in bodies.as_object(body.get("hosts")).items()}
            numbers = (bodies.integer(body, "generation"), bodies.integer(body, "revision"))
            specs = {int(host): unpack_spec(spec) for host, spec in bodies.as_object(body.get("specs") or {}).items()}
            life, leaving, read_to = bodies.text(body, "incarnation"), body.get("leaving") is True, body.get("config_offset", 0)
            version = body.get("version")
            worker_version = version if isinstance(version, str) else ""
            down, resting, is_secure = (body.get(name) is True for name in ("down", "resting", "secure"))
            process = _process(body)
            return Placement(
                worker, hosts, *numbers, life, leaving, specs, int(read_to), down, process, worker_version, resting, is_secure
            )
        if key.startswith("held-"):
            worker, host = bodies.split_task(key[len("held-") :])
            if body is None:
                return Held(worker, host, None)
            return Held(
                worker,
                host,
                _units(body.get("units")),
                bodies.integer(body, "generation"),
                bodies.integer(body, "revision"),
                bodies.text(body, "incarnation"),
                bodies.text(body, "worker_incarnation"),
                _process(body),
                bodies.integer(body, "sequence"),
                _waits(body.get("waiting") or {}),
                _units(body.get("stuck") or {}),
                {unit: Blame(int(at), int(run), str(why)) for unit, (at, run, why) in _by_unit(body.get("blamed") or {})},
                _units(body.get("suspected") or {}),
            )
        if key.startswith("fencing-"):
            name = key[len("fencing-") :]
            if body is None:
                return FencingFailed(name, None)
            hosts_read = bodies.as_object(body.get("hosts")).items()
            read = {bodies.split_task(host): (str(life), int(last)) for host, (life, last) in hosts_read}
            return FencingFailed(name, bodies.text(body, "error"), bodies.integer(body, "tasks_offset"), read)
        if key.startswith("drained-"):
            return Drained(key[len("drained-") :], body is not None)
        if key.startswith("topics-"):
            return TopicsReset(key[len("topics-") :], None if body is None else bodies.integer(body, "reset"))
        if key.startswith("tasks-"):
            name = key[len("tasks-") :]
            if body is None:
                return GeneratedTasks(name, None)
            configs = body.get("configs")
            if not isinstance(configs, list):
                raise bodies.BadRecord("`configs` is not a list")
            task_configs = tuple(bodies.properties({"properties": config}) for config in configs)
            return GeneratedTasks(name, task_configs, bodies.integer(body, "config_offset"))
        raise bodies.BadRecord("unknown kind of key")
    except bodies.BadRecord as bad:
        return Broken.of(record, bad)
    except (ValueError, TypeError, IndexError) as error:
        return Broken.of(record, bodies.BadRecord(type(error).__name__))


def leader(value: Leader) -> Entry:
    ids = {"topics": dict(value.topics)} if value.topics else {}
    return _ours(
        "leader", {"worker": value.worker, "url": value.url, "generation": value.generation, "term": value.term, **ids}
    )


def assignment(value: Assignment) -> Entry:
    body = None
    if value.units is not None:
        body = {
            "units": _pack(value.units),
            "generation": value.generation,
            "config_offset": value.config_offset,
        }
    return _ours(f"assignment-{value.worker}", body)


def placement(value: Placement) -> Entry:
    body = None
    if value.hosts is not None:
        hosts: dict[str, dict[str, dict[str, int]]] = {}
        for host, units in value.hosts.items():
            packed: dict[str, dict[str, int]] = hosts.setdefault(str(host), {})
            for unit, run in sorted(units.items()):
                packed.setdefault(unit.connector, {})[str(unit.task)] = run
        body = {
            "hosts": hosts,
            "generation": value.generation,
            "revision": value.revision,
            "incarnation": value.incarnation,
            "leaving": value.leaving,
            "config_offset": value.config_offset,
        }
        if value.down:
            body["down"] = True
        if value.resting:
            body["resting"] = True
        if value.is_secure:
            body["secure"] = True
        if value.process is not None:
            body["process"] = value.process
        if value.version:
            body["version"] = value.version
        if value.specs:
            body["specs"] = {str(host): pack_spec(spec) for host, spec in sorted(value.specs.items())}
    return _ours(f"placement-{value.worker}", body)


def held(value: Held) -> Entry:
    body = None
    if value.units is not None:
        body = {
            "units": _pack(value.units),
            "generation": value.generation,
            "revision": value.revision,
            "incarnation": value.incarnation,
            "worker_incarnation": value.worker_incarnation,
            "process": value.process,
            "sequence": value.sequence,
        }
        if value.waiting:
            body["waiting"] = _pack_by_unit(value.waiting)
        if value.stuck:
            body["stuck"] = _pack(value.stuck)
        if value.blamed:
            body["blamed"] = _pack_by_unit(value.blamed)
        if value.suspected:
            body["suspected"] = _pack(value.suspected)
    return _ours(f"held-{value.worker}-{value.host}", body)


def generated_tasks(value: GeneratedTasks) -> Entry:
    body = None
    if value.configs is not None:
        body = {"configs": [dict(config) for config in value.configs], "config_offset": value.config_offset}
    return _ours(f"tasks-{value.name}", body)


def fencing_failed(value: FencingFailed) -> Entry:
    body = None
    if value.error is not None:
        hosts = {f"{worker}-{host}": host_life for (worker, host), host_life in value.hosts.items()}
        body = {"error": value.error, "tasks_offset": value.tasks_offset, "hosts": hosts}
    return _ours(f"fencing-{value.connector}", body)


def topics_reset(value: TopicsReset) -> Entry:
    return _ours(f"topics-{value.connector}", None if value.number is None else {"reset": value.number})


def drained(value: Drained) -> Entry:
    return _ours(f"drained-{value.worker}", {} if value.is_drained else None)


def _pack(units: Units) -> dict[str, list[int]]:
    packed: dict[str, list[int]] = {}
    for unit in sorted(units):
        packed.setdefault(unit.connector, []).append(unit.task)
    return packed


def _units(packed: Any) -> Units:
    return frozenset(UnitId(name, task) for name, tasks in bodies.as_object(packed).items() for task in tasks)


def _process(body: Mapping[str, Any]) -> tuple[str, int, float] | None:
    process = body.get("process")
    return (str(process[0]), int(process[1]), float(process[2])) if process else None


def pack_spec(spec: HostSpec) -> dict[str, Any]:
    """Return a spec as part of a body. Also used to hand a spec on to a host's process."""
    unit = spec.unit and list(spec.unit)
    fields = {"directories": spec.directories, "unit": unit, "memory": spec.memory, "group": spec.group}
    return {name: value for name, value in fields.items() if value}


def unpack_spec(packed: Any) -> HostSpec:
    """Read a spec from a body, which may have other fields, too."""
    body = bodies.as_object(packed)
    unit, memory = body.get("unit"), body.get("memory")
    return HostSpec(
        tuple(map(str, body.get("directories") or ())),
        None if unit is None else UnitId(str(unit[0]), int(unit[1])),
        None if memory is None else int(memory),
        int(body.get("group") or 0),
    )


def _pack_by_unit(values: Mapping[UnitId, tuple[Any, ...]]) -> dict[str, dict[str, tuple[Any, ...]]]:
    packed: dict[str, dict[str, tuple[Any, ...]]] = {}
    for unit, value in sorted(values.items()):
        packed.setdefault(unit.connector, {})[str(unit.task)] = tuple(value)
    return packed


def _waits(packed: Any) -> dict[UnitId, Wait]:
    return {unit: Wait(int(tasks_offset), int(sequence)) for unit, (tasks_offset, sequence) in _by_unit(packed)}


def _by_unit(packed: Any) -> Iterator[tuple[UnitId, Any]]:
    for name, tasks in bodies.as_object(packed).items():
        for task, value in bodies.as_object(tasks).items():
            yield UnitId(name, int(task)), value


def _ours(key: str, body: dict[str, Any] | None) -> Entry:
    value = None if body is None else orjson.dumps({"format": FORMAT, **body})
    return Entry(Topic.ASSIGNMENT, key.encode(), value)
