"""
Reader: the rows of one table or query that are new, round by round, as records.

A round is one statement, read piece by piece; what it selects is everything behind the position that the last record has.
Used by `source_task.py`. Read next: `relations.py`, `positions.py`.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import logging
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import NullType

from kconnect.api import ConnectError, DataError, SchemaType, SourceRecord, Struct, schema
from kconnect.connectors import names
from kconnect.connectors.common import MISFITS, integer
from kconnect.connectors.sql import database, owners, positions, sqlite_files
from kconnect.connectors.sql import source_settings as settings
from kconnect.connectors.sql.fields import Options, ReadField, may_be_null, moment_of, zone_of
from kconnect.connectors.sql.positions import Position
from kconnect.connectors.sql.relations import Relation

log = logging.getLogger(__name__)

_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_FIRST = datetime.datetime(1, 1, 3, tzinfo=_UTC)
"""The first moment that has a time in every zone."""
_END = 2**63
_MOST_ODD = 1000
"""Rows without a number of which the log says that they are passed over."""
_PIECE = 100
_MOST_AT_ONCE, _LONG, _PARTS = 1000, 1024 * 1024, 8
"""Of the bytes that rows may have, an eighth is fetched at once, by what rows had so far; as long as the first ones may be."""
_LOOK_S = 60.0
"""How often to ask, at most, whether a table has been made anew."""
_CELL = 50
"""What a value takes beside its bytes."""
_SHORT = {int, float, bool, type(None), decimal.Decimal, datetime.datetime, datetime.date, datetime.time}
"""Types whose values take a cell each."""
_BOUNDED = {*(SchemaType[f"INT{bits}"] for bits in (8, 16, 32, 64)), SchemaType.FLOAT32, SchemaType.FLOAT64, SchemaType.BOOLEAN}
_OF_TIME = (schema.DATE, schema.TIME, schema.TIMESTAMP)
_PRESENT = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', 'now')",
    **dict.fromkeys(("mysql", "mariadb"), "CURRENT_TIMESTAMP(6)"),
}


class Reader:
    """
    `position` is behind the last record that was taken, and None before the first one. `due_at` is when the next round is to
    begin, on the clock of who calls.
    """

    due_at = 0.0

    def __init__(
        self,
        relation: Relation,
        config: Mapping[str, Any],
        backend: str,
        stored: Position | None,
        passed_over: Callable[[int], object] = lambda count: None,
    ) -> None:
        """`passed_over` is told of rows that can't be read."""
        self.relation = relation
        self.position = stored
        self._options = Options.of(config, backend)
        self._by_id, self._by_time = settings.by_id(config), settings.by_time(config)
        self._number_name: str = config[settings.INCREMENTING]
        self._time_names: Sequence[str] = config[settings.TIMESTAMPS]
        self._delay = datetime.timedelta(milliseconds=config[settings.DELAY])
        self._initial: int | None = config[settings.INITIAL]
        self._id_delay_s: float = 0.0 if self._by_time else config[settings.ID_DELAY] / 1000
        self._seen: collections.deque[tuple[float, int]] = collections.deque()
        """When a greatest number was seen first."""
        self._look_at, self._was_less = 0.0, False
        self._most_bytes: int = config[settings.BYTES]
        self.passes_over = config[settings.ON_ERROR].lower() == "log"
        self.refusal = ""
        """Why its relation could not be read when it was tried last."""
        self._odd_positions: set[str] = set()
        """Numbers and times that are none, of rows that were passed over: such a row comes again each round."""
        self._leaves_out_early = False
        """Whether rows from before all times of Python's are not asked for, -infinity among them."""
        self._count = passed_over
        self._average = _LONG
        self._unbounded: Sequence[int] = ()
        """The places of columns with values that may be long."""
        self._rows: sa.CursorResult[Any] | None = None
        self._rest: list[Any] = []
        self._nulls_in: str | None = None
        """The column that had a null though it may have none, as far as was known; its table has been looked at since."""
        self._trouble: ConnectError | None = None
        """Why there is no next row, though there is one: told once those before it were taken."""

    def begin(self, connection: sa.Connection, now: float) -> bool:
        """Begin a round; False if there can't be anything yet. SQLAlchemyError, or ConnectError for what does not fit."""
        try:
            self.relation.look(connection, self._options)
            fields = self.relation.fields
            self._unbounded = [
                place for place, field in enumerate(fields) if self._options.backend == "sqlite" or not _is_bounded(field)
            ]
            query = sa.select(*(field.selected for field in fields)).select_from(self.relation.source)
            if self._by_id or self._by_time:
                asked = self._new(query, connection, now)
                if asked is None:
                    return False
                query = asked
        except DataError as error:
            raise ConnectError(str(error)) from None
        except MISFITS as error:
            # Such as a type with a number of ten thousand digits: whoever makes the table writes it.
            text = f"{self.relation.shown} can't be read: what the database says of it is not understood"
            raise ConnectError(f"{text} ({type(error).__name__})") from error
        self._rest = []
        try:
            self._rows = connection.execute(query, execution_options={"stream_results": self._options.backend != "sqlite"})
        except sa.exc.DataError as error:
            self._reads_anew(error)
            return False
        if self._options.backend == "sqlite":
            # All at once, if there is room: while somebody reads them nobody may write.
            try:
                self._rest = self._next(sys.maxsize)
            except sa.exc.OperationalError as error:
                if not sqlite_files.take_any_text(connection, error):
                    raise
                return False
        return True

    def take(self, most: int) -> list[SourceRecord]:
        """Some records, in their order; none if the round is over. As for `begin`, for errors."""
        if self._trouble is not None:
            raise self._trouble
        try:
            # Of a piece all rows may have been passed over.
            while not (records := self._taken(most)) and (self._rows is not None or self._rest):
                pass
            return records
        except sa.exc.DataError as error:
            self._reads_anew(error)
            self.end()
            return []

    def _reads_anew(self, error: sa.exc.DataError) -> None:
        """
        Have the round begin again with dates as texts: the driver has met a value that it does not read, and does not say
        where. If it is so already, the time by which rows are read is such a value, which only a condition can leave out.
        ConnectError where neither helps, or rows are not to be passed over.
        """
        is_postgres = self._options.backend == "postgresql"
        if is_postgres and not self.relation.reads_texts:
            self.relation.reads_texts = True
        elif is_postgres and self._by_time and self.passes_over and not self._leaves_out_early:
            self._leaves_out_early = True
            self._count(1)
            log.error("%s. Rows of times before the year 1 are passed over", names.printable(self._unreadable(error)))
        else:
            raise ConnectError(self._unreadable(error)) from None

    def _taken(self, most: int) -> list[SourceRecord]:
        rows = self._next(most)
        if self._by_time and not self._by_id and rows:
            # Those of one time stay together: there is no position in between.
            size = 0
            while piece := self._next(_PIECE):
                same = next((place for place, row in enumerate(piece) if row[-1] != rows[-1][-1]), len(piece))
                rows += piece[:same]
                size += _size(piece[:same], self._unbounded)
                if size > self._most_bytes:
                    raise ConnectError(
                        f"{self.relation.shown} has more than {self._most_bytes} bytes of rows of one time, and "
                        f"{settings.BYTES} is {self._most_bytes}: set {settings.MODE}={settings.BY_BOTH}, which tells them "
                        "apart, or raise it"
                    )
                if same < len(piece):
                    self._rest = piece[same:] + self._rest
                    break
        if not rows:
            self.end()
            return []
        columns = list(zip(*rows))
        if self._has_new_nulls(columns):
            # The round begins again.
            self.end()
            return []
        return self._records(columns, len(rows))

    def _has_new_nulls(self, columns: Sequence[Sequence[Any]]) -> bool:
        """
        Return whether a column has nulls that may have had none when its table was looked at: then that is to be done anew.
        ConnectError if it has been done.
        """
        for field, values in zip(self.relation.fields, columns):
            if field.schema.optional or None not in values:
                continue
            if self._nulls_in == field.name:
                raise ConnectError(
                    f"{self.relation.shown} has a null in the column {field.name}, which the database says can't be null"
                )
            self._nulls_in = field.name
            self.relation.forget()
            return True
        self._nulls_in = None
        return False

    def end(self) -> None:
        """End the round, at its end or before."""
        if self._rows is not None:
            self._rows.close()
        self._rows, self._rest = None, []

    def _next(self, count: int) -> list[Any]:
        """Return the next rows, at most so many, and fewer if they are long; none at the end."""
        rows, self._rest = self._rest[:count], self._rest[count:]
        size = _size(rows, self._unbounded)
        while len(rows) < count and size < self._most_bytes and self._rows is not None:
            at_once = max(1, min(_MOST_AT_ONCE, self._most_bytes // _PARTS // self._average))
            piece = self._rows.fetchmany(min(at_once, count - len(rows)))
            if not piece:
                self._rows.close()
                self._rows = None
                break
            long = _size(piece, self._unbounded)
            size, self._average = size + long, max(_CELL, long // len(piece))
            rows += piece
        return rows

    def _unreadable(self, error: sa.exc.DataError) -> str:
        """The driver has met a value that it does not read, such as a date after the year 9999, and does not say where."""
        fields = [field.name for field in self.relation.fields if field.schema.name in _OF_TIME or field.schema.value_schema]
        return (
            f"{self.relation.shown} has a value that the driver can't read, in {' or '.join(fields) or 'one of its columns'}: "
            f"{database.reason(error)}. Read it with {settings.QUERY} and a CAST to text, or leave its row out"
        )

    # What is new.

    def _new(self, query: sa.Select[Any], connection: sa.Connection, now: float) -> sa.Select[Any] | None:
        since = self.position
        conditions: list[sa.ColumnElement[bool]] = []
        number = self._number() if self._by_id else None
        if number is not None:
            query = query.add_columns(sa.type_coerce(number, NullType()).label("_number"))
            if may_be_null(number):
                conditions.append(number.is_not(None))
        if not self._by_time:
            assert number is not None
            if self._id_delay_s:
                bound = self._bound(number, connection, now)
                if bound is None or (since is not None and since.number is not None and bound <= since.number):
                    return None
                conditions.append(self._than(number, "<=", bound))
            if since is not None and since.number is not None:
                self._look_at_greatest(number, since.number, connection, now)
                conditions.append(self._than(number, ">", since.number))
            return query.where(*conditions).order_by(number)
        time = self._time()
        query = query.add_columns(sa.type_coerce(time, NullType()).label("_time"))
        present = self._present(connection)
        if since is None and self._initial is not None:
            begin = present if self._initial == -1 else _EPOCH + datetime.timedelta(milliseconds=self._initial)
            since = self.position = Position(moment=(begin - _EPOCH) // _MICROSECOND * 1000 - 1000)
        conditions.append(self._than(time, "<", self._written(self._whole(present - self._delay))))
        if self._leaves_out_early:
            conditions.append(self._than(time, ">=", self._written(_FIRST)))
        if since is not None and since.moment is not None:
            at = self._written(_EPOCH + since.moment // 1000 * _MICROSECOND)
            if number is not None and since.number is not None:
                same = sa.and_(self._than(time, "=", at), self._than(number, ">", since.number))
                conditions.append(sa.or_(self._than(time, ">", at), same))
            else:
                conditions.append(self._than(time, ">", at))
        return query.where(*conditions).order_by(time, *([] if number is None else [number]))

    def _than(self, value: sa.ColumnElement[Any], sign: str, bound: Any) -> sa.ColumnElement[bool]:
        return owners.compared(self._options.backend, value, sign, bound)

    def _number(self) -> sa.ColumnClause[Any]:
        if self._number_name:
            return self.relation.column(self._number_name)
        return grown_by_itself(self.relation, self._options.backend)

    def _look_at_greatest(self, number: sa.ColumnClause[Any], last: int, connection: sa.Connection, now: float) -> None:
        """Say so, once, if the table has only numbers below the one that was read last: it may have been made anew."""
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_S
        greatest = self._greatest(number, connection)
        is_less = greatest is not None and greatest < last
        if is_less and not self._was_less:
            log.warning(
                "%s has no greater number than %s, but was read up to %s. If it was emptied or made anew, its rows are passed "
                "over up to there: reset the offset of %s with kconnect offsets",
                self.relation.shown,
                greatest,
                last,
                dict(self.relation.partition),
            )
        self._was_less = is_less

    def _bound(self, number: sa.ColumnClause[Any], connection: sa.Connection, now: float) -> int | None:
        """The greatest number that has been there for long enough."""
        greatest = self._greatest(number, connection)
        if greatest is not None and (not self._seen or greatest > self._seen[-1][1]):
            self._seen.append((now, greatest))
        while len(self._seen) > 1 and self._seen[1][0] <= now - self._id_delay_s:
            self._seen.popleft()
        return self._seen[0][1] if self._seen and self._seen[0][0] <= now - self._id_delay_s else None

    def _greatest(self, number: sa.ColumnClause[Any], connection: sa.Connection) -> int | None:
        """Return the greatest number, None if there is none. In SQLite's columns a text, or bytes, may be greater than all."""
        function = sa.func.pg_catalog.max if self._options.backend == "postgresql" else sa.func.max
        query = sa.select(function(number)).select_from(self.relation.source)
        greatest = None
        if self._options.backend == "sqlite":
            greatest = connection.execute(query.where(sa.func.typeof(number) == "integer")).scalar()
        if greatest is None:
            greatest = connection.execute(query).scalar()
        try:
            return None if greatest is None else integer(greatest)
        except MISFITS:
            return None

    def _time(self) -> sa.ColumnElement[Any]:
        kind = self._time_kind()
        columns: list[Any] = [self._comparable(self.relation.column(name), kind) for name in self._time_names]
        return columns[0] if len(columns) == 1 else sa.func.coalesce(*columns)

    def _time_kind(self) -> Any:
        """
        Return the type of what says how new a row is. Of columns with a zone and without, it has one: the database would take
        the zone of the session for the others.
        """
        kinds: list[Any] = [self.relation.column(name).type for name in self._time_names]
        if len({_has_zone(kind, self._options.backend) for kind in kinds}) == 1:
            return kinds[0]
        if self._options.backend == "postgresql":
            return sa.DateTime(timezone=True)
        if self._options.zone.key == "UTC":
            return kinds[0]
        raise DataError(
            f"{self.relation.shown} has times with a zone and without in {', '.join(self._time_names)}, which can be compared "
            f"only if {settings.ZONE} is UTC: read it by a {settings.QUERY} that converts them"
        )

    def _comparable(self, column: sa.ColumnClause[Any], kind: Any) -> sa.ColumnElement[Any]:
        backend = self._options.backend
        if backend == "postgresql" and _has_zone(kind, backend) and not _has_zone(column.type, backend):
            return sa.func.pg_catalog.timezone(self._options.zone.key, sa.cast(column, sa.DateTime()), type_=kind)
        if backend != "sqlite":
            return column
        # It has times as texts or as numbers: the milliseconds of either.
        days = sa.func.julianday(sa.type_coerce(column, NullType())) - 2440587.5
        text = sa.cast(sa.func.round(days * 86_400_000), sa.BigInteger())
        return sa.case((sa.func.typeof(column) == "text", text), else_=sa.type_coerce(column, sa.BigInteger()))

    def _present(self, connection: sa.Connection) -> datetime.datetime:
        """Return the present, by the database's clock."""
        asked = _PRESENT.get(self._options.backend, "CURRENT_TIMESTAMP")
        present: Any = connection.execute(sa.select(sa.literal_column(asked))).scalar_one()
        moment: datetime.datetime = datetime.datetime.fromisoformat(present) if isinstance(present, str) else present
        return (moment if moment.tzinfo else moment.replace(tzinfo=_UTC)).astimezone(_UTC)

    def _whole(self, moment: datetime.datetime) -> datetime.datetime:
        """
        Round a moment down to what a round may read up to. With times alone, a time is over before its rows are read: behind
        them there would be no way back to those that come within the same second. SQLite's own times are whole seconds.
        """
        if self._by_id:
            return moment
        kinds: list[Any] = [self.relation.column(name).type for name in self._time_names]
        digits = min((0 if self._options.backend == "sqlite" else _digits(kind)) for kind in kinds)
        return moment.replace(microsecond=moment.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits))

    def _written(self, moment: datetime.datetime) -> Any:
        """Return a moment in the form in which it is compared with the column."""
        if self._options.backend == "sqlite":
            return (moment - _EPOCH) // datetime.timedelta(milliseconds=1)
        kind = self._time_kind()
        if isinstance(kind, sa.DateTime) and kind.timezone and self._options.backend == "postgresql":
            return moment
        local = moment.astimezone(zone_of(kind, self._options)).replace(tzinfo=None)
        return local.date() if isinstance(kind, sa.Date) else local

    # Records.

    def _records(self, columns: Sequence[Sequence[Any]], count: int) -> list[SourceRecord]:
        relation = self.relation
        fields = relation.fields
        try:
            offsets = self._offsets(columns[len(fields) :], count)
        except MISFITS as error:
            if not self.passes_over:
                remedy = f"With {settings.ON_ERROR}=log such rows are passed over."
                raise ConnectError(f"{relation.shown} has a value that can't be read: {error}. {remedy}") from None
            places = self._placed(columns, count)
            columns, count = [[values[place] for place in places] for values in columns], len(places)
            if not places:
                return []
            offsets = self._offsets(columns[len(fields) :], count)
        try:
            converted = [_converted(field, values) for field, values in zip(fields, columns)]
        except MISFITS:
            places = self._readable(columns, count)
            if self._trouble is not None and not places:
                raise self._trouble from None
            offsets = [offsets[place] for place in places]
            converted = [_converted(field, [values[place] for place in places]) for field, values in zip(fields, columns)]
        return _source_records(relation, converted, offsets)

    def _readable(self, columns: Sequence[Sequence[Any]], count: int) -> list[int]:
        """
        Return the places of the rows that can be read. If those that can't be are not to be passed over, these are the rows
        before the first one, and what is wrong with it is noted.
        """
        places: list[int] = []
        for place in range(count):
            try:
                for field, values in zip(self.relation.fields, columns):
                    _converted(field, values[place : place + 1])
            except MISFITS as error:
                text = f"{self.relation.shown} has a value that can't be read{self._row(columns, place)}: {error}"
                if self.passes_over:
                    log.error("%s. It is passed over", names.printable(text))
                    self._count(1)
                    continue
                remedy = f"With {settings.ON_ERROR}=log such rows are passed over."
                self._trouble = ConnectError(f"{text}. {remedy}")
                if self._by_time and not self._by_id:
                    # The others of its time come again: there is no position in between.
                    times = columns[-1]
                    places = [before for before in places if times[before] != times[place]]
                break
            places.append(place)
        return places

    def _placed(self, columns: Sequence[Sequence[Any]], count: int) -> list[int]:
        """Return the places of the rows that say where they are, by a number, a time or both. The others are passed over."""
        places: list[int] = []
        for place in range(count):
            position = [values[place] for values in columns[len(self.relation.fields) :]]
            try:
                if self._by_id:
                    self._number_of(position[0])
                if self._by_time:
                    self._moment()(position[-1])
            except MISFITS as error:
                text = f"{self.relation.shown} has a value that can't be read{self._row(columns, place)}: {error}"
                if len(self._odd_positions) < _MOST_ODD and f"{position[0]!r:.100}" not in self._odd_positions:
                    self._odd_positions.add(f"{position[0]!r:.100}")
                    log.error("%s. It is passed over", names.printable(text))
                    self._count(1)
                continue
            places.append(place)
        return places

    def _row(self, columns: Sequence[Sequence[Any]], place: int) -> str:
        """Return which row it is, by its primary key, or by what says that it is new."""
        keys = [name for name, column in self.relation.columns.items() if getattr(column, "primary_key", False)]
        names = [field.name for field in self.relation.fields]
        key_values = [f"{name}={columns[names.index(name)][place]!r:.60}" for name in keys if name in names]
        more = [f"{label} {values[place]!s:.60}" for label, values in zip(self._labels, columns[len(names) :])]
        return f" in the row {', '.join(key_values or more)}" if key_values or more else ""

    @property
    def _labels(self) -> list[str]:
        return [label for label, is_there in (("number", self._by_id), ("time", self._by_time)) if is_there]

    def _offsets(self, columns: Sequence[Sequence[Any]], count: int) -> Sequence[dict[str, Any] | None]:
        if not columns:
            return [None] * count
        numbers = self._whole_numbers(columns[0]) if self._by_id else []
        if not self._by_time:
            self.position = Position(numbers[-1])
            return positions.offsets(numbers=numbers)
        moments = list(map(self._moment(), columns[-1]))
        offset_moments = moments if self._by_id else self._held_back(moments)
        self.position = Position(numbers[-1] if self._by_id else None, moments[-1])
        return positions.offsets(numbers, offset_moments)

    def _whole_numbers(self, column: Sequence[Any]) -> list[int]:
        return list(column) if set(map(type, column)) == {int} else list(map(self._number_of, column))

    def _number_of(self, number: Any) -> int:
        whole = _whole(number)
        if self._options.backend == "sqlite" and not -_END <= whole < _END:
            # A floating point number may be greater, and then no statement could ask for what is behind it, now or later.
            raise DataError(f"the number {number!r:.40}, which says what is new, is beyond all integers of SQLite")
        return whole

    def _held_back(self, moments: Sequence[int]) -> list[int]:
        """A time is told by the last of its rows: who stops before that begins with the first one again."""
        held_back = []
        before = self.position.moment if self.position is not None else None
        if before is None:
            before = moments[0] - (1_000_000 if self._options.backend == "sqlite" else 1000)
        for moment, after in zip(moments, [*moments[1:], None]):
            before = before if after == moment else moment
            held_back.append(before)
        return held_back

    def _moment(self) -> Any:
        read = moment_of(self._time_kind(), self._options)

        def moment(value: Any) -> int:
            try:
                at: datetime.datetime = read(value)
                return (at - _EPOCH) // _MICROSECOND * 1000
            except TypeError:
                # Of a zero date MySQL's driver makes a text.
                raise DataError(f"{value!r:.40} is no date and time") from None

        return moment


def _source_records(
    relation: Relation, columns: Sequence[Sequence[Any]], offsets: Sequence[dict[str, Any] | None]
) -> list[SourceRecord]:
    """Make the records of rows. Attribute by attribute it takes three quarters of the time of calls with all of them."""
    records = []
    topic, partition, schema, headers = relation.topic, relation.partition, relation.schema, ()
    new, make = SourceRecord.__new__, Struct.unchecked
    rows = map(list, zip(*columns)) if columns else ([] for _ in offsets)
    for values, offset in zip(rows, offsets):
        record = new(SourceRecord)
        record.source_partition, record.source_offset = partition, offset
        record.topic, record.partition, record.headers, record.timestamp = topic, None, headers, None
        record.key_schema = record.key = None
        record.value_schema, record.value = schema, make(schema, values)
        records.append(record)
    return records


def _has_zone(kind: Any, backend: str) -> bool:
    """Whether its values are points in time: those of a TIMESTAMP of MySQL come in UTC."""
    return isinstance(kind, sa.TIMESTAMP) if backend in ("mysql", "mariadb") else bool(getattr(kind, "timezone", False))


def _whole(number: Any) -> int:
    """Return a number as offsets have it. DataError for a fraction: rows behind its whole part would be read for ever."""
    whole = integer(number)
    if not isinstance(number, str) and whole != number:
        remedy = f"name a column of integers in {settings.INCREMENTING}, or read it by a {settings.QUERY} that multiplies it"
        raise DataError(f"the number {number}, which says what is new, is no integer: {remedy}")
    return whole


def _digits(kind: Any) -> int:
    """Return how many digits of a second a column of times has."""
    if hasattr(kind, "fsp"):
        return kind.fsp or 0
    precision = getattr(kind, "precision", None)
    return 6 if precision is None else int(precision)


def _size(rows: Sequence[Any], places: Sequence[int]) -> int:
    """Return how many bytes some rows take, more or less. `places`: those of the columns with values that may be long."""
    if not rows:
        return 0
    size = _CELL * len(rows[0]) * len(rows)
    # By columns, most of which have one type, and none that is long.
    for column in (list(map(operator.itemgetter(place), rows)) for place in places):
        kinds = set(map(type, column))
        if kinds in ({str}, {bytes}):
            size += sum(map(len, column))
        elif not kinds <= _SHORT:
            size += sum(len(cell) for cell in column if isinstance(cell, str | bytes | list))
    return size


def _is_bounded(field: ReadField) -> bool:
    """Whether no value of a column takes more than a cell, whatever its rows have."""
    return field.schema.name in _OF_TIME or (field.convert is None and field.schema.type in _BOUNDED)


def grown_by_itself(relation: Relation, backend: str) -> sa.ColumnClause[Any]:
    """The column that gets the next number from the database. DataError if there is not exactly one."""
    columns = [column for column in relation.columns.values() if _grows(column, backend)]
    if len(columns) != 1:
        kinds = f"{len(columns)} columns" if columns else "no column"
        raise DataError(f"{relation.shown} has {kinds} that the database numbers: set {settings.INCREMENTING}")
    return columns[0]


def _grows(column: Any, backend: str) -> bool:
    if not isinstance(column, sa.Column):
        return False
    if column.identity is not None or (column.autoincrement is True and not isinstance(column.type, sa.String)):
        return True
    if "nextval(" in str(getattr(column.server_default, "arg", "")):
        return True
    # SQLite numbers an INTEGER that is the primary key alone.
    alone = column.primary_key and len(column.table.primary_key.columns) == 1
    return backend == "sqlite" and alone and isinstance(column.type, sa.INTEGER)


def _converted(field: ReadField, values: Sequence[Any]) -> Sequence[Any]:
    convert = field.convert
    if convert is None:
        return values
    try:
        return [None if value is None else convert(value) for value in values]
    except MISFITS as error:
        # Such as a zero date, of which MySQL's driver makes a text.
        reason = error if isinstance(error, DataError) else f"{values[-1]!r:.40} has no place in {field.schema.type.value}"
        raise DataError(f"the column {field.name}: {reason}") from None
