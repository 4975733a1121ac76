"""
The error tree. The class of an error is policy: it decides whether work is retried, a task fails, what REST answers.

    ConnectError                 whatever goes wrong in a connector, task or worker; ends the task, REST answers 500
    ├── RetriableError           the same call may succeed later: `poll` and `put` are called again
    ├── DataError                a record or value that can't be used
    ├── ConfigError              a setting that can't be used: names the setting, the value and the rule
    ├── NotFoundError            REST answers 404
    ├── AlreadyExistsError       REST answers 409
    ├── ConflictError            not now, because of a conflicting operation: REST answers 409
    ├── BadRequestError          REST answers 400
    ├── ForbiddenError           REST answers 403
    ├── RequestTimeoutError      the request's limit passed: REST answers 500
    └── UnavailableError         the worker is starting: REST answers 503

Raised by plugins and by kconnect itself; `kconnect/rest/errors.py` has the table of HTTP statuses.
"""

from __future__ import annotations


class ConnectError(Exception):
    """The base of all (Connect's `ConnectException`)."""


class RetriableError(ConnectError):
    """A failure that may pass: the framework calls again with the same data, after a pause."""


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
    """What was asked for does not exist."""


class AlreadyExistsError(ConnectError):
    """What was to be created exists."""


class ConflictError(ConnectError):
    """The request conflicts with something under way; it may succeed later."""


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
