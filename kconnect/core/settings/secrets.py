"""
Which settings are secret by their names, and how their values are kept out of texts.

A last line of defence for logs (`processes/logs.py`) and for the messages of plugin code (`plugins/sandbox_child.py`): what
is known to be secret is declared with type PASSWORD, or not written down at all.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus, unquote

from kconnect.api.config import HIDDEN
from kconnect.core.settings import references

_NAME = re.compile(
    r"password|passphrase|passwd|secret|token|credential|jaas|private|keystore\.key|key\.pem|basic\.auth\.user\.info"
    r"|(api|access|account|shared|encryption|ssl)[._-]?key\b|(?<![a-z])(pass|pwd)(?![a-z])|authorization",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"token\.(endpoint\.)?url|\.(class|type|location|ms|seconds|enabled?|algorithm|file|source|property)$", re.IGNORECASE
)
_IN_URL = re.compile(r"://[^/\s:@]*:([^/\s@]+)@|[?&;]\w*(?:password|passwd|pwd|secret|token)=([^&;\s\"']+)", re.IGNORECASE)
"""What a URL may hold of secrets: after the user's name, or as a parameter."""


def is_secret(name: str) -> bool:
    """Whether a setting of that name probably holds a secret."""
    return _NAME.search(name) is not None and _NOT_SECRET.search(name) is None


_URL_SAFE = str.maketrans("+/", "-_")
_SHORTEST = 4
"""Fewer letters of base64 may be those of any word."""


def values(properties: Mapping[str, object]) -> set[str]:
    """The secret values of a config, and those in its URLs, in all their forms."""
    return {form for part in plain(properties) for form in forms(part)}


def plain(properties: Mapping[str, object]) -> set[str]:
    """The same, as the config has them. A reference is none: it may be shown."""
    parts: set[str] = set()
    for name, value in properties.items():
        if value is None:
            continue
        if is_secret(name):
            parts.update(references.literals(str(value)))
        elif "://" in str(value):
            found = (found for part in references.literals(str(value)) for found in _IN_URL.findall(part))
            parts.update(form for groups in found for text in groups for form in (text, unquote(text)))
    return {part for part in parts if references.telling(part)}


def masked(properties: Mapping[str, str | None]) -> dict[str, str | None]:
    """A config as it may be shown: what may be secret is hidden, also in URLs. References stay: they tell no secret."""
    shown: dict[str, str | None] = {}
    for name, value in properties.items():
        if value and is_secret(name) and any(part.strip() for part in references.literals(value)):
            shown[name] = HIDDEN
        else:
            shown[name] = value and hide(value, values({name: value}))
    return shown


def forms(value: str) -> set[str]:
    """A value as it is, in a Python repr, in a JSON string, in one inside the other, in a URL, and within base64."""
    data = value.encode("utf-8", "surrogatepass")
    texts = (value, repr(value)[1:-1])
    in_json = (json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)
    return {*texts, *in_json, quote(data), quote(data, ""), quote_plus(data), *_in_base64(data)}


def _in_base64(data: bytes) -> Iterator[str]:
    """
    What the base64 of any text has that contains this one. Only the letters at both ends depend on what is beside it; they are
    known where that is as in a Basic header, `user:password`.
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
