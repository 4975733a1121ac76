"""
Generators: each makes a column of values of one schema, and the same column whenever it is asked for the same records.

So a task that starts anew goes on where it was, and two connectors with one seed make the same. Dice are thrown for a block of
records at once, which costs a tenth of doing so for each value. `schemas.py` makes generators, `task.py` asks the outermost.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import itertools
import random
import string
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from kconnect.api import Schema, Struct, values
from kconnect.connectors.datagen import weights

_ALPHABET = string.ascii_lowercase


@dataclasses.dataclass(frozen=True)
class Block:
    """The records to make values for, or in an array the elements."""

    seed: str
    """Another one for each task and each block."""
    places: Sequence[int]
    """The number of each record, from 0; of each element in its array."""
    times: Sequence[int]
    """Event times, in milliseconds."""

    def __len__(self) -> int:
        return len(self.places)

    def dice(self, path: str) -> random.Random:
        """Return the random numbers for the field at this path alone: another field leaves the values of others as they are."""
        return random.Random(f"{self.seed} {path}")


class Generator(ABC):
    def __init__(self, schema: Schema, path: str) -> None:
        self.schema = schema
        self.path = path

    @abstractmethod
    def column(self, block: Block) -> Sequence[Any]:
        """A value for each record of the block."""

    @property
    def has_times(self) -> bool:
        """Whether a value depends on the event time."""
        return any(part.has_times for part in self.parts)

    @property
    def parts(self) -> Sequence[Generator]:
        return ()

    @property
    def weight(self) -> int:
        """Say how much a value may be; see `weights.py`."""
        return 1 + sum(part.weight for part in self.parts)


class Options(Generator):
    """A generator of some values, each as likely as the others."""

    def __init__(self, schema: Schema, path: str, options: Sequence[Any]) -> None:
        super().__init__(schema, path)
        self._options = options

    def column(self, block: Block) -> Sequence[Any]:
        return block.dice(self.path).choices(self._options, k=len(block))


class Pool(Generator):
    """
    A generator of many values that are made when the first is needed: one of them takes Faker as long as a record takes all
    else.
    """

    def __init__(self, schema: Schema, path: str, make: Callable[[], Sequence[Any]]) -> None:
        super().__init__(schema, path)
        self._make = make
        self._pool: Sequence[Any] = ()

    def column(self, block: Block) -> Sequence[Any]:
        self._pool = self._pool or self._make()
        return block.dice(self.path).choices(self._pool, k=len(block))


class Numbers(Generator):
    """Integers from `low` to below `high`; `make` turns each into the value."""

    def __init__(self, schema: Schema, path: str, low: int, high: int, make: Callable[[int], Any] | None = None) -> None:
        super().__init__(schema, path)
        self._low, self._high = low, high
        self._make = make

    def column(self, block: Block) -> Sequence[Any]:
        dice = block.dice(self.path)
        if self._high - self._low < 2**53:
            numbers = dice.choices(range(self._low, self._high), k=len(block))
        else:  # `choices` draws 53 bits only.
            numbers = [dice.randrange(self._low, self._high) for _ in block.places]
        return numbers if self._make is None else list(map(self._make, numbers))


class Fractions(Generator):
    """A generator of fractions from `low` to `high`, rounded to so many digits behind the point if `digits` says how many."""

    def __init__(self, schema: Schema, path: str, low: float, high: float, digits: int | None = None) -> None:
        super().__init__(schema, path)
        self._low, self._high, self._digits = low, high, digits

    def column(self, block: Block) -> Sequence[Any]:
        dice, low, width = block.dice(self.path).random, self._low, self._high - self._low
        numbers = [low + width * dice() for _ in block.places]
        return numbers if self._digits is None else [round(number, self._digits) for number in numbers]


class Booleans(Generator):
    def __init__(self, schema: Schema, path: str, odds: float) -> None:
        super().__init__(schema, path)
        self._odds = odds

    def column(self, block: Block) -> Sequence[Any]:
        dice, odds = block.dice(self.path).random, self._odds
        return [dice() < odds for _ in block.places]


class Letters(Generator):
    """Texts of lower-case letters, of `low` to `high` of them."""

    def __init__(self, schema: Schema, path: str, low: int, high: int) -> None:
        super().__init__(schema, path)
        self._lengths = range(low, high + 1)

    @property
    def weight(self) -> int:
        return weights.of_text(self._lengths[-1])

    def column(self, block: Block) -> Sequence[Any]:
        dice = block.dice(self.path)
        ends = [0, *itertools.accumulate(dice.choices(self._lengths, k=len(block)))]
        text = "".join(dice.choices(_ALPHABET, k=ends[-1]))
        return [text[begin:end] for begin, end in itertools.pairwise(ends)]


class Bytes(Generator):
    def __init__(self, schema: Schema, path: str, low: int, high: int) -> None:
        super().__init__(schema, path)
        self._lengths = range(low, high + 1)

    @property
    def weight(self) -> int:
        return weights.of_text(self._lengths[-1])

    def column(self, block: Block) -> Sequence[Any]:
        dice = block.dice(self.path)
        ends = [0, *itertools.accumulate(dice.choices(self._lengths, k=len(block)))]
        data = dice.randbytes(ends[-1])
        return [data[begin:end] for begin, end in itertools.pairwise(ends)]


class Uuids(Generator):
    def column(self, block: Block) -> Sequence[Any]:
        bits = block.dice(self.path).getrandbits
        return [str(uuid.UUID(int=bits(128), version=4)) for _ in block.places]


class Iteration(Generator):
    """`start`, `start + step` and so on, by the number of the record; again from `start` where `restart` would be reached."""

    def __init__(self, schema: Schema, path: str, start: Any, step: Any, restart: Any) -> None:
        super().__init__(schema, path)
        self._start, self._step = start, step
        # The last step before `restart` may be a part of one.
        self._period = None if restart is None else max(1, -(-(restart - start) // step))

    def column(self, block: Block) -> Sequence[Any]:
        start, step, period = self._start, self._step, self._period
        if period is None:
            return [start + step * place for place in block.places]
        return [start + step * (place % period) for place in block.places]


class EventTime(Generator):
    """The event time in milliseconds, as `make` has it."""

    def __init__(self, schema: Schema, path: str, make: Callable[[int], Any]) -> None:
        super().__init__(schema, path)
        self._make = make

    @property
    def has_times(self) -> bool:
        return True

    def column(self, block: Block) -> Sequence[Any]:
        make = self._make
        # Of a block that the clock has stamped all are the same.
        values_by_time = {time: make(time) for time in set(block.times)}
        return [values_by_time[time] for time in block.times]


class Affixed(Generator):
    """Texts of another generator between a prefix and a suffix."""

    def __init__(self, inner: Generator, schema: Schema, prefix: str, suffix: str) -> None:
        super().__init__(schema, inner.path)
        self._inner, self._prefix, self._suffix = inner, prefix, suffix

    @property
    def parts(self) -> Sequence[Generator]:
        return (self._inner,)

    def column(self, block: Block) -> Sequence[Any]:
        prefix, suffix = self._prefix, self._suffix
        return [f"{prefix}{text}{suffix}" for text in self._inner.column(block)]


class Optional(Generator):
    """Another generator's values, some of which are null."""

    def __init__(self, inner: Generator, odds: float) -> None:
        super().__init__(inner.schema.optional_copy(), inner.path)
        self._inner, self._odds = inner, odds

    @property
    def parts(self) -> Sequence[Generator]:
        return (self._inner,)

    def column(self, block: Block) -> Sequence[Any]:
        dice, odds = block.dice(f"{self.path}?").random, self._odds
        return [None if dice() < odds else value for value in self._inner.column(block)]


