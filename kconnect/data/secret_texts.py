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
_LONG, _ENOUGH = 20, 12
"""A secret of so many characters, or more, is hidden, too, where so many of its beginning stand by themselves."""
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


def head_of(value: str) -> str:
    """
    Return a secret's beginning, of which no text may have as much. Empty for a short one: its first part may be a word, or a
    part of a name that others have, too.
    """
    return value[:_ENOUGH] if len(value) >= _LONG else ""


def beginning(text: str, at: int, value: str) -> str:
    """
    Return what stands there in a text of a value's beginning, if it ends there as what was cut off does: what goes on as
    another word is a path, or the name of a class, that begins alike.
    """
    least, most = 0, min(len(text) - at, len(value))
    # By halves: they may have a million characters.
    while least < most:
        middle = (least + most + 1) // 2
        if text.startswith(value[least:middle], at + least):
            least = middle
        else:
            most = middle - 1
    part = value[:least]
    return "" if text[at + least : at + least + 1].isalnum() or is_plain(part) else part


def is_plain(text: str) -> bool:
    """Whether a part of a secret may as well be a word, or a name of several."""
    return text in (text.lower(), text.upper()) and not any(map(str.isdigit, text))


def cut(text: str, value: str) -> Iterator[str]:
    """Yield what a text has of a value that somebody has cut off: enough of its beginning."""
    head = head_of(value)
    at = text.find(head) if head else -1
    while at >= 0:
        part = beginning(text, at, value)
        if part:
            yield part
        at = text.find(head, at + max(len(part), _ENOUGH))


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with each secret replaced, the longest first: one may be part of another. So are those that were cut in two."""
    known = list(secrets)
    for secret in sorted((secret for secret in known if secret in text), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for part in sorted({part for secret in known for part in cut(text, secret)}, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text
