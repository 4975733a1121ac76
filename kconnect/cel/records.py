"""
The parts of a record as an expression's variables, and the validator of settings that hold an expression.

    topic       string            partition   int, or null if a source's record has none yet
    key, value  as they are       headers     map of a header's name to its last value
    timestamp   timestamp or null offset      int; null for records of sources

Called by the transform and the predicate `Expression`. Read next: `compiler.py`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConfigError, DataError, Schema
from kconnect.cel import types
from kconnect.cel.compiler import Program, compile
from kconnect.cel.syntax import CelError
from kconnect.cel.times import EPOCH


def _timestamp(record: Any) -> Any:
    return None if record.timestamp is None else EPOCH + datetime.timedelta(milliseconds=record.timestamp)


VARIABLES: Mapping[str, Callable[[Any], Any]] = {
    "topic": lambda record: record.topic,
    "partition": lambda record: record.partition,
    "key": lambda record: record.key,
    "value": lambda record: record.value,
    "headers": lambda record: {header.key: header.value for header in record.headers},
    "timestamp": _timestamp,
    "offset": lambda record: getattr(record, "offset", None),
}
_TYPES: Mapping[str, Schema] = {
    "topic": types.STRING,
    "partition": types.INT,
    "timestamp": types.TIMESTAMP,
    "offset": types.INT,
}

_NAMES: Mapping[str, Schema] = {
    "bool": types.BOOL,
    "string": types.STRING,
}


def program(text: str) -> Program:
    """CelError for what is no expression about a record."""
    return compile(text, VARIABLES)


def infer(compiled: Program, key: Schema | None = None, value: Schema | None = None) -> Schema | None:
    """The type of what it gives for records of these schemas (None: any), as `types.infer` tells it."""
    return types.infer(compiled.tree, {**_TYPES, "key": types.read(key), "value": types.read(value)})


@dataclass(frozen=True)
class Expression:
    """Text, if given, is an expression about a record; one that gives a `result` (`bool`, `string`) if that is said."""

    result: str | None = None

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            return
        try:
            inferred = infer(program(value))
        except (CelError, DataError) as error:
            raise ConfigError(name, value, f"it must be a CEL expression: {error}") from None
        if self.result is not None and inferred is not None and inferred not in (_NAMES[self.result], types.NULL):
            raise ConfigError(name, value, f"its result must be of type {self.result}, but is of type {_shown(inferred)}")

    def __str__(self) -> str:
        return "expression in CEL" if self.result is None else f"expression in CEL that gives a {self.result}"


def _shown(schema: Schema) -> str:
    return (schema.name or schema.type.value).rsplit(".", 1)[-1].lower()


def evaluate(compiled: Program, setting: str, record: Any) -> Any:
    """Its value for this record. DataError, naming the setting and the expression, if it has none."""
    try:
        return compiled(record)
    except CelError as error:
        raise failed(setting, compiled, error) from None


def failed(setting: str, compiled: Program, error: CelError) -> DataError:
    # Values are left out by all messages of `operators.py` and `functions.py` but the keys that an expression asks for.
    return DataError(f"{setting} = {compiled.text} can't be evaluated for this record: {error}")
