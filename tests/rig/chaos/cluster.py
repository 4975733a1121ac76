"""
The cluster that chaos runs hurt: a broker, three workers with a proxy on each of their links, and connectors that count.

`run.py` makes one; `faults.py` hurts it. All data can be checked: see `tests/rig/systems/verifiable.py`. Read next:
`faults.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.state.records import Topic
from kconnect.local.broker import free_port
from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems import proxy, verifiable
from tests.rig.systems.proxy import Proxy
from tests.rig.systems.recorder import Tail

GROUP = "chaos"
INTERNAL = {
    Topic.CONFIG: f"{GROUP}-configs",
    Topic.OFFSET: f"{GROUP}-offsets",
    Topic.STATUS: f"{GROUP}-status",
    Topic.ASSIGNMENT: f"{GROUP}-configs-assignments",
}
DATA, CHURN, PULSE = "data", "churn", "pulse"
SOURCE, SINK = "source", "sink"
LONE_SINK = f"{SINK}-lone"
"""Reads what the connector `pulse` writes every two seconds to the topic of the same name, and rests in between."""
SUNK = {SINK: DATA, LONE_SINK: PULSE}
SOURCE_TASKS, SINK_TASKS = 4, 2
CHURN_TASKS = (1, 2, 3)
CHURN_TASKS_ONCE = (3, 5, 1)
"""How many tasks `churn` has, one after the other; the second when sources are exactly-once."""
UNITS = [
    *(f"{SOURCE}-{n}" for n in range(SOURCE_TASKS)),
    *(f"{SINK}-{n}" for n in range(SINK_TASKS)),
    f"{PULSE}-0",
    f"{LONE_SINK}-0",
]
"""The tasks that run all the time; those of the connector `churn` come and go."""

_PACE = {"rate": "30"}
_PACE_ONCE = {"rate": "10", "poll.ms": "500"}
"""Each poll of an exactly-once task is a transaction, which costs the broker more than its records do."""
_PACE_PULSE = {"rate": "1", "poll.ms": "2000"}
_APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
"""The broker's clock says what was there first: a source offset or the record that it covers."""


SESSION_S = 4.0
"""After how long without a word a worker counts as dead. More, where the machine has so much to do that words take longer."""


class Member:
    """
    A worker with its two links: `kafka` for all that its processes have to do with the broker, `rest` for what others ask.

    `up`: started and not suspended, so that its REST must answer. `sees`: what it says of the cluster is not outdated.
    """

    def __init__(self, number: int, directory: Path, listener_port: int, plugins: Path, settings: dict[str, str]) -> None:
        self.number = number
        self.kafka = Proxy(listener_port)
        self.rest = Proxy()
        self.up, self.sees = False, True
        properties = {
            "heartbeat.interval.ms": "1000",
            "offset.flush.interval.ms": "500",
            "offset.storage.message.timestamp.type": "LogAppendTime",
            "assignment.storage.message.timestamp.type": "LogAppendTime",
            "plugin.path": str(plugins),
            "task.hosts": "2",
            "sink.rest.after.ms": "500",
            "rest.advertised.port": str(self.rest.port),
            **settings,
        }
        self.worker = WorkerProcess(directory, f"127.0.0.1:{self.kafka.port}", GROUP, properties=properties)
        self.rest.target_port = self.worker.port
        self.asked = self.client(5.0)
        """For the thread of the run only."""

    @property
    def id(self) -> str:
        return f"127.0.0.1:{self.rest.port}"

    def client(self, timeout: float = 95.0) -> ConnectClient:
        """One for a thread. It goes past the proxy, which is for the other workers."""
        return ConnectClient(self.worker.url, timeout)

    def start(self) -> None:
        self.worker.start()
        # The first statuses wait until it is known what kind of connector each class is, up to 10 s, and no later ones do.
        with self.client() as client:
            client.connectors("status")
        self.up = True

    def kill(self) -> None:
        self.up = False
        self.worker.kill()

    def __str__(self) -> str:
        return f"worker {self.number}"


