"""
A pipeline for change data capture: a table of PostgreSQL, Debezium's source, a topic, Debezium's JDBC sink, another database.

Called by `demo.py` and the tests. It has the plugins and how they are installed, both connectors' configs, changes to make
in the table, and the comparison of both tables. Read next: `systems/postgres.py`, `kconnect/plugins/java_installation.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kconnect.jvm import jars
from kconnect.jvm.maven import Coordinates
from tests.rig.systems import java_plugins
from tests.rig.systems.postgres import Postgres

PLUGINS = (
    Coordinates("io.debezium", "debezium-connector-postgres", "3.6.1.Final"),
    Coordinates("io.debezium", "debezium-connector-jdbc", "3.6.0.Final"),
)

FROM, TO, TABLE = "shop", "copy", "orders"
"""Two databases of one server, and the table that both have in the end."""

ADDED = "copied_by"
"""The column that the chain adds."""

_CITIES = ("Aachen", "Bergen", "Cádiz", "Dunkerque", "Évora", "Făgăraș", "Göteborg", "東京", "O'Fallon", 'a "quoted" one')
_STATES = ("new", "paid", "sent", "returned")


def plugin_path(tell: Callable[[str], None] = lambda _: None) -> Path:
    """
    The directory in kconnect's cache with the plugins, which are fetched first if they are not there.

    Raises:
        ConnectError: the Maven repository can't be reached
    """
    path = jars.cache_dir() / "plugins" / "cdc"
    java_plugins.keep(PLUGINS, path, tell)
    return path


def topic(prefix: str) -> str:
    """Where Debezium writes the table's changes."""
    return f"{prefix}.public.{TABLE}"


def source(server: Postgres, prefix: str, password: str) -> dict[str, str]:
    """Prefix names the topic, the slot and the publication. The password may be a reference."""
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": server.host,
        "database.port": str(server.port),
        "database.user": server.user,
        "database.password": password,
        "database.dbname": FROM,
        "topic.prefix": prefix,
        "table.include.list": f"public.{TABLE}",
        "plugin.name": "pgoutput",
        "slot.name": slot(prefix),
        "publication.name": slot(prefix),
        "publication.autocreate.mode": "filtered",
        **_converters(),
        "transforms": "unwrap,mark",
        # Of an event of Debezium's it leaves the new row. A deletion becomes a tombstone, which makes the sink delete.
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.delete.tombstone.handling.mode": "tombstone",
        "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.mark.static.field": ADDED,
        "transforms.mark.static.value": "kconnect",
    }


def sink(server: Postgres, prefix: str, password: str) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "tasks.max": "1",
        "topics": topic(prefix),
        "connection.url": server.jdbc_url(TO),
        "connection.username": server.user,
        "connection.password": password,
        "insert.mode": "upsert",
        "primary.key.mode": "record_key",
        "delete.enabled": "true",
        "schema.evolution": "basic",
        "collection.name.format": TABLE,
        **_converters(),
        # The topic comes into being with the first record; do not make it wait for the next look at the metadata.
        "consumer.override.metadata.max.age.ms": "1000",
    }


def _converters() -> dict[str, str]:
    """With schemas: the sink makes its table by them."""
    return {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}


def slot(prefix: str) -> str:
    """Where the server keeps how far the source has read. It outlives the connector, and keeps the server's log meanwhile."""
    return prefix.replace("-", "_").replace(".", "_").lower()


def make_databases(server: Postgres) -> None:
    server.execute(f"create database {FROM};\ncreate database {TO};\n")
    server.execute(
        f"""
        create table {TABLE} (
            id bigint primary key, city text not null, state text not null, price numeric(12, 2), weight double precision,
            express boolean, due date, placed timestamptz not null
        );
        """,
        FROM,
    )


