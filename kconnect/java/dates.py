"""
Java's SimpleDateFormat (17, English, UTC, lenient), as TimestampConverter and TimestampRouter use it.

`compile` reads a pattern once; the format then writes moments (`format`) and reads texts (`parse`), both as milliseconds since
1970. What dates mean is in `calendar.py`, zones are in `zones.py`.
"""

from __future__ import annotations

import datetime
import functools
import operator
import re
from collections.abc import Callable

from kconnect.java import calendar, zones
from kconnect.java.calendar import DAY_MS, Day, Field

_ERAS = ("BC", "AD")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_HALVES = ("AM", "PM")

_MOST_DIGITS = 309
"""To which Java fills up with zeros."""


class ParseError(ValueError):
    """A text that does not fit the pattern (Java's `ParseException`)."""


@functools.lru_cache(maxsize=256)
def compile(pattern: str) -> SimpleDateFormat:
    return SimpleDateFormat(pattern)


class SimpleDateFormat:
    """
    A compiled pattern. It keeps no state between calls.

    Raises:
        ValueError: for an illegal pattern, with the message of Java's IllegalArgumentException.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        parts = _parts(_to_utf16(pattern))
        self._writers = _writers(parts)
        self._readers = [_reader(part, parts[index + 1 :]) for index, part in enumerate(parts)]
        self._quick = _quick_reader(parts)
        self._century_start = _eighty_years_ago()

    def format(self, millis: int) -> str:
        number, clock = divmod(millis, DAY_MS)
        return "".join([write(number, clock) for write in self._writers])

    def parse(self, text: str) -> int:
        """
        The moment that the text begins with; what follows it is ignored.

        Raises:
            ParseError: with Java's message.
        """
        return self.parse_prefix(text)[0]

    def parse_prefix(self, text: str) -> tuple[int, int]:
        """As `parse`, with how many of Java's characters were read."""
        if self._quick is not None:
            quick = self._quick(text)
            if quick is not None:
                return quick
        units = _to_utf16(text)
        found = _Found(self._century_start)
        at = 0
        for read in self._readers:
            end = read(units, at, found)
            if end is None:
                at = 0
                break
            at = end
        if not at:
            # Java takes a pattern that reads nothing for one that does not fit.
            raise ParseError(f'Unparseable date: "{text}"')
        return found.millis(), at


def _eighty_years_ago() -> int:
    """The start of the hundred years that a year of two digits is in."""
    now = datetime.datetime.now(datetime.timezone.utc)
    try:
        start = now.replace(year=now.year - 80)
    except ValueError:
        start = now.replace(year=now.year - 80, day=28)
    return int(start.timestamp() * 1000)


