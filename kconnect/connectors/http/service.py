"""
The service: sends a request, logs in before it, and says what became of it.

Called by `sink.py` and `source.py`. Addresses in messages are without queries and passwords, which may be secret.
"""

from __future__ import annotations

import datetime
import email.utils
import ssl
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from kconnect.api import ConnectError
from kconnect.connectors.http import settings
from kconnect.connectors.http.requests import Request

_EARLY_S = 30.0
"""A token is renewed so long before its end."""
_SHOWN = 300


@dataclass(frozen=True)
class Answer:
    """
    What became of a request: `problem` is empty if the service took it, and then there is its `response`. A `passing` one may
    be over when it is made again, in `after_s` seconds if the service says so.
    """

    problem: str = ""
    passing: bool = False
    after_s: float = 0.0
    response: httpx.Response | None = None


class LoginError(ConnectError):
    """There is no token, for a reason that does not pass."""


class Service:
    """Connections to the service of a parsed config. ConnectError, naming the setting, if certificates can't be read."""

    def __init__(self, config: Mapping[str, Any], longest_s: float = float("inf")) -> None:
        self._retry_on = settings.codes(config[settings.RETRY_ON] or "")
        answer_s = min(config[settings.TIMEOUT] / 1000, longest_s)
        timeout = httpx.Timeout(answer_s, connect=min(config[settings.CONNECT_TIMEOUT] / 1000, longest_s))
        try:
            self._client = httpx.Client(
                auth=_login(config), timeout=timeout, verify=_tls(config), proxy=config[settings.PROXY] or None
            )
        except (ValueError, httpx.InvalidURL) as error:
            raise ConnectError(f"{settings.PROXY} is no URL of a proxy: {error}") from None

    def close(self) -> None:
        self._client.close()

    def send(self, request: Request) -> Answer:
        """LoginError if the service of tokens refuses to give one."""
        where = shown(request.url)
        try:
            response = self._client.request(
                request.method, request.url, headers=dict(request.headers), content=request.body, follow_redirects=False
            )
        except httpx.TransportError as error:
            return Answer(f"{where} {_reason(error)}", passing=not isinstance(error, httpx.UnsupportedProtocol))
        except httpx.InvalidURL as error:
            return Answer(f"{where} is no URL: {error}")
        if response.is_success:
            return Answer(response=response)
        problem = f"{where} answers {response.status_code} {response.reason_phrase}"
        said = " ".join(response.text.split())[:_SHOWN]
        passing = any(response.status_code in each for each in self._retry_on)
        return Answer(f"{problem}: {said}" if said else problem, passing, _after(response) if passing else 0.0)


class _ClientCredentials(httpx.Auth):
    """OAuth 2's client credentials (RFC 6749, 4.4): a token for all requests, a new one before its end, or if it is refused."""

    requires_response_body = True

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._token, self._end = "", 0.0

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        known = self._token if time.monotonic() < self._end else ""
        if not known:
            self._keep((yield self._request()))
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == 401 and known:
            self._keep((yield self._request()))
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _request(self) -> httpx.Request:
        config = self._config
        client, secret = config[settings.CLIENT_ID], config[settings.CLIENT_SECRET].value
        data = {"grant_type": "client_credentials", **({"scope": config[settings.SCOPE]} if config[settings.SCOPE] else {})}
        if config[settings.CLIENT_MODE].lower() == "url":
            return httpx.Request(
                "POST", config[settings.TOKEN_URL], data={**data, "client_id": client, "client_secret": secret}
            )
        made = httpx.Request("POST", config[settings.TOKEN_URL], data=data)
        return next(httpx.BasicAuth(client, secret).auth_flow(made))

    def _keep(self, response: httpx.Response) -> None:
        where, name = shown(self._config[settings.TOKEN_URL]), self._config[settings.TOKEN_PROPERTY]
        if response.status_code >= 500 or response.status_code == 429:
            raise httpx.ReadError(f"{where}, which gives tokens, answers {response.status_code}")
        try:
            found = response.raise_for_status().json()
            self._token = str(found[name])
            self._end = time.monotonic() + float(found.get("expires_in", 3600)) - _EARLY_S
        except httpx.HTTPStatusError:
            raise LoginError(
                f"{where} gives no token, but answers {response.status_code} {response.reason_phrase}: check "
                f"{settings.CLIENT_ID}, {settings.CLIENT_SECRET} and {settings.SCOPE}"
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LoginError(
                f"{where} gives no token: its answer has no {name}, which {settings.TOKEN_PROPERTY} names"
            ) from None


def _login(config: Mapping[str, Any]) -> httpx.Auth | None:
    kind = config[settings.AUTH].upper()
    if kind == "BASIC":
        return httpx.BasicAuth(config[settings.USER], config[settings.PASSWORD].value)
    return _ClientCredentials(config) if kind == "OAUTH2" else None


def _tls(config: Mapping[str, Any]) -> ssl.SSLContext | bool:
    authorities, certificate = config[settings.CA], config[settings.CERTIFICATE]
    if not authorities and not certificate:
        return True
    setting = settings.CA
    try:
        context = ssl.create_default_context(cafile=authorities or None)
        if certificate:
            setting = settings.CERTIFICATE
            context.load_cert_chain(certificate, config[settings.KEY] or None, password="")
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConnectError(f"The file of {setting} can't be used: {reason}") from None
    return context


def shown(url: str) -> str:
    """Without what may be secret."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        return "the address"
    port = f":{found.port}" if found.port else ""
    return f"{found.scheme}://{found.host}{port}{found.path}"


def _reason(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.TimeoutException):
        late = "can't be reached in time" if isinstance(error, httpx.ConnectTimeout) else "does not answer in time"
        return f"{late} ({settings.CONNECT_TIMEOUT if isinstance(error, httpx.ConnectTimeout) else settings.TIMEOUT})"
    return f"can't be reached: {error}"


def _after(response: httpx.Response) -> float:
    """The seconds of a Retry-After; 0 without one."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=datetime.timezone.utc)
    return max(0.0, (at - datetime.datetime.now(datetime.timezone.utc)).total_seconds())
