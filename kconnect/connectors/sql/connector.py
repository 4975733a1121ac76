"""
SqlSinkConnector: whether a config can be used, and what the database says to it. The rows: `task.py`. The source: `source.py`.

SQLAlchemy and the drivers are imported where a database is needed, so that without them all else works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, DataError, SinkTask, TopicPartition
from kconnect.connectors.common import CheckedSink
from kconnect.connectors.libraries import Informed
from kconnect.connectors.sql import settings

if TYPE_CHECKING:
    import sqlalchemy as sa

PROBE_S = 5.0
_INSTALL = "SQLAlchemy is not installed here: pip install 'kconnect[sql]' on every machine of the cluster"


class SqlSinkConnector(Informed, CheckedSink):
    def task_class(self) -> type[SinkTask]:
        from kconnect.connectors.sql.task import SqlSinkTask

        return SqlSinkTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        topics = [topic.strip() for topic in props.get("topics", "").split(",") if topic.strip()]
        return _mismatches(config) or problems_of_database(
            config, self.worker, lambda engine: _problems_of_tables(engine, config, topics), writes=True
        )

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        config = settings.CONFIG.parse(connector_config)
        if config[settings.OFFSETS]:
            from sqlalchemy.exc import SQLAlchemyError

            from kconnect.connectors.sql import database
            from kconnect.connectors.sql.offsets import Offsets

            engine = database.made_engine(config, self.worker, PROBE_S)
            try:
                Offsets(engine, config[settings.OFFSETS], connector_config["name"]).alter(offsets)
            except SQLAlchemyError as error:
                raise ConnectError(
                    f"The offsets in the table {config[settings.OFFSETS]} can't be changed: {database.reason(error)}"
                ) from None
            finally:
                engine.dispose()
        return True


def _mismatches(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    mode, pk_mode = config[settings.MODE].lower(), config[settings.PK_MODE].lower()
    fields = config[settings.PK_FIELDS]
    problems = []
    if mode in ("upsert", "update") and pk_mode == "none":
        problems.append(
            (settings.PK_MODE, f"{settings.MODE}={mode} needs a primary key: {settings.PK_MODE} says where it comes from.")
        )
    if config[settings.DELETE] and pk_mode != "record_key":
        problems.append((settings.DELETE, f"Rows can be deleted with {settings.PK_MODE}=record_key only, but it is {pk_mode}."))
    if pk_mode == "kafka" and len(fields) not in (0, 3):
        problems.append((settings.PK_FIELDS, "With pk.mode=kafka there are three: for topic, partition and offset, or none."))
    return problems


def _problems_of_tables(engine: sa.Engine, config: Mapping[str, Any], topics: Sequence[str]) -> list[tuple[str, str]]:
    from kconnect.connectors.sql.tables import Tables

    tables = Tables(engine, config)
    for topic in topics:
        try:
            table = tables.existing(topic)
        except DataError as error:
            return [(settings.TABLE, f"{error}.")]
        if table is not None:
            lacking = _lacking(engine, table, config)
            if lacking:
                return [(settings.USER, f"The user may not write the table {table.fullname}: {lacking}.")]
    missing = [topic for topic in topics if not config[settings.CREATE] and tables.existing(topic) is None]
    if missing:
        names = ", ".join(".".join(filter(None, tables.name_of(topic))) for topic in missing)
        return [(settings.TABLE, f"There is no table {names}: create it, or set {settings.CREATE}=true.")]
    return []


def _lacking(engine: sa.Engine, table: sa.Table, config: Mapping[str, Any]) -> str:
    """
    Return what the database says to statements that change no row; an empty text if the user may do what the config asks for.
    """
    import sqlalchemy as sa
    from sqlalchemy.exc import SQLAlchemyError

    from kconnect.connectors.sql import database

    column = next(iter(table.columns))
    statements: list[Any] = []
    if config[settings.MODE].lower() != "update":
        statements.append(sa.insert(table).from_select([column], sa.select(sa.cast(sa.null(), column.type)).where(sa.false())))
    if config[settings.MODE].lower() != "insert":
        statements.append(sa.update(table).values({column: column}).where(sa.false()))
    if config[settings.DELETE]:
        statements.append(sa.delete(table).where(sa.false()))
    for statement in statements:
        try:
            with engine.connect() as connection:
                connection.execute(statement)
        except SQLAlchemyError as error:
            if database.passes(error):
                raise
            text = database.reason(error)
            # Databases differ in what they take without a row; what they say of rights is clear.
            if any(word in text.lower() for word in ("denied", "permission", "privilege", "read-only", "readonly")):
                return text
    return ""


def problems_of_database(
    config: Mapping[str, Any],
    worker: Mapping[str, str],
    ask: Callable[[sa.Engine], list[tuple[str, str]]],
    writes: bool,
) -> list[tuple[str, str]]:
    """
    Return what is wrong with a database that is to be written, or only read: whether it answers, and what `ask` finds there.
    """
    try:
        from kconnect.connectors.sql import database
    except ImportError:
        return [(settings.URL, f"{_INSTALL}.")]
    import sqlalchemy as sa
    from sqlalchemy.exc import SQLAlchemyError

    try:
        engine = database.made_engine(config, worker, PROBE_S, writes)
    except ConfigError as error:
        return [(settings.URL, f"{error}.")]
    try:
        with engine.connect() as connection:
            connection.execute(sa.select(1))
        return ask(engine)
    except SQLAlchemyError as error:
        return [(_setting_of(error), f"The {database.shown(engine)} says: {database.reason(error)}.")]
    finally:
        engine.dispose()


def _setting_of(error: Exception) -> str:
    """Return the setting that the database complains of."""
    text = str(getattr(error, "orig", error)).lower()
    if "password" in text or "access denied" in text or "authentication" in text:
        return settings.PASSWORD
    return settings.USER if "role" in text and "does not exist" in text else settings.URL
