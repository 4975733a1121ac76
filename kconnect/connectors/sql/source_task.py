"""
SqlSourceTask: reads its tables in turn, each to its end, then again after a pause.

What may pass is tried again from the last record that was read, over a new connection. Started by `source.py`. Read next:
`reader.py`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kconnect.api import ConnectError, RetriableError, SourceRecord
from kconnect.connectors import interrupts, names
from kconnect.connectors.common import Patience, Polling
from kconnect.connectors.libraries import Informed
from kconnect.connectors.sql import database, positions, settings, source_settings
from kconnect.connectors.sql.connections import Connections
from kconnect.connectors.sql.listing import TableName
from kconnect.connectors.sql.positions import Position
from kconnect.connectors.sql.reader import Reader
from kconnect.connectors.sql.relations import QueryRelation, Relation, TableRelation

log = logging.getLogger(__name__)

_LONGEST_WAIT_S = 0.5


class SqlSourceTask(Informed, Polling):
    def __init__(self) -> None:
        super().__init__()
        self._engine: sa.Engine | None = None
        self._connections: Connections | None = None
        self._connection: sa.Connection | None = None
        self._reader: Reader | None = None
        """Whose round it is."""

    def start(self, props: dict[str, str]) -> None:
        config = source_settings.CONFIG.parse(props)
        self._connections = Connections()
        self._engine = database.made_engine(config, self.worker, writes=False, connections=self._connections)
        self._patience = Patience(source_settings.RETRIES, config[source_settings.RETRIES], config[settings.CONNECT_BACKOFF])
        self._interval_s: float = config[source_settings.INTERVAL] / 1000
        self._most: int = config[source_settings.ROWS]
        self._isolation: str = config[source_settings.ISOLATION].upper().replace("_", " ")
        prefix = config[source_settings.PREFIX]
        relations: list[Relation]
        if config[source_settings.QUERY]:
            relations = [QueryRelation(config[source_settings.QUERY], prefix)]
        else:
            relations = [TableRelation(TableName(*name), prefix) for name in json.loads(props[source_settings.TABLES])]
        dialect, passed_over = self._engine.dialect.name, self.context.passed_over
        self._readers = [
            Reader(relation, config, dialect, self._stored(relation.partition), passed_over) for relation in relations
        ]

    def interrupt(self) -> None:
        if self._connections is not None:
            # A round that is nearly over need not be read again.
            interrupts.after_grace(self._connections.end)

    def _stored(self, partition: Mapping[str, Any]) -> Position | None:
        partitions = [partition]
        assert self._engine is not None
        if self._engine.dialect.name == "postgresql" and "table" in partition:
            # Drivers of JDBC differ in whether they name the database, too.
            partitions.append(positions.partition_of(f"{self._engine.url.database}.{partition['table']}"))
        offset = next((stored for stored in self.context.offsets.offsets(partitions) if stored), None)
        return None if offset is None else Position.of(offset)

    def read(self) -> list[SourceRecord] | None:
        reader, now = self._reader, time.monotonic()
        if reader is None:
            reader = min(self._readers, key=lambda candidate: candidate.due_at)
            if reader.due_at > now:
                self.stopped.wait(min(reader.due_at - now, _LONGEST_WAIT_S))
                return None
        try:
            records = self._read(reader, now)
        except SQLAlchemyError as error:
            self._failed(reader, error)
            return None
        except RetriableError:
            raise
        except ConnectError as error:
            # Whatever is wrong with one table, or with a row of it.
            self._refused(reader, error)
            return None
        self._patience.succeeded()
        return records

    def _read(self, reader: Reader, now: float) -> list[SourceRecord]:
        if self._reader is None:
            if self._connection is None:
                assert self._engine is not None
                connection = self._engine.connect()
                self._connection = connection
                if self._isolation != "DEFAULT":
                    connection.execution_options(isolation_level=self._isolation)
            if not reader.begin(self._connection, now):
                reader.refusal = ""
                return self._over(reader)
            self._reader = reader
        if records := reader.take(self._most):
            return records
        reader.refusal = ""
        return self._over(reader)

    def _over(self, reader: Reader) -> list[SourceRecord]:
        """The round is."""
        reader.end()
        if self._connection is not None:
            self._connection.rollback()
        self._reader = None
        reader.due_at = time.monotonic() + self._interval_s
        return []

    def _failed(self, reader: Reader, error: SQLAlchemyError) -> None:
        """Raise an error for a database's, unless the table is gone, of which the tasks hear when tables are listed next."""
        assert self._engine is not None
        text = f"The {database.shown(self._engine)} says: {database.reason(error)}"
        self.release()
        if not database.passes(error):
            if not self._is_there(reader):
                log.warning("%s is not there any more", reader.relation.shown)
                self._over(reader)
                return
            self._refused(reader, ConnectError(f"{reader.relation.shown} can't be read. {text}"))
            return
        again, pause_ms = self._patience.failed(text)
        for waiting in self._readers:
            waiting.due_at = max(waiting.due_at, time.monotonic() + pause_ms / 1000)
        raise again from None

    def _refused(self, reader: Reader, error: ConnectError) -> None:
        """
        Go on with the other tables, if the config says so and any of them can be read: whoever may make a table or a view that
        fails, or may write a row that nothing can read, is not to end what is read of all others. Raise the error otherwise.
        """
        is_new, reader.refusal = str(error) != reader.refusal, str(error)
        if not reader.passes_over or all(other.refusal for other in self._readers):
            raise error from None
        if is_new:
            log.error("%s. It is passed over, and looked at again each time", names.printable(str(error)))
        self._over(reader)

    def _is_there(self, reader: Reader) -> bool:
        assert self._engine is not None
        try:
            return reader.relation.is_there(self._engine)
        except SQLAlchemyError:
            return True

    def release(self) -> None:
        with contextlib.suppress(SQLAlchemyError):
            if self._reader is not None:
                self._reader.end()
        with contextlib.suppress(SQLAlchemyError):
            if self._connection is not None:
                self._connection.close()
        self._reader = self._connection = None
        if self._engine is not None:
            self._engine.dispose()
