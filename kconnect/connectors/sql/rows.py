"""
Rows: what records of one topic that are alike become, as a list of values for each column.

Which columns there are, and how a value gets into one, is worked out once for each pair of schemas. Made by `task.py`. Read
next: `statements.py`, which writes rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kconnect.api import Column, ConnectError, DataError, Schema, SchemaType, SinkRecord, schema, values
from kconnect.connectors import names
from kconnect.connectors.common import MISFITS
from kconnect.connectors.groups import Group, Origins
from kconnect.connectors.sql import database, faults, settings, types
from kconnect.connectors.sql.tables import Tables, Wanted
from kconnect.data.column import Unusual
from kconnect.data.kept import Kept, weight_of

_KAFKA = ("__connect_topic", "__connect_partition", "__connect_offset")
_KAFKA_SCHEMAS = (schema.STRING_SCHEMA, schema.INT32_SCHEMA, schema.INT64_SCHEMA)
_OF_NULL = ("mysql", "mariadb", "sqlite")
_NO_ROW: tuple[type[Exception], ...] = (*MISFITS, Unusual)
"""What is raised for values of which there is no row."""
_KEPT = 500
"""Plans; where each record has other fields, or brings another schema, there would be ever more."""

Bad = tuple[SinkRecord, Exception]


@dataclass(frozen=True)
class Rows:
    """
    Values for `names`, one list each, of which the first `keys` are the primary key. `places` says which of the records of
    `origins` they came from.
    """

    table: sa.Table
    names: tuple[str, ...]
    keys: int
    columns: Sequence[Sequence[Any]]
    origins: Origins
    places: Sequence[int]
    deletes: bool = False

    def __len__(self) -> int:
        return len(self.places)

    def record(self, at: int) -> SinkRecord:
        return self.origins.records[self.places[at]]

    @property
    def have_chosen(self) -> bool:
        """Whether the records have chosen their table."""
        return is_chosen(self.record(0).topic, self.origins)

    def only(self, wanted: Sequence[int]) -> Rows:
        columns = [[column[at] for at in wanted] for column in self.columns]
        return replace(self, columns=columns, places=[self.places[at] for at in wanted])

    def cut(self, begin: int, end: int) -> Rows:
        return replace(self, columns=[column[begin:end] for column in self.columns], places=self.places[begin:end])

    def last_of_each_key(self) -> Rows:
        """A statement may touch a row once only."""
        keys = list(zip(*self.columns[: self.keys]))
        if len(set(keys)) == len(keys):
            return self
        return self.only(sorted({key: at for at, key in enumerate(keys)}.values()))


def unique_keys(table: sa.Table) -> list[set[str]]:
    """Return the columns of each unique index, and of the primary key if there is one."""
    indexes = [set(index.columns.keys()) for index in table.indexes if index.unique]
    return [*indexes, set(table.primary_key.columns.keys())] if table.primary_key.columns else indexes


def is_chosen(topic: str, origins: Origins) -> bool:
    """Whether a topic, and with it a table, is what a transform has made of the records: it may be each one's own choice."""
    return topic not in origins.every("original_topic")


@dataclass(frozen=True)
class _Source:
    """A column, and where its values come from: a field's name, or None for the whole key."""

    wanted: Wanted
    of_key: bool
    field: str | None


