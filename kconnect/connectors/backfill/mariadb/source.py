"""
MariaDbBackfillConnector: notes where Debezium's change stream begins, writes the history of schemas, and divides the tables.

It holds nothing in the database: what was divided, and where the stream begins, is an offset as soon as a task is to read. A
thread sees when all is read, and whether the server keeps its log until then. Read next: `task.py`, `sessions.py`,
`history.py`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, SourceTask
from kconnect.connectors.backfill.mariadb import settings
from kconnect.connectors.backfill.mariadb.history_client import client_settings
from kconnect.connectors.backfill.range_connector import RangeConnector

if TYPE_CHECKING:
    from kconnect.connectors.backfill.mariadb.progress import Beginning
    from kconnect.connectors.backfill.mariadb.sessions import Sessions
    from kconnect.connectors.backfill.mariadb.tables import Found, Name

log = logging.getLogger(__name__)

_LOG_S = 30.0
_TRIES = 5
_COUNTER = re.compile(r" AUTO_INCREMENT=\d+")


class MariaDbBackfillConnector(RangeConnector):
    instead = dict.fromkeys(settings.REFUSED, "let Debezium take its snapshot itself, or leave it out")

    passthrough = (settings.PASSTHROUGH,)

    libraries = ("pymysql", "sqlalchemy")

    def __init__(self) -> None:
        super().__init__()
        self._beginning: Beginning | None = None
        self._look_at_log = 0.0

    def task_class(self) -> type[SourceTask]:
        if self._props.get(settings.INTO):
            from kconnect.connectors.backfill.mariadb.into import MariaDbIntoTask

            return MariaDbIntoTask
        from kconnect.connectors.backfill.mariadb.task import MariaDbBackfillTask

        return MariaDbBackfillTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def unfit(self, props: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        yield from settings.unfit(props)
        try:
            client_settings(props.get(settings.HISTORY_BROKERS) or "none", props)
        except ConfigError as error:
            yield error.name or settings.HISTORY_BROKERS, str(error)

    def divide(self) -> None:
        if self._beginning is None:
            self._beginning = self._begun()

    def divided(self) -> tuple[Mapping[str, Any], Sequence[Any], int]:
        assert self._beginning is not None
        place, plans = self._beginning.place, self._beginning.plans
        told = {
            **{"lsn": str(place), "sees": str(place), "taken_us": self._beginning.taken_us},
            **{"file": place.file, "pos": place.position, "gtids": place.gtids},
        }
        return told, [plan.as_json() for plan in plans], sum(len(plan.borders) + 1 for plan in plans)

    def _sessions(self) -> Sessions:
        from kconnect.connectors.backfill.mariadb.sessions import Sessions

        return Sessions(self._config, self.worker, self._connections)

    def _begun(self) -> Beginning:
        """Return where the stream begins: where it did before, or else now. ConnectError if that can't be had."""
        import pymysql

        from kconnect.connectors.backfill.mariadb.progress import Beginning, beginning_partition
        from kconnect.connectors.sql.database import reason

        stored = self.context.offsets.offset(beginning_partition())
        sessions = self._sessions()
        try:
            with contextlib.closing(sessions.plain()) as connection:
                sessions.check_log(connection)
                if stored is None:
                    return self._begin(sessions, connection)
                beginning = Beginning.of_offset(stored)
                sessions.check_kept(connection, beginning.place)
                if self._is_read(beginning):
                    # Whoever saw it has ended before that was noted.
                    self._end(beginning)
                return beginning
        except pymysql.MySQLError as error:
            raise ConnectError(f"The database at {self._config[settings.HOST]} says: {reason(error)}") from None

    def _begin(self, sessions: Sessions, connection: Any) -> Beginning:
        """Note a place in the log, write the schemas that tables have there, and divide the tables. pymysql's errors."""
        from kconnect.connectors.backfill.mariadb.history import History, statements
        from kconnect.connectors.backfill.mariadb.progress import Beginning
        from kconnect.connectors.backfill.mariadb.sessions import begin, charsets, now_us, run
        from kconnect.connectors.backfill.mariadb.tables import plans

        history = History(self._config, self._props)
        with contextlib.closing(sessions.raw()) as raw:
            before = self._definitions(connection, raw)
            for _ in range(_TRIES):
                place, taken_us = begin(connection, with_gtids=True), now_us(connection)
                after = self._definitions(connection, raw)
                run(connection, "ROLLBACK")
                if _without_counters(before[1]) == _without_counters(after[1]):
                    break
                before = after
            else:
                raise ConnectError("Tables were altered again and again while the copy was to begin: try again later")
        tables, definitions = after
        captured = [each for each in tables if each.is_captured]
        divided = plans(connection, captured, definitions.__getitem__, self._config)
        server, databases = charsets(connection)
        history.write(statements(*server, databases, definitions), place, taken_us // 1_000_000)
        return Beginning(place, taken_us, divided)

    def _definitions(self, connection: Any, raw: Any) -> tuple[Sequence[Found], dict[Name, str]]:
        """Return the tables that the history is to have, and how each is made."""
        from kconnect.connectors.backfill.mariadb.sessions import definition
        from kconnect.connectors.backfill.mariadb.tables import found

        tables = found(connection, self._config)
        if self._config[settings.ONLY_TABLES].lower() == "true":
            tables = [each for each in tables if each.is_captured]
        elif self._config[settings.ONLY_DATABASES].lower() == "true":
            captured = {each.name.database for each in tables if each.is_captured}
            tables = [each for each in tables if each.name.database in captured]
        return tables, {each.name: definition(raw, each.name) for each in tables}

    def look(self) -> bool:
        import pymysql

        from kconnect.connectors.backfill.mariadb.progress import Beginning, beginning_partition
        from kconnect.connectors.backfill.mariadb.sessions import passes
        from kconnect.connectors.sql.database import reason

        with self._lock:
            if self._stopped.is_set() or self._beginning is None:
                return True
            stored = self.context.offsets.offset(beginning_partition())
            if stored is not None and not (noted := Beginning.of_offset(stored)).same_as(self._beginning):
                # A task has noted what a connector before this one had told it.
                self._beginning, is_new = noted, True
            else:
                is_new = stored is not None and self._is_read(self._beginning)
                try:
                    self._check_log(self._beginning, at_once=is_new)
                except pymysql.MySQLError as error:
                    if not passes(error):
                        raise ConnectError(f"The database at {self._config[settings.HOST]} says: {reason(error)}") from None
                    log.warning("The database says: %s. It is tried again", reason(error))
                    return False
                if is_new:
                    self._end(self._beginning)
        if is_new:
            self.context.request_task_reconfiguration()
        return self._done is not None

    def _check_log(self, beginning: Beginning, at_once: bool) -> None:
        if at_once or time.monotonic() >= self._look_at_log:
            sessions = self._sessions()
            with contextlib.closing(sessions.plain()) as connection:
                sessions.check_kept(connection, beginning.place)
            self._look_at_log = time.monotonic() + _LOG_S

    def _is_read(self, beginning: Beginning) -> bool:
        from kconnect.connectors.backfill.mariadb.progress import is_done, partition_of
        from kconnect.connectors.backfill.mariadb.tables import ranges

        parts = [partition_of(beginning, part) for part in ranges(beginning.plans)]
        return self.is_handed_on(beginning.taken_us, parts, is_done)

    def _end(self, beginning: Beginning) -> None:
        from kconnect.connectors.backfill.mariadb.history import offset_of

        offset = offset_of(beginning.place, beginning.taken_us // 1_000_000)
        debezium = {"partition": {"server": self._config[settings.PREFIX]}, "offset": offset}
        self._done = {"lsn": str(beginning.place), settings.DEBEZIUM: json.dumps(debezium)}


def _without_counters(definitions: Mapping[Name, str]) -> dict[Name, str]:
    """The next number of a table changes with each of its rows."""
    return {name: _COUNTER.sub("", text) for name, text in definitions.items()}
