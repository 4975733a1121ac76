"""
BackfillConnector: holds the snapshot, divides the tables into ranges, and hands the replication slot over once all is read.

A thread sees to it that a session has the snapshot. If the last one is gone, it takes another, from which the ranges are read
that were not yet. Read next: `snapshot.py`, `task.py`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kconnect.api import ConfigDef, ConnectError, SourceTask
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.range_connector import RangeConnector

if TYPE_CHECKING:
    from kconnect.connectors.backfill.snapshot import Sessions, Snapshot
    from kconnect.connectors.backfill.tables import Name, Plan

log = logging.getLogger(__name__)


class BackfillConnector(RangeConnector):
    instead = dict.fromkeys(settings.REFUSED, settings.REMEDY)

    libraries = ("psycopg", "sqlalchemy")

    def __init__(self) -> None:
        super().__init__()
        self._session: Any = None
        self._snapshot: Snapshot | None = None
        self._taken_us = 0
        self._plans: Sequence[Plan] = ()
        self._left_out: Sequence[str] = ()

    def task_class(self) -> type[SourceTask]:
        from kconnect.connectors.backfill.task import BackfillTask

        if self._props.get(settings.INTO):
            from kconnect.connectors.backfill.into import IntoTask

            return IntoTask
        return BackfillTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def unfit(self, props: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        return settings.unfit(props)

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        """Drop the replication slot, too."""
        super().alter_offsets(connector_config, offsets)
        import psycopg

        from kconnect.connectors.backfill.snapshot import Sessions
        from kconnect.connectors.sql.database import reason

        config = settings.CONFIG.parse(connector_config)
        sessions = Sessions(config, self.worker)
        try:
            with contextlib.closing(sessions.plain()) as connection:
                sessions.drop(connection, handed_over=config[settings.GIVEN_UP])
        except psycopg.Error as error:
            raise ConnectError(f"The replication slot of the backfill can't be dropped: {reason(error)}") from None
        return True

    def stop(self) -> None:
        super().stop()
        with self._lock:
            self._release()

    def _release(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def divide(self) -> None:
        if self._snapshot is None:
            self._hold()

    def divided(self) -> tuple[Mapping[str, Any], Sequence[Any], int]:
        assert self._snapshot is not None
        told = {"lsn": self._snapshot.lsn, "sees": self._snapshot.sees, "taken_us": self._taken_us, "left_out": self._left_out}
        return told, [plan.as_json() for plan in self._plans], sum(plan.count for plan in self._plans)

    def _sessions(self) -> Sessions:
        from kconnect.connectors.backfill.snapshot import Sessions

        return Sessions(self._config, self.worker, self._connections)

    def _hold(self) -> bool:
        """Have a session with the snapshot, and return whether it is a new one. ConnectError if none can be had."""
        import psycopg

        from kconnect.connectors.backfill.records import told_of
        from kconnect.connectors.backfill.tables import plans
        from kconnect.connectors.sql.database import reason

        sessions, before = self._sessions(), self._snapshot
        session: Any = None
        try:
            found = self._found(sessions)
            if found is None:
                return True
            session, snapshot = found
            if snapshot != before:
                taken = session.execute("SELECT (extract(epoch from now()) * 1000000)::int8").fetchone()
                # Only once all of it is known: this is called again after an error.
                left_out: dict[str, str] = {}
                self._plans, self._taken_us = plans(session, self._config, left_out), taken[0]
                self._left_out = told_of(left_out)
                for text in self._left_out:
                    log.warning("A table is left out of the copy: %s", text)
                if before is not None:
                    log.warning(
                        "The snapshot was lost with the last session that had it: what is left is read from another one"
                    )
            self._session, self._snapshot, session = session, snapshot, None
            return snapshot != before
        except psycopg.Error as error:
            raise ConnectError(f"The database at {self._config[settings.HOST]} says: {reason(error)}") from None
        finally:
            if session is not None:
                session.close()

    def _found(self, sessions: Sessions) -> tuple[Any, Snapshot] | None:
        """
        Return a session with the snapshot that others have, or else with a new one; None if all is handed over. psycopg's
        errors.
        """
        from kconnect.connectors.backfill.snapshot import LostError
        from kconnect.connectors.backfill.tables import plans

        with contextlib.suppress(LostError):
            return sessions.joined()
        with contextlib.closing(sessions.plain()) as connection:
            over = sessions.handed_over(connection)
        if over is not None:
            # Who did it has ended before that was noted.
            self._end(over)
            return None

        def tables(connection: Any) -> list[Name]:
            return [plan.name for plan in plans(connection, self._config)]

        with contextlib.suppress(LostError):
            return sessions.made_again(tables)
        return sessions.made(tables)

    def _end(self, snapshot: Snapshot) -> None:
        taken_us = self._taken_us or time.time_ns() // 1000
        self._done = {
            "lsn": snapshot.lsn,
            settings.DEBEZIUM: json.dumps(self._debezium(snapshot, taken_us)),
            **({settings.LEFT_OUT: json.dumps(self._left_out)} if self._left_out else {}),
        }

    def _debezium(self, snapshot: Snapshot, taken_us: int) -> dict[str, Any]:
        """Return the offset that Debezium's connector is to have, as `PATCH …/offsets` takes it."""
        offset = {
            "last_snapshot_record": True,
            "lsn": snapshot.lsn,
            "txId": snapshot.transaction,
            "ts_usec": taken_us,
            "snapshot": "INITIAL",
            "snapshot_completed": True,
        }
        return {"partition": {"server": self._config[settings.PREFIX]}, "offset": offset}

    def look(self) -> bool:
        """See whether the snapshot is still there, and whether all is read. Return whether there is nothing more to see to."""
        import psycopg

        from kconnect.connectors.backfill.snapshot import passes
        from kconnect.connectors.sql.database import reason

        with self._lock:
            if self._stopped.is_set() or self._snapshot is None:
                return True
            try:
                if self._is_read(self._snapshot):
                    self._sessions().hand_over()
                    self._end(self._snapshot)
                    self._release()
                    is_new = True
                elif self._session is not None:
                    self._sessions().check(self._session)
                    return False
                else:
                    is_new = self._held_again()
            except psycopg.Error as error:
                self._release()
                if not passes(error):
                    raise ConnectError(f"The database at {self._config[settings.HOST]} says: {reason(error)}") from None
                log.warning("The database says: %s. It is tried again", reason(error))
                return False
        if is_new:
            self.context.request_task_reconfiguration()
        return self._done is not None

    def _held_again(self) -> bool:
        try:
            return self._hold()
        except ConnectError as error:
            log.warning("%s. It is tried again", error)
            return False

    def _is_read(self, snapshot: Snapshot) -> bool:
        from kconnect.connectors.backfill.tables import ranges
        from kconnect.connectors.backfill.task import is_done, partition_of

        parts = [partition_of(snapshot, part) for part in ranges(self._plans)]
        return self.is_handed_on(snapshot.lsn, parts, lambda offset: is_done(offset, snapshot))
