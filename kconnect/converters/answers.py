"""
Answers of a schema registry, bounded: how many bytes one may have, and how long it may take from its first byte to its last.

Confluent's client reads answers whole, and unpacks them, whatever they are. It is given a hook that stands between it and the
connection. Used by `schema_registry_http.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any


class TooMuchError(Exception):
    """An answer is longer, or takes longer, than a setting allows."""


def bound(session: Any, setting: str, most: int, timing: str, seconds: float) -> None:
    """
    Limit the answers that a client of httpx reads: their bytes, as `setting` says, and their time, as `timing` does. They are
    asked for as they are, without being packed.
    """
    session.headers["Accept-Encoding"] = "identity"

    def check(response: Any) -> None:
        packed = response.headers.get("Content-Encoding", "").strip().lower()
        if packed not in ("", "identity"):
            raise TooMuchError(f"its answer is packed ({packed[:20]}), which it was not asked for")
        length = response.headers.get("Content-Length", "")
        if length.isascii() and length.isdigit() and (len(length) > 15 or int(length) > most):
            raise TooMuchError(f"its answer has {length[:20]} bytes, and {setting} is {most}")
        response.stream = _bounded(response.stream, type(response.stream), setting, most, timing, seconds)

    session.event_hooks["response"] = [check]


def _bounded(stream: Any, kind: type, setting: str, most: int, timing: str, seconds: float) -> Any:
    """The same stream, as far as httpx can tell: it looks at the class of what it reads."""
    begin = time.monotonic()

    class Bounded(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            """Nothing of the stream behind it is made anew."""

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in stream:
                size += len(chunk)
                if size > most:
                    raise TooMuchError(f"its answer has more than {most} bytes, and {setting} is {most}")
                if time.monotonic() - begin > seconds:
                    raise TooMuchError(f"its answer takes longer than {timing} allows, which is {seconds * 1000:.0f}")
                yield chunk

        def close(self) -> None:
            stream.close()

    return Bounded()