class ChaosCluster:
    names: tuple[str, ...] = (SOURCE, SINK, PULSE, LONE_SINK)
    units: tuple[str, ...] = tuple(UNITS)
    """Of these connectors, which run all the time."""
    changing: tuple[str, ...] = (CHURN,)

    def __init__(
        self,
        directory: Path,
        workers: int = 3,
        exactly_once: bool = False,
        session_s: float = SESSION_S,
        protocol: str = "classic",
    ) -> None:
        self.directory = directory
        self.exactly_once, self.session_s = exactly_once, session_s
        self._churn_tasks = CHURN_TASKS_ONCE if exactly_once else CHURN_TASKS
        self.outages: list[tuple[float, float]] = []
        """For `history.History.outages`."""
        listeners = [free_port() for _ in range(workers)]
        plugins = self.plugins()
        settings = {"session.timeout.ms": str(int(session_s * 1000)), "consumer.group.protocol": protocol}
        if exactly_once:
            settings["exactly.once.source.support"] = "enabled"
        self.members = [Member(n + 1, directory / "workers", port, plugins, settings) for n, port in enumerate(listeners)]
        self.broker = proxy.broker_behind([member.kafka for member in self.members], directory / "broker")
        self._tail = Tail(directory / verifiable.JOURNAL)
        self._worked: dict[str, float] = {}

    def start(self) -> None:
        for member in self.members:
            member.kafka.start()
            member.rest.start()
        self.broker.start()
        for member in self.members:
            member.worker.start(wait=False)
        for member in self.members:
            member.worker.wait_healthy()
            member.up = True
        with self.members[0].client() as client:
            self.connect(AdminClient({"bootstrap.servers": self.broker.bootstrap_servers}), client)

    def plugins(self) -> Path:
        """A directory with the connectors' classes."""
        return verifiable.write_plugin(self.directory / "plugins")

    def connect(self, admin: AdminClient, client: ConnectClient) -> None:
        """Make topics and connectors."""
        partitions = {DATA: SOURCE_TASKS, CHURN: max(self._churn_tasks), PULSE: 1}
        topics = [NewTopic(topic, number, 1, config=_APPEND_TIME) for topic, number in partitions.items()]
        for created in admin.create_topics(topics).values():
            created.result(120)
        client.create(SINK, self._sink_config(DATA, SINK_TASKS))
        client.create(LONE_SINK, self._sink_config(PULSE, 1))
        client.create(PULSE, {**self._source_config(PULSE, 1), **_PACE_PULSE})
        client.create(SOURCE, self._source_config(DATA, SOURCE_TASKS))
        client.create(CHURN, self.churn_config(0))

    def churn_config(self, revision: int) -> dict[str, str]:
        """Each revision has another number of tasks than the one before."""
        tasks = self._churn_tasks[revision % len(self._churn_tasks)]
        interval = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "300"}
        return {
            **self._source_config(CHURN, tasks),
            "revision": str(revision),
            **(interval if self.exactly_once else {}),
        }

    def _source_config(self, topic: str, tasks: int) -> dict[str, str]:
        return {
            "connector.class": verifiable.SOURCE_CLASS,
            "directory": str(self.directory),
            "topic": topic,
            "tasks.max": str(tasks),
            **(_PACE_ONCE if self.exactly_once else _PACE),
            **({"exactly.once.support": "required"} if self.exactly_once else {}),
        }

    def _sink_config(self, topic: str, tasks: int) -> dict[str, str]:
        committed = {"consumer.override.isolation.level": "read_committed"}
        return {
            "connector.class": verifiable.SINK_CLASS,
            "directory": str(self.directory),
            "topics": topic,
            "tasks.max": str(tasks),
            **(committed if self.exactly_once else {}),
        }

    def rest(self) -> None:
        """Whoever changes what sources read ends now. Here they count by themselves."""

    def stop(self) -> list[str]:
        """End everything in order; gives what of the workers' processes was left over."""
        trees = [(member, member.worker.tree()) for member in self.members]
        left = []
        for member, tree in trees:
            member.up = False
            member.worker.stop()
            left += [f"{process} of {member}" for process in member.worker.wait_ended(tree, 10)]
        for member in self.members:
            member.kafka.close()
            member.rest.close()
        self.broker.stop()
        return left

    # --- what is asked of it ---

    def live(self) -> list[Member]:
        return [member for member in self.members if member.up]

    def leader(self) -> Member | None:
        """The leader, if all live workers that can know agree on it."""
        said = set()
        for member in self.live():
            if not member.sees:
                continue
            try:
                said.add(member.asked.cluster()["leader"])
            except RestError:
                return None
        return next((member for member in self.members if said == {member.id}), None)

    def busy(self) -> list[Member]:
        """The live workers that tasks run on."""
        leader = self.leader()
        if leader is None:
            return []
        try:
            tasks = {worker["worker_id"]: worker["tasks"] for worker in leader.asked.cluster()["workers"]}
        except RestError:
            return []
        return [member for member in self.live() if tasks.get(member.id)]

    def hosts(self, member: Member) -> list[psutil.Process]:
        """Those of a worker that connectors may run in."""
        return member.worker.hosts()

    def worked(self) -> dict[str, float]:
        """When each task that ever worked did so last, by the monotonic clock; a sink's works when it gets records."""
        for event in self._tail.read():
            if event.kind == "work" and (event.records or not event.unit.startswith(SINK)):
                self._worked[event.unit] = event.at
        return self._worked

    def ails(self, since: float, also_churn: bool = False) -> str | None:
        """
        What is not yet as it should be; None: one leader, nothing moves, every task is RUNNING on a live worker, and has
        worked after `since`.
        """
        worked = self.worked()
        if self.leader() is None:
            return "the workers don't agree on one live leader"
        live = {member.id for member in self.live()}
        for member in self.live():
            if member.sees:
                try:
                    moving, statuses = member.asked.cluster()["moving"], member.asked.connectors("status")
                except RestError as error:
                    return f"{member} gives no statuses: {error}"
                names = [*self.names, *(self.changing if also_churn else [])]
                found = _not_running(statuses, names, live) or _moves(moving, names)
                if found:
                    return f"by {member}, {found}"
        idle = [unit for unit in self.units if worked.get(unit, 0.0) <= since]
        return f"no work of {', '.join(idle)}" if idle else None


def _not_running(statuses: dict, names: list[str], live: set[str]) -> str | None:
    for name in names:
        status = statuses.get(name, {}).get("status")
        if status is None or not status["tasks"]:
            return f"{name} has no tasks"
        units = [(name, status["connector"]), *((f"{name}-{task['id']}", task) for task in status["tasks"])]
        for unit, found in units:
            if found["state"] != "RUNNING":
                return f"{unit} is {found['state']}"
            if found["worker_id"] not in live:
                return f"{unit} is on {found['worker_id']}, which is not up"
    return None


def _moves(moving: Iterable[Mapping[str, Any]], names: list[str]) -> str | None:
    found = [f"{unit['connector']}-{unit['task']}" for unit in moving if unit["connector"] in names]
    return f"{', '.join(found)} move" if found else None
