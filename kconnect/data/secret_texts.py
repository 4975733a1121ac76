"""
The forms that a secret takes in texts of others, and texts without it.

Used by `core/settings/secrets.py`, for what a config holds, and by the connectors that show what a service has said.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

HIDDEN = "[hidden]"
_URL_SAFE = str.maketrans("+/", "-_")
_SHORTEST = 4
"""Fewer letters of base64 may be those of any word."""
_LEAST, _ENOUGH = 8, 12
_UNQUOTED = "!#$&'()*+,/:;=?@[]~"
"""What requests leaves as it is in a URL; a percent sign, too, where two digits follow each."""


def forms(value: str) -> set[str]:
    """A value as it is, in a Python repr, in a JSON string, in one inside the other, in a URL, and within base64."""
    data = value.encode("utf-8", "surrogatepass")
    # Python escapes an apostrophe only in a text that has a quotation mark, too, which may be beside the secret.
    escaped = repr(value + "'\"")[1:-4]
    texts = (value, repr(value)[1:-1], escaped)
    in_json = (json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in texts for is_ascii in (False, True))
    in_urls = (quote(data, safe) for safe in ("/", "", _UNQUOTED, f"{_UNQUOTED}%"))
    return {*texts, *in_json, *in_urls, quote_plus(data), *_in_base64(data)}


def _in_base64(data: bytes) -> Iterator[str]:
    """
    Yield what the base64 of any text has that contains this one. Only the letters at both ends depend on what is beside it;
    they are known where that is as in a Basic header, `user:password`.
    """
    for before in range(3):
        text = base64.b64encode(b":" * before + data).decode()
        letters = text.rstrip("=")
        alone = letters[(0, 2, 3)[before] : -1 if letters != text else None]
        for form in (letters[(0, 0, 2)[before] :], alone):
            if len(form) >= _SHORTEST:
                yield from (form, form.translate(_URL_SAFE))


def telling(value: str) -> int:
    """Return how many characters of a secret's beginning, or its end, are too many: half of it, or 12, but no less than 8."""
    return min(_ENOUGH, max(_LEAST, (len(value) + 1) // 2))


def beginning(text: str, at: int, value: str) -> str:
    """Return what stands there in a text of a value's beginning."""
    return _common(text[at : at + len(value)], value)


def ending(text: str, end: int, value: str) -> str:
    """Return what stands in a text, up to there, of a value's end."""
    return _common(text[max(0, end - len(value)) : end][::-1], value[::-1])[::-1]


def _common(one: str, other: str) -> str:
    """What both begin with. By halves: they may have a million characters."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return one[:least]


def cut(text: str, value: str) -> Iterator[str]:
    """Yield what a text has of a value that somebody has cut off before, or behind: enough of its beginning, or of its end."""
    size = telling(value)
    if len(value) <= size:
        return
    at = text.find(value[:size])
    while at >= 0:
        part = beginning(text, at, value)
        yield part
        at = text.find(value[:size], at + len(part))
    at = text.rfind(value[-size:])
    while at >= 0:
        part = ending(text, at + size, value)
        yield part
        at = text.rfind(value[-size:], 0, at + size - len(part))


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with each secret replaced, the longest first: one may be part of another. So are those that were cut in two."""
    known = sorted(secrets, key=len, reverse=True)
    for secret in known:
        text = text.replace(secret, HIDDEN)
    for part in sorted({part for secret in known for part in cut(text, secret)}, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text
