"""
What the worker's settings of OpenTelemetry may hold. The rows are in `worker.py`; `kconnect/telemetry/` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from kconnect.errors import ConfigError

HEADERS = "opentelemetry.headers"
SIGNALS = ("traces", "metrics", "logs")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PRINTABLE = re.compile(r"[\x20-\x7e]*")


def check_endpoint(name: str, value: Any) -> None:
    try:
        parts = urlsplit(value or "")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username is not None or parts.query or parts.fragment:
        # Without the value: a login may be in it.
        raise ConfigError(f"{name} must be a URL such as http://collector:4318, without a user, a query or a fragment")


def check_signals(name: str, value: Any) -> None:
    if not value or not set(value) <= set(SIGNALS):
        raise ConfigError(name, value, f"Must be one or more of: {', '.join(SIGNALS)}")


def check_ratio(name: str, value: Any) -> None:
    # Not by a range: of "nan", every comparison is false.
    if value is None or not 0 <= value <= 1:
        raise ConfigError(name, value, "Must be a number from 0 to 1")


def check_headers(name: str, value: Any) -> None:
    try:
        headers(value or ())
    except ValueError as error:
        raise ConfigError(f"{name} must be name=value pairs with commas between them: {error}") from None


def headers(pairs: Sequence[str]) -> dict[str, str]:
    """Return the headers by name. Raise ValueError, which quotes no value, for what is none."""
    by_name: dict[str, str] = {}
    for number, pair in enumerate(pairs, 1):
        header, equals, text = pair.partition("=")
        header, text = header.strip().lower(), unquote(text.strip())
        if not equals or not _NAME.fullmatch(header):
            raise ValueError(f"pair {number} has no name, or no equals sign")
        if not _PRINTABLE.fullmatch(text):
            raise ValueError(f"the value of {header} has characters that are not printable ASCII")
        by_name[header] = text
    return by_name