class Records(Generator):
    def __init__(self, schema: Schema, path: str, fields: Sequence[Generator]) -> None:
        super().__init__(schema, path)
        self._fields = fields

    @property
    def parts(self) -> Sequence[Generator]:
        return self._fields

    def column(self, block: Block) -> Sequence[Any]:
        schema, make = self.schema, Struct.unchecked
        if not self._fields:
            return [make(schema, []) for _ in block.places]
        return [make(schema, list(row)) for row in zip(*[field.column(block) for field in self._fields])]


class Arrays(Generator):
    def __init__(self, schema: Schema, path: str, low: int, high: int, item: Generator) -> None:
        super().__init__(schema, path)
        self._lengths = range(low, high + 1)
        self._item = item

    @property
    def parts(self) -> Sequence[Generator]:
        return (self._item,)

    @property
    def weight(self) -> int:
        return 1 + self._lengths[-1] * self._item.weight

    def column(self, block: Block) -> Sequence[Any]:
        lengths, inner = _within(block, self.path, self._lengths)
        elements = iter(self._item.column(inner))
        return [list(itertools.islice(elements, length)) for length in lengths]


class Maps(Generator):
    """A generator of maps from texts to values. Where a key comes twice, the map has one entry less."""

    def __init__(self, schema: Schema, path: str, low: int, high: int, key: Generator, value: Generator) -> None:
        super().__init__(schema, path)
        self._lengths = range(low, high + 1)
        self._key, self._value = key, value

    @property
    def parts(self) -> Sequence[Generator]:
        return (self._key, self._value)

    @property
    def weight(self) -> int:
        return 1 + self._lengths[-1] * (self._key.weight + self._value.weight)

    def column(self, block: Block) -> Sequence[Any]:
        lengths, inner = _within(block, self.path, self._lengths)
        entries = zip(self._key.column(inner), self._value.column(inner))
        return [dict(itertools.islice(entries, length)) for length in lengths]


def _within(block: Block, path: str, choice: Sequence[int]) -> tuple[Sequence[int], Block]:
    """Return how many elements each record has, and the block of all of them."""
    lengths = block.dice(path).choices(choice, k=len(block))
    places = [place for length in lengths for place in range(length)]
    times = [time for time, length in zip(block.times, lengths) for _ in range(length)]
    return lengths, Block(block.seed, places, times)


DAY_MS = 24 * 60 * 60 * 1000


def date(milliseconds: int) -> datetime.datetime:
    """The day of an event time, as a value of a Date's schema."""
    return values.date_of(milliseconds // DAY_MS * DAY_MS)


def time_of_day(milliseconds: int) -> datetime.datetime:
    """Return a value of a Time's schema."""
    return values.date_of(milliseconds % DAY_MS)


def decimals(scale: int) -> Callable[[int], decimal.Decimal]:
    """Makes them of unscaled integers."""
    return lambda unscaled: decimal.Decimal(unscaled).scaleb(-scale)
