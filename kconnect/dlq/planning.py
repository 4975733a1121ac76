"""
What a replay would write, and which letters it leaves, with the reason. It decides; `sending.py` writes.

A letter goes to the topic that its record came from, with the record's key, value, headers and timestamp. It goes to the
record's own partition as long as the topic has it: whoever produced it may have had any partitioner, and only there it stands
in one order with what else has its key. `by_key` takes Java's default partitioner instead, as does a letter that goes to
another topic or tells no partition.

Where a letter goes is never for the letter alone to say: the caller names the topic, or it is one of the connector's own, and
the original record does not contradict the letter. `origins.py` says how that is found out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.task import destination
from kconnect.dlq.letters import Headers, Letter, short
from kconnect.dlq.memory import Done, includes
from kconnect.dlq.origins import Proof, ReadBack, Reporters, proofs
from kconnect.errors import BadRequestError, ConnectError
from kconnect.preview.preview import Outcome


@dataclass(frozen=True)
class Outgoing:
    """A record to write. `partition` -1: by its key; `timestamp` 0: that of the moment."""

    letter: Letter
    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    proof: Proof | None = None
    """Whether the letter comes from where it says. None if nobody asks, since the caller named the topic."""

    @property
    def to(self) -> str:
        return self.topic if self.partition < 0 else f"{self.topic}-{self.partition}"

    def as_json(self) -> dict[str, Any]:
        to = {"to": self.topic, "to_partition": None if self.partition < 0 else self.partition}
        return {**_letter(self.letter), **to, "left": None, "origin": None if self.proof is None else self.proof.value}


@dataclass(frozen=True)
class Left:
    """A letter that is not replayed. `failed`: it fails on the chain as it did, or can't be tried."""

    letter: Letter
    why: str
    failed: bool = False

    def as_json(self) -> dict[str, Any]:
        return {**_letter(self.letter), "to": None, "to_partition": None, "left": self.why, "origin": None}


def _letter(letter: Letter) -> dict[str, Any]:
    return {"partition": letter.partition, "offset": letter.offset, "from": letter.origin}


@dataclass
class Plan:
    outgoing: list[Outgoing] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    passed_by: int = 0
    """How many were replayed before, and are left therefore."""
    more: bool = False
    """Whether there are letters beyond the limit."""

    @property
    def targets(self) -> Counter[str]:
        return Counter(letter.topic for letter in self.outgoing)

    @property
    def failed(self) -> int:
        return sum(letter.failed for letter in self.left)

    def as_json(self) -> list[dict[str, Any]]:
        return [row.as_json() for row in self.rows]

    @property
    def rows(self) -> list[Outgoing | Left]:
        """All, in the queue's order."""
        return sorted([*self.outgoing, *self.left], key=lambda row: (row.letter.partition, row.letter.offset))


@dataclass(frozen=True)
class Rules:
    """
    The rules of a replay. `run` is the chain to try each letter on; `partitions` returns those of a topic, none if it does not
    exist. `reporters` are the connectors that name the queue, and `read_back` reads their records, without which no letter is
    proven. `internal` are the topics that no replay may write to; BadRequestError if `to_topic` is one, or empty.
    """

    queue: str
    partitions: Callable[[str], list[int]]
    reporters: Reporters
    read_back: ReadBack
    internal: InternalTopics
    to_topic: str | None = None
    run: Callable[[Letter], Outcome] | None = None
    by_key: bool = False
    again: bool = False
    max_replays: int = 3
    limit: int = 10_000

    def __post_init__(self) -> None:
        if self.to_topic is not None and not self.to_topic.strip():
            # A script's variable that is empty. Taken for a topic's name, it would leave the choice to the letters.
            raise BadRequestError("The topic to write to has an empty name: name it, or leave it out")
        if self.to_topic is not None and self.internal.protects(self.to_topic):
            raise BadRequestError(f"Nothing can be replayed there: {self.internal.refusal(self.to_topic)}")


