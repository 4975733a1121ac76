"""
JSON without schemas, read with inferred ones: what `JsonConverter` does with `schemas.infer=true`.

`learn` looks at a whole batch, so that its first records don't decide alone; what is read then has the schema of that moment.
In a task, `units/inferring.py` has each batch learned, and keeps what is new in a topic before any record goes on. Elsewhere,
as in previews, it is forgotten. Read next: `inference.py`, which has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kconnect.converters import inference, json_text, pinned
from kconnect.converters.inference import MOST_FIELDS, NOTHING, Kind, Misfit, Shape
from kconnect.converters.json_readers import Convert, Readers
from kconnect.data.column import Column
from kconnect.data.schema import NULL, Schema, SchemaAndValue
from kconnect.errors import DataError

_MOST_TOPICS = 1000


@dataclass
class Subject:
    """The state of the values of one topic. `version` counts the changes of their schema; 0 if there is none yet."""

    shape: Shape = NOTHING
    version: int = 0
    schema: Schema | None = None
    read: Convert = json_text.free
    mixed: bool = False
    stored: Shape = field(default=NOTHING, compare=False)
    """What was kept of it."""

    @property
    def is_new(self) -> bool:
        """Whether more is known than was kept."""
        return self.shape is not self.stored

    def take(self, shape: Shape, version: int, readers: Readers) -> None:
        self.shape, self.version, self.mixed = shape, version, inference.is_mixed(shape)
        self.schema = inference.schema_of(shape, version)
        self.read = json_text.free if self.schema is None else readers.of(self.schema)

    def pin(self, schema: Schema, readers: Readers) -> None:
        self.schema, self.read = schema, readers.of(schema)


class Inferring:
    """
    The inference of one converter. `most` is how many fields a schema may have. With a `schema` nothing is inferred: what does
    not fit it is a bad record. From one thread only.
    """

    def __init__(self, readers: Readers, most: int, schema: Schema | None = None) -> None:
        self._readers, self._most = readers, most
        self.subjects: dict[str, Subject] = {}
        self._pinned = schema
        self._exactly = schema is not None and pinned.has_decimals(schema)
        """Whether numbers are read digit by digit."""
        self._batch: dict[bytes, Any] = {}
        """The values of the batch that was learned last, or why one is none, by their texts."""
        self._whole: tuple[list[bytes], list[Any], Mapping[str, Sequence[Any]] | None] = ([], [], None)
        """The texts of that batch and their values, if all fitted what was known before; and by field, if all are objects."""
        self._topic = ""

    @property
    def grows(self) -> bool:
        """Whether anything is inferred."""
        return self._pinned is None

    def subject(self, topic: str) -> Subject:
        if topic not in self.subjects:
            if len(self.subjects) >= _MOST_TOPICS:
                # Only a task in production has to remember, and that one has as many topics as it reads.
                self.subjects.pop(next(iter(self.subjects)))
            self.subjects[topic] = Subject()
            if self._pinned is not None:
                self.subjects[topic].pin(self._pinned, self._readers)
        return self.subjects[topic]

    def adopt(self, topic: str, shape: Shape, version: int) -> None:
        """Go on with what is kept of a topic."""
        subject = self.subject(topic)
        subject.take(shape, version, self._readers)
        subject.stored = shape

    def learn(self, topic: str, texts: Sequence[bytes | None]) -> bool:
        """Look at a batch of one topic. Return whether its schema has changed."""
        subject = self.subject(topic)
        settled = shape = subject.shape
        data = [text for text in texts if text is not None]
        load = json_text.loads_exactly if self._exactly else _load
        may_be_quick = data and not self._exactly and not json_text.has_long_fraction(b",".join(data))
        plains = json_text.loads_each(data) if may_be_quick else None
        self._topic, self._batch, self._whole = topic, {}, ([], [], None)
        results = self._batch
        if plains and self._pinned is None:
            are_objects = shape.kind is Kind.OBJECT and set(map(type, plains)) == {dict}
            by_name = inference.fitting_columns(shape, plains) if are_objects else None
            if by_name is not None or (not are_objects and inference.fit_together(shape, plains)):
                results.update(zip(data, plains))
                self._whole = (data, plains, by_name)
                return False
        elif plains and self._pinned is not None and pinned.all_fit(self._pinned, plains):
            results.update(zip(data, plains))
            self._whole = (data, plains, None)
            return False
        for text, plain in zip(data, plains if plains is not None else (_loaded(text, load) for text in data)):
            if isinstance(plain, DataError):
                results[text] = plain
                continue
            try:
                if self._pinned is not None:
                    pinned.require(self._pinned, plain)
                elif not inference.fits(shape, plain):
                    shape = self._grown(shape, plain, settled)
            except Misfit as error:
                results[text] = error
            else:
                results[text] = plain
        if shape is not settled:
            subject.take(shape, subject.version + 1, self._readers)
        return shape is not settled

    def _grown(self, shape: Shape, plain: Any, settled: Shape) -> Shape:
        value_shape = inference.shape_of(plain, self._most)
        if _is_other(shape.kind, value_shape.kind):
            raise Misfit(
                f"it is of the type {value_shape.kind.value}, but others of its topic are of the type {shape.kind.value}"
            )
        grown = inference.grown(shape, value_shape, settled)
        if (count := inference.width(grown)) > self._most:
            raise Misfit(f"with it, the inferred schema would have {count} fields, more than {MOST_FIELDS}={self._most}")
        most = min(inference.MOST_BYTES, max(inference.LEAST_BYTES, inference.LENGTH * self._most))
        if (length := inference.size(grown)) > most:
            raise Misfit(
                f"with it, the inferred schema would have {length} bytes, of which {most} may be for {MOST_FIELDS}={self._most}"
            )
        return grown

    def one(self, topic: str, text: bytes | None) -> SchemaAndValue:
        """Return one value. DataError if it does not fit what is settled."""
        if text is None:
            return NULL
        if topic != self._topic or text not in self._batch:
            self.learn(topic, [text])
        plain, subject = self._batch[text], self.subject(topic)
        if isinstance(plain, DataError):
            raise plain
        if plain is None:
            return NULL
        if subject.schema is None:
            # Not null: that would be a deletion.
            raise Misfit("it is a list, of which nobody knows yet what is in it: no value of its topic has had anything in one")
        return SchemaAndValue(subject.schema, subject.read(inference.told(subject.shape, plain) if subject.mixed else plain))

    def many(self, topic: str, texts: Sequence[bytes]) -> Column | None:
        """Return all of them, or None if one of them has to be looked at by itself."""
        subject = self.subject(topic)
        # Mostly it is the very batch that was learned.
        data, plains, by_name = self._whole
        if topic == self._topic and data == texts:
            if by_name is not None and not subject.mixed and subject.schema is not None:
                return self._readers.column(subject.schema, plains, by_name)
        else:
            if topic != self._topic or not all(map(self._batch.__contains__, texts)):
                self.learn(topic, texts)
            plains = [self._batch[text] for text in texts]
        kinds = set(map(type, plains))
        if subject.schema is None or type(None) in kinds or any(issubclass(kind, DataError) for kind in kinds):
            return None
        if subject.mixed:
            plains = [inference.told(subject.shape, plain) for plain in plains]
        return self._readers.column(subject.schema, plains)


def _is_other(kind: Kind, value_kind: Kind) -> bool:
    """Whether values of a topic can't be both: what it has as a whole, objects, lists or values, is never changed."""
    return (
        kind is not value_kind
        and Kind.NOTHING not in (kind, value_kind)
        and bool({kind, value_kind} & {Kind.OBJECT, Kind.ARRAY})
    )


def _load(text: bytes) -> Any:
    return json_text.loads_with_digits(text) if json_text.has_long_fraction(text) else json_text.loads(text)


def _loaded(text: bytes, load: Callable[[bytes], Any]) -> Any:
    """Return a value, or why there is none: nothing at all is null."""
    try:
        plain = load(text)
    except DataError as error:
        return error
    return None if plain is json_text.MISSING else plain
