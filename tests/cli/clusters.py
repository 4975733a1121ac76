"""
Clusters in memory behind real servers, for moves between them: they keep offsets, ask for rest before these are set, and
remember whether a connector ever ran at both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.cluster import GetCluster
from kconnect.core.herder.requests.configs import CreateConnector, Created, DeleteConnector, PutConfig, ValidateConfig
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.herder.requests.worker import Root
from kconnect.core.state.records import TargetState
from kconnect.errors import BadRequestError, NotFoundError
from kconnect.rest.app import RestSettings, build
from kconnect.rest.client import ConnectClient
from kconnect.rest.server import Server
from tests.rest.herder import MemoryHerder

WRITES = (CreateConnector, PutConfig, StopConnector, SetTargetState, AlterOffsets, DeleteConnector)


class Cluster(MemoryHerder):
    """
    A source's offset grows by one with each look at it while it runs. Groups' offsets are in `groups`, which clusters on one
    Kafka share. `writes` counts what changes something. `between` says for how many looks no worker has a connector. A hostile
    cluster does `when_stopped` when a connector is stopped, and answers `shows_offsets` in place of the offsets.
    """

    def __init__(self, worker: str) -> None:
        self.named = worker
        self.url = ""
        self.reset(None)

    def reset(self, other: Cluster | None) -> None:
        """As it was at first; `other` is the cluster that must not run the same."""
        super().__init__()
        self.worker = self.named
        self.kafka = "one"
        self.version = "4.3.1"
        self.is_kconnect = True
        self.groups: dict[str, Any] = {}
        self.stored: dict[str, list[dict[str, Any]]] = {}
        self.missing: set[str] = set()
        self.refuses_offsets: set[str] = set()
        self.between: dict[str, int] = {}
        self.when_stopped: Callable[[], object] | None = None
        self.shows_offsets: Callable[[], Any] | None = None
        self.other = other
        self.both_ran = False
        self.writes = 0

    def submit(self, request: Request[Any]) -> Any:
        if not isinstance(request, WRITES):
            return super().submit(request)
        self.writes += 1
        found = super().submit(request)
        if isinstance(request, StopConnector) and self.when_stopped is not None:
            self.when_stopped()
        self._compare()
        return found

    def running(self) -> set[str]:
        return {name for name in self.configs if self.targets[name] is TargetState.STARTED}

    def _compare(self) -> None:
        if self.other is not None and self.running() & self.other.running():
            self.both_ran = True

    def kind(self, name: str) -> str:
        return "sink" if "Sink" in str(self.configs[name].get("connector.class")) else "source"

    def place(self, name: str) -> int | None:
        """How far it is."""
        found = self._store_of(name).get(name, [])
        return next(iter(found[0]["offset"].values())) if found else None

    def set_place(self, name: str, place: int) -> None:
        if self.kind(name) == "sink":
            found = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": place}}
        else:
            found = {"partition": {"filename": "in.txt"}, "offset": {"position": place}}
        self._store_of(name)[name] = [found]

    def _store_of(self, name: str) -> dict[str, list[dict[str, Any]]]:
        return self.groups if self.kind(name) == "sink" else self.stored

    # -- answers ------------------------------------------------------------------------------------------------------

    def _root(self, request: Root) -> Any:
        return {"version": self.version, "commit": "c0ffee", "kafka_cluster_id": self.kafka}

    def _cluster(self, request: GetCluster) -> Any:
        if not self.is_kconnect:
            raise NotFoundError("HTTP 404 Not Found")
        return {}

    def _offsets(self, request: GetOffsets) -> Any:
        name = self._known(request.name)
        if self.shows_offsets is not None:
            return {"offsets": self.shows_offsets()}
        found = deepcopy(self._store_of(name).get(name, []))
        if name in self.running() and found:
            self.set_place(name, next(iter(found[0]["offset"].values())) + 1)
        return {"offsets": found}

    def _altered(self, request: Any) -> Any:
        name = self._known(request.name)
        if self.targets[name] is not TargetState.STOPPED:
            raise BadRequestError("Connectors must be in the STOPPED state before their offsets can be modified.")
        if name in self.refuses_offsets:
            raise BadRequestError("It keeps offsets elsewhere and can't set them")
        found = {str(each["partition"]): each for each in self._store_of(name).get(name, [])}
        found.update({str(partition): {"partition": partition, "offset": offset} for partition, offset in request.offsets})
        self._store_of(name)[name] = [each for each in found.values() if each["offset"] is not None]
        return {"message": "altered"}

    def _validate(self, request: ValidateConfig) -> Any:
        found = request.config["connector.class"]
        if found in self.missing:
            raise BadRequestError(f"Failed to find any class that implements Connector and which name matches {found}")
        values: list[dict[str, Any]] = [{"name": "topic", "value": request.config.get("topic"), "errors": []}]
        if "wrong" in request.config:
            values.append({"name": "wrong", "value": None, "errors": [f"Must not be {request.config['secret']}"]})
        rows = [{"definition": None, "value": value} for value in values]
        return {"name": found, "error_count": len(rows), "groups": [], "configs": rows}

    def _info(self, name: str) -> dict[str, Any]:
        return {**super()._info(name), "type": self.kind(name)}

    def _status_of(self, name: str) -> dict[str, Any]:
        found = super()._status_of(name)
        for unit in (found["connector"], *found["tasks"]):
            unit["worker_id"] = self.worker
            if self.between.get(name, 0) > 0:
                unit["state"] = "UNASSIGNED"
        self.between[name] = self.between.get(name, 0) - 1
        return {**found, "type": self.kind(name)}

    def _create(self, request: CreateConnector) -> Created:
        made = super()._create(request)
        self.configs[request.name].setdefault("name", request.name)
        return made

    _answers = {
        **MemoryHerder._answers,
        Root: _root,
        GetCluster: _cluster,
        GetOffsets: _offsets,
        AlterOffsets: _altered,
        ValidateConfig: _validate,
        CreateConnector: _create,
    }


@contextmanager
def served(*clusters: Cluster) -> Iterator[None]:
    """Each answers at its `url` in the block."""
    servers = []
    try:
        for cluster in clusters:
            server = Server(build(cluster, RestSettings("http://worker-1:8083/")), ["http://127.0.0.1:0"])
            server.start()
            servers.append(server)
            cluster.url = f"http://127.0.0.1:{server.port}"
        yield
    finally:
        for server in servers:
            server.stop()


def create(cluster: Cluster, name: str, kind: str = "Source", place: int = 7, /, **config: str) -> None:
    with ConnectClient(cluster.url) as client:
        own = {"Source": {"topic": "t"}, "Sink": {"topics": "t"}}[kind]
        client.create(name, {"connector.class": f"FileStream{kind}", "file": "in.txt", **own, **config})
    cluster.set_place(name, place)
