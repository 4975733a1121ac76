"""
What a Java plugin throws, as an error of ours that knows its Java class and its trace. Used by the adapters beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import jpype

from kconnect.errors import ConfigError, ConnectError, DataError, RetriableError, UnrecoverableError
from kconnect.jvm import machine


class OutOfMemory(UnrecoverableError, MemoryError):
    """An OutOfMemoryError of Java, of any sort."""


_KINDS: tuple[tuple[str, type[ConnectError]], ...] = (
    ("org.apache.kafka.connect.errors.RetriableException", RetriableError),
    ("org.apache.kafka.common.config.ConfigException", ConfigError),
    ("org.apache.kafka.connect.errors.DataException", DataError),
    ("java.lang.OutOfMemoryError", OutOfMemory),
    ("java.lang.Error", UnrecoverableError),
)


class JavaError(ConnectError):
    """An exception of Java. `java_trace` is what Java prints of it; derived classes have Java's name in `shown_as`."""

    shown_as: str
    java_trace: str


def translated(thrown: Any) -> JavaError:
    """The error that stands for a Throwable."""
    message = thrown.getMessage()
    name = str(thrown.getClass().getName())
    error = _kind(name, _family(thrown))("" if message is None else str(message))
    error.java_trace = str(jpype.JClass("kconnect.shim.Failure").trace(thrown)).strip()
    return error


def _family(thrown: Any) -> Any:
    return next((kind for name, kind in _KINDS if isinstance(thrown, jpype.JClass(name))), ConnectError)


@lru_cache(1000)
def _kind(name: str, family: Any) -> type[JavaError]:
    simple = name.rpartition(".")[2].replace("$", "_")
    return type(simple, (JavaError, family), {"shown_as": name, "__module__": __name__})


def kind_of(thing: Any) -> str:
    """Return what a plugin's answer is, for messages, without quoting it: `null`, `a java.lang.Integer`."""
    return "null" if thing is None else f"a {thing.getClass().getName()}"


@contextmanager
def calling(plugin: Any) -> Iterator[None]:
    """Around calls of a plugin's object, or of a class loader's: with its loader, and with errors of ours."""
    with machine.loader_of(plugin):
        try:
            yield
        except jpype.JException as thrown:
            raise translated(thrown) from None
