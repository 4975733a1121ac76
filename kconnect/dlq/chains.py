"""
Letters through a connector's chain as its config is now: `replay --through-chain`, `show --decode`, and the same by REST.

It is the chain of `kconnect preview` (`preview/preview.py`), in this process. A sink's letter is taken as the message that the
task consumed; a source's, which is JSON with schemas, as the record that the task gave. What a sink's task itself would make
of a record can't be tried here. Read next: `planning.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from kconnect.api.record import Header, SourceRecord
from kconnect.converters.json import JsonConverter
from kconnect.dlq.letters import Letter
from kconnect.dlq.origins import Reporter, Reporters
from kconnect.errors import ConnectError
from kconnect.preview.preview import Outcome, Preview


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


def anywhere(reporter: Reporter, topic: str) -> bool:
    """Letters of any topic are converted: the caller names the topic to write to."""
    return True


def nowhere(reporter: Reporter, topic: str) -> bool:
    """No letter is converted: somebody only looks at it."""
    return False


def own(reporter: Reporter, topic: str) -> bool:
    """Letters are converted for a topic of their connector: for another they stay, whatever comes of the conversion."""
    return reporter.has_topic(topic) and reporter.elsewhere is None


class Chains:
    """
    The chains of the connectors that wrote letters, made when the first letter comes. Use it in a `with`.

    `reporters` are the connectors that name the queue: no letter reaches the chain of another. `build` makes the chain of a
    connector, as a `source` or `sink`; it may raise a ConnectError, which is told of each letter that needs the chain.
    `converts` says for which topics a source's letters are converted, too, and their schemas registered.
    """

    def __init__(
        self,
        reporters: Reporters,
        build: Callable[[str, str], Preview],
        converts: Callable[[Reporter, str], bool] = own,
    ) -> None:
        self._reporters, self._build, self._converts = reporters, build, converts
        self._made: dict[tuple[str, bool], Preview] = {}
        self._refused: dict[tuple[str, bool], ConnectError] = {}

    def __enter__(self) -> Chains:
        return self

    def __exit__(self, *_: object) -> None:
        for chain in self._made.values():
            chain.close()

    def run(self, letter: Letter) -> Outcome:
        """
        The letter's way. ConnectError if its connector is not known or not there any more, or it can't be read at all.
        """
        reporter = self._reporters.of(letter)
        of_source = reporter.is_source(letter)
        chain = self._chain(reporter.connector, of_source)
        if of_source:
            # What a letter says must not name what schemas are registered under.
            return chain.record(_record(letter), functools.partial(self._converts, reporter))
        topic = letter.topic or (chain.config.get("topics") or "").strip()
        if not topic or "," in topic:
            raise ConnectError(f"The headers of {letter.place} do not name the topic that it came from")
        return chain.message(Consumed(letter, topic))

    def shown(self, letter: Letter, outcome: Outcome) -> Outcome:
        """Return the outcome for others to read, without the secrets of the chain that made it."""
        reporter = self._reporters.of(letter)
        return self._chain(reporter.connector, reporter.is_source(letter)).shown(outcome)

    def shown_text(self, letter: Letter, text: str) -> str:
        """Return a text about a letter that has been through its chain for others to read, as `shown` does it."""
        reporter = self._reporters.of(letter)
        return self._chain(reporter.connector, reporter.is_source(letter)).shown_text(text)

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
    parts = (key.schema, key.value, value.schema, value.value, letter.timestamp, headers)
    return SourceRecord(places[0], places[1], topic, None, *parts)


def _map(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
