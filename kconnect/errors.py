"""
The error tree, and what each class means elsewhere. The class of an error is policy: it decides whether work is retried, a
task fails, what REST answers.

    ConnectError                 whatever goes wrong in a connector, task or worker; ends the task
    ├── RetriableError           the same call may succeed later: `poll` and `put` are called again
    ├── UnrecoverableError       no record's fault: the task fails, whatever is tolerated
    ├── StartAgainError          nothing is wrong with the task, but it can't go on: it is started again by itself
    │   └── WithdrawnError       a right was taken away: until it is back
    ├── SupersededError          others write under the task's transactional id: the task is to be stopped, or fails
    ├── NotAuthorizedError       brokers do not let a client write
    ├── NoTopicError             a topic is not there, and can't be made
    ├── DataError                a record or value that can't be used
    ├── ConfigError              a setting that can't be used: names the setting, the value and the rule
    ├── NotFoundError            what was asked for is not there
    ├── AlreadyExistsError       what was to be made is there
    ├── ConflictError            not now, because of a conflicting operation
    ├── ChangedError             what was to be changed is not what the caller has read
    ├── BadRequestError          not so, now or later
    ├── ForbiddenError           not allowed, by settings or by rights
    ├── RequestTimeoutError      the request's limit passed
    └── UnavailableError         the worker is starting

Raised by plugins and by kconnect itself. `TABLE`, at the end, has the numbers and the names: REST's status
(`rest/errors.py`), the command line's exit status (`cli/main.py`, and from a status `rest/client.py`), the name of the Java
class that stands in statuses and dead letters (`core/task/errors.py`), and the classes that the plugins' process tells by
their names (`plugins/sandbox.py`). A new class gets a row there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class ConnectError(Exception):
    """The base of all (Connect's `ConnectException`)."""


class RetriableError(ConnectError):
    """A failure that may pass: the framework calls again with the same data, after a pause."""


class UnrecoverableError(ConnectError):
    """A failure that is no record's fault, such as Java's `Error`: the task fails, whatever is tolerated."""


class StartAgainError(ConnectError):
    """
    A task can't go on, for no fault of its own, and would if it were started again: brokers were away for too long. It is
    started again by itself, and fails if that happens too often.
    """


class WithdrawnError(StartAgainError):
    """A right that the task had was taken away. It is started again until it has it back, however long that takes."""


class SupersededError(ConnectError):
    """Somebody else writes under the task's transactional id: most likely a newer set of the connector's tasks, by KIP-618."""


class NotAuthorizedError(ConnectError):
    """Brokers do not let a client write to one of these `topics`; none: under its transactional id, or at all."""

    def __init__(self, message: str, *topics: str) -> None:
        super().__init__(message)
        self.topics = topics


class NoTopicError(ConnectError):
    """The topic does not exist, and it can't be made."""


class DataError(ConnectError):
    """A schema or value that can't be used (Connect's `DataException`)."""


class ConfigError(ConnectError):
    """
    A setting that can't be used (Kafka's `ConfigException`).

    `ConfigError(message)` or `ConfigError(name, value, message)`; the value of a secret must not be passed.
    """

    def __init__(self, name: str, value: object = None, message: str | None = None) -> None:
        self.name: str | None = None if message is None else name
        self.value = value
        text = name if message is None else f"Invalid value {_text(value)} for configuration {name}: {message}"
        super().__init__(text)


class NotFoundError(ConnectError):
    """The thing that was asked for does not exist."""


class AlreadyExistsError(ConnectError):
    """The thing that was to be created exists."""


class ConflictError(ConnectError):
    """The request conflicts with something under way; it may succeed later."""


class ChangedError(ConnectError):
    """The thing that was to be changed is not as the caller has read it: somebody else has changed it since."""


class BadRequestError(ConnectError):
    """The request itself can't be carried out, now or later."""


class ForbiddenError(ConnectError):
    """The worker's settings, or the caller's rights, don't allow it."""


class RequestTimeoutError(ConnectError):
    """The request was not answered within its limit; what it asked for may still happen."""


class UnavailableError(ConnectError):
    """The worker can't answer yet."""


def _text(value: object) -> str:
    # As Java prints them, because tools match on these texts.
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, list | tuple) else str(value)


class Row(NamedTuple):
    """The HTTP status, exit code and Java name of a class of errors. `java` is None if Connect has no such class."""

    status: int
    """Of HTTP."""
    exit: int
    """Of the command line, for this class alone: one derived from it is a 1 unless its `exit_code` says otherwise."""
    java: str | None


_OF_CONNECT = "org.apache.kafka.connect.errors"
_CONNECT = f"{_OF_CONNECT}.ConnectException"

TABLE: Mapping[type[BaseException], Row] = MappingProxyType(
    {
        ConnectError: Row(500, 1, _CONNECT),
        RetriableError: Row(500, 1, f"{_OF_CONNECT}.RetriableException"),
        UnrecoverableError: Row(500, 1, _CONNECT),
        StartAgainError: Row(500, 1, _CONNECT),
        WithdrawnError: Row(500, 1, _CONNECT),
        SupersededError: Row(500, 1, _CONNECT),
        NotAuthorizedError: Row(500, 1, _CONNECT),
        NoTopicError: Row(500, 1, _CONNECT),
        DataError: Row(500, 1, f"{_OF_CONNECT}.DataException"),
        ConfigError: Row(500, 6, "org.apache.kafka.common.config.ConfigException"),
        # Of these the Java names are REST's own: a plugin that raises one is told as any other that fails.
        NotFoundError: Row(404, 4, _CONNECT),
        AlreadyExistsError: Row(409, 5, _CONNECT),
        ConflictError: Row(409, 5, _CONNECT),
        ChangedError: Row(412, 5, _CONNECT),
        BadRequestError: Row(400, 6, _CONNECT),
        ForbiddenError: Row(403, 8, _CONNECT),
        RequestTimeoutError: Row(500, 3, _CONNECT),
        UnavailableError: Row(503, 3, _CONNECT),
        # Not of the tree.
        ValueError: Row(500, 1, "java.lang.IllegalArgumentException"),
        Exception: Row(500, 1, None),
        BaseException: Row(500, 1, None),
    }
)

BY_NAME: Mapping[str, type[ConnectError]] = MappingProxyType(
    {kind.__name__: kind for kind in TABLE if issubclass(kind, ConnectError)}
)
"""The classes of the tree, for what another process has told."""


def row_of(kind: type[BaseException]) -> Row:
    """Return the row of the nearest base class that the table has."""
    return next(TABLE[base] for base in kind.__mro__ if base in TABLE)


def in_one_line(text: str) -> str:
    """Return an error's lines as one, for where there is room for one only. A line that ends with a colon leads to the next."""
    joined = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        joined += f" {line}" if joined.endswith(":") else f"; {line}" if joined else line
    return joined
