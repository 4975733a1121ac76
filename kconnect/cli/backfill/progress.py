"""
How far a backfill is, by what every worker knows of its connector: ranges by the tasks' configs, and rows by the offsets.

Called by the commands of this package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconnect.errors import BadRequestError, NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
CLASS = "Backfill"
_CLASSES = (CLASS, "BackfillConnector", "kconnect.connectors.backfill.source.BackfillConnector")
SUFFIX = "-backfill"
_LEFT_OUT = ("connector.class", "connector.plugin.version", "name", "tasks.max")


@dataclass(frozen=True)
class Progress:
    """
    `done` has where the change stream begins, once all is read. `trace` is why something has failed. `rows_in_all` is what the
    database guesses, 0 if it does not.
    """

    ranges: int
    ranges_done: int
    rows: int
    rows_in_all: int
    done: dict[str, Any] | None
    states: str
    trace: str

    def __str__(self) -> str:
        if self.done is not None:
            return f"all ranges are read, {self.rows:,} rows"
        if not self.ranges:
            return f"{self.states}; {'all is read, and is being handed over' if self.rows else 'no tasks yet'}"
        guess = f" of some {self.rows_in_all:,}" if self.rows_in_all > self.rows else ""
        return f"{self.states}; {self.ranges_done} of {self.ranges} ranges, {self.rows:,}{guess} rows"

    def rest_s(self, before: Progress, seconds: float) -> float | None:
        """Return how long the rest will take, by what was read in so many seconds; None if that can't be said."""
        rate = (self.rows - before.rows) / seconds if seconds > 0 else 0
        return (self.rows_in_all - self.rows) / rate if rate > 0 and self.rows_in_all > self.rows else None


def name_of(connector: str) -> str:
    """Return the name of the connector that reads for another one."""
    return connector + SUFFIX


def config_of(client: ConnectClient, connector: str) -> dict[str, str | None]:
    """Return the config of a connector of Debezium's. BadRequestError if it is another one's."""
    config = client.get_config(connector)
    class_name = config.get("connector.class") or ""
    if class_name != DEBEZIUM:
        raise BadRequestError(f"{connector} is a {class_name}: a backfill is for {DEBEZIUM}")
    return config


def _beginning(partition: Mapping[str, Any]) -> tuple[Any, ...]:
    first = str(partition.get("pages")).partition("-")[0]
    return partition.get("schema"), partition.get("table"), partition.get("file"), int(first) if first.isdecimal() else None


def reading_config(config: Mapping[str, str | None], tasks: int, version: str) -> dict[str, str | None]:
    """Return the config of the connector that reads for one of Debezium's, which has this version."""
    return {
        **{name: value for name, value in config.items() if name not in _LEFT_OUT},
        "connector.class": CLASS,
        "tasks.max": str(tasks),
        "backfill.debezium.version": version,
    }


def look(client: ConnectClient, connector: str) -> Progress:
    """Return how far the backfill of a connector is. NotFoundError if there is none."""
    name = name_of(connector)
    if name not in client.connectors():
        raise NotFoundError(f"There is no backfill of {connector}. To begin one: kconnect backfill start {connector}")
    class_name = client.get_config(name).get("connector.class")
    if class_name not in _CLASSES:
        raise BadRequestError(f"{name} is no backfill of {connector}, but a {class_name}")
    pages: set[tuple[Any, ...]] = set()
    snapshot, guess = None, 0
    for task in client.tasks(name):
        text = task["config"].get("backfill.snapshot")
        if text is not None:
            snapshot = json.loads(text)
            tables = json.loads(task["config"]["backfill.ranges"])["tables"]
            pages = {(*table[:3], number * table[3]) for table in tables for number in range(table[4])}
            guess = sum(table[5] for table in tables)
    rows = ranges_done = 0
    offsets = [(entry["partition"] or {}, entry["offset"] or {}) for entry in client.offsets(name)]
    done = next((offset for partition, offset in offsets if partition.get("backfill") == "done"), None)
    for partition, offset in offsets:
        if done is not None or snapshot is None:
            rows += offset.get("rows", 0) if done is None or partition.get("lsn") == done["lsn"] else 0
        elif partition.get("lsn") == snapshot["lsn"] and _beginning(partition) in pages:
            rows += offset.get("rows", 0)
            ranges_done += bool(offset.get("done")) and offset.get("sees") == snapshot["sees"]
    status = client.status(name)
    tasks = status["tasks"]
    failed = [part for part in (status["connector"], *tasks) if part["state"] == "FAILED"]
    running = sum(task["state"] == "RUNNING" for task in tasks)
    states = f"{status['connector']['state']}, {running} of {len(tasks)} tasks RUNNING"
    return Progress(len(pages), ranges_done, rows, guess, done, states, failed[0].get("trace", "") if failed else "")