def plan(letters: Iterable[Letter], replays: Mapping[int, Done], rules: Rules) -> Plan:
    result = Plan()
    chosen: list[Letter] = []
    for letter in letters:
        if not rules.again and includes(replays, letter.partition, letter.offset):
            result.passed_by += 1
        elif len(chosen) == rules.limit:
            result.more = True
            break
        else:
            chosen.append(letter)
    proven = {} if rules.to_topic is not None else proofs(chosen, rules.reporters, rules.read_back)
    for letter in chosen:
        decision = _decide(letter, rules, proven.get(letter.place))
        if isinstance(decision, Outgoing):
            result.outgoing.append(decision)
        else:
            result.left.append(decision)
    return result


def _decide(letter: Letter, rules: Rules, proof: Proof | None) -> Outgoing | Left:
    if letter.replays >= rules.max_replays:
        return Left(letter, f"it was replayed {letter.replays} times and came back")
    if letter.omits_record:
        return Left(letter, f"its record is too large for the queue, and not in the letter: it is at {letter.origin}")
    of_source = rules.reporters.of_source(letter)
    if rules.run is None:
        if of_source:
            return Left(letter, "it is from a source, and no converter has seen it: let it go through the chain")
        return _back(letter, rules, proof)
    try:
        outcome = rules.run(letter)
    except ConnectError as error:
        return Left(letter, " ".join(str(error).split()), failed=True)
    if outcome.error is not None:
        at = outcome.error.alias or outcome.error.stage
        problem = " ".join(f"{short(outcome.error.class_name)}: {outcome.error.message} {outcome.error.cause}".split())
        return Left(letter, f"still fails at {at}: {problem}", failed=True)
    if outcome.out is None:
        return Left(letter, f"the chain would drop it: {outcome.dropped_by}")
    if of_source:
        topic = outcome.out["topic"]
        record = (outcome.key, outcome.value, outcome.headers, letter.timestamp)
        return _stays_away(letter, rules, topic) or _to(letter, rules, topic, *record, proof)
    return _back(letter, rules, proof)


def _back(letter: Letter, rules: Rules, proof: Proof | None) -> Outgoing | Left:
    """Decide about a letter that goes as it was consumed."""
    if proof is Proof.FALSE:
        why = (
            f"the record at {letter.origin} is another one: it did not come from there, or the topic was made anew: {_NAME_ONE}"
        )
        return Left(letter, why)
    record = (letter.key, letter.value, letter.own_headers, letter.timestamp)
    return _stays_away(letter, rules, letter.topic) or _to(letter, rules, letter.topic, *record, proof)


_NAME_ONE = "name the topic to write to"


def _stays_away(letter: Letter, rules: Rules, topic: str | None) -> Left | None:
    """Return why a letter may not go to a topic that the caller has not named."""
    if rules.to_topic is not None or topic is None:
        return None
    if rules.internal.protects(topic):
        return Left(letter, rules.internal.refusal(topic))
    try:
        reporter = rules.reporters.of(letter)
    except ConnectError as error:
        return Left(letter, str(error))
    if reporter.elsewhere is not None:
        where = f"is at the brokers of {reporter.elsewhere}, and not here"
        return Left(letter, f"{topic} of the connector {reporter.connector} {where}: {_NAME_ONE}")
    if reporter.has_topic(topic):
        return None
    verb = "has written" if reporter.kind == "source" else "reads"
    return Left(letter, f"{topic} is no topic that the connector {reporter.connector} {verb}: {_NAME_ONE}")


def _to(
    letter: Letter,
    rules: Rules,
    topic: str | None,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
    timestamp: int | None,
    proof: Proof | None,
) -> Outgoing | Left:
    target = topic if rules.to_topic is None else rules.to_topic
    if target is None:
        return Left(letter, "its headers do not name the topic that it came from: name one")
    if target == rules.queue:
        return Left(letter, "it would go to the queue itself: name another topic")
    partitions = rules.partitions(target)
    if not partitions:
        return Left(letter, f"the topic {target} does not exist: create it, or name another")
    original = letter.original_partition
    stays = target == letter.topic and original in partitions and not (rules.by_key or rules.reporters.of_source(letter))
    partition = original if stays and original is not None else -1
    moment = destination.of_record(timestamp)
    return Outgoing(letter, target, partition, key, value, tuple(letter.replay_headers(headers)), moment, proof)
