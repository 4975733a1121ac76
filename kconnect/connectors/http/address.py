"""
Addresses with `${…}` in them, of which a record or a service fills in the parts, and the config decides the rest.

Scheme, user, host and port are the config's, and so is how many segments the path has: a part is one segment, or a piece of
one, whatever it is. The address is compared after parsing, as httpx reads it. Used by `requests.py` and `pages.py`; what a
segment may be is decided in `../names.py`.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Collection
from typing import Any

import httpx

from kconnect.api import ConfigError, DataError
from kconnect.connectors import names

_PART = re.compile(r"\$\{([^{}]*)\}")
_ORIGIN = re.compile(r"https?://[^/?#\\]*[/?#]", re.IGNORECASE)
_X = "x"
"""What stands for every part while the config is read."""


def origin_of(url: httpx.URL) -> tuple[str, str, int]:
    """Return scheme, host and port, the port also where the address does not name it."""
    return url.scheme, url.host.lower(), url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


class Address:
    """
    The address of a config. `known` are the names of parts; what else is in `${…}` stays as it is. None: all names are parts.
    With `empty`, a segment of a path may be empty.
    """

    def __init__(self, setting: str, text: str, known: Collection[str] | None = None, empty: bool = False) -> None:
        """Raise ConfigError if a part stands before the path: the config decides which server is asked."""
        self.text, self._empty = text, empty
        self._pieces: list[tuple[bool, str]] = []
        """Each with whether it is the name of a part."""
        for number, piece in enumerate(_PART.split(text)):
            is_part = number % 2 == 1 and (known is None or piece in known)
            self._pieces.append((is_part, piece if is_part or number % 2 == 0 else f"${{{piece}}}"))
        self.is_constant = not any(is_part for is_part, _ in self._pieces)
        self.in_path: frozenset[str] = frozenset()
        """The names of the parts that are in the path, and not in the query."""
        if self.is_constant:
            return
        if not _ORIGIN.match(self._before_parts()):
            raise ConfigError(
                setting, _public(text), "${…} may stand in its path and its query only: the config says which host is asked"
            )
        self._segments = self._of_path()
        self.in_path = frozenset(piece for segment in self._segments for is_part, piece in segment if is_part)
        try:
            self._fixed = _shape(self._joined(lambda name: _X))
        except httpx.InvalidURL as error:
            raise ConfigError(setting, _public(text), f"It is no URL: {error}") from None
        self._newest = ""

    def fill(self, read: Callable[[str], str]) -> str:
        """Return the address with what `read` gives for each name. DataError if it would be another one than the config's."""
        if self.is_constant:
            return self.text
        texts: dict[str, str] = {}

        def once(name: str) -> str:
            if name not in texts:
                texts[name] = read(name)
            return texts[name]

        for segment in self._segments:
            names.check_segment("".join(once(piece) if is_part else piece for is_part, piece in segment), self._empty)
        url = self._joined(lambda name: urllib.parse.quote(once(name), safe=""))
        if url != self._newest:
            try:
                shape = _shape(url)
            except httpx.InvalidURL as error:
                raise DataError(f"It makes no address: {error}") from None
            if shape != self._fixed:
                raise DataError("It makes an address with another host or path than the config's")
            self._newest = url
        return url

    def _joined(self, write: Callable[[str], str]) -> str:
        return "".join(write(piece) if is_part else piece for is_part, piece in self._pieces)

    def _before_parts(self) -> str:
        text = ""
        for is_part, piece in self._pieces:
            if is_part:
                break
            text += piece
        return text

    def _of_path(self) -> list[list[tuple[bool, str]]]:
        """The segments that have a part, with what else they have, decoded."""
        segments: list[list[tuple[bool, str]]] = [[]]
        place = len(self._before_parts()) - len(re.sub(r"^https?://[^/?#\\]*", "", self._before_parts(), flags=re.IGNORECASE))
        for is_part, piece in self._pieces:
            if is_part:
                segments[-1].append((True, piece))
                continue
            text, place = piece[place:], max(0, place - len(piece))
            path = re.split(r"[?#]", text, maxsplit=1)
            first, *rest = re.split(r"[/\\]", path[0])
            segments[-1].append((False, urllib.parse.unquote(first)))
            segments += [[(False, urllib.parse.unquote(following))] for following in rest]
            if len(path) > 1:
                break
        return [segment for segment in segments if any(is_part for is_part, _ in segment)]


def _public(text: str) -> str:
    """Return it without user, password and query, which may be secret."""
    return re.sub(r"//[^/?#]*@", "//", text).partition("?")[0]


def _shape(text: str) -> tuple[Any, ...]:
    url = httpx.URL(text)
    path, question, _ = url.raw_path.partition(b"?")
    return url.scheme, url.userinfo, url.host, url.port, path.count(b"/"), bool(question), bool(url.fragment)
