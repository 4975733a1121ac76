"""
What happened in a cluster, and whether it may have: a history of data, offsets, lives and statuses, and its checkers.

`recorder.py` collects a `History` from the topics, the journals of `verifiable.py` and what was seen through REST; `check`
gives the violations, by name:

    lost            a source offset was stored, or a record acknowledged, that no reader finds
    gap             a number is missing below the highest of its task, or a life skips one
    duplicate       something came again although its offset had been stored or committed before
    offset-back     a stored or committed offset is lower than one before it
    offset-ahead    an offset was stored or committed before what it covers was written or delivered
    overlap         two lives of one task worked at a time
    two-leaders     a leader of a generation that was taken, or an assignment by one that had been replaced
    generation-back a leader used a generation lower than one before it
    torn            exactly once: records without the offset of their transaction, or the other way round
    unseen          a record in the topic that no sink task got
    phantom         a sink task got a record that no reader finds, as one of a transaction that was aborted
    other-value     a sink task got another value than the topic holds at that offset
    status-lie      a status says RUNNING, for long, and no life works

Repeats that at least once allows are counted only, and so are late records: those that a life's client sent before it ended,
and that arrived after the next life had begun. Exactly once, each repeat is a `duplicate`. Pure: tests build histories by hand.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kconnect.core.state.assignment_records import Assignment, AssignmentRecord, Leader

Place = tuple[str, int]
"""A topic and its partition."""


@dataclass(frozen=True)
class Violation:
    name: str
    subject: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.subject}: {self.evidence}"


@dataclass(frozen=True)
class Emitted:
    """A record that a source task made, as a read_committed reader finds it. `ms` is the broker's time of appending."""

    place: Place
    offset: int
    ms: int
    unit: str
    seqno: int
    life: str


@dataclass(frozen=True)
class Stored:
    """A source offset, in the order of its partition of the offset topic."""

    unit: str
    seqno: int
    ms: int


@dataclass(frozen=True)
class Event:
    """A line of a journal: `at` is the machine's monotonic clock in seconds, `ms` the wall clock."""

    unit: str
    life: str
    kind: str
    at: float
    ms: int
    stored: int = 0
    acked: int = 0
    first: int = 0
    last: int = 0
    records: int = 0
    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Delivered:
    """A record that a sink task got; `seqno` and `life` are those of its value."""

    unit: str
    life: str
    place: Place
    offset: int
    at: float
    value: tuple[str, int, str]


@dataclass(frozen=True)
class Committed:
    """What the sink's group had committed, as seen from outside: `at` is when the answer came."""

    at: float
    place: Place
    offset: int


@dataclass(frozen=True)
class Sighting:
    """A task's status, as one worker's REST gave it."""

    at: float
    observer: str
    unit: str
    state: str


@dataclass
class History:
    emitted: list[Emitted] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    delivered: list[Delivered] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)
    control: list[AssignmentRecord] = field(default_factory=list)
    """The assignment topic, in its order."""
    sunk: frozenset[str] = frozenset()
    """The topics that a sink reads."""
    outages: list[tuple[float, float]] = field(default_factory=list)
    """When no status can be expected to tell the truth: the broker was away, or the task's worker and all its hosts stood."""
    until_ms: int | None = None
    """Records appended later may still be on their way to the sink; None: none may."""
    stored_after: list[Stored] | None = None
    """Exactly once: all source offsets again, as they were after `emitted` had been read, while `stored` was before."""


UNSETTLED = frozenset({"unseen", "lost", "torn"})
"""What may mend by itself: markers of one transaction come to its partitions one after the other, and sinks lag behind."""


@dataclass
class Findings:
    violations: list[Violation]
    counts: Counter[str]


def check(history: History, lie_s: float = 15.0) -> Findings:
    """Every violation, and how much there was to check."""
    counts: Counter[str] = Counter()
    found = [
        *_sources(history, counts),
        *_sinks(history, counts),
        *_lives(history, counts),
        *_leaders(history.control, counts),
        *_statuses(history, lie_s),
    ]
    return Findings(found, counts)


# --- sources ----------------------------------------------------------------------------------------------------------


