"""
Logins of browsers: a cookie that stands for what its user has typed once.

The cookie holds the name and password, or the token, sealed with a key that only this worker has, for as long as it lives. So
nothing is remembered here but the cookies of those who have logged out, a page's scripts never see it, and a request that this
worker sends on is its user's still. Opened by `resource.py` before anybody asks who is calling, handed out by `console.py`.
Read next: `authentication.py`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress

from starlette.requests import HTTPConnection
from starlette.types import Scope

LIFETIME_S = 12 * 3600
_MOST, _MOST_ENDED = 4096, 10_000
OPENED = "kconnect.session"
"""Is in the scope of a request whose login was in a cookie."""


def cookie_name(scope: Scope) -> str:
    """Browsers send cookies to all ports of a host, where another worker may be."""
    return f"kconnect_session_{scope['server'][1]}"


class Sessions:
    """The sessions of one worker. Another worker, or this one after a restart, knows none of its cookies."""

    def __init__(self, lifetime_s: int = LIFETIME_S) -> None:
        # 9 MB, which a worker without logins does not need.
        from cryptography.fernet import Fernet

        self._fernet = Fernet(Fernet.generate_key())
        self._lifetime_s = lifetime_s
        self._ended: dict[bytes, None] = {}
        """The cookies of those who have logged out, which are valid for some hours still, the newest last."""

    def cookie(self, authorization: str) -> str:
        """The value that stands for this header's."""
        return self._fernet.encrypt(authorization.encode()).decode()

    def opened(self, scope: Scope) -> Scope:
        """The request with the header that its cookie stands for. As it is, if it has one, or if the cookie is not good."""
        http = HTTPConnection(scope)
        cookies, name = http.headers.get("cookie", ""), cookie_name(scope)
        if name not in cookies or "authorization" in http.headers:
            return scope
        authorization = self._authorization(cookies, name)
        if authorization is None:
            return scope
        return {**scope, "headers": [*scope["headers"], (b"authorization", authorization)], OPENED: True}

    def end(self, scope: Scope) -> None:
        """Take a request's session back: somebody may have kept a copy of its cookie."""
        cookies, name = HTTPConnection(scope).headers.get("cookie", ""), cookie_name(scope)
        for value, _ in self._valid(cookies, name):
            # One that comes twice is the newest again.
            self._ended.pop(value, None)
            self._ended[value] = None
        while len(self._ended) > _MOST_ENDED:
            self._ended.pop(next(iter(self._ended)), None)

    def _authorization(self, cookies: str, name: str) -> bytes | None:
        """
        Return the content of the first valid cookie with that name. A program on another port of the host may have set others,
        with any content: they log nobody out.
        """
        return next((content for value, content in self._valid(cookies, name) if value not in self._ended), None)

    def _valid(self, cookies: str, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Yield the cookies of that name which this worker has made and which are not too old, with their content."""
        from cryptography.fernet import InvalidToken

        for cookie in cookies.split(";"):
            key, _, value = cookie.strip().partition("=")
            if key == name and len(value) <= _MOST:
                with suppress(UnicodeError, InvalidToken):
                    sealed = value.strip('"').encode("ascii")
                    content = self._fernet.decrypt(sealed, self._lifetime_s)
                    yield base64.urlsafe_b64decode(sealed), content
