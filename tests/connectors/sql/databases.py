"""The databases that the SQL connectors are tried on: SQLite in a file, and servers of PostgreSQL and MariaDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.rig.systems.mariadb import MariaDB
from tests.rig.systems.postgres import Postgres


class Database:
    """`config` is what a connector needs to reach it; `rows` asks it without the connector's own code."""

    def __init__(self, backend: str, url: str, engine: sa.Engine, user: str = "", password: str = "") -> None:
        self.backend = backend
        self.config = {"connection.url": url}
        if user:
            self.config |= {"connection.user": user, "connection.password": password}
        self.engine = engine

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    def execute(self, *statements: str) -> None:
        """In one transaction."""
        with self.engine.begin() as connection:
            for each in statements:
                connection.execute(sa.text(each))

    def quoted(self, name: str) -> str:
        """For `rows`, which doubles a percent sign by itself."""
        return self.engine.dialect.identifier_preparer.quote_identifier(name).replace(":", "\\:").replace("%%", "%")

    def close(self) -> None:
        self.engine.dispose()


def sqlite(file: Path) -> Database:
    return Database("sqlite", f"jdbc:sqlite:{file}", sa.create_engine(f"sqlite:///{file}"))


def postgresql(server: Postgres) -> Database:
    place = f"{server.host}:{server.port}/postgres"
    engine = sa.create_engine(f"postgresql+psycopg://{server.user}:{server.password}@{place}", poolclass=sa.NullPool)
    return Database("postgresql", f"jdbc:postgresql://{place}", engine, server.user, server.password)


def mariadb(server: MariaDB) -> Database:
    place = f"{server.host}:{server.port}/trial"
    server.execute("create database if not exists trial character set utf8mb4")
    engine = sa.create_engine(
        f"mariadb+pymysql://{server.user}:{server.password}@{place}?charset=utf8mb4", poolclass=sa.NullPool
    )
    return Database("mariadb", f"jdbc:mariadb://{place}", engine, server.user, server.password)