def _sources(history: History, counts: Counter[str]) -> Iterator[Violation]:
    emitted, stored = _by_unit(history.emitted), _by_unit(history.stored)
    events = _by_unit(event for event in history.events if event.kind in ("started", "work", "stopped"))
    counts["records"] = len(history.emitted)
    for unit in sorted({*emitted, *stored}):
        yield from _numbers(unit, emitted[unit], stored[unit], events[unit])
        if history.stored_after is None:
            yield from _ahead(unit, emitted[unit], stored[unit])
        else:
            after = {offset.seqno for offset in history.stored_after if offset.unit == unit}
            yield from _once(unit, emitted[unit])
            yield from _whole(unit, emitted[unit], stored[unit], after, counts)
        for before, after in itertools.pairwise(stored[unit]):
            if after.seqno < before.seqno:
                yield Violation("offset-back", unit, f"{after.seqno} was stored after {before.seqno}")
        yield from _repeats(unit, emitted[unit], stored[unit], events[unit], counts)


def _numbers(unit: str, emitted: list[Emitted], stored: list[Stored], events: list[Event]) -> Iterator[Violation]:
    found = {record.seqno for record in emitted}
    safe = max([*(offset.seqno for offset in stored), *(event.acked for event in events)], default=0)
    missing = [number for number in range(1, max(safe, *found, 0) + 1) if number not in found]
    lost = [number for number in missing if number <= safe]
    if lost:
        yield Violation("lost", unit, f"{_some(lost)}, though all up to {safe} was stored or acknowledged")
    gap = [number for number in missing if number > safe]
    if gap:
        yield Violation("gap", unit, f"{_some(gap)}, though {max(found)} is there")


def _ahead(unit: str, emitted: list[Emitted], stored: list[Stored]) -> Iterator[Violation]:
    written: dict[int, int] = {}
    for record in emitted:
        written[record.seqno] = min(record.ms, written.get(record.seqno, record.ms))
    # When everything up to a number was there.
    whole: dict[int, int] = {0: 0}
    for number in itertools.count(1):
        if number not in written:
            break
        whole[number] = max(whole[number - 1], written[number])
    for offset in stored:
        # One that is missing altogether is `lost`.
        if offset.seqno in whole and whole[offset.seqno] > offset.ms:
            late = whole[offset.seqno] - offset.ms
            yield Violation("offset-ahead", unit, f"{offset.seqno} was stored {late} ms before the record was there")


def _once(unit: str, emitted: list[Emitted]) -> Iterator[Violation]:
    highest: Emitted | None = None
    for record in sorted(emitted, key=lambda record: record.offset):
        if highest is not None and record.seqno <= highest.seqno:
            evidence = f"{record.seqno} of life {record.life} at {record.offset}, after {highest.seqno} of life {highest.life}"
            yield Violation("duplicate", unit, f"{evidence} at {highest.offset}")
        else:
            highest = record


def _whole(
    unit: str, emitted: list[Emitted], stored: list[Stored], after: set[int], counts: Counter[str]
) -> Iterator[Violation]:
    """
    Both or neither, for each transaction: its marker takes an offset of the partition, which only one task writes to, so
    where offsets skip one a transaction ended, and the number before is what its own offset says.
    """
    ordered = sorted(emitted, key=lambda record: record.offset)
    last = {
        record.seqno
        for record, following in itertools.zip_longest(ordered, ordered[1:])
        if following is None or following.offset != record.offset + 1
    }
    counts["transactions"] += len(last)
    without = sorted(last - after)
    if without:
        yield Violation("torn", unit, _some(without, "numbers that a transaction ended with and no offset says"))
    alone = sorted({offset.seqno for offset in stored} - last)
    if alone:
        yield Violation("torn", unit, _some(alone, "offsets that no transaction of records ended with"))