def rows(server: Postgres, database: str, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By their ids."""
    found = server.rows(f"select {', '.join(columns)} from {TABLE}", database)
    return {row[columns.index("id")]: row for row in found}


def columns(server: Postgres, database: str) -> list[str]:
    """Of the table; none while there is no table."""
    query = f"select column_name from information_schema.columns where table_name = '{TABLE}' order by ordinal_position"
    return [name for (name,) in server.rows(query, database)]


def differences(server: Postgres) -> list[str]:
    """What the second table has not, has too much or has otherwise, a line each; the column that the chain adds is left out."""
    wanted, there = columns(server, FROM), columns(server, TO)
    if not there:
        return [f"there is no table {TABLE} in the database {TO} yet"]
    if missing := [name for name in wanted if name not in there]:
        return [f"the column {name} is missing" for name in missing]
    lines = [f"the column {name} should not be there" for name in there if name not in (*wanted, ADDED)]
    return lines + compared(wanted, rows(server, FROM, wanted), rows(server, TO, wanted))


def compared(names: Sequence[str], wanted: Mapping[str, tuple[str, ...]], found: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Rows by their ids."""
    lines = [f"row {number} is missing" for number in wanted if number not in found]
    lines += [f"row {number} should have been deleted" for number in found if number not in wanted]
    for number in (each for each in wanted if each in found):
        for name, left, right in zip(names, wanted[number], found[number]):
            if left != right:
                lines.append(f"row {number}: {name} is {right!r}, and should be {left!r}")
    return lines


class Changes:
    """
    Changes of the table, made up by a seed, and how many there were of each kind in `made`. Use one for the table's whole life:
    it remembers which rows there are.
    """

    def __init__(self, server: Postgres, seed: int = 1) -> None:
        self._server, self._dice = server, random.Random(seed)
        self._rows: list[int] = []
        self._next = 1
        self._more: list[str] = []
        self.made: Counter[str] = Counter()

    def fill(self, count: int) -> None:
        """Insert that many rows."""
        self._run([self._insert() for _ in range(count)])

    def some(self, count: int, most: int = 400) -> None:
        """Insert, change and delete, each in a transaction of its own; there are never many more than `most` rows."""
        statements = []
        for _ in range(count):
            drawn = self._dice.random()
            if not self._rows or (drawn < 0.4 and len(self._rows) < most):
                statements.append(self._insert())
            else:
                statements.append(self._update() if drawn < 0.75 else self._delete())
        self._run(statements)

    def add_column(self, name: str) -> None:
        """From now on each row that is inserted or changed has a value in it."""
        self._run([f"alter table {TABLE} add column {name} text"])
        self._more.append(name)
        self.made["columns"] += 1

    def _run(self, statements: list[str]) -> None:
        self._server.execute("".join(f"{each};\n" for each in statements), FROM)

    def _insert(self) -> str:
        number, self._next = self._next, self._next + 1
        self._rows.append(number)
        self.made["inserts"] += 1
        values = self._values()
        return f"insert into {TABLE} (id, {', '.join(values)}) values ({number}, {', '.join(values.values())})"

    def _update(self) -> str:
        self.made["updates"] += 1
        values = self._values()
        changed = self._dice.sample(sorted(values), 3) + self._more
        settings = ", ".join(f"{name} = {values[name]}" for name in dict.fromkeys(changed))
        return f"update {TABLE} set {settings} where id = {self._dice.choice(self._rows)}"

    def _delete(self) -> str:
        self.made["deletes"] += 1
        return f"delete from {TABLE} where id = {self._rows.pop(self._dice.randrange(len(self._rows)))}"

    def _values(self) -> dict[str, str]:
        """Columns but for the id, with what SQL writes for a value."""
        dice = self._dice
        return {
            "city": _text(dice.choice(_CITIES)),
            "state": _text(dice.choice(_STATES)),
            "price": dice.choice(("null", f"{dice.randrange(-(10**6), 10**9) / 100:.2f}")),
            "weight": repr(dice.choice((0.0, dice.random() * 1e6, dice.random() * 1e-9))),
            "express": dice.choice(("true", "false", "null")),
            "due": f"date '2020-01-01' + {dice.randrange(-30_000, 30_000)}",
            "placed": "clock_timestamp()",
            **{name: _text(f"{name} {dice.randrange(1000)}") for name in self._more},
        }


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
