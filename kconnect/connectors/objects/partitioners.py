"""
Partitioners: the folder below its topic's that a record is for, and the time that a record has.

Called by `files.py`, with all records of a slice at once.
"""

from __future__ import annotations

import datetime
import re
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from kconnect.api import Column, ConfigError, DataError, SchemaType, Struct, values
from kconnect.connectors.common import MISFITS, milliseconds
from kconnect.connectors.objects import settings

_DAILY = "'year'=YYYY/'month'=MM/'day'=dd"
_HOURLY = f"{_DAILY}/'hour'=HH"
_QUARTER_MS = 15 * 60 * 1000
_KEPT = 10_000
_NAMELESS: tuple[type[Exception], ...] = (*MISFITS, OSError)
"""What is raised for a value that no folder can be named by."""
_TOKEN = re.compile(r"'([^']*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_NO_FOLDER = re.compile('[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"#%*/<=>?\\\\^`{|}]')
"""What a text can't have as a folder's name, or what ends it for a reader of folders."""
_LETTERS = {"Y": "%Y", "y": "%Y", "u": "%Y", "M": "%m", "d": "%d", "H": "%H", "m": "%M", "s": "%S", "D": "%j"}
_WIDTHS = {"Y": (4,), "y": (4,), "u": (4,), "M": (2,), "d": (2,), "H": (2,), "m": (2,), "s": (2,), "D": (3,)}


def pattern(text: str) -> str:
    """A pattern of Java's for times as `strftime` has it. ConfigError for letters that are not understood."""
    directives = []
    for match in _TOKEN.finditer(text):
        quoted, letter, literal = match.groups()
        if letter is None:
            directives.append((quoted if quoted is not None else literal).replace("%", "%%"))
        elif letter in _LETTERS and len(match[0]) in _WIDTHS[letter]:
            directives.append(_LETTERS[letter])
        else:
            raise ConfigError(
                settings.PATH,
                text,
                f"{match[0]} is not understood; it may have YYYY, MM, dd, HH, mm, ss, DDD and texts in quotes",
            )
    return "".join(directives)


class Partitioner:
    """The partitioner of a parsed config. `times` returns the time of each record, in ms, `folders` the folder."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        kind = settings.simple(config[settings.PARTITIONER])
        self._slash: str = config[settings.SLASH]
        self._kind, self._fields = kind, [field.split(".") for field in config[settings.FIELDS]]
        self._names: list[str] = config[settings.FIELDS]
        self.by_time = kind not in ("DefaultPartitioner", "FieldPartitioner")
        path = {"DailyPartitioner": _DAILY, "HourlyPartitioner": _HOURLY}.get(kind, config[settings.PATH])
        # Of days and hours the pattern says when they begin; in all zones they do so at a quarter of an hour.
        duration = config[settings.DURATION] if kind == "TimeBasedPartitioner" else _QUARTER_MS
        self._pattern = pattern(path) if self.by_time else ""
        self._duration: int = duration
        self._zone = ZoneInfo(config[settings.ZONE])
        self._extractor = settings.simple(config[settings.EXTRACTOR]) if self.by_time else "Record"
        self._time_field = config[settings.TIME_FIELD].split(".")
        self._known: dict[int, str] = {}
        self._offsets: dict[int, int] = {}

    def times(self, value: Column, timestamps: Callable[[], Sequence[int | None]]) -> Sequence[int | Exception]:
        """An exception for a record that has none."""
        if self._extractor == "Wallclock":
            return [int(time.time() * 1000)] * len(value)
        if self._extractor == "RecordField":
            return [_caught(_milliseconds, moment) for moment in _field(value, self._time_field)]
        none = DataError("It has no timestamp")
        return [none if timestamp is None else timestamp for timestamp in timestamps()]

    def folders(self, value: Column, partition: int, times: Sequence[int | Exception]) -> Sequence[str | Exception]:
        """Return the folder of each record, or the reason why it has none."""
        if self.by_time:
            return [_caught(self._of_time, moment) for moment in times]
        if self._kind == "FieldPartitioner":
            columns = [[_caught(_text, item) for item in _field(value, path)] for path in self._fields]
            return [self._of_fields(row) for row in zip(*columns)]
        return [f"partition={partition}"] * len(value)

    def _of_time(self, at: int) -> str:
        ahead = self._ahead(at) if self._duration > _QUARTER_MS else 0
        begin = (at + ahead) // self._duration * self._duration - ahead if self._duration > 0 else at
        folder = self._known.get(begin)
        if folder is None:
            if len(self._known) > _KEPT:
                self._known.clear()
            moment = datetime.datetime.fromtimestamp(begin / 1000, self._zone)
            folder = self._known[begin] = moment.strftime(self._pattern).replace("/", self._slash)
        return folder

    def _ahead(self, at: int) -> int:
        """
        Return how far the zone is ahead of UTC, in ms, by the quarter of an hour: what is a multiple in UTC is so in the zone.
        """
        quarter = at // _QUARTER_MS
        if quarter not in self._offsets:
            if len(self._offsets) > _KEPT:
                # Records may have any times, as many as there are.
                self._offsets.clear()
            offset = datetime.datetime.fromtimestamp(quarter * _QUARTER_MS / 1000, self._zone).utcoffset()
            self._offsets[quarter] = round((offset or datetime.timedelta()).total_seconds() * 1000)
        return self._offsets[quarter]

    def _of_fields(self, row: tuple[Any, ...]) -> str | Exception:
        error = next((item for item in row if isinstance(item, Exception)), None)
        return error or self._slash.join(f"{name}={item}" for name, item in zip(self._names, row))


def _field(value: Column, path: Sequence[str]) -> list[Any]:
    """Return the field at this path of each value; an exception where there is none."""
    return [_at(item, path) for item in value.values]


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if isinstance(value, Struct) and value.schema.field(name) is not None:
            value = value.get(name)
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return DataError(f"Its value has no field {'.'.join(path)}")
    return DataError(f"Its field {'.'.join(path)} is null") if value is None else value


def _caught(call: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, Exception):
        return value
    try:
        return call(value)
    except DataError as error:
        return error
    except _NAMELESS:
        # A time that no calendar has, or a text with half a pair of surrogates.
        return DataError("No folder can be named by its value")


def _text(value: Any) -> str:
    if isinstance(value, Struct | dict | list):
        raise DataError(f"Folders can't be made of values of type {SchemaType.STRUCT.value}, maps and arrays")
    # A slash would be one more folder. Who reads folders as columns (Hive, Spark) unescapes single characters below U+0080.
    return _NO_FOLDER.sub(lambda match: urllib.parse.quote(match[0], safe=""), values.to_text(value))


def _milliseconds(value: Any) -> int:
    try:
        return milliseconds(value)
    except DataError as error:
        raise DataError(f"Its field for the time ({settings.TIME_FIELD}) is no time: {error}") from None