def _repeats(
    unit: str, emitted: list[Emitted], stored: list[Stored], events: list[Event], counts: Counter[str]
) -> Iterator[Violation]:
    starts = {event.life: event for event in events if event.kind == "started"}
    last: dict[str, int] = {}
    seen: set[int] = set()
    for record in sorted(emitted, key=lambda record: record.offset):
        start = starts.get(record.life)
        before = last.get(record.life, start.stored if start else None)
        if before is not None and record.seqno > before + 1:
            yield Violation("gap", unit, f"life {record.life} goes from {before} to {record.seqno}")
        if before is not None and record.seqno <= before:
            yield Violation("duplicate", unit, f"life {record.life} goes back from {before} to {record.seqno}")
        last[record.life] = record.seqno
        counts["repeats"] += record.seqno in seen
        seen.add(record.seqno)
        if start and any(other.ms < record.ms and other.at > start.at for other in starts.values()):
            counts["late"] += 1
    for start in starts.values():
        safe = max((offset.seqno for offset in stored if offset.ms < start.ms), default=0)
        if start.stored < safe:
            yield Violation("duplicate", unit, f"life {start.life} began after {start.stored}, though {safe} was stored")


# --- sinks ------------------------------------------------------------------------------------------------------------


def _sinks(history: History, counts: Counter[str]) -> Iterator[Violation]:
    values = {(r.place, r.offset): (r.unit, r.seqno, r.life) for r in history.emitted if r.place[0] in history.sunk}
    phantoms: dict[Place, list[int]] = defaultdict(list)
    first: dict[tuple[Place, int], float] = {}
    for got in history.delivered:
        key = (got.place, got.offset)
        counts["delivered again"] += key in first
        first[key] = min(got.at, first.get(key, got.at))
        if key not in values and got.place[0] in history.sunk:
            phantoms[got.place].append(got.offset)
        elif values.get(key, got.value) != got.value:
            yield Violation("other-value", _name(got.place), f"{got.value} at {got.offset}, not {values[key]}")
    for place, offsets in sorted(phantoms.items()):
        yield Violation("phantom", _name(place), _some(offsets, "delivered"))
    counts["delivered"] = len(history.delivered)
    unseen: dict[Place, list[int]] = defaultdict(list)
    for record in history.emitted:
        is_due = history.until_ms is None or record.ms < history.until_ms
        if is_due and (record.place, record.offset) in values and (record.place, record.offset) not in first:
            unseen[record.place].append(record.offset)
    for place, offsets in sorted(unseen.items()):
        yield Violation("unseen", _name(place), _some(offsets))
    commits = defaultdict(list)
    for commit in history.committed:
        commits[commit.place].append(commit)
    for place, seen in sorted(commits.items()):
        offsets = sorted(offset for where, offset in values if where == place)
        yield from _commits(place, seen, offsets, first)
    yield from _comes_again(history, commits)


def _commits(
    place: Place, seen: list[Committed], offsets: list[int], first: dict[tuple[Place, int], float]
) -> Iterator[Violation]:
    checked, latest = 0, 0.0
    for before, commit in zip([Committed(0.0, place, 0), *seen], seen):
        if commit.offset < before.offset:
            yield Violation("offset-back", _name(place), f"{commit.offset} was committed after {before.offset}")
        while checked < len(offsets) and offsets[checked] < commit.offset:
            latest = max(latest, first.get((place, offsets[checked]), float("inf")))
            if latest > commit.at:
                evidence = f"{commit.offset} was committed before {offsets[checked]} was delivered"
                yield Violation("offset-ahead", _name(place), evidence)
                return
            checked += 1


def _comes_again(history: History, commits: dict[Place, list[Committed]]) -> Iterator[Violation]:
    """What a life gets first after it was given a partition had not been committed; from there on it goes forward."""
    opened: dict[tuple[str, Place], list[float]] = defaultdict(list)
    for event in history.events:
        if event.kind == "open":
            for place in event.places:
                opened[event.life, place].append(event.at)
    position: dict[tuple[str, Place], tuple[float, int]] = {}
    for record in history.delivered:
        key = (record.life, record.place)
        session = max((at for at in opened.get(key, ()) if at <= record.at), default=None)
        if session is None:
            yield Violation("overlap", _name(record.place), f"life {record.life} got {record.offset} without owning it")
            continue
        before = position.get(key)
        if before is None or before[0] != session:
            safe = max((commit.offset for commit in commits.get(record.place, ()) if commit.at < session), default=0)
            if record.offset < safe:
                yield Violation("duplicate", _name(record.place), f"{record.offset} came though {safe} was committed")
        elif record.offset <= before[1]:
            yield Violation("duplicate", _name(record.place), f"life {record.life} got {record.offset} after {before[1]}")
        position[key] = (session, record.offset)


