"""
The login to a service: none, a user's, or a token that another service gives (OAuth 2's client credentials, RFC 6749, 4.4).

A token serves all requests; a new one is asked for before its end, or if the service refuses it. Called by `service.py`, which
sends the request for it.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import orjson

from kconnect import normal_forms
from kconnect.api import ConnectError
from kconnect.connectors.http import settings
from kconnect.connectors.http.echoes import Echoes
from kconnect.connectors.limits import BrokenError, TooMuchError

_EARLY_S = 30.0
"""A token is renewed so long before its end."""
_USUAL_S, _LONGEST_S = 3600.0, 30 * 86_400.0
"""How long a token is good that does not say it, and how long at most."""
_LONGEST = 16 * 1024

Exchange = Callable[[httpx.Request], tuple[int, str, bytes]]
"""Sends a request: status, reason and body."""


class LoginError(ConnectError):
    """A failure to get a token, for a reason that does not pass."""


class PassingLoginError(ConnectError):
    """A failure to get a token for now."""


class Login:
    def __init__(self, config: Mapping[str, Any], echoes: Echoes) -> None:
        self._config, self._echoes = config, echoes
        self._kind: str = config[settings.AUTH].upper()
        self._token, self._end, self._is_fresh = "", 0.0, False

    @property
    def may_be_stale(self) -> bool:
        """Whether another token may do where this one was refused."""
        return self._kind == "OAUTH2" and not self._is_fresh

    def header(self, exchange: Exchange, renew: bool) -> str:
        """
        Return the value of the header Authorization; empty if there is none. LoginError, PassingLoginError or httpx's
        TransportError if there is no token. `renew`: the last one was refused.
        """
        if self._kind == "BASIC":
            return basic(self._config[settings.USER], self._config[settings.PASSWORD].value)
        if self._kind != "OAUTH2":
            return ""
        self._is_fresh = renew or not self._token or time.monotonic() >= self._end
        if self._is_fresh:
            self._ask(exchange)
        return f"Bearer {self._token}"

    def _ask(self, exchange: Exchange) -> None:
        where, name = _shown(self._config[settings.TOKEN_URL]), self._config[settings.TOKEN_PROPERTY]
        try:
            status, reason, body = exchange(self._request())
        except httpx.TransportError as error:
            raise PassingLoginError(f"{where}, which gives tokens, can't be reached: {type(error).__name__}") from None
        except BrokenError as error:
            raise PassingLoginError(f"{where}, which gives tokens: {error}") from None
        except TooMuchError as error:
            raise LoginError(f"{where} gives no token: {error}") from None
        if status >= 500 or status == 429:
            raise PassingLoginError(f"{where}, which gives tokens, answers {status}")
        if not 200 <= status < 300:
            raise LoginError(
                f"{where} gives no token, but answers {status} {reason}: check {settings.CLIENT_ID}, "
                f"{settings.CLIENT_SECRET} and {settings.SCOPE}"
            )
        try:
            answer = orjson.loads(body)
            token, lasts = answer[name], answer.get("expires_in", _USUAL_S)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LoginError(
                f"{where} gives no token: its answer has no {name}, which {settings.TOKEN_PROPERTY} names"
            ) from None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not 0 < len(token) <= _LONGEST:
            raise LoginError(f"{where} gives no token: what {settings.TOKEN_PROPERTY} names is no text that a header can have")
        self._token, self._end = token, time.monotonic() + _seconds(lasts) - _EARLY_S
        self._echoes.add(token)

    def _request(self) -> httpx.Request:
        config = self._config
        client, secret = config[settings.CLIENT_ID], config[settings.CLIENT_SECRET].value
        data = {"grant_type": "client_credentials", **({"scope": config[settings.SCOPE]} if config[settings.SCOPE] else {})}
        headers = {"Accept": "application/json"}
        if config[settings.CLIENT_MODE].lower() == "url":
            data |= {"client_id": client, "client_secret": secret}
        else:
            headers["Authorization"] = basic(client, secret)
        return httpx.Request("POST", config[settings.TOKEN_URL], data=data, headers=headers)


def basic(user: str, password: str) -> str:
    """Return the value of the header for HTTP Basic."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _seconds(lasts: Any) -> float:
    """Return how long a token is good. What is no number, or none that makes sense, is the usual time."""
    try:
        seconds = float(lasts)
    except (ValueError, TypeError, OverflowError):
        return _USUAL_S
    return min(seconds, _LONGEST_S) if math.isfinite(seconds) and seconds > _EARLY_S else _EARLY_S * 2


def _shown(url: str) -> str:
    parsed = normal_forms.split(url)
    return f"{parsed.scheme}://{parsed.netloc.rpartition('@')[2]}{parsed.path}"