def _to_utf16(text: str) -> str:
    """The text in Java's characters: one beyond U+FFFF is two of them."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    return "".join([chr(units[at] | units[at + 1] << 8) for at in range(0, len(units), 2)])


def _from_utf16(units: str) -> str:
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


# --- patterns ---


_LETTERS = frozenset("GyMdkHmsSEDFwWahKzZYuXL")

_Part = tuple[str, int | str]
"""A letter and how often it stands there, or "" and a literal text."""


def _parts(pattern: str) -> list[_Part]:
    parts: list[_Part] = []
    letter, count = "", 0
    quoted: str | None = None

    def end_of_letters() -> None:
        nonlocal letter, count
        if letter:
            if letter == "X" and count > 3:
                raise ValueError(f"invalid ISO 8601 format: length={count}")
            parts.append((letter, count))
        letter, count = "", 0

    index = 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == "'":
            end_of_letters()
            if pattern[index : index + 1] == "'":
                index += 1
                if quoted is None:
                    parts.append(("", "'"))
                else:
                    quoted += "'"
            elif quoted is None:
                quoted = ""
            else:
                parts.append(("", quoted))
                quoted = None
        elif quoted is not None:
            quoted += char
        elif not (char.isascii() and char.isalpha()):
            end_of_letters()
            parts.append(("", char))
        elif char not in _LETTERS:
            raise ValueError(f"Illegal pattern character '{char}'")
        elif char == letter:
            count += 1
        else:
            end_of_letters()
            letter, count = char, 1
    if quoted is not None:
        raise ValueError("Unterminated quote")
    end_of_letters()
    return parts


# --- writing ---


_Write = Callable[[int, int], str]
"""Of a day, as days since 1970, and the milliseconds since its begin."""

_OF_DAY: dict[str, Callable[[Day], int]] = {
    "y": operator.attrgetter("year_of_era"),
    "Y": operator.attrgetter("week_year"),
    "w": operator.attrgetter("week_of_year"),
    "W": operator.attrgetter("week_of_month"),
    "D": operator.attrgetter("day_of_year"),
    "d": operator.attrgetter("day_of_month"),
    "F": operator.attrgetter("day_of_week_in_month"),
    "u": operator.attrgetter("iso_day_of_week"),
}
_OF_CLOCK: dict[str, Callable[[int], int]] = {
    "H": lambda clock: clock // 3_600_000,
    "k": lambda clock: clock // 3_600_000 or 24,
    "K": lambda clock: clock // 3_600_000 % 12,
    "h": lambda clock: clock // 3_600_000 % 12 or 12,
    "m": lambda clock: clock // 60_000 % 60,
    "s": lambda clock: clock // 1000 % 60,
    "S": lambda clock: clock % 1000,
}


def _writers(parts: list[_Part]) -> list[_Write]:
    """What writes the parts; those of the day together, as many records are of one day."""
    writers: list[_Write] = []
    of_day: list[Callable[[Day], str]] = []

    def end_of_day() -> None:
        if of_day:
            writers.append(_day_writer(list(of_day)))
            of_day.clear()

    literal = ""
    for letter, what in [*_constants(parts), ("end", 0)]:
        if letter == "":
            literal += str(what)
            continue
        on_clock = letter == "a" or letter in _OF_CLOCK
        if literal:
            text = _from_utf16(literal)
            if of_day and not on_clock:
                of_day.append(lambda _day, text=text: text)  # type: ignore[misc]
            else:
                end_of_day()
                writers.append(lambda _number, _clock, text=text: text)  # type: ignore[misc]
            literal = ""
        if on_clock:
            end_of_day()
            writers.append(_clock_writer(letter, int(what)))
        elif letter != "end":
            of_day.append(_day_text(letter, int(what)))
    end_of_day()
    return writers


def _constants(parts: list[_Part]) -> list[_Part]:
    """The parts with the zone, which is always UTC, as text."""
    texts = {"z": "UTC", "Z": "+0000", "X": "Z"}
    return [
        ("", "Coordinated Universal Time" if letter == "z" and int(what) >= 4 else texts[letter])
        if letter in texts
        else (letter, what)
        for letter, what in parts
    ]


def _day_writer(texts: list[Callable[[Day], str]]) -> _Write:
    @functools.lru_cache(maxsize=1024)
    def written(number: int) -> str:
        day = calendar.day(number)
        return "".join([text(day) for text in texts])

    return lambda number, _clock: written(number)


def _day_text(letter: str, count: int) -> Callable[[Day], str]:
    long = count >= 4
    if letter == "G":
        return lambda day: _ERAS[day.era]
    if letter == "E":
        return lambda day: _WEEKDAYS[day.day_of_week - 1][: None if long else 3]
    if letter in "ML":
        if count >= 3:
            return lambda day: _MONTHS[day.month][: None if long else 3]
        return lambda day: _padded(day.month + 1, count)
    value = _OF_DAY[letter]
    if letter in "yY" and count == 2:
        return lambda day: _last_two(value(day))
    return lambda day: _padded(value(day), count)


def _clock_writer(letter: str, count: int) -> _Write:
    if letter == "a":
        return lambda _number, clock: _HALVES[clock >= DAY_MS // 2]
    value = _OF_CLOCK[letter]
    if count > 3:
        return lambda _number, clock: _padded(value(clock), count)
    form = f"%0{count}d"
    return lambda _number, clock: form % value(clock)


def _padded(number: int, digits: int) -> str:
    shown = str(abs(number)).zfill(min(digits, _MOST_DIGITS))
    return f"-{shown}" if number < 0 else shown


def _last_two(number: int) -> str:
    shown = f"{abs(number) % 100:02}"
    return f"-{shown}" if number < 0 else shown


# --- reading ---


class _Found:
    """What a text has said so far."""

    def __init__(self, century_start: int) -> None:
        self.fields: dict[Field, int] = {}
        self.zone: calendar.Zone | None = None
        self.century_start = century_start
        self.century_in_doubt = False

    def set(self, field: Field, value: int) -> None:
        # To the end: what is said last counts.
        self.fields.pop(field, None)
        self.fields[field] = value

    def set_offset(self, offset: int) -> None:
        self.set(Field.ZONE_OFFSET, offset)
        self.set(Field.DST_OFFSET, 0)

    def millis(self) -> int:
        millis = calendar.millis_of(self.fields, self.zone)
        if self.century_in_doubt and millis < self.century_start:
            # The year in which the hundred years begin and end, and a date before the begin.
            for field in (Field.YEAR, Field.WEEK_YEAR):
                if field in self.fields:
                    self.fields[field] = calendar.int32(self.fields[field] + 100)
            millis = calendar.millis_of(self.fields, self.zone)
        return millis


_Read = Callable[[str, int, _Found], "int | None"]
"""Reads a part of the text from that place on; gives where it ends, None if it is not there."""

_NUMERIC: dict[str, Field] = {
    "d": Field.DAY_OF_MONTH,
    "H": Field.HOUR_OF_DAY,
    "m": Field.MINUTE,
    "s": Field.SECOND,
    "S": Field.MILLISECOND,
    "D": Field.DAY_OF_YEAR,
    "F": Field.DAY_OF_WEEK_IN_MONTH,
    "w": Field.WEEK_OF_YEAR,
    "W": Field.WEEK_OF_MONTH,
    "K": Field.HOUR,
}


_TEXTS: dict[str, tuple[Field, re.Pattern[str], int]] = {
    letter: (field, re.compile("|".join(f"({name}|{name[:3]})" for name in names), re.IGNORECASE), first)
    for letter, field, names, first in (
        ("G", Field.ERA, _ERAS, 0),
        ("M", Field.MONTH, _MONTHS, 0),
        ("L", Field.MONTH, _MONTHS, 0),
        ("E", Field.DAY_OF_WEEK, _WEEKDAYS, 1),
        ("a", Field.AM_PM, _HALVES, 0),
    )
}
_SPACE = re.compile("[ \t]*")


def _reader(part: _Part, after: list[_Part]) -> _Read:
    letter, what = part
    if letter == "":
        return _literal_reader(str(what))
    count = int(what)
    # Digits that are not separated are told apart by their count.
    width = count if after and _is_numeric(after[0]) else None
    if letter in "yY":
        return _year_reader(Field.YEAR if letter == "y" else Field.WEEK_YEAR, count, width)
    if letter in _TEXTS and not _is_numeric(part):
        return _text_reader(*_TEXTS[letter])
    if letter in "ML":
        return _number_reader(Field.MONTH, width, lambda value: calendar.int32(value - 1))
    if letter == "k":
        return _number_reader(Field.HOUR_OF_DAY, width, lambda value: 0 if value == 24 else value)
    if letter == "h":
        return _number_reader(Field.HOUR, width, lambda value: 0 if value == 12 else value)
    if letter == "u":
        return _number_reader(Field.DAY_OF_WEEK, width, lambda value: value % 7 + 1 if 1 <= value <= 7 else value)
    if letter == "X":
        return _iso_zone_reader(count)
    if letter in "zZ":
        return _read_zone
    return _number_reader(_NUMERIC[letter], width, None)


def _is_numeric(part: _Part) -> bool:
    letter, what = part
    return int(what) <= 2 if letter in ("M", "L") else letter in _OF_DAY or letter in _OF_CLOCK


def _literal_reader(literal: str) -> _Read:
    def read(text: str, at: int, found: _Found) -> int | None:
        return at + len(literal) if text.startswith(literal, at) else None

    return read


def _text_reader(field: Field, pattern: re.Pattern[str], first: int) -> _Read:
    def read(text: str, at: int, found: _Found) -> int | None:
        # Before a name, unlike before a number, no space is skipped.
        match = pattern.match(text, at)
        if match is None:
            return None
        found.set(field, (match.lastindex or 0) - 1 + first)
        return match.end()

    return read


def _number_reader(field: Field, width: int | None, translate: Callable[[int], int] | None) -> _Read:
    def read(text: str, at: int, found: _Found) -> int | None:
        number = _number(text, at, width)
        if number is None:
            return None
        value, end = number[0], number[2]
        found.set(field, value if translate is None else translate(value))
        return end

    return read


def _year_reader(field: Field, count: int, width: int | None) -> _Read:
    def read(text: str, at: int, found: _Found) -> int | None:
        number = _number(text, at, width)
        if number is None:
            return None
        value, start, end = number
        if count <= 2 and end - start == 2 and text[start:end].isdecimal():
            first = calendar.day(found.century_start // DAY_MS).year
            found.century_in_doubt = value == first % 100
            value += first - first % 100 + (100 if value < first % 100 else 0)
        found.set(field, value)
        return end

    return read


def _iso_zone_reader(count: int) -> _Read:
    def read(text: str, at: int, found: _Found) -> int | None:
        at = _skip_space(text, at)
        if text.startswith("Z", at):
            found.set_offset(0)
            return at + 1
        return _take_offset(zones.read_iso(text, at, count), found)

    return read


def _read_zone(text: str, start: int, found: _Found) -> int | None:
    at = _skip_space(text, start)
    if text.startswith(("+", "-"), at):
        return _take_offset(zones.read_rfc_822(text, at), found)
    if at == start and text[at : at + 3].upper() == "GMT":
        if text.startswith(("+", "-"), at + 3):
            return _take_offset(zones.read_custom(text, at + 3), found)
        found.set_offset(0)
        return at + 3
    name = zones.read_name(text, at)
    if name is None:
        return None
    found.zone = name.zone
    if name.saving is not None:
        found.fields.pop(Field.ZONE_OFFSET, None)
        found.set(Field.DST_OFFSET, name.saving)
    return name.end


def _take_offset(read: tuple[int, int] | None, found: _Found) -> int | None:
    if read is None:
        return None
    found.set_offset(read[1])
    return read[0]


def _skip_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


_NUMBER = re.compile(r"[ \t]*(?:(NaN)|(-?)(?:(∞)|(\d+)(?:E(-?\d+))?))")


def _number(text: str, at: int, width: int | None) -> tuple[int, int, int] | None:
    """An int as Java's number format reads it, its begin after spaces, and its end; None if there is no number."""
    end = len(text)
    if width is not None:
        end = at + width
        if end > len(text):
            return None
    match = _NUMBER.match(text, at, end)
    if match is None:
        return None
    nan, minus, infinite, digits, exponent = match.groups()
    if digits is not None and exponent is None and len(digits) < 10:
        start = match.start(4)
        number = int(digits)
        return (-number, start - 1, match.end()) if minus else (number, start, match.end())
    start = _skip_space(text, at)
    if nan:
        return 0, start, match.end()
    if infinite:
        return _saturated(1 << 64, minus), start, match.end()
    power = 0 if exponent is None else int(exponent) if len(exponent) < 4000 else 1 << 64
    if power != calendar.int64(power):
        # No exponent, then, but what follows the number.
        return _whole(digits, 0, minus), start, match.end(4)
    return _whole(digits, calendar.int32(power), minus), start, match.end()


