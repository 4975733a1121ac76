"""
A table that changes all the time, and what change data capture made of it: each change has a number, so none can hide.

`Ledger` makes the changes and knows them all; `check` compares them with what a topic has, and gives the violations, by name:

    lost        a change that is in no record; only if the table is at rest
    gap         a key's change came before an earlier one of it
    duplicate   a change came again, though its source is exactly-once
    phantom     a record of a change that nobody made

Without exactly-once, a key may go back to an earlier change, and then has every one from there on. `check` is pure. Called by
`chaos/capture.py` and by tests. Read next: that file, `history.py`.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from tests.rig.cdc import pipeline
from tests.rig.systems.history import Violation
from tests.rig.systems.postgres import Postgres
from tests.rig.systems.watcher import Watcher

_BATCH = 12
_TOLD = 3
_MOST = 60
"""So many keys that each changes often, and so few that they share partitions."""


class Ledger(Watcher):
    """
    Inserts, updates and deletes rows of one table, mostly one a transaction, from `start` to `end`. `changes` has those of each
    key in their order, written as `read` does. `began` says when a change was about to be made, by the monotonic clock.
    `number` is that of the last one.
    """

    def __init__(self, server: Postgres, database: str, table: str, seed: int, pause_s: float = 0.25) -> None:
        super().__init__(f"changes of {table}", pause_s)
        self._server, self._database, self._table = server, database, table
        self._random = random.Random(seed)
        self._rows: dict[int, int] = {}
        self.number = 0
        self.changes: dict[int, list[str]] = {}
        self.began: dict[str, float] = {}
        # A deletion has the number of the row that it deletes: it must be in the event.
        server.execute(
            f"create table {table} (id int primary key, number bigint not null, note text);"
            f"alter table {table} replica identity full;",
            database,
        )

    def fill(self, count: int) -> None:
        """Insert so many rows; before the source starts, which then takes them for new."""
        self._execute([self._insert() for _ in range(count)])

    def look(self) -> None:
        statements: list[str] = []
        while len(statements) < _BATCH:
            together = [self._any() for _ in range(self._random.choice((1, 1, 1, 5)))]
            statements += together if len(together) == 1 else ["begin", *together, "commit"]
        self._execute(statements)

    def _execute(self, statements: list[str]) -> None:
        self._server.execute("".join(f"{each};\n" for each in statements), self._database)

    def _any(self) -> str:
        drawn = self._random.random()
        if not self._rows or (drawn < 0.3 and len(self._rows) < _MOST):
            return self._insert()
        key = self._random.choice(list(self._rows))
        if drawn < 0.8:
            number = self._rows[key] = self._next(key, "update")
            return f"update {self._table} set number = {number}, note = repeat('é', {number % 50}) where id = {key}"
        number = self._rows.pop(key)
        self._noted(key, f"delete {number}", f"tombstone {number}")
        return f"delete from {self._table} where id = {key}"

    def _insert(self) -> str:
        key = self._random.choice([key for key in range(2 * _MOST) if key not in self._rows])
        number = self._rows[key] = self._next(key, "insert")
        return f"insert into {self._table} values ({key}, {number}, 'new')"

    def _next(self, key: int, what: str) -> int:
        self.number += 1
        self._noted(key, f"{what} {self.number}")
        return self.number

    def _noted(self, key: int, *changes: str) -> None:
        self.began.update(dict.fromkeys(changes, time.monotonic()))
        self.changes.setdefault(key, []).extend(changes)


def source(server: Postgres, prefix: str, table: str, **more: str) -> dict[str, str]:
    """Debezium's, of that table; `Reader` reads its events, and `prefix` names all that it makes."""
    whole = pipeline.source(server, prefix, server.password)
    bare = {name: value for name, value in whole.items() if not name.startswith("transforms")}
    return {**bare, "table.include.list": f"public.{table}", "poll.interval.ms": "100", **more}


def topic(prefix: str, table: str) -> str:
    return f"{prefix}.public.{table}"


_WHAT = {"c": "insert", "r": "insert", "u": "update", "d": "delete"}


class Reader:
    """Debezium's events as `JsonConverter` writes them, with schemas or without, in the order of each partition."""

    def __init__(self) -> None:
        self._deleted: dict[int, str] = {}

    def read(self, key: bytes | None, value: bytes | None) -> tuple[int, str]:
        """The key and the change. A tombstone has the number of the deletion just before it; what is no change has none."""
        number: int = _payload(key or b"{}").get("id", -1)
        deleted = self._deleted.pop(number, "none")
        if value is None:
            return number, f"tombstone {deleted}"
        event = _payload(value)
        what = _WHAT.get(event["op"], event["op"])
        changed = str((event["before"] if what == "delete" else event["after"])["number"])
        if what == "delete":
            self._deleted[number] = changed
        return number, f"{what} {changed}"


def _payload(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(text)
    return found.get("payload", found)


def check(
    subject: str,
    wanted: Mapping[int, Sequence[str]],
    found: Iterable[tuple[int, str]],
    counts: Counter[str],
    once: bool,
    at_rest: bool,
) -> Iterator[Violation]:
    """
    `found` has the changes of each key in the order of the topic, `wanted` all that may be there. A violation is often followed
    by hundreds of its kind: the first few tell enough.
    """
    told: Counter[str] = Counter()
    for violation in _all(subject, wanted, found, counts, once, at_rest):
        told[violation.name] += 1
        if told[violation.name] <= _TOLD:
            yield violation


def _all(
    subject: str,
    wanted: Mapping[int, Sequence[str]],
    found: Iterable[tuple[int, str]],
    counts: Counter[str],
    once: bool,
    at_rest: bool,
) -> Iterator[Violation]:
    places = {key: {change: at for at, change in enumerate(changes)} for key, changes in wanted.items()}
    last = dict.fromkeys(wanted, -1)
    seen: set[tuple[int, str]] = set()
    for key, change in found:
        counts["records"] += 1
        at, before = places.get(key, {}).get(change), last.get(key, -1)
        where = f"key {key}: {change}"
        if at is None:
            yield Violation("phantom", subject, f"{where}, which nobody made")
            continue
        if at > before + 1:
            yield Violation("gap", subject, f"{where} came where {wanted[key][before + 1]} belongs")
        elif at <= before and once:
            yield Violation("duplicate", subject, f"{where} came again after {wanted[key][before]}")
        counts["repeats"] += (key, change) in seen
        seen.add((key, change))
        last[key] = at
    missing = [f"key {key}: {change}" for key, changes in wanted.items() for change in changes if (key, change) not in seen]
    if at_rest and missing:
        yield Violation("lost", subject, f"{len(missing)} changes, the first of them {missing[0]}")
