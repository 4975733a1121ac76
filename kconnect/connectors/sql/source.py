"""
SqlSourceConnector: which tables there are, divided among the tasks, and whether a config can be used. The rows:
`source_task.py`.

A thread looks for tables that are new or gone. Altered offsets are taken if they have the right form.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kconnect.api import (
    ConfigDef,
    ConnectError,
    DataError,
    ExactlyOnceSupport,
    SourceTask,
)
from kconnect.connectors.common import MISFITS, CheckedSource
from kconnect.connectors.libraries import Informed
from kconnect.connectors.sql import connector, settings, source_settings

if TYPE_CHECKING:
    import sqlalchemy as sa

    from kconnect.connectors.sql.connections import Connections
    from kconnect.connectors.sql.listing import TableName
    from kconnect.connectors.sql.relations import Relation

log = logging.getLogger(__name__)

_MOST_CHECKED = 100


class SqlSourceConnector(Informed, CheckedSource):
    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._tables: Sequence[TableName] | None = None
        self._asking: Connections | None = None

    def task_class(self) -> type[SourceTask]:
        from kconnect.connectors.sql.source_task import SqlSourceTask

        return SqlSourceTask

    def config(self) -> ConfigDef:
        return source_settings.CONFIG

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport:
        bulk = props.get(source_settings.MODE, "").lower() == source_settings.BULK
        return ExactlyOnceSupport.UNSUPPORTED if bulk else ExactlyOnceSupport.SUPPORTED

    def start(self, props: dict[str, str]) -> None:
        super().start(props)
        self._config = source_settings.CONFIG.parse(props)
        if not self._config[source_settings.QUERY]:
            threading.Thread(target=self._watch, name=f"tables of {props.get('name')}", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        asking = self._asking
        if asking is not None:
            asking.end()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        if self._config[source_settings.QUERY]:
            return [dict(self._props)]
        if self._tables is None:
            self._tables = self._listed()
        if not self._tables:
            log.warning("There is no table to read yet")
        count = min(max_tasks, len(self._tables))
        shares = [self._tables[place::count] for place in range(count)]
        return [{**self._props, source_settings.TABLES: json.dumps(share)} for share in shares]

    def _listed(self, attempts: int | None = None) -> Sequence[TableName]:
        """ConnectError, after so many attempts; by default as the config says."""
        from kconnect.connectors.sql import database, listing
        from kconnect.connectors.sql.connections import Connections

        asking = self._asking = Connections()
        engine = database.made_engine(self._config, self.worker, connector.PROBE_S, writes=False, connections=asking)
        if self._stopped.is_set():
            asking.end()
        config = self._config if attempts is None else {**self._config, settings.ATTEMPTS: attempts}
        try:
            tables = database.patiently(engine, config, lambda: listing.tables(engine, config), self._stopped.wait)
        finally:
            engine.dispose()
        if list(tables) != list(self._tables or ()):
            for topic, names in listing.shared_topics(tables).items():
                log.warning(
                    "The tables %s have one topic, %s%s: who may make such a table writes there. Name those that are meant in "
                    "%s",
                    " and ".join(names),
                    config[source_settings.PREFIX],
                    topic,
                    source_settings.WHITELIST,
                )
        return tables

    def _watch(self) -> None:
        try:
            self._look_again_and_again()
        except Exception as error:  # noqa: BLE001 - in a thread nobody else would hear of it
            self.context.raise_error(error)

    def _look_again_and_again(self) -> None:
        while not self._stopped.wait(self._config[source_settings.LOOK] / 1000):
            tables_before = self._tables
            try:
                tables = self._listed(attempts=1)
            except ConnectError as error:
                log.warning("%s. Tables are looked for again later", error)
                continue
            if tables_before is not None and list(tables) != list(tables_before) and not self._stopped.is_set():
                self._tables = tables
                log.info("There are other tables: %s", ", ".join(table.full for table in tables) or "none")
                self.context.request_task_reconfiguration()

    def check_offset(self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
        from kconnect.connectors.sql import positions

        if partition is None or not positions.is_partition(partition):
            shown = json.dumps(positions.partition_of("public.orders"))
            raise ConnectError(f"A partition of this connector is such as {shown}, or {json.dumps(dict(positions.QUERY))}")
        positions.Position.of(offset)

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        return _mismatches(config) or connector.problems_of_database(
            config, self.worker, lambda engine: _problems_of_tables(engine, config), writes=False
        )


def _mismatches(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    mode, query = f"{source_settings.MODE} is {config[source_settings.MODE].lower()}", config[source_settings.QUERY]
    problems = []
    if source_settings.by_time(config) and not config[source_settings.TIMESTAMPS]:
        problems.append((source_settings.TIMESTAMPS, f"It is missing: {mode}."))
    if query and source_settings.by_id(config) and not config[source_settings.INCREMENTING]:
        problems.append((source_settings.INCREMENTING, f"It is missing: {mode}, and a query numbers nothing."))
    if query and not config[source_settings.PREFIX]:
        text = f"It is missing: with a {source_settings.QUERY} it is the topic's name."
        problems.append((source_settings.PREFIX, text))
    lists = (source_settings.WHITELIST, source_settings.BLACKLIST, source_settings.INCLUDE, source_settings.EXCLUDE)
    text = f"It says which tables are read, but there is a {source_settings.QUERY}."
    problems += [(name, text) for name in lists if query and config[name]]
    for first, second in ((lists[0], lists[1]), (lists[0], lists[2]), (lists[1], lists[3])):
        if config[first] and config[second] and not query:
            problems.append((first, f"Set it or {second}, but not both."))
    return problems


def _problems_of_tables(engine: sa.Engine, config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Whether what is to be read is there, may be read, and has the columns that say what is new."""
    from kconnect.connectors.sql import listing
    from kconnect.connectors.sql.relations import QueryRelation, TableRelation

    kinds = [kind for kind in config[source_settings.KINDS] if kind.upper() not in listing.KINDS]
    if kinds:
        return [(source_settings.KINDS, f"{', '.join(kinds)} can't be read, but {', '.join(listing.KINDS)} can.")]
    prefix, query = config[source_settings.PREFIX], config[source_settings.QUERY]
    relations: list[Relation] = [QueryRelation(query, prefix)] if query else []
    if not query:
        try:
            tables = listing.tables(engine, config)
        except ConnectError as error:
            return [(source_settings.SCHEMAS, f"{error}.")]
        for name in config[source_settings.WHITELIST]:
            if not any(listing.named(table, [name]) for table in tables):
                available = ", ".join(
                    table.full for table in listing.all_tables(engine, {**config, source_settings.WHITELIST: []})[:20]
                )
                return [(source_settings.WHITELIST, f"There is no table {name} among {available or 'none'}.")]
        relations = [TableRelation(table, prefix) for table in tables[:_MOST_CHECKED]]
    found: list[list[tuple[str, str]]] = []
    with engine.connect() as connection:
        for relation in relations:
            found.append(_problems_of(relation, connection, config))
            if found[-1] and config[source_settings.ON_ERROR].lower() == "fail":
                return found[-1]
    # Otherwise the task goes on with those that can be read, if there are any.
    return found[0] if found and all(found) else []


