"""
Letters through a connector's chain as its config is now: `replay --through-chain` and `show --decode`.

It is the chain of `kconnect preview` (`preview/preview.py`), in this process. A sink's letter is taken as the message that the
task consumed; a source's, which is JSON with schemas, as the record that the task gave. What a sink's task itself would make
of a record can't be tried here. Read next: `planning.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from kconnect.api.record import Header, SourceRecord
from kconnect.cli import connector_file
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import queues
from kconnect.cli.dlq.letters import Letter
from kconnect.converters.json import JsonConverter
from kconnect.errors import ConnectError, NotFoundError
from kconnect.plugins.registry import Registry
from kconnect.preview.preview import Outcome, Preview
from kconnect.rest.client import RestError

_STEPS = ("transforms", "predicates")


@dataclass(frozen=True)
class Consumed:
    """A letter as the message that it was before it failed: what `core/task/chain.py` asks of the client's."""

    letter: Letter
    of: str

    def topic(self) -> str:
        return self.of

    def partition(self) -> int:
        return self.letter.original_partition or 0

    def offset(self) -> int:
        return self.letter.original_offset or 0

    def key(self) -> bytes | None:
        return self.letter.key

    def value(self) -> bytes | None:
        return self.letter.value

    def headers(self) -> list[tuple[str, bytes | None]]:
        return list(self.letter.own_headers)

    def timestamp(self) -> tuple[int, int]:
        at = self.letter.timestamp
        return (0, -1) if at is None else (1, at)


class Chains:
    """
    The chains of those who wrote letters, made when the first one comes. Use it in a `with`.

    `connector` is the one whose chain is meant, whatever the letters say; `whole` false leaves out transforms and predicates.
    """

    def __init__(self, brokers: Brokers, target: Target, queue: str, connector: str | None = None, whole: bool = True) -> None:
        self._settings = brokers.settings if brokers.known else connector_file.worker_of(None)
        self._target, self._queue, self._asked, self._whole = target, queue, connector, whole
        self._plugins: Registry | None = None
        self._made: dict[tuple[str, bool], Preview] = {}
        self._refused: dict[tuple[str, bool], ConnectError] = {}
        self._only: str | None = None

    def __enter__(self) -> Chains:
        return self

    def __exit__(self, *_: object) -> None:
        for chain in self._made.values():
            chain.close()

    def run(self, letter: Letter) -> Outcome:
        """
        The letter's way. ConnectError if its connector is not known or not there any more, or it can't be read at all.
        """
        chain = self._chain(self._connector(letter), letter.of_source)
        if letter.of_source:
            return chain.record(_record(letter))
        topic = letter.topic or (chain.config.get("topics") or "").strip()
        if not topic or "," in topic:
            raise ConnectError(f"The headers of {letter.place} do not name the topic that it came from")
        return chain.message(Consumed(letter, topic))

    def _chain(self, connector: str, of_source: bool) -> Preview:
        asked = connector, of_source
        if asked in self._refused:
            raise self._refused[asked]
        if asked not in self._made:
            try:
                self._made[asked] = self._build(connector, "source" if of_source else "sink")
            except ConnectError as error:
                # There may be thousands of letters, and a worker that does not answer takes its time.
                self._refused[asked] = error
                raise
        return self._made[asked]

    def _build(self, connector: str, kind: str) -> Preview:
        config = self._config(connector)
        if self._plugins is None:
            self._plugins = connector_file.plugins_of(self._settings)
        return connector_file.build(f"the config of {connector}", config, kind, self._settings, self._plugins)

    def _config(self, connector: str) -> dict[str, str]:
        try:
            with self._target.connect() as client:
                found = client.get_config(connector)
        except RestError as error:
            if error.status == 404:
                raise NotFoundError(
                    f"The connector {connector}, which wrote the letter, no longer exists: name another with --chain-of"
                ) from None
            raise
        return settings_of(found, self._whole)

    def _connector(self, letter: Letter) -> str:
        asked = self._asked or letter.connector
        if asked is not None:
            return asked
        if self._only is None:
            there = [owner.connector for owner in queues.owners(self._target) if owner.queue == self._queue]
            if len(there) != 1:
                who = f"{', '.join(there)} all write to it" if there else "no connector names this queue"
                raise ConnectError(
                    f"The headers of {letter.place} do not name its connector, and {who}: name a connector with --chain-of"
                )
            self._only = there[0]
        return self._only


def settings_of(config: Mapping[str, str | None], whole: bool) -> dict[str, str]:
    given = {name: text for name, text in config.items() if text is not None}
    return given if whole else {name: text for name, text in given.items() if not name.startswith(_STEPS)}


def _record(letter: Letter) -> SourceRecord:
    """ConnectError for a part that could only be written down as Python shows it."""
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true"}, False)
    topic = letter.topic or letter.queue
    try:
        key = converter.to_connect_data(topic, letter.key)
        value = converter.to_connect_data(topic, letter.value)
        headers = []
        for name, data in letter.own_headers:
            read = converter.to_connect_data(topic, data)
            headers.append(Header(name, read.value, read.schema))
    except ConnectError as error:
        raise ConnectError(f"{letter.place} is not a source's record in JSON: {error}") from None
    places: list[Any] = [_map(letter.context.get(name)) for name in ("source.partition", "source.offset")]
    # The queue's records have to have a time: 0 is none.
    parts = (key.schema, key.value, value.schema, value.value, letter.timestamp or None, headers)
    return SourceRecord(places[0], places[1], topic, None, *parts)


def _map(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
