"""
How far a backfill is, by what every worker knows of its connector: ranges by the tasks' configs, rows by the offsets, what the
snapshot holds back by the numbers that its tasks tell. Used by `requests/backfill.py`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.overview import current, total
from kconnect.core.metrics.report import Report, UnitReport
from kconnect.core.state.config import Properties
from kconnect.core.state.records import State, UnitId
from kconnect.errors import BadRequestError, NotFoundError
from kconnect.java.versions import choose

DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
DEBEZIUM_MARIADB = "io.debezium.connector.mariadb.MariaDbConnector"
_READERS = {DEBEZIUM: "Backfill", DEBEZIUM_MARIADB: "MariaDbBackfill"}
"""The connectors that read, by those of Debezium's that they read for."""
_CLASSES = (
    *_READERS.values(),
    *("BackfillConnector", "kconnect.connectors.backfill.source.BackfillConnector"),
    *("MariaDbBackfillConnector", "kconnect.connectors.backfill.mariadb.source.MariaDbBackfillConnector"),
)
_SINKS = ("SparkSink", "SparkSinkConnector", "kconnect.connectors.spark.connector.SparkSinkConnector")
SUFFIX = "-backfill"
_MOST_DIGITS = 20
_LEFT_OUT = ("connector.class", "connector.plugin.version", "name", "tasks.max")
_HELD = {
    "snapshot_s": "backfill_snapshot_seconds",
    "transactions": "backfill_snapshot_transactions",
    "log_bytes": "backfill_log_held_bytes",
}


def name_of(connector: str) -> str:
    """Return the name of the connector that reads for another one."""
    return connector + SUFFIX


def reading_config(connector: str, config: Properties, tasks: int, version: str) -> dict[str, str | None]:
    """Return the config of the connector that reads for one of Debezium's, which has this version."""
    return {
        **{name: value for name, value in config.items() if name not in _LEFT_OUT},
        "name": name_of(connector),
        "connector.class": _READERS[config.get("connector.class") or ""],
        "tasks.max": str(tasks),
        "backfill.debezium.version": version,
    }


def sink_config(sink: str, config: Properties) -> dict[str, str | None]:
    """
    Return the settings of a sink as the connector that reads has them, which writes into its tables. BadRequestError if these
    are not Spark's.
    """
    class_name = config.get("connector.class")
    if class_name not in _SINKS:
        raise BadRequestError(f"{sink} is a {class_name}: a copy goes into topics, or into the tables of a SparkSink")
    own = {f"into.{name}": value for name, value in config.items() if name not in _LEFT_OUT}
    return {**own, "into.connector.class": _SINKS[0], "backfill.into": sink}


def require(desk: Desk, connector: str) -> None:
    """Raise NotFoundError if there is no backfill of the connector, BadRequestError if another one has its name."""
    name = name_of(connector)
    desk.require(name, f"There is no backfill of {connector}. To begin one: kconnect backfill start {connector}")
    class_name = desk.log.config.connectors[name].properties.get("connector.class")
    if class_name not in _CLASSES:
        raise BadRequestError(f"{name} is no backfill of {connector}, but a {class_name}")


def progress(desk: Desk, connector: str, offsets: Iterable[Mapping[str, Any]], reports: Collection[Report]) -> Body:
    """
    Return what `GET …/backfill` answers. `offsets` are the backfill's, as `GET …/offsets` gives them.

    `begin` is the offset that Debezium's connector is to have, once all is read. What is not known is null.
    """
    name, config, units = name_of(connector), desk.log.config, desk.log.status.units
    numbers = config.task_ids(name)
    told = [task for number in numbers if (task := config.task_config(UnitId(name, number))) and task.get("backfill.ranges")]
    rows = [(row["partition"] or {}, row["offset"] or {}) for row in offsets]
    done = next((offset for partition, offset in rows if partition.get("backfill") == "done"), None)
    counted: dict[str, Any] = {"ranges": 0, "ranges_done": 0, "rows": 0, "rows_in_all": None}
    if told:
        counted = _counted(told[0], rows)
    if done is not None:
        counted["rows"] = sum(
            _whole(offset.get("rows")) for partition, offset in rows if partition.get("lsn") == done.get("lsn")
        )
    elif not told:
        counted["rows"] = sum(_whole(offset.get("rows")) for _, offset in rows)
    reported = current(desk, reports)
    own = [reported[unit] for number in numbers if (unit := UnitId(name, number)) in reported]
    rate = None if done is not None else total(own, "in_per_s")
    rest = None if counted["rows_in_all"] is None else counted["rows_in_all"] - counted["rows"]
    statuses = [units.get(UnitId(name)), *(units.get(UnitId(name, number)) for number in numbers)]
    states = [(State.UNASSIGNED if status is None else status.state).value for status in statuses]
    traces = [status.trace for status in statuses if status is not None and status.state is State.FAILED]
    return {
        "name": connector,
        "backfill": name,
        "state": states[0],
        "tasks": {state: states[1:].count(state) for state in dict.fromkeys(states[1:])},
        "done": done is not None,
        "begin": None if done is None else _begin(done),
        **counted,
        "left_out": _left_out(told, done),
        "rows_per_s": rate,
        "rest_s": round(rest / rate) if rest is not None and rest > 0 and rate else None,
        "why": (traces[0] or "").partition("\n")[0][:1000] if traces else None,
        "held": {key: _largest(own, number) for key, number in _HELD.items()},
    }


