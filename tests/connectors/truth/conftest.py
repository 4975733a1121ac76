"""The servers of the SQL connectors' tests, for the tests here that play on databases."""

from __future__ import annotations

from tests.connectors.sql.conftest import database, mariadb_server, topic

__all__ = ["database", "mariadb_server", "topic"]
