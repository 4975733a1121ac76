"""
Java's exceptions and ours: which of ours stands for which, in what phase of a case it was raised, with which text.

Used by every check: `expect` runs a case and compares how it ended.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from kconnect import errors as api
from kconnect.data.projector import ProjectionError
from kconnect.java import dates, regex, versions

Case = dict[str, Any]

CLASSES: dict[str, tuple[type[Exception], ...]] = {
    "org.apache.kafka.common.config.ConfigException": (api.ConfigError,),
    # Thrown for an encoding that isn't known only, when a converter is configured.
    "org.apache.kafka.common.errors.SerializationException": (api.ConfigError,),
    "org.apache.kafka.connect.errors.ConnectException": (api.ConnectError,),
    "org.apache.kafka.connect.errors.DataException": (api.DataError,),
    "org.apache.kafka.connect.errors.SchemaBuilderException": (api.DataError,),
    "org.apache.kafka.connect.errors.SchemaProjectorException": (ProjectionError,),
    "org.apache.kafka.connect.runtime.isolation.VersionedPluginLoadingException": (
        versions.VersionRangeError,
        versions.VersionNotFoundError,
    ),
    "org.apache.maven.artifact.versioning.InvalidVersionSpecificationException": (versions.VersionRangeError,),
    "java.util.regex.PatternSyntaxException": (regex.PatternSyntaxError,),
    "java.text.ParseException": (dates.ParseError,),
    "java.lang.IllegalArgumentException": (ValueError, regex.IllegalReplacementError),
    # What Connect did not foresee is refused here with a sentence, as bad data.
    "java.lang.NullPointerException": (api.DataError, TypeError, AttributeError),
    "java.lang.ClassCastException": (api.DataError, TypeError, AttributeError),
    "java.lang.IndexOutOfBoundsException": (api.DataError, IndexError, regex.NoGroupError),
    "java.lang.ArrayIndexOutOfBoundsException": (api.ConfigError, api.DataError, IndexError),
    "java.lang.StringIndexOutOfBoundsException": (api.ConfigError, api.DataError, IndexError),
    "java.lang.NumberFormatException": (api.DataError, ValueError),
}
"""What ours raise where Connect throws this. An exception that isn't here makes a case fail."""

TEXTS_OF_THE_JVM = frozenset(
    {
        "java.lang.NullPointerException",
        "java.lang.ClassCastException",
        "java.lang.IndexOutOfBoundsException",
        "java.lang.ArrayIndexOutOfBoundsException",
        "java.lang.StringIndexOutOfBoundsException",
        "java.lang.NumberFormatException",
        "java.util.regex.PatternSyntaxException",
    }
)
"""Messages that are the JVM's, and not compared."""

_KNOWN = {python for classes in CLASSES.values() for python in classes} | set(api.ConnectError.__subclasses__())


class Difference(Exception):
    """Ours did something else than Connect."""

    def __init__(self, expected: object, got: object, where: str = "") -> None:
        self.expected, self.got, self.where = expected, got, where
        super().__init__(f"{where}{': ' if where else ''}expected {shown(expected)}, got {shown(got)}")


class Unreadable(Exception):
    """The case has something that its format does not: it counts as failed."""


class Failed(Exception):
    """Something of ours raised `cause`, in this phase."""

    def __init__(self, phase: str, cause: Exception) -> None:
        self.phase, self.cause = phase, cause
        super().__init__(phase, cause)


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Around a call of what is being checked."""
    try:
        yield
    except (Failed, Difference, Unreadable):
        raise
    except Exception as error:
        raise Failed(name, error) from error


def expect(error: Case | None, run: Callable[[], Any]) -> Any:
    """What `run` gives; None if it fails just as it should. Anything else raises a Difference."""
    try:
        found = run()
    except Failed as failed:
        if error is None:
            raise Difference("no error", f"{type(failed.cause).__name__} at {failed.phase}: {failed.cause}") from failed
        if error.get("phase", failed.phase) != failed.phase:
            raise Difference(f"an error at {error['phase']}", f"{failed.cause!r} at {failed.phase}") from failed
        check(failed.cause, error)
        return None
    if error is not None:
        raise Difference(f"{error['class']}: {error['message']}", found)
    return found


def check(found: BaseException, error: Case) -> None:
    """Its class, its text, and its cause where one is told."""
    only(error, "class", "message", phase=..., cause=...)
    name = error["class"]
    if name not in CLASSES:
        raise Unreadable(f"no exception of ours stands for {name}: {error['message']}")
    nearest = next((base for base in type(found).__mro__ if base in _KNOWN), None)
    if nearest not in CLASSES[name]:
        raise Difference(f"{name}: {error['message']}", found)
    if name not in TEXTS_OF_THE_JVM:
        same(re.sub(r"@[0-9a-f]+", "@HASH", str(found)), str(error["message"]), "message")
    if error.get("cause") is not None:
        if found.__cause__ is None:
            raise Difference(error["cause"], None, "cause")
        check(found.__cause__, error["cause"])


def same(found: object, expected: object, where: str = "") -> None:
    if found != expected or type(found) is not type(expected):
        raise Difference(expected, found, where)


def only(case: Any, *names: str, **optional: Any) -> None:
    """All of these keys are there, and no others but the optional ones: what isn't read isn't checked."""
    if not isinstance(case, dict):
        raise Unreadable(f"not an object: {case!r}")
    unknown = case.keys() - {*names, *optional}
    if unknown or not case.keys() >= set(names):
        missing = ", ".join(sorted(set(names) - case.keys()))
        raise Unreadable(f"unknown: {', '.join(sorted(unknown)) or 'nothing'}; missing: {missing or 'nothing'}")


def shown(value: object, limit: int = 600) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