def _begin(done: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the offset for Debezium's connector; None if a version before wrote none, or what stands there is none."""
    try:
        begin = json.loads(done.get("debezium") or "null")
    except (ValueError, RecursionError):
        return None
    return begin if isinstance(begin, dict) and begin.keys() == {"partition", "offset"} else None


def _left_out(told: Sequence[Properties], done: Mapping[str, Any] | None) -> list[str]:
    """Return what the offset of the end, or the tasks' configs, say of tables that are not copied; nothing of other forms."""
    try:
        if done is not None:
            texts = json.loads(done.get("left_out") or "[]")
        else:
            texts = json.loads(told[0]["backfill.snapshot"] or "{}").get("left_out", []) if told else []
    except (ValueError, RecursionError, TypeError):
        return []
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else []


def _counted(task: Properties, rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> dict[str, Any]:
    """Count what the tasks' configs and the offsets say of the snapshot that is read."""
    snapshot = json.loads(task["backfill.snapshot"] or "")
    tables = json.loads(task["backfill.ranges"] or "")["tables"]
    ranges = {(*table[:3], number * table[3]) for table in tables for number in range(table[4])}
    guess = sum(table[5] for table in tables)
    read = done = 0
    for partition, offset in rows:
        if partition.get("lsn") == snapshot["lsn"] and _beginning(partition) in ranges:
            read += _whole(offset.get("rows"))
            done += bool(offset.get("done")) and offset.get("sees") == snapshot["sees"]
    return {"ranges": len(ranges), "ranges_done": done, "rows": read, "rows_in_all": guess if guess > 0 else None}


def _beginning(partition: Mapping[str, Any]) -> tuple[Any, ...]:
    first = str(partition.get("pages")).partition("-")[0]
    number = int(first) if first.isdecimal() and len(first) < _MOST_DIGITS else None
    names = (name if isinstance(name, str) else None for name in (partition.get("schema"), partition.get("table")))
    return *names, _whole(partition.get("file")), number


def _largest(reports: Collection[UnitReport], name: str) -> float | None:
    values = [
        value for report in reports for published in report.published if (value := published.values.get(name)) is not None
    ]
    return max(values, default=None)


def is_before(offset: Mapping[str, Any], begin: Mapping[str, Any]) -> bool:
    """Whether an offset that Debezium's connector has is older than that with which the stream begins, or is none."""
    if "file" in begin:
        return _in_log(offset) < _in_log(begin)
    return _whole(offset.get("lsn")) < _whole(begin.get("lsn"))


def _whole(value: Any) -> int:
    """Return a number, 0 for anything else: who may alter offsets may have written that."""
    return value if isinstance(value, int) else 0


def _in_log(offset: Mapping[str, Any]) -> tuple[int, str, int]:
    """Return what places in MariaDB's log are compared by: the numbers of its files get another digit at some time."""
    file = str(offset.get("file") or "")
    return len(file), file, _whole(offset.get("pos"))


def require_debezium(config: Properties, connector: str, classes: Collection[str] = tuple(_READERS)) -> str:
    """Return the class of a connector of Debezium's. Raise BadRequestError if it is another connector."""
    class_name = config.get("connector.class") or ""
    if class_name not in classes:
        raise BadRequestError(f"{connector} is a {class_name}: a backfill is for {' or '.join(classes)}")
    return class_name


def version_of(plugins: Iterable[Body], class_name: str, pinned: str | None) -> str:
    """Return the version of Debezium that a connector has: the newest that its config allows (KIP-891)."""
    versions = [str(plugin["version"]) for plugin in plugins if plugin["class"] == class_name]
    if not versions:
        raise NotFoundError(f"The worker has no {class_name}: kconnect plugin install")
    return choose(class_name, versions, pinned)


_WHAT_IS_READ = ("table.", "schema.", "database.", "column.", "topic.", "slot.", "publication.")
_NOT_WHAT = (
    *("database.user", "database.password", "database.ssl", "database.server.id", "topic.creation."),
    *("schema.history.internal.producer.", "schema.history.internal.consumer."),
)
"""Logins may be others by now, and topics and clients of the connector that reads its own, by `--set`."""


def changed(config: Properties, reading: Properties) -> list[str]:
    """Return the settings, of those that say what is read and where the stream begins, that the two connectors have unlike."""
    names = sorted(
        name for name in config.keys() | reading.keys() if name.startswith(_WHAT_IS_READ) and not name.startswith(_NOT_WHAT)
    )
    return [name for name in names if (config.get(name) or "") != (reading.get(name) or "")]
