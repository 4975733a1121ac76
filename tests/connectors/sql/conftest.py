"""One server of each kind for all tests of a process, and a name for each test's table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.errors import ConnectError
from tests.connectors.sql import databases
from tests.connectors.sql.databases import Database
from tests.rig.systems.mariadb import MariaDB
from tests.support import starts

EVERY = ["sqlite", *(pytest.param(name, marks=pytest.mark.process) for name in ("postgresql", "mariadb"))]


@pytest.fixture(scope="session")
@starts("process")
def mariadb_server() -> Iterator[MariaDB]:
    server = MariaDB()
    try:
        server.start()
    except ConnectError as error:
        server.stop()
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"MariaDB is not installed here, and can't be ({error}): what needs it was left out")
    yield server
    server.stop()


@pytest.fixture(params=EVERY)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "postgresql":
        made = databases.postgresql(request.getfixturevalue("postgres"))
    elif request.param == "mariadb":
        made = databases.mariadb(request.getfixturevalue("mariadb_server"))
    else:
        made = databases.sqlite(tmp_path / "d.db")
    yield made
    made.close()


_numbers = iter(range(1, 1_000_000))


@pytest.fixture
def topic() -> str:
    return f"t{next(_numbers)}"
