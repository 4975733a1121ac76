"""A database of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.rig.systems.postgres import Postgres

_numbers = iter(range(1, 1_000_000))


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Callable[[str], dict[str, str]]]:
    """Make a database by some statements, and give the config that reads it."""
    made: list[str] = []

    def make(statements: str) -> dict[str, str]:
        name = f"backfill{next(_numbers)}"
        made.append(name)
        postgres.execute(f"create database {name}")
        postgres.execute(statements, name)
        return {
            "name": name,
            "tasks.max": "1",
            "database.hostname": postgres.host,
            "database.port": str(postgres.port),
            "database.user": postgres.user,
            "database.password": postgres.password,
            "database.dbname": name,
            "topic.prefix": "cdc",
            "plugin.name": "pgoutput",
            "slot.name": name,
            "publication.name": name,
            "backfill.debezium.version": "3.6.1.Final",
        }

    yield make
    for name in made:
        # A slot keeps its database from being dropped.
        held = f"select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = '{name}'"
        postgres.execute(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")
        postgres.execute(held)
        postgres.execute(f"drop database {name} with (force)")