# --- lives, leaders, statuses -----------------------------------------------------------------------------------------


def _lives(history: History, counts: Counter[str]) -> Iterator[Violation]:
    """
    A life works from its start to the last time that it was asked for something, or that it gave records which arrived.

    Records that were given after a suspension and then thrown away are no work: nobody can see them.
    """
    arrived = {(record.life, record.seqno) for record in history.emitted}
    for unit, events in sorted(_by_unit(history.events).items()):
        lives: dict[str, tuple[float, float]] = {}
        for event in events:
            works = event.kind in ("started", "work") or (event.kind == "gave" and (event.life, event.first) in arrived)
            if works:
                begin, end = lives.get(event.life, (event.at, event.at))
                lives[event.life] = (min(begin, event.at), max(end, event.at))
        counts["lives"] += len(lives)
        ordered = sorted(lives.items(), key=lambda item: item[1])
        for index, (life, (_, end)) in enumerate(ordered):
            for later, (begin, later_end) in ordered[index + 1 :]:
                if begin < end:
                    evidence = f"lives {life} and {later} both worked for {min(end, later_end) - begin:.3f} s"
                    yield Violation("overlap", unit, f"{evidence}, from {begin:.3f} on")


def _leaders(control: Iterable[AssignmentRecord], counts: Counter[str]) -> Iterator[Violation]:
    leader: Leader | None = None
    highest = 0
    for record in control:
        if isinstance(record, Leader):
            counts["leaders"] += 1
            if record.generation <= highest:
                evidence = f"{record.worker} leads in generation {record.generation} after generation {highest}"
                yield Violation("two-leaders", "assignment topic", evidence)
            leader, highest = record, max(highest, record.generation)
        elif isinstance(record, Assignment) and record.units is not None:
            if leader is None or record.generation <= leader.generation:
                by = "nobody" if leader is None else f"{leader.worker} (generation {leader.generation})"
                evidence = f"{record.worker} was assigned units in generation {record.generation} while {by} led"
                yield Violation("two-leaders", "assignment topic", evidence)
            elif record.generation < highest:
                evidence = f"{record.worker} was assigned units in generation {record.generation} after {highest}"
                yield Violation("generation-back", "assignment topic", evidence)
            highest = max(highest, record.generation)


def _statuses(history: History, lie_s: float) -> Iterator[Violation]:
    work: dict[str, list[float]] = defaultdict(list)
    for event in history.events:
        work[event.unit].append(event.at)
    # Once statuses can be told again they need not all be true at once.
    moments = sorted(end for _, end in history.outages)
    streaks: dict[tuple[str, str], list[Sighting]] = defaultdict(list)
    for sighting in history.sightings:
        streaks[sighting.observer, sighting.unit].append(sighting)
    for (observer, unit), sightings in sorted(streaks.items()):
        alive = sorted([*work[unit], *moments])
        since: float | None = None
        told, place = False, 0
        for sighting in sightings:
            if sighting.state != "RUNNING" or any(begin <= sighting.at <= end for begin, end in history.outages):
                since, told = None, False
                continue
            since = sighting.at if since is None else since
            while place < len(alive) and alive[place] <= sighting.at:
                since = max(since, alive[place])
                place += 1
            if sighting.at - since > lie_s and not told:
                told = True
                yield Violation("status-lie", unit, f"RUNNING for {observer}, but for {sighting.at - since:.1f} s nothing ran")


def _by_unit(items: Iterable) -> defaultdict[str, list]:
    found: defaultdict[str, list] = defaultdict(list)
    for item in items:
        found[item.unit].append(item)
    return found


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def _some(numbers: list[int], what: str = "missing") -> str:
    shown = ", ".join(str(number) for number in numbers[:5])
    return f"{len(numbers)} {what}: {shown}{', ...' if len(numbers) > 5 else ''}"
