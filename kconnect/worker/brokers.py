"""
What requests ask of Kafka for a connector: its offsets, where it would go on, whose producers are to be fenced.

A config may name brokers of its own, and librdkafka trusts what brokers answer: a few wrong bytes end its process. And all
threads of a process wait while a client is made, which may be told to read a pipe, or to try a password for hours. So a client
of which a config says how it connects is made in another process, which `errands.py` starts with this module; others are made
here. A topic of offsets that a config names is read there in any case: others may write to it, and a batch of a megabyte may
unpack to a gigabyte in the client. Called by `world.py`. Read next: `kafka/positions.py`, `kafka/own_offsets.py`,
`kafka/fencing.py`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kconnect.api.record import TopicPartition
from kconnect.core.herder.effects import GroupInUseError
from kconnect.core.settings.client_config import TABLES
from kconnect.core.settings.source import OFFSETS_STORAGE_TOPIC
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, LogRecord, Topic
from kconnect.errors import ConfigError, NotFoundError
from kconnect.kafka import clients, fencing, group_offsets, moves, own_offsets
from kconnect.kafka.admin import committed
from kconnect.kafka.positions import Place, Positions
from kconnect.plugins import one_request
from kconnect.worker.errands import Errands

_WRITE_S = 30.0
_CONNECTING = re.compile(r"bootstrap\..*|(sasl|security|ssl)\..*")

Config = Mapping[str, str]


class Brokers:
    """The brokers of one worker's connectors. `config` has a connector's overrides, with references resolved."""

    def __init__(self, settings: WorkerSettings, errands: Errands) -> None:
        self._settings, self._errands = settings, errands

    def group_offsets(self, connector: str, config: Config) -> list[tuple[str, int, int]]:
        return [(topic, number, offset) for topic, number, offset in self._ask("group_offsets", connector, config)]

    def moves(self, connector: str, config: Config, topics: Iterable[str], to: str, number: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._ask("moves", connector, config, sorted(topics), to, number)
        return rows

    def own_offsets(self, connector: str, config: Config, prepare: bool) -> OffsetState | None:
        packed = self._ask("own_offsets", connector, config, prepare)
        if packed is None:
            return None
        state = OffsetState()
        for key, value in packed:
            state.apply(LogRecord(Topic.OFFSET, 0, 0, base64.b64decode(key), _bytes(value)))
        return state

    def write_own_offsets(self, connector: str, config: Config, entries: Iterable[Entry]) -> None:
        self._ask("write_own_offsets", connector, config, [_packed(entry) for entry in entries])

    def fence(self, connector: str, config: Config, ids: Sequence[str]) -> None:
        self._ask("fence", connector, config, list(ids))

    def alter_group(self, connector: str, config: Config, offsets: Mapping[TopicPartition, int | None] | None) -> None:
        """Set the offsets of a sink's group, or delete it if they are None. GroupInUseError if it has members."""
        rows = None if offsets is None else [[*place, offset] for place, offset in offsets.items()]
        in_use = self._ask("alter_group", connector, config, rows)
        if in_use is not None:
            raise GroupInUseError(in_use)

    def _ask(self, what: str, connector: str, config: Config, *more: Any) -> Any:
        reads = what == "own_offsets" and OFFSETS_STORAGE_TOPIC.key.name in config
        if not reads and not any(map(_says_more, config)):
            return _ASKED[what](self._settings, connector, config, *more)
        request = {"what": what, "connector": connector, "config": dict(config), "more": more}
        answer: dict[str, Any] = self._errands.ask_brokers(request)
        if "refused" in answer:
            raise ConfigError(answer["refused"])
        return answer["answer"]


def _says_more(name: str) -> bool:
    """Whether a setting of a config says how a client connects, or is one that only librdkafka knows."""
    kind, _, setting = name.partition(".override.")
    return bool(setting) and (kind not in TABLES or setting not in TABLES[kind].keys or bool(_CONNECTING.fullmatch(setting)))


def _alter_group(settings: WorkerSettings, connector: str, config: Config, rows: Iterable[Sequence[Any]] | None) -> str | None:
    """Return why the group can't be changed, if it has members."""
    client, group = clients.admin(settings, connector, config), clients.group_of(settings, connector, config)
    try:
        if rows is None:
            group_offsets.reset(client, group)
        else:
            group_offsets.alter(client, group, {TopicPartition(topic, number): offset for topic, number, offset in rows})
    except GroupInUseError as error:
        return str(error)
    return None


def _group_offsets(settings: WorkerSettings, connector: str, config: Config) -> list[tuple[str, int, int]]:
    return committed(clients.admin(settings, connector, config), clients.group_of(settings, connector, config))


def _moves(
    settings: WorkerSettings, connector: str, config: Config, topics: Iterable[str], to: str, number: int
) -> list[dict[str, Any]]:
    now = {Place(topic, place): offset for topic, place, offset in _group_offsets(settings, connector, config)}
    positions = Positions(clients.admin(settings, connector, config))
    places = positions.partitions({*topics, *(place.topic for place in now)})
    if not places:
        raise NotFoundError("None of its topics is there")
    return [
        {**move.place._asdict(), "now": move.now, "then": move.new, "again": move.again, "skipped": move.skipped}
        for move in moves.planned(positions, places, now, to, number)
    ]


def _own_offsets(
    settings: WorkerSettings, connector: str, config: Config, prepare: bool
) -> list[tuple[str, str | None]] | None:
    own_topic = own_offsets.of(settings, connector, config)
    if own_topic is not None and prepare:
        own_offsets.ensure(own_topic, settings, lambda: False, _WRITE_S)
        own_topic = None if own_offsets.is_the_workers(own_topic, settings) else own_topic
    if own_topic is None:
        return None
    # Not those of others, who may have any number of them there.
    return [_packed(entry) for entry in own_offsets.read(own_topic, _WRITE_S).entries(connector)]


def _write_own_offsets(settings: WorkerSettings, connector: str, config: Config, packed: Iterable[Sequence[Any]]) -> None:
    own_topic = own_offsets.of(settings, connector, config)
    assert own_topic is not None, "it was read before"
    entries = [Entry(Topic.OFFSET, base64.b64decode(key), _bytes(value)) for key, value in packed]
    transactional_id = clients.transactional_id(settings, connector, None) if settings.exactly_once_enabled else None
    own_offsets.write(own_topic, entries, transactional_id, _WRITE_S)


def _fence(settings: WorkerSettings, connector: str, config: Config, ids: Sequence[str]) -> None:
    fencing.fence(clients.producer(settings, connector, 0, config), ids, _WRITE_S)


_ASKED: Mapping[str, Any] = {
    "alter_group": _alter_group,
    "group_offsets": _group_offsets,
    "moves": _moves,
    "own_offsets": _own_offsets,
    "write_own_offsets": _write_own_offsets,
    "fence": _fence,
}


def _packed(entry: Entry) -> tuple[str, str | None]:
    value = None if entry.value is None else base64.b64encode(entry.value).decode()
    return base64.b64encode(entry.key).decode(), value


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _work(request: Mapping[str, Any], memory: int | None) -> Any:
    settings = WorkerSettings.from_properties(request["worker"], {})
    try:
        return {"answer": _ASKED[request["what"]](settings, request["connector"], request["config"], *request["more"])}
    except ConfigError as error:
        # Otherwise it would be whoever sent the request that has done something wrong.
        return {"refused": str(error)}


def main() -> None:
    one_request.serve(_work)


if __name__ == "__main__":
    main()
