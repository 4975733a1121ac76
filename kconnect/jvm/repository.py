"""
A Maven repository over HTTP: its files, and what is said where it does not give them.

`KCONNECT_MAVEN` names it; without that it is Maven Central. Used by `maven.py`, and by `jars.py` for checksums.
"""

from __future__ import annotations

import http.client
import os
import re
import urllib.error
import urllib.request
from contextlib import suppress
from typing import IO, Any
from urllib.parse import urlsplit

from kconnect.errors import BadRequestError, ConnectError

CENTRAL = "https://repo1.maven.org/maven2/"
_TIMEOUT_S = 60.0
_SMALL = 2**16


def root() -> str:
    """The repository's URL, with the login of a mirror."""
    return os.environ.get("KCONNECT_MAVEN") or CENTRAL


class AbsentError(Exception):
    """The repository answers that it has no such file."""


def small_file(name: str) -> str | None:
    """The text of a file of the repository, such as a checksum; None if there is no such file."""
    with suppress(AbsentError), open_file(name) as answer:
        return text(answer, _SMALL)
    return None


def text(answer: IO[bytes], most: int) -> str:
    """Return the first `most` bytes of an open file as a text."""
    try:
        return answer.read(most).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        raise unreachable(error) from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """
    Follows none from https to anything else: who asks for https wants nobody on the way to choose what comes, or its checksum.
    """

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        old, new = (urlsplit(url).scheme.lower() for url in (req.full_url, newurl))
        if new not in ("http", "https") or (old == "https" and new != "https"):
            raise ConnectError(
                f"{without_login(req.full_url)} leads to {without_login(newurl)[:200]!r}, where others can change what "
                "comes: name a repository in KCONNECT_MAVEN that has its files itself, or keeps to https"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_file(name: str) -> IO[bytes]:
    """Return an open file of the repository. Raise AbsentError if there is none, ConnectError if it can't be reached."""
    url = root()
    if not re.match(r"(https?|file)://", url):
        raise BadRequestError(
            f"KCONNECT_MAVEN is {url!r}, which is not the URL of a repository: it must begin with https://, http:// or file:///"
        )
    request = urllib.request.Request(f"{url.rstrip('/')}/{name}", headers={"User-Agent": "kconnect"})
    try:
        answer: IO[bytes] = urllib.request.build_opener(_Redirects).open(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (404, 410):
            raise AbsentError from None
        raise ConnectError(
            f"{shown()}{name} can't be fetched: the repository answers {error.code} {_printable(error.reason)}. "
            "KCONNECT_MAVEN names another one"
        ) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, FileNotFoundError):
            raise AbsentError from None
        raise unreachable(reason) from None
    return answer


def _printable(text: object) -> str:
    """Return what a repository says without what a terminal would take for a command."""
    return "".join(letter for letter in str(text)[:100] if letter.isprintable())


def unreachable(reason: object) -> ConnectError:
    """Return the error for a repository that does not answer."""
    return ConnectError(
        f"{shown()} can't be reached from here ({reason}): connect to the network, set https_proxy, or name a mirror in "
        "KCONNECT_MAVEN"
    )


def shown() -> str:
    """The repository's URL as it is shown: a mirror's may have a password in it."""
    return without_login(root().rstrip("/") + "/")


def without_login(url: str) -> str:
    """Return a URL without user and password."""
    return re.sub(r"//[^/@]*@", "//", url)
