"""
Echoes: what was sent to a service and is secret, for it to be hidden where the service says it again.

Errors of services quote requests: headers, addresses, logins. A status, a log or a dead letter is read by people who may not
know these. Kept by `service.py`.
"""

from __future__ import annotations

import base64
import binascii
import collections
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from kconnect import normal_forms
from kconnect.connectors.http import settings
from kconnect.data.secret_texts import forms, hide

_SHORTEST = 4
"""A shorter one may be a part of any word, and is guessed anyway."""
_KEPT = 10
"""Tokens that were given one after the other; a service may quote an old one."""
_PLAIN = frozenset(
    ("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-type", "user-agent", "prefer")
)
"""Headers whose values are no secrets."""
_SECRET_PARAMETER = re.compile(r"key|token|secret|pass|pwd|sig|auth|cred|code", re.IGNORECASE)


class Echoes:
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._forms = {form for text in _secrets(config) if len(text) >= _SHORTEST for form in forms(text)}
        self._given: collections.deque[set[str]] = collections.deque(maxlen=_KEPT)

    def add(self, token: str) -> None:
        """Hide this one, too."""
        if len(token) >= _SHORTEST:
            self._given.append(forms(token))

    def hide(self, text: str) -> str:
        """Return the text without what was sent."""
        return hide(text, self._forms.union(*self._given))


def _secrets(config: Mapping[str, Any]) -> Iterator[str]:
    for name in (settings.PASSWORD, settings.CLIENT_SECRET):
        yield config[name].value
    for name in (settings.URL, settings.TOKEN_URL, settings.PROXY):
        yield from _in_url(config[name])
    for header in filter(None, config[settings.HEADERS].value.split(config[settings.SEPARATOR])):
        name, _, value = header.partition(":")
        if name.strip().lower() in _PLAIN:
            continue
        for text in re.split(r"\$\{[^{}]*\}", value):
            yield text.strip()
            yield from _of_header(text.strip())


def _of_header(value: str) -> Iterator[str]:
    """Yield what is behind the scheme of an Authorization, and the password in a Basic one."""
    scheme, _, rest = value.partition(" ")
    if rest:
        yield rest.strip()
    if scheme.lower() == "basic":
        try:
            login = base64.b64decode(rest.strip(), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        yield login.partition(":")[2]


def _in_url(text: str) -> Iterator[str]:
    try:
        parsed = normal_forms.split(text)
        password = parsed.password
    except ValueError:
        return
    if password:
        yield from (password, urllib.parse.unquote(password))
    for name, value in urllib.parse.parse_qsl(parsed.query):
        if _SECRET_PARAMETER.search(name) and not value.startswith("${"):
            yield value
