"""
The databases whose tables `scripts/chaos --backfill` copies: how they are started, written to, and their sessions killed.

Called by `backfill.py`.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pymysql

from kconnect.core.herder import backfills
from kconnect.jvm import jars
from kconnect.jvm.maven import Coordinates
from tests.rig.cdc import pipeline
from tests.rig.systems import java_plugins
from tests.rig.systems.mariadb import MariaDB
from tests.rig.systems.postgres import Postgres

NAME = DATABASE = "copied"
TABLE = "changing"
DEBEZIUM_MARIADB = Coordinates("io.debezium", "debezium-connector-mariadb", "3.5.0.Final")
Execute = Callable[..., Any]


class Copied(abc.ABC):
    """A server with one table of `rows` rows, each of which has its id for its number. `own` are settings of Debezium's."""

    connector: ClassVar[str]
    topic: ClassVar[str]
    range_setting: ClassVar[str]
    own: dict[str, str]
    server: Any

    @property
    def config(self) -> dict[str, str]:
        """The config of Debezium's connector, but for its converters."""
        return {
            "connector.class": self.connector,
            "tasks.max": "1",
            "database.hostname": self.server.host,
            "database.port": str(self.server.port),
            "database.user": self.server.user,
            "database.password": self.server.password,
            "topic.prefix": NAME,
            "poll.interval.ms": "100",
            **self.own,
        }

    @abc.abstractmethod
    def plugin_path(self) -> Path:
        """Return the directory with Debezium's connector."""

    @abc.abstractmethod
    def range_of(self, rows: int) -> int:
        """Return how large a range is to be, so that there are some hundreds of a table."""

    @abc.abstractmethod
    def fill(self, rows: int) -> None:
        """Make the table."""

    @abc.abstractmethod
    def connected(self) -> contextlib.AbstractContextManager[Any]:
        """Give a connection to the table's database, none of the backfill's for who kills these."""

    @contextlib.contextmanager
    def writing(self) -> Iterator[tuple[Execute, Callable[[], None]]]:
        """Give what executes a statement with its values, and what commits."""
        with self.connected() as connection, connection.cursor() as cursor:
            yield cursor.execute, connection.commit

    def truth(self) -> dict[int, tuple[int, int, str]]:
        """Return all rows by their ids, each with its id, number and note."""
        with self.connected() as connection, connection.cursor() as cursor:
            cursor.execute(f"select id, number, note from {TABLE}")
            return {row[0]: tuple(row) for row in cursor.fetchall()}

    @abc.abstractmethod
    def kill_sessions(self, most: int | None) -> None:
        """End so many sessions of the backfill, or all."""

    def alter(self, number: int) -> None:
        """Alter the table, where a copy goes on nevertheless; `number` counts up."""


class CopiedPostgres(Copied):
    connector = backfills.DEBEZIUM
    topic = f"{NAME}.public.{TABLE}"
    range_setting = "backfill.range.pages"

    def __init__(self, programs: Path | None) -> None:
        self.server = Postgres(programs).start()
        self.own = {
            "database.dbname": DATABASE,
            "plugin.name": "pgoutput",
            "slot.name": NAME,
            "publication.name": NAME,
            "publication.autocreate.mode": "filtered",
            "table.include.list": f"public.{TABLE}",
        }

    def plugin_path(self) -> Path:
        return pipeline.plugin_path()

    def range_of(self, rows: int) -> int:
        return max(20, rows // 2000)

    def fill(self, rows: int) -> None:
        self.server.execute(f"create database {DATABASE}")
        self.server.execute(
            f"create table {TABLE} (id bigint primary key, number bigint not null, note text, price numeric(12, 2));"
            f"alter table {TABLE} replica identity full;"
            f"insert into {TABLE} select n, n, repeat('x', 80), n * 0.01 from generate_series(1, {rows}) n;",
            DATABASE,
        )

    def connected(self) -> contextlib.AbstractContextManager[Any]:
        server = self.server
        dsn = f"host={server.host} port={server.port} user={server.user} password={server.password} dbname={DATABASE}"
        return psycopg.connect(dsn, application_name="writer")

    def kill_sessions(self, most: int | None) -> None:
        limit = "" if most is None else f" limit {most}"
        self.server.execute(
            "select pg_terminate_backend(pid) from (select pid from pg_stat_activity "
            f"where application_name like 'kconnect-%' order by random(){limit}) as found",
            DATABASE,
        )


class CopiedMariaDB(Copied):
    connector = backfills.DEBEZIUM_MARIADB
    topic = f"{NAME}.{DATABASE}.{TABLE}"
    range_setting = "backfill.range.rows"

    def __init__(self, brokers: str) -> None:
        self.server = MariaDB().start()
        self.own = {
            "database.server.id": "5400",
            "table.include.list": f"{DATABASE}.{TABLE}",
            "schema.history.internal.kafka.topic": f"{NAME}-history",
            "schema.history.internal.kafka.bootstrap.servers": brokers,
        }

    def plugin_path(self) -> Path:
        path = jars.cache_dir() / "plugins" / "cdc-mariadb"
        java_plugins.keep([DEBEZIUM_MARIADB], path)
        return path

    def range_of(self, rows: int) -> int:
        return max(500, rows // 50)

    def fill(self, rows: int) -> None:
        self.server.execute(
            f"create database {DATABASE}; use {DATABASE};"
            f"create table {TABLE} (id bigint primary key, number bigint not null, note text, price numeric(12, 2));"
            f"insert into {TABLE} select seq, seq, repeat('x', 80), seq * 0.01 from seq_1_to_{rows};"
        )

    def connected(self) -> contextlib.AbstractContextManager[Any]:
        server = self.server
        return contextlib.closing(
            pymysql.connect(host=server.host, port=server.port, user=server.user, password=server.password, database=DATABASE)
        )

    def kill_sessions(self, most: int | None) -> None:
        limit = "" if most is None else f" limit {most}"
        # A backfill's sessions, and not Debezium's: these read the table, and are in no database.
        found = self.server.rows(
            "select id from information_schema.processlist where id <> connection_id() and db is null "
            f"and command in ('Sleep', 'Query') order by rand(){limit}"
        )
        for (number,) in found:
            self.server.end_session(number)

    def alter(self, number: int) -> None:
        before = f", drop column added{number - 1}" if number else ""
        self.server.execute(f"use {DATABASE}; alter table {TABLE} add column added{number} int default {number}{before}")
