"""
Where a letter really came from: what it says is believed only as far as its connector and the original record bear it out.

A letter is a record, and others may write records: to the queue, or to a topic whose letters keep what a record brought along.
So a replay may write only where the caller says, or to a topic of the connector that reports to this queue; and before that the
original is read back from the place that the letter names. If it is the same record, the letter is proven: what a replay
writes is in that topic already. If it is not there any more, the letter is only claimed, and whoever replays it is shown
that. If another record is there, the letter is false, and stays. Called by `planning.py`; `queue.py` reads the originals.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kconnect.core.settings.lent_logins import SERVER_NAMES, SERVERS, server_list
from kconnect.core.settings.sink import subscription
from kconnect.dlq.letters import Letter
from kconnect.errors import ConnectError

Config = Mapping[str, "str | None"]
NOTHING: Mapping[str, str] = {}
_QUEUES, _TOPICS = (tuple(f"{client}.override.{name}" for name in SERVER_NAMES) for client in ("producer", "consumer"))
_WORKERS = f"consumer.{SERVERS}"
ReadBack = Callable[[str, int, Sequence[int]], Mapping[int, Letter]]
"""Given a topic, a partition and offsets in rising order: the records that are still there."""


class Proof(enum.Enum):
    PROVEN = "proven"
    """The record that the letter names is in its topic, and is the same."""
    CLAIMED = "claimed"
    """Nothing contradicts the letter, and nothing proves it."""
    FALSE = "false"
    """There is another record at the place that the letter names."""


@dataclass(frozen=True)
class Reporter:
    """A connector that names the queue. `kind` is `source`, `sink` or `unknown`."""

    connector: str
    kind: str
    has_topic: Callable[[str], bool]
    """Whether a topic is one of the connector's own."""
    elsewhere: str | None = None
    """The setting by which its topics are at other brokers than the queue; there, the same names are others' topics."""

    def is_source(self, letter: Letter) -> bool:
        """Return whether the letter is a source's: the connector decides, and the letter only where nobody knows the class."""
        return letter.of_source if self.kind == "unknown" else self.kind == "source"


def reporter(
    connector: str, kind: str, config: Config, used: Collection[str], asked: str = "", worker: Mapping[str, str] = NOTHING
) -> Reporter:
    """
    Describe a connector by its config and by the topics that it has used (KIP-558). `asked` are the brokers that letters are
    read from and replayed to, `worker` are the settings of the worker.
    """
    reads = None if kind == "source" else subscription(config, if_late=False)
    topics = frozenset(used)
    elsewhere = _topics_elsewhere(kind, config, asked, worker)
    return Reporter(connector, kind, lambda topic: topic in topics or (reads is not None and reads(topic)), elsewhere)


def queue_elsewhere(config: Config, asked: str) -> str | None:
    """Return the setting by which a connector's letters are at other brokers than those that are `asked`, if it has one."""
    return next((name for name in _QUEUES if not server_list(config.get(name)) <= server_list(asked)), None)


def _topics_elsewhere(kind: str, config: Config, asked: str, worker: Mapping[str, str]) -> str | None:
    elsewhere = queue_elsewhere(config, asked)
    if elsewhere is not None or kind == "source":
        return elsewhere
    named = [name for name in _TOPICS if server_list(config.get(name))]
    if named:
        return next((name for name in named if not server_list(config.get(name)) <= server_list(asked)), None)
    # Without these it reads where the worker's file says: that is not where a queue is that has brokers of its own.
    if not server_list(worker.get(_WORKERS)) <= server_list(asked):
        return _WORKERS
    return next((name for name in _QUEUES if server_list(config.get(name))), None)


class Reporters:
    """The connectors that name one queue."""

    def __init__(
        self, reporters: Iterable[Reporter], remedy: str = "name the topic to write to", named: Reporter | None = None
    ) -> None:
        """`named` is the connector that the caller names, whatever the letters say."""
        self._by_name = {reporter.connector: reporter for reporter in reporters}
        self._remedy = remedy
        self._named = named

    def of(self, letter: Letter) -> Reporter:
        """
        Return the connector that wrote the letter: the one that it names, if that reports to this queue, or the only one.

        Raises ConnectError, with a remedy, if there is none.
        """
        if self._named is not None:
            return self._named
        name = letter.connector
        if name is not None:
            if name in self._by_name:
                return self._by_name[name]
            raise ConnectError(
                f"Its headers name the connector {name[:200]}, which is gone, or has another queue now: {self._remedy}"
            )
        if len(self._by_name) == 1:
            return next(iter(self._by_name.values()))
        who = f"{', '.join(sorted(self._by_name))} all write to the queue" if self._by_name else "no connector names this queue"
        raise ConnectError(f"The headers of {letter.place} do not name its connector, and {who}: {self._remedy}")

    def of_source(self, letter: Letter) -> bool:
        """Return whether the letter is a source's; if nobody knows its connector, the letter says it."""
        try:
            return self.of(letter).is_source(letter)
        except ConnectError:
            return letter.of_source


def proofs(letters: Iterable[Letter], reporters: Reporters, read_back: ReadBack) -> dict[str, Proof]:
    """
    Compare letters with their originals. Return the proof of each, by the letter's place.

    Only topics of the letter's own connector are read: which topics a worker reads is not for a letter to say.
    """
    proof_of = {}
    by_partition: dict[tuple[str, int], dict[int, list[Letter]]] = defaultdict(lambda: defaultdict(list))
    for letter in letters:
        proof_of[letter.place] = Proof.CLAIMED
        topic, partition, offset = letter.topic, letter.original_partition, letter.original_offset
        if topic is not None and partition is not None and offset is not None and _may_be_from(letter, topic, reporters):
            by_partition[topic, partition][offset].append(letter)
    for (topic, partition), by_offset in by_partition.items():
        for offset, original in read_back(topic, partition, sorted(by_offset)).items():
            for letter in by_offset[offset]:
                proof_of[letter.place] = Proof.PROVEN if letter.is_copy_of(original) else Proof.FALSE
    return proof_of


def _may_be_from(letter: Letter, topic: str, reporters: Reporters) -> bool:
    try:
        reporter = reporters.of(letter)
    except ConnectError:
        return False
    return not reporter.is_source(letter) and reporter.has_topic(topic) and reporter.elsewhere is None