def _whole(digits: str, power: int, minus: str) -> int:
    """Java's int of the number: longs lose their upper half, while doubles, which are what does not fit a long, saturate."""
    digits = "".join([str(int(digit)) for digit in digits]).lstrip("0")
    point = calendar.int32(len(digits) + power)
    digits = digits.rstrip("0")
    if not digits:
        return 0
    if point > 19:
        return _saturated(1 << 64, minus)
    if len(digits) <= point:
        number = int(digits.ljust(point, "0"))
        if number <= (1 << 63) - 1 + bool(minus):
            return calendar.int32(-number if minus else number)
        return _saturated(number, minus)
    return _saturated(int(float(f"0.{digits}e{point}")), minus)


def _saturated(number: int, minus: str) -> int:
    return max(-number, -(1 << 31)) if minus else min(number, (1 << 31) - 1)


# --- reading what most texts look like ---


_QUICK_DEFAULTS = {"y": 1970, "M": 1, "d": 1, "H": 0, "m": 0, "s": 0, "S": 0}
_OFFSETS = {
    "X1": r"Z|[+-](?:[01]\d|2[0-3])",
    "X2": r"Z|[+-](?:[01]\d|2[0-3])[0-5]\d",
    "X3": r"Z|[+-](?:[01]\d|2[0-3]):[0-5]\d",
    "Z": r"[+-](?:[01]\d|2[0-3])[0-5]\d",
}


