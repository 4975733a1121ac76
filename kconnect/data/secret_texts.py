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


def forms(value: str) -> set[str]:
    """A value as it is, in a Python repr, in a JSON string, in one inside the other, in a URL, and within base64."""
    data = value.encode("utf-8", "surrogatepass")
    # Python escapes an apostrophe only in a text that has a quotation mark, too, which may be beside the secret.
    escaped = repr(value + "'\"")[1:-4]
    texts = (value, repr(value)[1:-1], escaped)
    in_json = (json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in texts for is_ascii in (False, True))
    return {*texts, *in_json, quote(data), quote(data, ""), quote_plus(data), *_in_base64(data)}


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


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with each secret replaced, the longest first: one may be part of another."""
    for secret in sorted((secret for secret in secrets if secret in text), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text
