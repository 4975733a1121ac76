"""
What REST's answers carry for browsers: headers by `response.http.headers.config`, and the origins that CORS allows.

The worker's table checks both when a worker file is read; `rest/browsers.py` carries them out.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Any

from kconnect.errors import ConfigError

_ACTIONS = {action.lower(): action for action in ("set", "add", "setDate", "addDate")}
_HOST_NAME = re.compile(r"\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What makes Jetty's patterns more than an address; a full stop alone is a full stop.
_PATTERN = re.compile(r"[\\*+?\[\](){}|^$]")


@dataclass(frozen=True)
class HeaderRule:
    """A header of every answer; `set` replaces others of its name, and a date is given in ms from now."""

    replaces: bool
    name: str
    value: str
    is_date: bool


@dataclass(frozen=True)
class Cors:
    """The pages of other origins that may ask: exact origins, or `*`, and a pattern for the rest; and by which methods."""

    origins: tuple[str, ...]
    pattern: str | None
    methods: tuple[str, ...]


def header_rules(name: str, text: str) -> tuple[HeaderRule, ...]:
    """The rules, separated by commas, each in double quotes if it has a comma. ConfigError for the first that is wrong."""
    if not text.strip():
        return ()
    [items] = csv.reader([" ".join(text.splitlines())], skipinitialspace=True)
    return tuple(_rule(name, item.strip()) for item in items)


def _rule(name: str, text: str) -> HeaderRule:
    def refused(rule: str) -> ConfigError:
        return ConfigError(name, text, rule)

    action, _, header = text.partition(" ")
    if not header.strip():
        raise refused("Invalid format of header config. Expected: '[action] [header name]:[header value]'")
    if action.lower() not in _ACTIONS:
        raise refused(f"Invalid header config action: '{action}'. Expected one of [{', '.join(_ACTIONS.values())}]")
    key, colon, value = (part.strip() for part in header.partition(":"))
    if not colon or not value:
        raise refused("Invalid format of header name and header value pair. Expected: '[header name]:[header value]'")
    if not _TOKEN.fullmatch(key):
        raise refused(f"Invalid header name '{key}'. It may hold letters, digits and -, but no whitespace")
    is_date = action.lower().endswith("date")
    if is_date and not re.fullmatch(r"-?\d{1,14}", value):
        raise refused(f"Invalid date '{value}'. Expected: a number of milliseconds from now")
    if not all(32 <= ord(character) < 127 for character in value):
        raise refused("Invalid header value. It may hold printable ASCII characters only")
    return HeaderRule(action.lower().startswith("set"), key, value, is_date)


def check_host_names(name: str, value: Any) -> None:
    """Raise ConfigError for what is no name of a host, such as a URL, or a name with a port."""
    for host in value or ():
        if not _HOST_NAME.fullmatch(host):
            raise ConfigError(name, host, "Must be names of hosts, without scheme and port, such as connect.example.com")


def cors(origins: str, methods: str) -> Cors | None:
    """Parse the settings of CORS. Return None if no origin is given. Raise ConfigError for a pattern that can't be read."""
    listed = _list(origins)
    if not listed:
        return None
    patterns = [origin for origin in listed if origin != "*" and _PATTERN.search(origin)]
    for origin in patterns:
        try:
            re.compile(origin)
        except re.error as error:
            raise ConfigError(ORIGINS, origin, f"The pattern can't be read: {error}") from None
    return Cors(
        tuple(origin for origin in listed if origin not in patterns),
        "|".join(f"(?:{origin})" for origin in patterns) or None,
        tuple(_list(methods)) or ("GET", "POST", "HEAD"),
    )


ORIGINS = "access.control.allow.origin"


def _list(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


# Validators of the worker's table.


def check_header_rules(name: str, value: Any) -> None:
    header_rules(name, value or "")


def check_origins(name: str, value: Any) -> None:
    cors(value or "", "")


def no_extensions(name: str, value: Any) -> None:
    if value:
        raise ConfigError(
            name,
            value,
            "Java classes can't be loaded, so what they guard would be open to everybody: remove the setting; for TLS and "
            "client certificates use `listeners.https.*`, for users and passwords `rest.authentication.*`",
        )