def _quick_reader(parts: list[_Part]) -> Callable[[str], tuple[int, int] | None] | None:
    """
    For a pattern of numbers, each once and not of two-digit years: reads a text of plain digits, and leaves all others.

    One regular expression and some arithmetic instead of a step for each part.
    """
    letters = [letter for letter, _ in parts if letter]
    if not letters or len(set(letters)) < len(letters) or not set(letters) <= {*_QUICK_DEFAULTS, "X", "Z"}:
        return None
    if {"X", "Z"} <= set(letters):
        return None
    form = ""
    for index, (letter, what) in enumerate(parts):
        after = parts[index + 1] if index + 1 < len(parts) else None
        if letter == "":
            form += re.escape(str(what))
            continue
        count = int(what)
        if letter in "XZ":
            form += f"(?P<{letter}>{_OFFSETS['Z' if letter == 'Z' else f'X{count}']})"
            continue
        if (letter == "y" and count <= 2) or (letter == "M" and count > 2):
            return None
        if after is not None and _is_numeric(after):
            if count > 9:
                return None
            form += rf"(?P<{letter}>\d{{{count}}})"
        elif after is not None and after[0] == "":
            if not str(after[1]) or str(after[1])[0] == "E" or str(after[1])[0].isdecimal():
                return None
            form += rf"(?P<{letter}>\d{{1,9}})"
        else:
            form += rf"(?P<{letter}>\d{{1,9}})(?![\dE])"
    return _Quick(re.compile(form, re.ASCII))


