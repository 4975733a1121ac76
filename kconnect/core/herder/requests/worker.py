"""
Of the worker that is asked: who it is, whether it is well, the keys that it shares with others, log levels.

Made by `rest/root.py`, `rest/resource.py` and `rest/loggers.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from kconnect import CONNECT_VERSION
from kconnect.core.cluster.silence import silent_after_s
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, Until
from kconnect.core.herder.request import Look, Office, Request
from kconnect.core.herder.waiting import silent_hosts
from kconnect.core.state import records
from kconnect.core.state.records import LoggerLevel, SessionKey
from kconnect.errors import ConnectError, UnavailableError

_SILENT_S = 15
"""
A worker that Kafka has not answered for so long knows only what was. It is longer than what statuses wait for: a flapping
`/health` has workers restarted.
"""


@dataclass(frozen=True, slots=True)
class Root(Look[Body]):
    """`GET /`: version, commit, kafka_cluster_id."""

    waits = False

    def look(self, office: Office) -> Body:
        identity = office.desk.identity
        return {"version": CONNECT_VERSION, "commit": identity.commit, "kafka_cluster_id": identity.kafka_cluster_id}


@dataclass(frozen=True, slots=True)
class Health(Look["str | None"]):
    """`GET /health`: an error unless the worker has read its topics and is well; else why it runs nothing, if that is so."""

    waits = False

    def look(self, office: Office) -> str | None:
        desk = office.desk
        if not desk.started:
            raise UnavailableError("Worker is still starting up.")
        trouble = desk.refusal or office.rivals.trouble
        if trouble is not None:
            raise ConnectError(trouble)
        silent_s = desk.silent_ms // 1000
        if silent_s >= _SILENT_S:
            raise ConnectError(f"Kafka has not answered the worker for {silent_s} s.")
        unread_s = 0 if desk.unread_since is None else (desk.now - desk.unread_since) // 1000
        if unread_s >= 2 * silent_after_s(desk.identity.session_timeout_ms):
            raise ConnectError(f"The worker has not been able to read its internal topics for {unread_s} s.")
        if silent := silent_hosts(desk):
            raise ConnectError(" ".join(silent))
        if desk.spark_trouble:
            return f"No connector runs on it: {desk.spark_trouble}."
        placement = desk.log.assignment.placements.get(desk.me)
        placed = () if placement is None else placement.hosts or ()
        absent = [f"Task host {host} is not up: {why}." for host, why in sorted(desk.host_troubles.items()) if host in placed]
        return " ".join(absent) or None


@dataclass(frozen=True, slots=True)
class WhyNotReady(Look["str | None"]):
    """
    `GET /ready`: None from when the worker has read its topics, is in the group and has had Spark until it leaves; else what it
    waits for.

    What goes wrong later does not count: were Kafka slow, no worker of the cluster would be ready, and whoever sends requests
    to those that are would find none. `Health` tells of that.
    """

    waits = False

    def look(self, office: Office) -> str | None:
        desk = office.desk
        if desk.leaving:
            return "The worker hands its work over, and ends."
        if not desk.started:
            return "The worker reads its topics."
        if desk.is_foreign:
            # It was so before this worker began: whoever restarts one after the other is to stop here.
            return desk.refusal
        if not desk.has_joined:
            return "The worker is not in the group yet."
        return None if desk.has_had_spark else "Spark and the worker's first task host are not up yet."


@dataclass(frozen=True, slots=True)
class IsMember(Look[bool]):
    """Tell REST itself whether the group still has a live worker with this advertised address."""

    url: str
    waits = False

    def look(self, office: Office) -> bool:
        return self.url in office.desk.members.values()


@dataclass(frozen=True, slots=True)
class GetConfigOffset(Look[int]):
    """Tell REST itself how far this worker has read the config topic: what it has answered is before that."""

    hurries = True

    def look(self, office: Office) -> int:
        return office.desk.log.config.offset


@dataclass(frozen=True, slots=True)
class ReadConfigs(Request[None]):
    """Wait, for REST itself, until this worker has read the config topic as far as another one had."""

    offset: int
    hurries = True

    def answer(self, office: Office) -> Procedure[None]:
        yield Until(lambda: office.desk.log.config.offset >= self.offset)
        return None


@dataclass(frozen=True, slots=True)
class GetSessionKeys(Look[tuple[SessionKey, ...]]):
    """Get the session keys, the one in force first. For REST itself, never for an answer."""

    hurries = True

    def look(self, office: Office) -> tuple[SessionKey, ...]:
        return office.desk.log.config.session_keys


@dataclass(frozen=True, slots=True)
class SetLoggerLevel(Request[None]):
    """`PUT /admin/loggers/{l}?scope=cluster` (KIP-976): any worker may write it; `level` is the text that was sent."""

    namespace: str
    level: str
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        yield from office.desk.write([records.logger_level(LoggerLevel(self.namespace, self.level))])