class Maker:
    """Makes rows by a parsed config."""

    def __init__(self, config: Mapping[str, Any], tables: Tables, backend: str) -> None:
        self._tables, self._backend = tables, backend
        self._pk_mode: str = config[settings.PK_MODE].lower()
        self._mode: str = config[settings.MODE]
        self._pk_fields: list[str] = config[settings.PK_FIELDS]
        self._whitelist = set(config[settings.FIELDS])
        self._delete: bool = config[settings.DELETE]
        self._zone = ZoneInfo(config[settings.ZONE])
        self._rounds: bool = config[settings.ROUNDING]
        self._plans: Kept[Any, tuple[sa.Table, list[_Source], list[types.Convert | None]]] = Kept(_KEPT)

    def forget(self) -> None:
        """After the tables have been forgotten."""
        self._plans = Kept(_KEPT)

    def rows(self, group: Group) -> tuple[Rows | None, list[Bad]]:
        """
        The rows of a group, and those of its records that there is no row for. A column of nulls is one of deletions.

        ConnectError if there is no table, and none may be made.
        """
        topic, key, value, origins = group.topic, group.key, group.value, group.origins
        deletes = value.has_nulls
        try:
            if deletes and not (self._delete and self._pk_mode == "record_key"):
                raise DataError(f"It has no value, and {settings.DELETE}=true with {settings.PK_MODE}=record_key is not set")
            keys, fields = self._parts(key, value, deletes)
            table, sources, conversions = self._plan(topic, key.schema, value.schema, tuple(keys), tuple(fields), deletes)
        except DataError as error:
            return None, [(record, error) for record in origins.records]
        except ConnectError as error:
            if not is_chosen(topic, origins):
                raise
            # A record has chosen the topic, by a transform, and so named a table that there is not.
            chosen = DataError(str(error))
            return None, [(record, chosen) for record in origins.records]
        except SQLAlchemyError as error:
            if not faults.is_of_right(error) or not is_chosen(topic, origins):
                raise
            chosen = DataError(f"Its table can't be used: {database.reason(error)}")
            return None, [(record, chosen) for record in origins.records]
        except _NO_ROW as error:
            problem = DataError(f"No row can be made of it: {type(error).__name__}")
            return None, [(record, problem) for record in origins.records]
        columns = [self._column(source, keys, fields, key, origins) for source in sources]
        bad: dict[int, Exception] = {}
        for at, (source, convert) in enumerate(zip(sources, conversions)):
            columns[at] = _converted(columns[at], source.wanted, convert, bad)
            if self._backend in _OF_NULL and None in columns[at]:
                self._refuse_nulls(columns[at], self._tables.column(table, source.wanted.name), bad)
        names = tuple(self._name(table, source) for source in sources)
        count = sum(source.wanted.key for source in sources)
        rows = Rows(table, names, count, columns, origins, range(len(origins)), deletes)
        without = [(rows.record(at), error) for at, error in sorted(bad.items())]
        if bad:
            rows = rows.only([at for at in range(len(origins)) if at not in bad])
        return rows if len(rows) else None, without

    def _refuse_nulls(self, values: Sequence[Any], column: sa.Column[Any] | None, bad: dict[int, Exception]) -> None:
        """
        Refuse nulls in columns in which a null means the next number, or the present, as in MySQL, and in SQLite for a key.
        """
        if column is None:
            return
        if self._backend == "sqlite":
            makes = column.primary_key and isinstance(column.type, sa.Integer)
        else:
            makes = not column.nullable and (column.autoincrement is True or isinstance(column.type, sa.TIMESTAMP))
        if not makes:
            return
        for at, value in enumerate(values):
            if value is None:
                bad.setdefault(at, DataError(f"Its {column.name} is null, of which the database would make a value"))

    def _parts(self, key: Column, value: Column, deletes: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """The fields of keys and values, with a column each; none for a key that is no struct, or where none is needed."""
        keys: dict[str, Any] = {}
        if self._pk_mode == "record_key" and _is_object(key):
            keys = dict(zip(*key.fields()))
        if deletes:
            return keys, {}
        if not _is_object(value):
            raise DataError("Its value is no struct and no object, so it has no columns: the transform HoistField makes one")
        return keys, dict(zip(*value.fields()))

    def _plan(
        self,
        topic: str,
        key: Schema | None,
        value: Schema | None,
        keys: tuple[str, ...],
        fields: tuple[str, ...],
        deletes: bool,
    ) -> tuple[sa.Table, list[_Source], list[types.Convert | None]]:
        name = (topic, key, value, keys if key is None else (), fields if value is None else (), deletes)
        plan = self._plans.get(name)
        if plan is None:
            sources = self._sources(key, value, keys, fields, deletes)
            table = self._tables.ensure(topic, [source.wanted for source in sources])
            conversions = []
            for source in sources:
                column = self._tables.column(table, source.wanted.name)
                if column is None:
                    raise DataError(
                        f"The table {table.fullname} has its field {names.shown(source.wanted.name)} by another name"
                    )
                if column.computed is not None and not source.wanted.key:
                    raise DataError(
                        f"The column {column.name} of the table {table.fullname} is computed by the database: leave its field "
                        f"out by {settings.FIELDS}"
                    )
                conversions.append(types.conversion(source.wanted.schema, column, self._backend, self._zone, self._rounds))
            if len({self._name(table, source) for source in sources}) < len(sources):
                raise DataError(f"Two of its fields are one column of the table {table.fullname}")
            if not self._pk_fields and (deletes or self._mode != "insert"):
                self._check_key(table, {self._name(table, source) for source in sources if source.wanted.key})
            plan = (table, sources, conversions)
            self._plans.put(name, plan, weight_of(key, value) + len(keys) + len(fields))
        return plan

    def _check_key(self, table: sa.Table, columns: set[str]) -> None:
        """Raise DataError for a key whose fields, which a record has chosen, would find any number of rows."""
        if self._pk_mode in ("record_key", "record_value") and columns not in unique_keys(table):
            shown = ", ".join(map(names.shown, sorted(columns)))
            raise DataError(
                f"Its key has the fields {shown}, which are no primary key and no unique index of the table {table.fullname}. "
                f"If they are its key all the same, {settings.PK_FIELDS} names them"
            )

    def _sources(
        self, key: Schema | None, value: Schema | None, keys: tuple[str, ...], fields: tuple[str, ...], deletes: bool
    ) -> list[_Source]:
        sources: list[_Source] = []
        if self._pk_mode == "kafka":
            names = self._pk_fields or list(_KAFKA)
            sources = [_Source(Wanted(name, key_schema, True), True, None) for name, key_schema in zip(names, _KAFKA_SCHEMAS)]
        elif self._pk_mode == "record_key" and keys:
            for name in self._pk_fields or keys:
                sources.append(_Source(Wanted(name, _schema_of(key, name, keys, "key"), True), True, name))
        elif self._pk_mode == "record_key":
            sources.append(_Source(Wanted(self._pk_fields[0] if self._pk_fields else "", key, True), True, None))
            if len(self._pk_fields) != 1:
                raise DataError(f"The keys of records are single values: {settings.PK_FIELDS} must name one column for them")
        elif self._pk_mode == "record_value":
            for name in self._pk_fields or fields:
                sources.append(_Source(Wanted(name, _schema_of(value, name, fields, "value"), True), False, name))
        key_names = {source.wanted.name for source in sources}
        for name in fields:
            if name not in key_names and (not self._whitelist or name in self._whitelist):
                sources.append(_Source(Wanted(name, _schema_of(value, name, fields, "value")), False, name))
        if not sources:
            raise DataError("It has no field that is a column")
        return sources

    def _column(
        self, source: _Source, keys: Mapping[str, Any], fields: Mapping[str, Any], key: Column, origins: Origins
    ) -> Sequence[Any]:
        if source.field is not None:
            column: Sequence[Any] = (keys if source.of_key else fields)[source.field]
            return column
        if self._pk_mode == "record_key":
            return key.values
        place = [
            attribute
            for attribute, attribute_schema in zip(("topic", "partition", "offset"), _KAFKA_SCHEMAS)
            if attribute_schema is source.wanted.schema
        ]
        return origins.every(f"original_{place[0]}")

    def _name(self, table: sa.Table, source: _Source) -> str:
        column = self._tables.column(table, source.wanted.name)
        assert column is not None
        return column.name


def _is_object(column: Column) -> bool:
    if column.schema is not None:
        return column.schema.type is SchemaType.STRUCT
    return bool(len(column)) and isinstance(column.values[0], dict)


def _schema_of(own: Schema | None, name: str, field_names: Sequence[str], where: str) -> Schema | None:
    if name not in field_names:
        raise DataError(f"Its {where} has no field {name}, which {settings.PK_FIELDS} names")
    field = own.field(name) if own is not None else None
    return None if field is None else field.schema


def _converted(
    column: Sequence[Any], target: Wanted, convert: types.Convert | None, bad: dict[int, Exception]
) -> Sequence[Any]:
    """Convert values as the column of the table takes them; `bad` gets those that it does not take, by their places."""
    # Null stays null where the schema allows it, whatever its default is: the converter says whether that stands for null.
    default = None if target.schema is None or target.schema.optional else target.schema.default
    has_nulls = None in column
    if has_nulls and default is not None:
        column = [default if value is None else value for value in column]
        has_nulls = False
    if has_nulls and target.key:
        for at, value in enumerate(column):
            if value is None:
                bad.setdefault(at, DataError(f"Its {target.name}, which is of the primary key, is null"))
    if convert is None:
        return column
    try:
        if isinstance(convert, types.Texts):
            texts = [value for value in column if value is not None] if has_nulls else column
            if convert.takes(texts):
                return column
        if target.schema is not None and target.schema.name is not None and values.FarDate in set(map(type, column)):
            raise DataError(types.FAR)
        return [None if value is None else convert(value) for value in column] if has_nulls else list(map(convert, column))
    except MISFITS:  # Which one it is, is found out next.
        return [_one(value, target, convert, bad, at) for at, value in enumerate(column)]


def _one(value: Any, target: Wanted, convert: types.Convert, bad: dict[int, Exception], at: int) -> Any:
    try:
        if isinstance(value, values.FarDate):
            raise DataError(types.FAR)
        return None if value is None else convert(value)
    except MISFITS as error:
        bad.setdefault(at, DataError(f"Its {target.name} does not fit the column: {error}"))
        return None
