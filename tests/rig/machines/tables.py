"""
Debezium against PostgreSQL, and its JDBC sink: a table that changes all the time on the rig, and its copy in another database.

Made by `play.py` where a run has connectors for databases. PostgreSQL is on the client's machine, and no fault hurts it, so
whatever happens in between, both tables are the same in the end. Read next: `tests/rig/cdc/pipeline.py`.
"""

from __future__ import annotations

import time

from kconnect.rest.client import ConnectClient
from tests.rig.cdc import pipeline
from tests.rig.machines import ADDRESSES, CLIENT
from tests.rig.systems.history import Violation
from tests.rig.systems.postgres import Postgres
from tests.rig.systems.watcher import Watcher

SOURCE, SINK = "tables", "tables-sink"
TOPIC = pipeline.topic(SOURCE)
UNITS = (f"{SOURCE}-0", f"{SINK}-0")

_FIRST_ROWS, _CHANGES = 200, 4
_EQUAL_S = 180.0
_NETWORK = "10.77.0.0/16"


class Tables(Watcher):
    """`begin` it from a process in the rig's network, `start` the changes, and `finish` it."""

    def __init__(self, seed: int) -> None:
        super().__init__("changes of tables", 0.5)
        self._server = Postgres(host=ADDRESSES[CLIENT], network=_NETWORK)
        self._changes = pipeline.Changes(self._server, seed)

    def begin(self, client: ConnectClient) -> None:
        """Start PostgreSQL, and create both connectors."""
        self._server.start()
        pipeline.make_databases(self._server)
        self._changes.fill(_FIRST_ROWS)
        client.put_config(SINK, {**pipeline.sink(self._server, SOURCE, self._server.password), **_COMMITTED})
        client.put_config(SOURCE, pipeline.source(self._server, SOURCE, self._server.password))

    def look(self) -> None:
        self._changes.some(_CHANGES)

    def finish(self) -> list[Violation]:
        """End the changes, and return what the copy still lacks after a while; then PostgreSQL ends."""
        self.end()
        until = time.monotonic() + _EQUAL_S
        while (differences := pipeline.differences(self._server)) and time.monotonic() < until:
            time.sleep(1.0)
        self._server.stop()
        told = ", ".join(f"{count} {what}" for what, count in self._changes.made.items())
        return [Violation("not-the-same", pipeline.TABLE, f"{differences[:3]} after {told}")] if differences else []


_COMMITTED = {"consumer.override.isolation.level": "read_committed"}
