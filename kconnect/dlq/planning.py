"""
What a replay would write, and which letters it leaves, with the reason. It decides; `sending.py` writes.

A letter goes to the topic that its record came from, with the record's key, value, headers and timestamp. It goes to the
record's own partition as long as the topic has it: whoever produced it may have had any partitioner, and only there it stands
in one order with what else has its key. `by_key` takes Java's default partitioner instead, as does a letter that goes to
another topic or tells no partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kconnect.dlq.letters import Headers, Letter, short
from kconnect.dlq.memory import Done, includes
from kconnect.errors import ConnectError
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

    @property
    def to(self) -> str:
        return self.topic if self.partition < 0 else f"{self.topic}-{self.partition}"

    def as_json(self) -> dict[str, Any]:
        to = {"to": self.topic, "to_partition": None if self.partition < 0 else self.partition}
        return {**_letter(self.letter), **to, "left": None}


@dataclass(frozen=True)
class Left:
    """A letter that is not replayed. `failed`: it fails on the chain as it did, or can't be tried."""

    letter: Letter
    why: str
    failed: bool = False

    def as_json(self) -> dict[str, Any]:
        return {**_letter(self.letter), "to": None, "to_partition": None, "left": self.why}


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
        return Counter(each.topic for each in self.outgoing)

    @property
    def failed(self) -> int:
        return sum(each.failed for each in self.left)

    def as_json(self) -> list[dict[str, Any]]:
        return [each.as_json() for each in self.rows]

    @property
    def rows(self) -> list[Outgoing | Left]:
        """All, in the queue's order."""
        return sorted([*self.outgoing, *self.left], key=lambda each: (each.letter.partition, each.letter.offset))


@dataclass(frozen=True)
class Rules:
    """How to replay. `run` is the chain to try each letter on; `partitions` gives those of a topic, none if it is not there."""

    queue: str
    partitions: Callable[[str], list[int]]
    to_topic: str | None = None
    run: Callable[[Letter], Outcome] | None = None
    by_key: bool = False
    again: bool = False
    max_replays: int = 3
    limit: int = 10_000


def plan(letters: Iterable[Letter], done: Mapping[int, Done], rules: Rules) -> Plan:
    made = Plan()
    for letter in letters:
        if not rules.again and includes(done, letter.partition, letter.offset):
            made.passed_by += 1
        elif len(made.outgoing) + len(made.left) == rules.limit:
            made.more = True
            break
        else:
            found = _decide(letter, rules)
            if isinstance(found, Outgoing):
                made.outgoing.append(found)
            else:
                made.left.append(found)
    return made


def _decide(letter: Letter, rules: Rules) -> Outgoing | Left:
    if letter.replays >= rules.max_replays:
        return Left(letter, f"it was replayed {letter.replays} times and came back")
    if rules.run is None:
        if letter.of_source:
            return Left(letter, "it is from a source, and no converter has seen it: let it go through the chain")
        return _to(letter, rules, letter.topic, letter.key, letter.value, letter.own_headers, letter.timestamp)
    try:
        outcome = rules.run(letter)
    except ConnectError as error:
        return Left(letter, " ".join(str(error).split()), failed=True)
    if outcome.error is not None:
        at = outcome.error.alias or outcome.error.stage
        told = " ".join(f"{short(outcome.error.class_name)}: {outcome.error.message} {outcome.error.cause}".split())
        return Left(letter, f"still fails at {at}: {told}", failed=True)
    if outcome.out is None:
        return Left(letter, f"the chain would drop it: {outcome.dropped_by}")
    if letter.of_source:
        return _to(letter, rules, outcome.out["topic"], outcome.key, outcome.value, outcome.headers, letter.timestamp or None)
    return _to(letter, rules, letter.topic, letter.key, letter.value, letter.own_headers, letter.timestamp)


def _to(
    letter: Letter,
    rules: Rules,
    topic: str | None,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
    timestamp: int | None,
) -> Outgoing | Left:
    target = rules.to_topic or topic
    if target is None:
        return Left(letter, "its headers do not name the topic that it came from: name one")
    if target == rules.queue:
        return Left(letter, "it would go to the queue itself: name another topic")
    there = rules.partitions(target)
    if not there:
        return Left(letter, f"the topic {target} does not exist: create it, or name another")
    own = letter.original_partition
    stays = target == letter.topic and own in there and not (rules.by_key or letter.of_source)
    partition = own if stays and own is not None else -1
    return Outgoing(letter, target, partition, key, value, tuple(letter.replay_headers(headers)), timestamp or 0)
