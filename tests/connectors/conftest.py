"""A server of PostgreSQL for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rig.systems.postgres import Postgres
from tests.support import starts


@pytest.fixture(scope="session")
@starts("process")
def postgres(postgres_programs: Path) -> Iterator[Postgres]:
    server = Postgres(postgres_programs).start()
    yield server
    server.stop()
