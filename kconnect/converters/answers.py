"""
Answers of a schema registry, bounded: how many bytes one may have, and how long it may take.

Confluent's client reads answers whole, and unpacks them, whatever they are. It is given a hook that stands between it and the
connection. Used by `schema_registry_http.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from kconnect import deadlines


class TooMuchError(Exception):
    """An answer is longer than a setting allows."""


_TIMES = 2
"""A request waits for the head of its answer, too, which has as long as the rest."""


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
    send = session.send

    def in_time(*arguments: Any, **more: Any) -> Any:
        # The head of an answer, too, and what is between the parts of its body.
        with deadlines.within(_TIMES * seconds, lambda: _shut_down(session), lambda: _late(timing, _TIMES * seconds)):
            return send(*arguments, **more)

    session.send = in_time


def _late(timing: str, seconds: float) -> TimeoutError:
    return TimeoutError(f"its answer takes longer than {timing} allows, which is {seconds * 1000:.0f}")


def _shut_down(session: Any) -> None:
    """End all connections of a client of httpx, which has no call for that."""
    for transport in (session._transport, *session._mounts.values()):
        for connection in getattr(getattr(transport, "_pool", None), "connections", ()):
            # A pool's connection holds that of the protocol, and one by a proxy holds another one before that.
            while (inner := getattr(connection, "_connection", None)) is not None:
                connection = inner
            stream = getattr(connection, "_network_stream", None)
            socket = None if stream is None else stream.get_extra_info("socket")
            if socket is not None:
                deadlines.shut_down(socket.fileno())


def _bounded(stream: Any, kind: type, setting: str, most: int, timing: str, seconds: float) -> Any:
    """The same stream, as far as httpx can tell: it looks at the class of what it reads."""
    begin = time.monotonic()

    class Bounded(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            """Leave the stream behind it as it is."""

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in stream:
                size += len(chunk)
                if size > most:
                    raise TooMuchError(f"its answer has more than {most} bytes, and {setting} is {most}")
                if time.monotonic() - begin > seconds:
                    raise _late(timing, seconds)
                yield chunk

        def close(self) -> None:
            stream.close()

    return Bounded()
