"""
Kills what copies a table while it changes, at random, and compares the topic with all changes: `scripts/chaos --backfill`.

One worker, a table of PostgreSQL or MariaDB with a writer that never rests, a backfill, the handover to Debezium, and some more
changes. Each change has a number, so none can hide. What is killed: task hosts, Spark's driver, the worker, the sessions.
MariaDB's table is altered meanwhile, too. `wrong` is pure. Read next: `databases.py`, `connectors/backfill/source.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka as ck
import orjson
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.core.herder import backfills
from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess, still_alive
from tests.conftest import QUICK
from tests.rig.chaos.databases import NAME, TABLE, Copied, CopiedMariaDB, CopiedPostgres, Execute
from tests.support import wait_until

_PARTITIONS = 3
_LONGEST_S, _SETTLED_S = 1800.0, 900.0
_AFTER = 200
"""So many changes are made once Debezium goes on."""
_KINDS = ("sessions", "host", "driver", "worker", "session")
_JSON = "org.apache.kafka.connect.json.JsonConverter"


class Change(NamedTuple):
    """`what` is `c`, `u` or `d`, as Debezium writes it; a deletion has the number of the row that it deletes."""

    what: str
    number: int


class Event(NamedTuple):
    """A record of Debezium's, or of the backfill's, of which `what` is `r`."""

    what: str
    number: int


class Writer:
    """Changes rows from `start` to `end`. The rows that were there at first have their id as number; `changes` has all else."""

    def __init__(self, database: Copied, rows: int, seed: int, altered_each: int) -> None:
        self._draw = random.Random(seed)
        self._database, self._altered_each = database, altered_each
        database.fill(rows)
        self.rows = rows
        self.changes: dict[int, list[Change]] = {}
        self._alive: dict[int, int] = {}
        self._numbers = itertools.count(10_000_000_000)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="writer")
        self.error: BaseException | None = None
        self.count = 0
        self.altered = 0

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join(120)
        assert self.error is None, self.error

    def _run(self) -> None:
        try:
            with self._database.writing() as (execute, commit):
                while not self._over.is_set():
                    for _ in range(self._draw.choice((1, 1, 3, 20))):
                        self._one(execute)
                    commit()
                    if self.count > self.altered * self._altered_each:
                        self._database.alter(self.altered)
                        self.altered += 1
                    self._over.wait(0.02)
        except BaseException as error:  # noqa: BLE001 - raised by `end`
            self.error = error

    def _one(self, execute: Execute) -> None:
        number, drawn = next(self._numbers), self._draw.random()
        # Some rows change often, and most never.
        key = self._draw.randrange(1, self.rows + 1) if drawn < 0.5 else self._draw.randrange(1, min(200, self.rows))
        before = self._alive.get(key, key if key not in self.changes else 0)
        self.count += 1
        if not before:
            execute(f"insert into {TABLE} (id, number, note, price) values (%s, %s, 'new', 1)", (key, number))
            self._noted(key, Change("c", number))
        elif drawn < 0.6 or drawn > 0.9:
            execute(f"update {TABLE} set number = %s, note = 'changed' where id = %s", (number, key))
            self._noted(key, Change("u", number))
        elif drawn < 0.8:
            execute(f"delete from {TABLE} where id = %s", (key,))
            self._noted(key, Change("d", before))
        else:
            # The key changes: a row goes, and another one comes.
            other = self.rows + number % 10_000_000_000 + 1
            execute(f"update {TABLE} set id = %s, number = %s where id = %s", (other, number, key))
            self._noted(key, Change("d", before))
            self._noted(other, Change("c", number))

    def _noted(self, key: int, change: Change) -> None:
        self.changes.setdefault(key, []).append(change)
        self._alive[key] = 0 if change.what == "d" else change.number


def wrong(
    rows: int, changes: Mapping[int, Sequence[Change]], events: Iterable[tuple[int, Event]], strict: bool
) -> Counter[str]:
    """
    Return how many keys are not as they should be, by what is wrong. `events` are in the order of each key. `strict`: the
    snapshot was never lost, so a row was read as it was where the stream begins.
    """
    by_key: dict[int, list[Event]] = {}
    copies = bytearray(rows + 1)
    found: Counter[str] = Counter()
    for key, event in events:
        if key in changes or not 1 <= key <= rows:
            by_key.setdefault(key, []).append(event)
        elif event != Event("r", key):
            found["phantom"] += 1
        else:
            copies[key] = 1
    for key in range(1, rows + 1):
        if key not in changes and not copies[key]:
            found["lost"] += 1
    for key, made in changes.items():
        history = [*([Change("c", key)] if key <= rows else []), *made]
        found.update(_of_key(history, by_key.pop(key, []), strict))
    found["phantom"] += len(by_key)
    return +found


def _of_key(history: Sequence[Change], events: Sequence[Event], strict: bool) -> set[str]:
    copied = [event for event in events if event.what == "r"]
    streamed = [event for event in events if event.what != "r"]
    if events[: len(copied)] != copied:
        return {"a copy after a change"}
    begin = len(history) - len(streamed)
    if [tuple(event) for event in streamed] != [tuple(change) for change in history[max(0, begin) :]]:
        return {"the stream has a gap, or other changes"}
    states = [change.number for change in history[max(0, begin - 1) :] if change.what != "d"]
    if any(event.number not in states for event in copied):
        return {"a copy of what never was"}
    before = history[begin - 1] if begin > 0 else None
    is_there = before is not None and before.what != "d"
    if strict and is_there and {event.number for event in copied} != {before.number if before else 0}:
        return {"lost, or not as it was where the stream begins"}
    if not copied and not streamed and is_there:
        return {"lost"}
    if not copied and is_there and not any(event.what in "du" for event in streamed):
        return {"lost"}
    return set()


class Run:
    kinds: Sequence[str] = _KINDS
    altered_each = 100
    """After so many changes of rows a table is altered."""

    def __init__(self, options: argparse.Namespace, tell: Callable[[str], None]) -> None:
        self._options, self._tell = options, tell
        self._draw = random.Random(options.seed)
        self.kills: Counter[str] = Counter()
        self._began = time.monotonic()
        self.strict = True

    def tell(self, text: str) -> None:
        self._tell(f"[{time.monotonic() - self._began:7.1f} s] {text}")

    def go(self, directory: Path, programs: Path | None = None) -> Counter[str]:
        """Return what is wrong in the end: nothing, if all is well."""
        broker = Broker(directory / "broker").start()
        is_maria = self._options.database == "mariadb"
        # Each of MariaDB's sessions has a snapshot of its own.
        self.strict = not is_maria
        database = CopiedMariaDB(broker.bootstrap_servers) if is_maria else CopiedPostgres(programs)
        properties = {
            **{**QUICK, "session.timeout.ms": "10000", "plugin.path": str(database.plugin_path()), "task.hosts": "2"},
            **self.properties,
        }
        worker = WorkerProcess(directory / "worker", broker.bootstrap_servers, "copied", properties=properties)
        writer = Writer(database, self._options.rows, self._options.seed, self.altered_each)
        try:
            worker.start()
            admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            admin.create_topics([NewTopic(database.topic, _PARTITIONS, 1)])[database.topic].result(120)
            writer.start()
            file = directory / "debezium.json"
            file.write_text(
                json.dumps({"name": NAME, "initial_state": "STOPPED", "config": {**database.config, **self.converters}})
            )
            self._type(worker, "create", "-f", str(file))
            worker.client.wait_for(NAME, "STOPPED", tasks=0, timeout=_LONGEST_S)
            size, rate = database.range_of(self._options.rows), self._options.rate
            limit = ["--rate", str(rate)] if rate else []
            more = [*limit, "--set", f"{database.range_setting}={size}", *self.prepare(worker, directory, database)]
            self._type(worker, "backfill", "start", NAME, "--no-wait", *more)
            self._kill_meanwhile(worker, database)
            self._wait(lambda: worker.client.backfill(NAME)["done"], "not all is read", worker)
            self._type(worker, "backfill", "finish", NAME)
            altered = f", and {writer.altered} of the table" if is_maria else ""
            self.tell(f"killed: {dict(self.kills)}; {writer.count} changes so far{altered}")
            worker.client.wait_for(NAME, "RUNNING", tasks=1, timeout=_LONGEST_S)
            goal = writer.count + _AFTER
            wait_until(lambda: writer.count >= goal or writer.error, _LONGEST_S, "nobody writes")
            writer.end()
            return self._compared(broker, writer, database)
        finally:
            with contextlib.suppress(AssertionError):
                writer.end()
            worker.stop()
            broker.stop()
            database.server.stop()

    @property
    def properties(self) -> dict[str, str]:
        """More settings of the worker."""
        return {}

    @property
    def converters(self) -> dict[str, str]:
        return converters(schemas=False)

    def prepare(self, worker: WorkerProcess, directory: Path, database: Copied) -> list[str]:
        """Make what there is to be beside Debezium's connector; return more words of the command that starts the backfill."""
        return []

    def _type(self, worker: WorkerProcess, *words: str) -> None:
        """As a user would."""
        typed = [sys.executable, "-m", "kconnect", *words, "--url", worker.client.url]
        done = subprocess.run(typed, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
        assert done.returncode == 0, f"kconnect {' '.join(words)}: {done.stderr}"
        self.tell(f"kconnect {' '.join(words)}: {(done.stderr or done.stdout).strip()}")

    def _kill_meanwhile(self, worker: WorkerProcess, database: Copied) -> None:
        for number in range(self._options.kills):
            before = self._rows(worker)
            self._wait(functools.partial(self.has_more, worker, before), "nothing is read", worker)
            if self._is_done(worker):
                return
            time.sleep(self._draw.random() * 3)
            kind = self.kinds[number] if number < len(self.kinds) else self._draw.choice(self.kinds)
            self.kill(kind, worker, database)
            self.kills[kind] += 1
            self.tell(f"kill {number + 1}: {kind}; {before} rows were read before")

    def kill(self, kind: str, worker: WorkerProcess, database: Copied) -> None:
        # Whatever ends all sessions ends the snapshot.
        self.strict = self.strict and kind in ("host", "session")
        if kind == "worker":
            tree = worker.tree()
            worker.kill()
            assert not still_alive(tree, 240), "processes outlive the worker"
            worker.start()
        elif kind in ("session", "sessions"):
            database.kill_sessions(1 if kind == "session" else None)
        else:
            find: Callable[[], Any] = worker.driver if kind == "driver" else lambda: self._draw.choice(worker.hosts() or [None])
            wait_until(find, _LONGEST_S, f"there is no {kind}").kill()

    def has_more(self, worker: WorkerProcess, before: int) -> bool:
        return self._rows(worker) > before or self._is_done(worker)

    def _rows(self, worker: WorkerProcess) -> int:
        with contextlib.suppress(RestError):
            return int(worker.client.backfill(NAME)["rows"])
        return 0

    def _is_done(self, worker: WorkerProcess) -> bool:
        with contextlib.suppress(RestError):
            return bool(worker.client.backfill(NAME)["done"])
        return False

    def _wait(self, condition: Callable[[], Any], what: str, worker: WorkerProcess) -> Any:
        def seen() -> Any:
            with contextlib.suppress(RestError):
                status = worker.client.status(backfills.name_of(NAME))
                failed = [part["trace"] for part in (status["connector"], *status["tasks"]) if part["state"] == "FAILED"]
                assert not failed, failed[0]
                return condition()
            return None

        return wait_until(seen, _LONGEST_S, what)

    def wrong(self, broker: Broker, writer: Writer, database: Copied) -> Counter[str]:
        """Return what is not as it should be by now."""
        return wrong(writer.rows, writer.changes, events_of(broker, database.topic), self.strict)

    def _compared(self, broker: Broker, writer: Writer, database: Copied) -> Counter[str]:
        """Compare until all that is to come is there, or nothing comes any more."""
        found: Counter[str] = Counter()

        def right() -> bool:
            nonlocal found
            found = self.wrong(broker, writer, database)
            return not found

        with contextlib.suppress(AssertionError):
            wait_until(right, _SETTLED_S, "there is a difference")
        return found


def converters(schemas: bool) -> dict[str, str]:
    """Return the settings of converters to JSON."""
    names = [f"{part}.converter" for part in ("key", "value")]
    return {**dict.fromkeys(names, _JSON), **{f"{name}.schemas.enable": str(schemas).lower() for name in names}}


def events_of(broker: Broker, topic: str) -> list[tuple[int, Event]]:
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "compare", "enable.auto.commit": False})
    try:
        places = [ck.TopicPartition(topic, number, 0) for number in range(_PARTITIONS)]
        ends = [consumer.get_watermark_offsets(place, timeout=60)[1] for place in places]
        consumer.assign([place for place, end in zip(places, ends) if end])
        left, events = sum(ends), []
        while left > 0:
            messages = consumer.consume(min(left, 10_000), 60)
            assert messages, f"{left} records are missing from the topic"
            left -= len(messages)
            for message in messages:
                assert message.error() is None, message.error()
                if (data := message.value()) is not None:
                    value = orjson.loads(data)
                    value = value.get("payload", value)
                    row = value["before"] if value["op"] == "d" else value["after"]
                    events.append((row["id"], Event(value["op"], row["number"])))
        return events
    finally:
        consumer.close()


def main(arguments: list[str], directory: Path, tell: Callable[[str], None]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/chaos --backfill", description=__doc__.splitlines()[1])
    parser.add_argument("--database", choices=("postgresql", "mariadb"), default="postgresql", help="%(default)s")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the table at first; %(default)s")
    parser.add_argument("--kills", type=int, default=30, help="%(default)s")
    parser.add_argument(
        "--rate", type=int, default=0, help="rows a second at most, so that there is time for kills; %(default)s: all"
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000), help="that of a run to repeat")
    parser.add_argument("--into", choices=("delta", "iceberg"), help="straight into a table of this format")
    parser.add_argument("--append", action="store_true", help="have all changes in that table, and not the rows as they are")
    options = parser.parse_args(arguments)
    tell(f"seed {options.seed}, everything is in {directory}")
    if options.into:
        from tests.rig.chaos.copied import LakeRun

        run: Run = LakeRun(options, tell)
    else:
        run = Run(options, tell)
    found = run.go(directory)
    run.tell(f"wrong: {dict(found) or 'nothing'}")
    return 1 if found else 0
