"""
What is stored of a source connector: in the worker's offset topic, and in its own if it has one (KIP-618, KIP-875).

Read and written for requests, by `requests/offsets.py`; tasks do the same by way of `units/offsets.py`. The worker's topic is
read by the herder anyway. A connector's own may be on another Kafka cluster, so each request has it read anew, by a client
that is made for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kconnect.core.herder import effects
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.offset_bodies import SourcePair
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.settings.source import OFFSETS_STORAGE_TOPIC
from kconnect.core.state import offsets
from kconnect.core.state.config import Properties
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, SourceOffset
from kconnect.errors import BadRequestError, ConflictError, ConnectError


@dataclass(frozen=True)
class Stored:
    """`own` is None for a connector whose offsets are in the worker's topic alone."""

    connector: str
    config: Properties
    worker: OffsetState
    own: OffsetState | None = None

    def known(self) -> list[SourceOffset]:
        """All offsets that count; a null partition is not listed."""
        return self.worker.of(self.connector) if self.own is None else self.worker.of_both(self.connector, self.own)

    def in_worker(self, pairs: Iterable[SourcePair]) -> list[Entry]:
        return offsets.entries(self.connector, pairs, *self._keys(self.worker, self.own))

    def in_own(self, pairs: Iterable[SourcePair]) -> list[Entry]:
        assert self.own is not None
        return offsets.entries(self.connector, pairs, *self._keys(self.own, self.worker))

    def _keys(self, *topics: OffsetState | None) -> list[offsets.KnownKey]:
        return [topic.known_key for topic in topics if topic is not None]


def read(desk: Desk, name: str, config: Properties, prepare: bool = False, looks: bool = False) -> Procedure[Stored]:
    """
    Return the stored offsets of a source. With `prepare`, create its own topic if that is missing. `looks` is for who only
    shows them. Raise ConnectError if the own topic can't be read.
    """
    in_own_topic = None
    if may_have_own(desk, config):
        if looks:
            in_own_topic = yield from ask(effects.ShowOwnOffsets(name, dict(config)))
        else:
            in_own_topic = yield from ask(effects.ReadOwnOffsets(name, dict(config), prepare))
    return Stored(name, config, desk.log.offsets, in_own_topic)


def may_have_own(desk: Desk, config: Properties) -> bool:
    """False if it has none for sure. The rest is for whoever knows the addresses: `kafka/own_offsets.py`."""
    identity = desk.identity
    if OFFSETS_STORAGE_TOPIC.read(config):
        return True
    return identity.exactly_once and (identity.redirects_producers or "producer.override.bootstrap.servers" in config)


def write(desk: Desk, stored: Stored, pairs: Sequence[SourcePair], last: Sequence[Entry] = ()) -> Procedure[None]:
    """
    Store these offsets, and then `last`, which must not come before them. The leader calls this.

    With an own topic, deletions go to the worker's topic first, or an old offset would come back from there; then the own topic
    has it all, and the worker's follows. ConflictError: another worker leads, and it is to be decided anew. BadRequestError: a
    topic does not take it, however often it is tried. ConnectError: the text says what was written.
    """
    name = stored.connector
    failed = f"Failed to modify offsets for source connector {name}"
    # As leader: who was taken for dead, and is not, must not write offsets over those of whom leads now.
    if stored.own is None:
        yield from _write(desk, [*stored.in_worker(pairs), *last], failed)
        return
    deleted = [pair for pair in pairs if pair[1] is None]
    yield from _write(desk, stored.in_worker(deleted), failed)
    # The own topic knows of no leaders.
    yield from desk.await_lead()
    half = " The offsets are already reset in the worker's offset topic, but not in the connector's own."
    half = half if deleted else ""
    try:
        if pairs:
            yield from ask(effects.WriteOwnOffsets(name, dict(stored.config), tuple(stored.in_own(pairs))))
    except BadRequestError as error:
        raise BadRequestError(f"{failed}: {error}{half}") from error
    except ConnectError as error:
        raise ConnectError(f"{failed}: {error}{half} The request can be repeated safely.") from error
    copies = stored.in_worker(pair for pair in pairs if pair[1] is not None)
    if last:
        yield from _write(desk, [*copies, *last], f"{failed}, but those in its own topic")
        return
    try:
        yield from _write(desk, copies, failed)
    except ConnectError as error:
        desk.say("WARNING", f"The offsets of {name} are altered in its own topic, and not in the worker's: {error}")


def _write(desk: Desk, entries: Sequence[Entry], failed: str) -> Procedure[None]:
    if not entries:
        return
    try:
        yield from desk.write_as_leader(entries)
    except ConflictError:
        raise  # Nothing was written: whoever leads now decides anew.
    except BadRequestError as error:
        raise BadRequestError(f"{failed}: {error}") from error
    except ConnectError as error:
        raise ConnectError(f"{failed}: {error}") from error
