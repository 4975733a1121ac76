"""
Who sends requests to the cluster of a random history, and what is remembered of it.

Called by `histories.py`, whose `History` is such a cluster. The actions `_do_...` are drawn by the tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kconnect.api.record import TopicPartition
from kconnect.core.herder.desk import ForwardError
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.cluster import DrainWorker, GetCluster
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PatchConfig, PutConfig
from kconnect.core.herder.requests.connectors import GetConnector, GetStatus, ListConnectors
from kconnect.core.herder.requests.offsets import AlterOffsets, ResetOffsets
from kconnect.core.herder.requests.states import RestartConnector, RestartTask, SetTargetState, StopConnector
from kconnect.core.herder.requests.tasks import FenceTasks
from kconnect.core.herder.requests.topics import ResetTopics
from kconnect.core.herder.requests.worker import SetLoggerLevel
from kconnect.core.state.records import TargetState, UnitId
from tests.rig.histories.cluster import Answer, MemoryCluster
from tests.rig.histories.counting import DATA, SinkGroup

if TYPE_CHECKING:
    from tests.rig.histories.history_actors import HistoryWorker

SOURCES = ("x", "y-1")
SINK = "to-file"
NAMES = (*SOURCES, SINK)
WORKERS = ("a:1", "b:1", "c:1")
T = TypeVar("T")


class Action(NamedTuple):
    """`what` is one of `ACTIONS`; `worker` and `name` are numbers into `WORKERS` and `NAMES`, `number` is its detail."""

    what: str
    worker: int = 0
    name: int = 0
    number: int = 0


class Asked(NamedTuple):
    """`request` was made of a worker; `marker` is in the config that it wants written, if any."""

    request: Request[Any]
    marker: str | None
    answer: Answer


class Users(MemoryCluster):
    """A cluster and its users."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: list[Asked] = []
        self.refused_last: list[tuple[Asked, int]] = []
        """What was asked at rest, to be refused, and how many records the log had more after that."""
        self.stored: dict[UnitId, int] = {}
        """How far each source task's offset in the log is."""
        self.groups: dict[str, SinkGroup] = {}
        self._markers = itertools.count(1)
        self._pending: list[tuple[Request[Any], Answer, int]] = []

    def _forward(self) -> None:
        """What REST does with a refusal that names another worker."""
        for pending in list(self._pending):
            request, answer, hops = pending
            if not answer.settled:
                continue
            self._pending.remove(pending)
            if isinstance(answer.error, ForwardError) and hops < 2:
                target = answer.error.url.split("//")[1].rstrip("/")
                if target in self.workers:
                    answer.settled, answer.error = False, None
                    self.workers[target].ask(request, answer)
                    self._pending.append((request, answer, hops + 1))

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.random.random() * len(choices))]

    def _request(self, action: Action, request: Request[Any], marker: str | None = None) -> None:
        worker = self._present(action)
        if worker is None:
            return
        asked = Asked(request, marker, Answer())
        self.asked.append(asked)
        worker.ask(request, asked.answer)
        self._pending.append((request, asked.answer, 0))

    def _config(self, number: int, name: str) -> tuple[dict[str, str | None], str]:
        marker = f"m{next(self._markers)}"
        plugin = "FileStreamSink" if name == SINK else "FileStreamSource"
        config: dict[str, str | None] = {"connector.class": plugin, "tasks.max": str(1 + number % 2), "marker": marker}
        if name == SINK:
            config["topics"] = (DATA, "other")[number // 4 % 2]
        if number % 4 == 3:
            config |= {"errors.restart.max.attempts": "-1", "errors.restart.backoff.ms": "500"}
            config |= {"errors.restart.max.backoff.ms": "1000", "tasks.weight": "2"}
        if number >= 8:
            config["connector.plugin.version"] = str(number // 4)
        if number % 8 >= 6:
            config["tasks.isolation"] = "dedicated"
        return config, marker

    def _do_create(self, action: Action) -> None:
        name = NAMES[action.name]
        config, marker = self._config(action.number, name)
        state = (None, "RUNNING", None, "PAUSED", None, "STOPPED")[action.number // 2 % 6]
        self._request(action, CreateConnector(name, config, state), marker)

    def _do_put(self, action: Action) -> None:
        name = NAMES[action.name]
        config, marker = self._config(action.number, name)
        self._request(action, PutConfig(name, config), marker)

    def _do_patch(self, action: Action) -> None:
        name = NAMES[action.name]
        config, marker = self._config(action.number, name)
        self._request(action, PatchConfig(name, config), marker)

    def _do_delete(self, action: Action) -> None:
        self._request(action, DeleteConnector(NAMES[action.name]))

    def _do_pause(self, action: Action) -> None:
        self._request(action, SetTargetState(NAMES[action.name], TargetState.PAUSED))

    def _do_resume(self, action: Action) -> None:
        self._request(action, SetTargetState(NAMES[action.name], TargetState.STARTED))

    def _do_stop(self, action: Action) -> None:
        self._request(action, StopConnector(NAMES[action.name]))

    def _do_restart(self, action: Action) -> None:
        include, failed = bool(action.number & 1), bool(action.number & 2)
        self._request(action, RestartConnector(NAMES[action.name], include, failed))

    def _do_restart_task(self, action: Action) -> None:
        self._request(action, RestartTask(NAMES[action.name], action.number % 2))

    def _do_read(self, action: Action) -> None:
        name = NAMES[action.name]
        reads = (ListConnectors(("status", "info")), GetStatus(name), GetConnector(name), GetCluster())
        self._request(action, reads[action.number % len(reads)])

    def _do_alter(self, action: Action) -> None:
        """Back to somewhere between the beginning and where it is; to the beginning if `number` is odd."""
        name, marker, pairs = NAMES[action.name], f"m{next(self._markers)}", []
        for number in range(1 + action.number // 2 % 2):
            if name == SINK:
                known = self.group_of(name).stored[TopicPartition(DATA, number)]
                partition: dict[str, Any] = {"kafka_topic": DATA, "kafka_partition": number}
                offset: dict[str, Any] = {"kafka_offset": self.random.randint(0, known)}
            else:
                known = self.stored.get(UnitId(name, number), 0)
                partition, offset = {"task": number}, {"seqno": self.random.randint(0, known), "marker": marker}
            pairs.append((partition, None if action.number % 2 else offset))
        marked = name != SINK and not action.number % 2
        self._request(action, AlterOffsets(name, tuple(pairs)), marker if marked else None)

    def _do_reset(self, action: Action) -> None:
        self._request(action, ResetOffsets(NAMES[action.name]))

    def _do_forget_topics(self, action: Action) -> None:
        self._request(action, ResetTopics(NAMES[action.name]))

    def _do_fence(self, action: Action) -> None:
        self._request(action, FenceTasks(NAMES[action.name]))

    def _do_drain_worker(self, action: Action) -> None:
        """One that is there now; even numbers take that back."""
        names = sorted(self.workers)
        if names:
            self._request(action, DrainWorker(names[action.number // 2 % len(names)], is_drained=bool(action.number % 2)))

    def _do_level(self, action: Action) -> None:
        level = ("DEBUG", "INFO", "WARN")[action.number % 3]
        self._request(action, SetLoggerLevel(("root", "kconnect.core")[action.number // 3 % 2], level))

    def group_of(self, connector: str) -> SinkGroup:
        return self.groups.setdefault(connector, SinkGroup(self.session_ms))

    # --- for `histories.py` ---

    def _present(self, action: Action) -> HistoryWorker | None:
        """A worker that a request, or a fault, can meet."""
        raise NotImplementedError

    def _drain(self, turns: int = 150) -> None:
        raise NotImplementedError

    def ask_in_vain(self) -> None:
        """Requests that must be refused, of a cluster at rest, in which nobody else writes."""
        requests: list[Request[Any]] = [
            CreateConnector("new", {}),
            CreateConnector("new", {"connector.class": "FileStreamSource", "name": "other"}),
            DeleteConnector("new"),
            StopConnector("new"),
            SetTargetState("new", TargetState.PAUSED),
            RestartConnector("new"),
            RestartTask("new", 0),
            PatchConfig("new", {}),
            AlterOffsets("new", (({"task": 0}, {"seqno": 0}),)),
            ResetOffsets("new"),
            FenceTasks("new"),
        ]
        worker = self.pick(list(self.workers.values()))
        requests += [CreateConnector(name, self._config(0, SINK)[0]) for name in worker.herder.log.config.connectors]
        config = worker.herder.log.config
        for name in config.connectors:
            if config.target_state(name) is not TargetState.STOPPED:
                requests += [ResetOffsets(name), AlterOffsets(name, (({"task": 0}, None),))]
            elif name != SINK:
                requests.append(AlterOffsets(name, (({"task": 0}, None), ({"task": 1}, {"seqno": [1]}))))
            else:
                places = ({"kafka_topic": DATA, "kafka_partition": 0}, {"kafka_topic": DATA})
                requests.append(AlterOffsets(name, tuple((place, None) for place in places)))
        before = len(self.log.records)
        for request in self.random.sample(requests, 3):
            asked = Asked(request, None, Answer())
            worker.ask(request, asked.answer)
            self._pending.append((request, asked.answer, 0))
            self._drain()
            self.refused_last.append((asked, len(self.log.records) - before))