class _Quick:
    def __init__(self, pattern: re.Pattern[str]) -> None:
        groups = pattern.groupindex
        self._match = pattern.match
        numeric = [letter for letter in _QUICK_DEFAULTS if letter in groups]
        # Twice, as `group` gives no tuple for one.
        self._numbers = [groups[letter] for letter in numeric] * 2
        self._defaults = [value for letter, value in _QUICK_DEFAULTS.items() if letter not in groups]
        places = [*numeric, *numeric, *(letter for letter in _QUICK_DEFAULTS if letter not in groups)]
        self._sorted = operator.itemgetter(*map(places.index, _QUICK_DEFAULTS))
        self._zone = groups.get("X") or groups.get("Z")

    def __call__(self, text: str) -> tuple[int, int] | None:
        match = self._match(text)
        if match is None or not text.isascii():
            return None
        numbers = [*map(int, match.group(*self._numbers)), *self._defaults] if self._numbers else self._defaults
        year, month, day, hour, minute, second, milli = self._sorted(numbers)
        if not (1600 <= year <= 9999 and month <= 9999):
            return None
        years, month = divmod(month - 1, 12)
        days = calendar.gregorian(year + years, month) + day - 1
        millis = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli
        if self._zone is not None:
            millis -= _quick_offset(match.group(self._zone))
        return millis, match.end()


@functools.lru_cache(maxsize=256)
def _quick_offset(text: str) -> int:
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return 60_000 * (minutes if text[0] == "+" else -minutes)
