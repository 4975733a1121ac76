"""
Headers of messages that were read: whoever writes a record may give a header a name that is no UTF-8.

confluent-kafka (2.16) then makes a pair that has no name at all: the first look at the headers raises a SystemError, and a
second one gives that pair, with which Python ends by a signal, and with it all that runs in the process. So whoever reads
messages has them mended before anybody looks. Called by `portions.py`, `resting.py` and `sample.py`.
"""

from __future__ import annotations

import contextlib
import gc
import operator
from collections.abc import Sequence
from typing import Any

import confluent_kafka as ck

UNREADABLE = "\ufffd"
"""The name of a header whose own name is no UTF-8. Java puts this character for each byte that is wrong."""


def mend(messages: Sequence[ck.Message], most: int | None = None) -> int:
    """
    Give every header of these messages a name. Return of how many messages: of as many as have `most` headers together, but of
    one at least.
    """
    total, rest = 0, iter(messages)
    try:
        # Quick for what there is as a rule: no headers. It fails at the first message whose headers are broken.
        for count in map(len, filter(None, map(ck.Message.headers, rest))):
            total += count
            if most is not None and total > most:
                return max(1, len(messages) - operator.length_hint(rest) - 1)
    except (SystemError, UnicodeError):
        return _mend_slowly(messages, most)
    return len(messages)


def _mend_slowly(messages: Sequence[ck.Message], most: int | None) -> int:
    total = 0
    for number, message in enumerate(messages):
        headers = _headers(message)
        total += len(headers)
        if most is not None and total > most and number:
            return number
        if any(map(_is_nameless, headers)):
            message.set_headers([_named(pair) if _is_nameless(pair) else pair for pair in headers])
    return len(messages)


def _headers(message: ck.Message) -> Sequence[tuple[Any, ...]]:
    for _ in range(2):
        with contextlib.suppress(SystemError, UnicodeError):
            # Not `message.headers()`: where such a call is frequent, Python does not look whether it has left an error behind
            # beside its result, and raises that anywhere later.
            headers: Any = next(map(ck.Message.headers, (message,)))
            return headers or ()
    return ()


def _is_nameless(pair: tuple[Any, ...]) -> bool:
    """Return whether a pair lacks its name. What it lacks must not be touched: only what it has is asked for."""
    return len(gc.get_referents(pair)) < 2


def _named(pair: tuple[Any, ...]) -> tuple[str, bytes | None]:
    (value,) = gc.get_referents(pair)
    return UNREADABLE, value