def _problems_of(relation: Relation, connection: sa.Connection, config: Mapping[str, Any]) -> list[tuple[str, str]]:
    import sqlalchemy as sa
    from sqlalchemy.exc import SQLAlchemyError

    from kconnect.connectors.sql import database, fields, reader

    backend = connection.dialect.name
    place = source_settings.QUERY if config[source_settings.QUERY] else source_settings.WHITELIST
    try:
        relation.look(connection, fields.Options.of(config, backend))
    except DataError as error:
        return [(place, f"{error}.")]
    except SQLAlchemyError as error:
        if database.passes(error):
            raise
        connection.rollback()
        return [(place, f"{relation.shown} can't be read: {database.reason(error)}.")]
    except MISFITS as error:
        return [(place, f"{relation.shown} can't be read: what the database says of it is not understood ({error}).")]
    try:
        place = source_settings.INCREMENTING
        position_columns = []
        if source_settings.by_id(config):
            name = config[place]
            column = relation.column(name) if name else reader.grown_by_itself(relation, backend)
            position_columns.append((place, column))
            if isinstance(column.type, sa.String | sa.DateTime | sa.Date) and backend != "sqlite":
                return [(place, f"{relation.shown} has no numbers in the column {column.name}, but values of {column.type}.")]
        place = source_settings.TIMESTAMPS
        if source_settings.by_time(config):
            times = [relation.column(name) for name in config[place]]
            # The last of several must have a time where the others have none.
            position_columns.append((place, times[-1]))
            for time in times:
                if not isinstance(time.type, sa.DateTime | sa.Date) and backend != "sqlite":
                    return [(place, f"{relation.shown} has no times in the column {time.name}, but values of {time.type}.")]
    except DataError as error:
        return [(place, f"{error}.")]
    if config[source_settings.NON_NULL] and not config[source_settings.QUERY]:
        for place, column in position_columns:
            if fields.may_be_null(column):
                text = f"{relation.shown} may have null in the column {column.name}, and would not read such rows"
                return [(place, f"{text}: declare it as NOT NULL, or set {source_settings.NON_NULL}=false.")]
    return []
