"""
What tasks of an Iceberg sink have taken and no table has, with tables in memory: random histories of several tasks that lose
partitions one by one, die, come too late and meet catalogs that fail. In the end each table has each record once, and the
group's offsets never are ahead of a table. Each rule is taken out once, and found.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from kconnect.api import TopicPartition
from kconnect.connectors.lake import pending, stages
from kconnect.connectors.lake.pending import Part, Pending
from kconnect.connectors.lake.stages import Stage, StaleError

PLACES = [TopicPartition("t", number) for number in range(4)]
INTERVAL_S = 60.0


class Rows(list[tuple[TopicPartition, int]]):
    """Rows as a table had its columns: those of an earlier one can't be written any more."""

    columns = 0

    @property
    def nbytes(self) -> int:
        return 10 * len(self)


class AwayError(Exception):
    """The catalog fails: before it has done something, or after."""


class Table:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.offsets: dict[TopicPartition, int] = {}
        self.rows: Counter[tuple[TopicPartition, int]] = Counter()
        self.told: dict[TopicPartition, Stage] = {}
        self.files: dict[int, list[tuple[TopicPartition, int]]] = {}
        self.flights: list[Flight] = []
        self.columns = 0
        self.fails = 0.0
        self.commits: Counter[str] = Counter()

    def _perhaps(self) -> None:
        if self.draw.random() < self.fails:
            raise AwayError

    def _written(self, rows: list[tuple[TopicPartition, int]], ends: Mapping[TopicPartition, int], how: str) -> None:
        self.rows.update(rows)
        self.offsets.update(ends)
        self.commits[how] += 1

    def _together(self, parts: Mapping[TopicPartition, Part]) -> list[tuple[TopicPartition, int]]:
        if any(rows.columns != self.columns for part in parts.values() for rows in part.rows):
            raise StaleError
        return [row for part in parts.values() for rows in part.rows for row in rows]

    # --- Target ---

    def stored(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        self._perhaps()
        return {place: self.offsets[place] for place in places if place in self.offsets}

    def known(self, topics: Collection[str]) -> list[TopicPartition]:
        return sorted(place for place in self.offsets if place.topic in topics)

    def append(self, parts: Mapping[TopicPartition, Part]) -> None:
        rows = self._together(parts)
        self._perhaps()
        if any(self.offsets.get(place) != part.begin for place, part in parts.items()):
            raise StaleError
        self._written(rows, {place: part.next for place, part in parts.items()}, "own")
        self._perhaps()

    def stage(self, parts: Mapping[TopicPartition, Part]) -> Stage:
        rows = self._together(parts)
        self._perhaps()
        number = len(self.files) + 1
        self.files[number] = rows
        begins, ends = ({place: getattr(part, name) for place, part in parts.items()} for name in ("begin", "next"))
        return Stage(number, "", begins, ends)

    def publish(self, stage: Stage) -> None:
        for place in stage.ends:
            self._perhaps()
            self.told[place] = stage

    def withdraw(self, stage: Stage) -> None:
        for place in stage.ends:
            self.told.pop(place, None)

    def published(self, places: Collection[TopicPartition]) -> list[Stage]:
        self._perhaps()
        found = {self.told[place].snapshot: self.told[place] for place in places if place in self.told}
        return self.draw.sample(list(found.values()), len(found))

    def commit(self, stages: Sequence[Stage]) -> None:
        self._perhaps()
        rows: list[tuple[TopicPartition, int]] = []
        ends: dict[TopicPartition, int] = {}
        for stage in stages:
            fits = all(self.offsets.get(place) == begin for place, begin in stage.begins.items())
            if fits and ends.keys().isdisjoint(stage.ends):
                rows += self.files[stage.snapshot]
                ends |= stage.ends
        if ends:
            self._written(rows, ends, "for all")
            self._perhaps()


class Flight:
    """A commit that was asked for: what becomes of it the table says later, or never."""

    def __init__(self, parts: Mapping[TopicPartition, Part], rows: list[tuple[TopicPartition, int]], columns: int) -> None:
        self.begins = {place: part.begin for place, part in parts.items()}
        self.ends = {place: part.next for place, part in parts.items()}
        self.rows, self.columns = rows, columns
        self.outcome: bool | AwayError | None = False
        self.offsets: dict[TopicPartition, int] = {}

    def land(self, table: Table) -> None:
        if self.outcome is not False:
            return
        try:
            table._perhaps()
            fits = all(table.offsets.get(place) == begin for place, begin in self.begins.items())
            if fits and self.columns == table.columns:
                table._written(self.rows, self.ends, "aside")
                table._perhaps()
                self.outcome = True
            else:
                self.outcome = None
            self.offsets = dict(table.offsets)
        except AwayError as error:
            self.outcome = error


class Aside:
    """A table as one task knows it: by what it was told last."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.offsets = dict(table.offsets)
        self.flights: dict[int, Flight] = {}

    def begin(self, parts: Mapping[TopicPartition, Part]) -> Stage:
        flight = Flight(parts, self.table._together(parts), self.table.columns)
        number = len(self.table.flights) + 1
        self.table.flights.append(flight)
        self.flights = {number: flight}
        return Stage(number, "", {}, flight.ends)

    def settled(self, stage: Stage) -> bool | None:
        flight = self.flights.get(stage.snapshot)
        if flight is None or flight.outcome is False:
            return None if flight is None else False
        self.flights = {}
        if isinstance(flight.outcome, AwayError):
            raise flight.outcome
        self.offsets = flight.offsets
        return flight.outcome


class Task:
    """As `task.py` has it: what it reads it makes rows of, for each table."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.assigned: set[TopicPartition] = set()
        self.at: dict[TopicPartition, int] = {}
        self.pending = Pending(INTERVAL_S, 12, 10_000, self._go)
        self.aside = {name: Aside(table) for name, table in world.tables.items()}
        self.is_dead = False

    def _go(self, place: TopicPartition, offset: int) -> None:
        assert place in self.assigned or self.is_dead, "only what is its own is read"
        self.at[place] = offset

    def open(self, places: Collection[TopicPartition]) -> None:
        world = self.world
        for place in places:
            self.assigned.add(place)
            by_table = world.tables["a"].offsets.get(place) if len(world.tables) == 1 else None
            self.at[place] = world.group.get(place, 0) if by_table is None else by_table

    def close(self, places: Collection[TopicPartition]) -> None:
        self.commit_offsets(places)
        self.assigned.difference_update(places)
        self.pending.leave(places)

    def put(self, most: int) -> None:
        for place in sorted(self.assigned):
            offsets = range(self.at[place], min(self.at[place] + most, self.world.ends[place]))
            if not offsets:
                continue
            for name, table in self.world.tables.items():
                part = self.pending.parts(name).get(place)
                if part is None:
                    begin = self.pending.staged_end(name, place)
                    known = self.aside[name].offsets if self.world.aside else table.offsets
                    begin = known.get(place) if begin is None else begin
                    part = Part(begin, begin or 0, -1)
                fresh = [offset for offset in offsets if offset >= part.next]
                if fresh:
                    # Some records make no row.
                    rows = Rows((place, offset) for offset in fresh if offset % 5)
                    rows.columns = table.columns
                    self.pending.keep(name, place, part, fresh, rows)
            self.at[place] = offsets[-1] + 1
            self.pending.take(place, self.at[place])

    def commit(self) -> None:
        for name in dict.fromkeys((*self.pending.tables, *self.world.tables)):
            table = self.world.tables[name]
            try:
                if self.world.aside:
                    self._commit_aside(name)
                elif self.world.shares:
                    self.pending.commit_shared(name, table, self.assigned, self.world.now)
                elif self.pending.parts(name):
                    self.pending.commit_own(name, table)
            except AwayError:
                return

    def _commit_aside(self, name: str) -> None:
        try:
            self.pending.commit_aside(name, self.aside[name], self.world.now)
        except AwayError:
            self.pending.begin_again(self.pending.places(name))

    def commit_offsets(self, places: Collection[TopicPartition]) -> None:
        for place in places:
            offset = self.pending.safe(place)
            if offset is not None and not self.is_dead:
                self.world.group[place] = offset
                for table in self.world.tables.values():
                    lost = [each for each in range(offset) if each % 5 and not table.rows[place, each]]
                    assert not lost, f"the group is ahead of a table: {place} at {offset}, which lacks {lost}"


class World:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.shares, self.aside = seed % 4 != 0, seed % 3 == 0
        self.tables = {name: Table(self.draw) for name in ("a", "b")[: 1 + seed % 2]}
        self.ends = dict.fromkeys(PLACES, 0)
        self.group: dict[TopicPartition, int] = {}
        self.now = 0.0
        self.tasks = [Task(self) for _ in range(self.draw.randint(1, 3))]
        self.dead: list[Task] = []
        self.tasks[0].open(PLACES)

    def deal(self, at_once: bool) -> None:
        """Give partitions to tasks anew: those that stay where they are notice nothing. `at_once`: one partition moves."""
        moving = PLACES if not at_once else self.draw.sample(PLACES, 1)
        owners = {place: self.draw.choice(self.tasks) for place in moving}
        for task in self.tasks:
            lost = [place for place in sorted(task.assigned) if place in owners and owners[place] is not task]
            if lost:
                task.close(lost)
        for task in self.tasks:
            new = [place for place, owner in owners.items() if owner is task and place not in task.assigned]
            if new:
                task.open(new)

    def kill(self) -> None:
        """A task dies, or is only taken for dead: it goes on for a while."""
        victim = self.draw.choice(self.tasks)
        self.tasks.remove(victim)
        victim.is_dead = True
        self.dead = [*self.dead, victim][-2:]
        self.tasks.append(Task(self))
        for place in sorted(victim.assigned):
            self.draw.choice(self.tasks).open([place])

    def act(self) -> None:
        draw, tasks = self.draw, [*self.tasks, *self.tasks, *self.dead]
        match draw.choice(ACTIONS):
            case "write":
                self.ends[draw.choice(PLACES)] += draw.randint(1, 6)
            case "put":
                draw.choice(tasks).put(draw.randint(1, 8))
            case "commit":
                draw.choice(tasks).commit()
            case "offsets":
                task = draw.choice(tasks)
                task.commit_offsets(task.assigned)
            case "deal":
                self.deal(at_once=draw.random() < 0.7)
            case "kill":
                self.kill()
            case "wait":
                self.now += draw.choice((1.0, INTERVAL_S, 3 * INTERVAL_S))
            case "fail":
                draw.choice(list(self.tables.values())).fails = draw.choice((0.0, 0.0, 0.3))
            case "land":
                table = draw.choice(list(self.tables.values()))
                if table.flights:
                    draw.choice(table.flights[-3:]).land(table)
            case "columns":
                draw.choice(list(self.tables.values())).columns += 1

    def settle(self) -> None:
        for table in self.tables.values():
            table.fails = 0.0
        for _ in range(30):
            self.now += INTERVAL_S
            for task in self.tasks:
                task.put(5)
                task.commit()
                for table in self.tables.values():
                    for flight in table.flights:
                        flight.land(table)
                task.commit()
                task.commit_offsets(task.assigned)
        for name, table in self.tables.items():
            assert max(table.rows.values(), default=1) == 1, f"{name} has rows twice"
            wanted = {(place, offset) for place, end in self.ends.items() for offset in range(end) if offset % 5}
            assert table.rows.keys() == wanted, f"{name} lacks {sorted(wanted - table.rows.keys())}"


ACTIONS = (*["write"] * 2, *["put"] * 3, *["commit"] * 3, "offsets", "deal", "kill", "wait", "fail", "columns", *["land"] * 2)
HISTORIES = 400


def play(seed: int) -> World:
    world = World(seed)
    for _ in range(120):
        world.act()
    world.settle()
    return world


def test_each_table_has_each_record_once_whatever_happens() -> None:
    commits: Counter[str] = Counter()
    for seed in range(HISTORIES):
        for table in play(seed).tables.values():
            commits += table.commits
    assert min(commits["own"], commits["for all"], commits["aside"]) > 3 * HISTORIES, commits


def fails() -> bool:
    for seed in range(HISTORIES):
        try:
            play(seed)
        except AssertionError:
            return True
    return False


def test_rows_are_found_to_be_lost_with_a_stage_of_which_a_partition_went(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_itself(self: Any, places: Collection[TopicPartition]) -> dict[TopicPartition, int | None]:
        behind = {place: self.safe(place) for place in places}
        for place in places:
            self._next.pop(place, None)
            for parts in self._parts.values():
                parts.pop(place, None)
        for name, staged in list(self._staged.items()):
            if not set(staged.stage.ends).isdisjoint(places):
                del self._staged[name]
        self._recount()
        return behind

    monkeypatch.setattr(Pending, "_drop", by_itself)
    assert fails()


def test_rows_are_found_to_be_lost_with_a_stage_that_came_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = stages.is_committed
    monkeypatch.setattr(pending, "is_committed", lambda *given: settled(*given) is not False)
    assert fails()


def test_the_group_is_found_to_be_ahead_of_what_is_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_memory(self: Any, place: TopicPartition) -> int | None:
        return min((parts[place].first for parts in self._parts.values() if place in parts), default=self._next.get(place))

    monkeypatch.setattr(Pending, "safe", of_memory)
    assert fails()


def test_a_stage_that_nobody_commits_is_found_to_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "ALONE_S", 10**9)
    monkeypatch.setattr(Pending, "is_full", False)
    monkeypatch.setattr(Table, "published", lambda self, places: [])
    assert fails()


def test_rows_of_older_columns_are_found_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pending, "begin_again", lambda self, places: bool(self._drop(places)))
    assert fails()


def test_a_commit_that_was_refused_is_found_to_be_taken_for_made(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = Aside.settled
    monkeypatch.setattr(Aside, "settled", lambda self, stage: settled(self, stage) is not False)
    assert fails()


def test_a_commit_on_its_way_is_found_to_be_taken_for_made(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = Aside.settled
    monkeypatch.setattr(Aside, "settled", lambda self, stage: True if settled(self, stage) is False else settled(self, stage))
    assert fails()


def test_rows_are_found_twice_if_a_table_compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(self: Flight, table: Table) -> None:
        if self.outcome is False:
            table._written(self.rows, self.ends, "aside")
            self.outcome, self.offsets = True, dict(table.offsets)

    monkeypatch.setattr(Flight, "land", append)
    assert fails()


def test_tables_that_records_name_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_MOST_TABLES", 10)
    waiting = Pending(INTERVAL_S, 1, 1, lambda place, offset: None)
    for number in range(1000):
        assert not waiting.is_behind(f"none{number}", PLACES[0], None)
        assert not waiting.is_behind(f"t{number}", PLACES[0], number)
    assert len(waiting._ends) == 10
    assert waiting.is_behind("t999", PLACES[0], 5), "the last ones are known"
