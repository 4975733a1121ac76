"""
What a lake sink's task has taken and its tables do not have: rows in memory, and in staged files; and what becomes of it.

A table's rows are *gathered* in memory. A task that commits for itself brings them into the table at once. Of several tasks,
one commits for all; the others *stage*: they write their rows into files, tell these, and go on gathering. A stage is settled
as soon as the table's offsets say what became of it: it is committed, or it can't be any more, and its records are read again.
It is committed or given up as a whole, so whoever loses one of its partitions reads the others again, too.

Nothing here asks a catalog or makes a file: that does `Target`, in a task `task.py`'s, in tests a table in memory. Called by
`task.py`. Read next: `iceberg/staging.py`, which has what a `Target` tells others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from kconnect.api import TopicPartition
from kconnect.connectors.lake.stages import Stage, StaleError, is_committed

LOOK_S, ALONE_S = 1.0, 10.0
"""How often, at most, a task looks whether its stage is committed, and when, at the earliest, it does that itself."""

MOST_FOLDERS = 1000
"""
Of how many partitions of tables rows may be in memory: a commit takes some 7 ms for each, and the task waits for it. A table
without partitions counts as one: records may name tables.
"""

_MOST_TABLES = 10_000
"""Of so many tables is kept up to where they have partitions."""

Offsets = Mapping[TopicPartition, int]
Span = tuple[int, int]
"""Offsets, from the first to behind the last."""


@dataclass
class Part:
    """
    Rows of one partition of Kafka that a table has not yet: those from `begin`, what the table has, up to `next`. `first` is
    the offset of the first of them. Rows have a length, and `nbytes`.
    """

    begin: int | None
    next: int
    first: int
    rows: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Staged:
    """A stage that is not settled, as far as is known. `firsts` are the first offsets of its rows."""

    stage: Stage
    since: float
    firsts: Offsets
    told: bool
    """Whether others may know of it."""


@runtime_checkable
class Target(Protocol):
    """A table, fresh from its catalog, as a task of one connector uses it. Its errors are those of catalogs and files."""

    def stored(self, places: Collection[TopicPartition]) -> Offsets:
        """Return the offsets that the table has: none of a partition that it knows nothing of."""
        ...

    def append(self, parts: Mapping[TopicPartition, Part]) -> None:
        """Commit rows. StaleError if the table has other offsets than they begin at, or not the columns they were made for."""
        ...


@runtime_checkable
class SharedTarget(Target, Protocol):
    """A table for which one task commits what several have written."""

    def known(self, topics: Collection[str]) -> Sequence[TopicPartition]:
        """Return the partitions of these topics that the table has offsets of, in order: who has the first commits for all."""
        ...

    def stage(self, parts: Mapping[TopicPartition, Part]) -> Stage:
        """Write rows into files that nobody sees. StaleError if the table has not the columns that they were made for."""
        ...

    def publish(self, stage: Stage) -> None:
        """Tell a stage, instead of what was told of its partitions before."""
        ...

    def withdraw(self, stage: Stage) -> None: ...

    def published(self, places: Collection[TopicPartition]) -> Sequence[Stage]:
        """Return the stages that were told of these partitions, also those that are settled."""
        ...

    def commit(self, stages: Sequence[Stage]) -> None:
        """Commit those stages that begin with what the table has; pass over the others."""
        ...


class AsideTarget(Protocol):
    """A table that commits beside the task, which goes on meanwhile."""

    def begin(self, parts: Mapping[TopicPartition, Part]) -> Stage:
        """Have rows committed. StaleError if the table has not the columns that they were made for."""
        ...

    def settled(self, stage: Stage) -> bool | None:
        """Whether that was done; None if it was not, and never will be."""
        ...


class Pending:
    """
    `go` has the task's consumer read a partition from an offset. A stage that nobody commits for longer than twice `interval_s`
    its own task commits; so it does when it has `most` rows or `most_bytes` in memory, or rows of `most_folders` partitions.
    """

    def __init__(
        self,
        interval_s: float,
        most: int,
        most_bytes: int,
        go: Callable[[TopicPartition, int], None],
        most_folders: float = MOST_FOLDERS,
    ) -> None:
        self._interval_s, self._most, self._most_bytes, self._go = interval_s, most, most_bytes, go
        self._most_folders = most_folders
        self._parts: dict[str, dict[TopicPartition, Part]] = {}
        """What is gathered, by table."""
        self._staged: dict[str, Staged] = {}
        self._next: dict[TopicPartition, int] = {}
        """Behind the last record that was taken."""
        self._ends: dict[str, dict[TopicPartition, int]] = {}
        """This is, by table, up to where it had all of partitions when that was seen last."""
        self._held: dict[str, dict[TopicPartition, int]] = {}
        """The offsets, by table, from which partitions are read again: nothing is kept of what comes behind them."""
        self._folders: dict[str, set[Hashable]] = {}
        """The partitions of each table that rows in memory are of, and perhaps some that they were of."""
        self._count = self._size = 0
        """How many rows are in memory, and how many bytes they have."""

    @property
    def tables(self) -> list[str]:
        """The tables that have not all that was taken for them."""
        return list(dict.fromkeys((*self._parts, *self._staged)))

    @property
    def waits(self) -> bool:
        """Whether a stage is to be looked after."""
        return bool(self._staged)

    @property
    def is_full(self) -> bool:
        folders = sum(max(1, len(self._folders.get(name, ()))) for name in self._parts)
        return self._count >= self._most or self._size >= self._most_bytes or folders >= self._most_folders

    def parts(self, name: str) -> dict[TopicPartition, Part]:
        """Return what is gathered for a table."""
        return self._parts.get(name, {})

    def places(self, name: str) -> set[TopicPartition]:
        """Return the partitions of which a table has not all that was taken for it."""
        staged = self._staged.get(name)
        return {*self._parts.get(name, ()), *(() if staged is None else staged.stage.ends)}

    def waiting(self, name: str) -> dict[TopicPartition, Span]:
        """Return the offsets of what was taken for a table, and is not known to be in it."""
        spans = {place: (part.first, part.next) for place, part in self._parts.get(name, {}).items()}
        for place, (first, end) in self.staged(name).items():
            spans[place] = first, max(end, spans.get(place, (0, 0))[1])
        return spans

    def staged(self, name: str) -> dict[TopicPartition, Span]:
        """Return the offsets of what is staged for a table."""
        staged = self._staged.get(name)
        return {} if staged is None else {place: (staged.firsts[place], end) for place, end in staged.stage.ends.items()}

    def staged_end(self, name: str, place: TopicPartition) -> int | None:
        """Return up to where a partition is staged for a table; None if it isn't."""
        staged = self._staged.get(name)
        return None if staged is None else staged.stage.ends.get(place)

    def keep(
        self,
        name: str,
        place: TopicPartition,
        part: Part,
        offsets: Sequence[int],
        rows: Any | None,
        folders: Collection[Hashable] = (),
    ) -> None:
        """
        Gather the rows of the records with these offsets, which are behind what `part` has. There may be no row. `folders` are
        the table's partitions that they come into.
        """
        self._parts.setdefault(name, {})[place] = part
        part.first = offsets[0] if part.first < 0 else part.first
        part.next = offsets[-1] + 1
        if rows is not None and len(rows):
            part.rows.append(rows)
            self._count += len(rows)
            self._size += rows.nbytes
            if folders:
                self._folders.setdefault(name, set()).update(folders)

    def is_behind(self, name: str, place: TopicPartition, offset: int | None) -> bool:
        """Note what a table has of a partition; return whether that was more before: somebody has set it back."""
        before = self._ends.get(name, {}).pop(place, None)
        if offset is not None:
            self._note_ends(name, {place: offset})
        return before is not None and (offset is None or offset < before)

    def _note_ends(self, name: str, ends: Offsets) -> None:
        if name not in self._ends and len(self._ends) >= _MOST_TABLES:
            # Records may name tables, as many as there are.
            del self._ends[next(iter(self._ends))]
        self._ends.setdefault(name, {}).update(ends)

    def take(self, place: TopicPartition, next_offset: int) -> None:
        """Note that all before that offset was gathered, or makes no row."""
        self._next[place] = next_offset

    def hold(self, name: str, place: TopicPartition, offset: int) -> None:
        """Note that nothing is kept for a table of what a partition has from there on, until it is read again."""
        self._held.setdefault(name, {})[place] = offset

    def is_held(self, name: str, place: TopicPartition) -> bool:
        return place in self._held.get(name, {})

    @property
    def held(self) -> set[TopicPartition]:
        return {place for places in self._held.values() for place in places}

    def go_on(self) -> list[TopicPartition]:
        """Have the consumer read what was held, where all else is in tables; return the partitions."""
        ready = [place for place in self.held if not any(place in self.places(name) for name in self.tables)]
        self.begin_again(ready)
        return ready

    def safe(self, place: TopicPartition) -> int | None:
        """Return the offset behind what is in all tables; None if no record of the partition was taken."""
        waiting = [parts[place].first for parts in self._parts.values() if place in parts]
        waiting += [staged.firsts[place] for staged in self._staged.values() if place in staged.firsts]
        waiting += [places[place] for places in self._held.values() if place in places]
        return min(waiting, default=self._next.get(place))

    def forget(self, name: str) -> None:
        """Note that what is gathered for a table is in it, is staged, or can't be."""
        # Of the others nothing changes: with a thousand tables, to count them all for each would take most of the time.
        for rows in [rows for part in self._parts.pop(name, {}).values() for rows in part.rows]:
            self._count -= len(rows)
            self._size -= rows.nbytes
        self._folders.pop(name, None)

    def leave(self, places: Collection[TopicPartition]) -> bool:
        """
        Give partitions up: whoever reads them next begins with what the tables have. Return whether others, which have rows in
        a stage with theirs, are read again.
        """
        for ends in self._ends.values():
            for place in places:
                ends.pop(place, None)
        behind = {place: offset for place, offset in self._drop(places).items() if place not in places}
        return self._go_back(behind)

    def begin_again(self, places: Collection[TopicPartition]) -> bool:
        """
        Go back to the first record that some table has not. The other tables pass over what they have. Return whether the
        consumer is to read elsewhere.
        """
        return self._go_back(self._drop(places))

    def _go_back(self, behind: Mapping[TopicPartition, int | None]) -> bool:
        offsets = {place: offset for place, offset in behind.items() if offset is not None}
        for place, offset in offsets.items():
            self._go(place, offset)
        return bool(offsets)

    def _drop(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Forget what was taken of these partitions, and of those staged with them; return where each had come to, safely."""
        torn = set(places)
        # Of what a stage has of the others, nothing else is left either; and they may be in another table's stage.
        while more := {
            place
            for staged in self._staged.values()
            if not torn.isdisjoint(staged.stage.ends)
            for place in staged.stage.ends
            if place not in torn
        }:
            torn |= more
        behind = {place: self.safe(place) for place in torn}
        for place in torn:
            self._next.pop(place, None)
            for parts in self._parts.values():
                parts.pop(place, None)
            for places in self._held.values():
                places.pop(place, None)
        for name, staged in list(self._staged.items()):
            if not torn.isdisjoint(staged.stage.ends):
                del self._staged[name]
        self._recount()
        return behind

    def _recount(self) -> None:
        all_rows = [rows for parts in self._parts.values() for part in parts.values() for rows in part.rows]
        self._count, self._size = sum(map(len, all_rows)), sum(rows.nbytes for rows in all_rows)
        self._folders = {name: folders for name, folders in self._folders.items() if self._parts.get(name)}

    # Steps.

    def commit_own(self, name: str, target: Target) -> bool:
        """Bring what is gathered into the table. Return whether some of it is to be read again."""
        parts = self._parts[name]
        ends = {place: part.next for place, part in parts.items()}
        moves = False
        try:
            # It may have succeeded before, though nobody said so.
            if target.stored(ends) != ends:
                target.append(parts)
            self._note_ends(name, ends)
        except StaleError:
            moves = self.begin_again(list(parts))
        self.forget(name)
        return moves

    def commit_aside(self, name: str, target: AsideTarget, now: float) -> bool:
        """
        See what has become of the rows that are to be committed; if they are, have those committed that were gathered since.
        Return whether something is to be read again.
        """
        staged = self._staged.get(name)
        if staged is not None:
            settled = target.settled(staged.stage)
            if settled is None:
                return self.begin_again(list(staged.stage.ends))
            if not settled:
                return False
            self._note_ends(name, staged.stage.ends)
            del self._staged[name]
        parts = self._parts.get(name)
        if not parts:
            return False
        try:
            stage = target.begin(parts)
        except StaleError:
            return self.begin_again(list(parts))
        self._staged[name] = Staged(stage, now, {place: part.first for place, part in parts.items()}, told=False)
        self.forget(name)
        return False

    def commit_shared(self, name: str, target: SharedTarget, assigned: Collection[TopicPartition], now: float) -> bool:
        """
        Look after the stage, or stage what is gathered; and commit for all, if that is this task's to do: it has the first of
        the partitions that the table knows. Return whether something is to be read again.
        """
        places = target.known({place.topic for place in assigned})
        leads = bool(places) and places[0] in assigned
        moves = False
        staged, parts = self._staged.get(name), self._parts.get(name)
        if staged is not None:
            moves = self._look_after(name, target, staged, now)
        elif parts and any(part.begin is None for part in parts.values()):
            # Who commits for all does not know of such a partition.
            moves = self.commit_own(name, target)
        elif parts:
            try:
                stage = target.stage(parts)
            except StaleError:
                return self.begin_again(list(parts))
            firsts = {place: part.first for place, part in parts.items()}
            self._staged[name] = Staged(stage, now, firsts, told=not leads)
            self.forget(name)
            if not leads:
                target.publish(stage)
        if leads:
            stages = [self._staged[name].stage] if name in self._staged else []
            stages += target.published([place for place in places if place not in assigned])
            target.commit(stages)
            if name in self._staged:
                moves |= self._look_after(name, target, self._staged[name], now)
        return moves

    def _look_after(self, name: str, target: SharedTarget, staged: Staged, now: float) -> bool:
        places = list(staged.stage.ends)
        settled = is_committed(staged.stage, target.stored(places))
        late = now - staged.since > max(ALONE_S, 2 * self._interval_s)
        if settled is False and (late or self.is_full):
            # Whoever should commit for all does not, or there is no room to wait.
            target.commit([staged.stage])
            settled = is_committed(staged.stage, target.stored(places))
        if settled:
            self._note_ends(name, staged.stage.ends)
        moves = settled is None and self.begin_again(places)
        if settled is not False:
            self._staged.pop(name, None)
            if staged.told:
                target.withdraw(staged.stage)
        return moves
