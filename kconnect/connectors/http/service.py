"""
The service: sends a request, logs in before it, and says what became of it.

Called by `sink.py` and `source.py`. Addresses in messages are without queries and passwords, which may be secret, and what the
service says is shown without what was sent to it. Read next: `login.py`, `bodies.py`, `dialer.py`.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from kconnect import small_files
from kconnect.api import ConnectError
from kconnect.connectors.addresses import is_metadata_service, is_public
from kconnect.connectors.http import bodies, links, settings, source_settings
from kconnect.connectors.http.dialer import Dialer
from kconnect.connectors.http.echoes import Echoes
from kconnect.connectors.http.login import Login, PassingLoginError
from kconnect.connectors.http.requests import Request
from kconnect.connectors.libraries import UNSAFE
from kconnect.connectors.limits import BrokenError, TooMuchError

_METADATA = "cloud.metadata"
_SHOWN = 300
_LONGEST_ERROR = 16 * 1024
"""Of what a service says when it refuses a request, so many bytes are read."""
_DRAINED, _DRAIN_S = 64 * 1024, 1.0
"""Of an answer that nobody needs so much is read, for so long, to keep the connection."""
_MOST_COOKIES = 100
_FAULTS = (UnicodeError, ValueError, TypeError, OverflowError, httpx.InvalidURL, httpx.LocalProtocolError)
"""What httpx raises for a request that can't be sent as it is."""


@dataclass(frozen=True)
class Response:
    """An answer of success, read."""

    status_code: int
    content: bytes
    following: str | None
    """The address of the next page, as the header Link of the answer says it."""
    url: httpx.URL


@dataclass(frozen=True)
class Answer:
    """
    The outcome of a request: `problem` is empty if the service took it, and then there is its `response`. A `passing` problem
    may be over when the request is made again, in `after_s` seconds if the service says so.
    """

    problem: str = ""
    passing: bool = False
    after_s: float = 0.0
    response: Response | None = None


class Service:
    """
    Connections to the service of a parsed config. `worker` is what a connector or a task is told of its worker's settings.
    ConnectError, naming the setting, if certificates can't be read.
    """

    def __init__(self, config: Mapping[str, Any], worker: Mapping[str, str], longest_s: float = float("inf")) -> None:
        self._config = config
        self._any_address = _METADATA in (name.strip() for name in worker.get(UNSAFE, "").split(","))
        self._retry_on = settings.codes(config[settings.RETRY_ON] or "")
        self._answer_s = min(config[settings.TIMEOUT] / 1000, longest_s)
        self._connect_s = min(config[settings.CONNECT_TIMEOUT] / 1000, longest_s)
        self._longest_wait_s: float = config[settings.MAX_WAIT] / 1000
        self._most: int = config[settings.MAX_BYTES]
        self._echoes = Echoes(config)
        self._login = Login(config, self._echoes)
        self._dialer = Dialer(self._allows)
        self._client = self._made(self._dialer, _tls(config))
        self._elsewhere: tuple[Dialer, httpx.Client] | None = None
        """The client for other origins, which has no login, cookies or certificate, and what dials for it."""

    def _made(self, dialer: Dialer, verify: ssl.SSLContext | bool) -> httpx.Client:
        timeout = httpx.Timeout(self._answer_s, connect=self._connect_s)
        try:
            client = httpx.Client(timeout=timeout, verify=verify, proxy=self._config[settings.PROXY] or None)
        except (ValueError, httpx.InvalidURL) as error:
            raise ConnectError(f"{settings.PROXY} is no URL of a proxy: {self._echoes.hide(str(error))}") from None
        client.headers["Accept-Encoding"] = bodies.ACCEPTED
        dialer.attach(client)
        return client

    def _allows(self, address: str) -> bool:
        return self._any_address or not is_metadata_service(address)

    def _allows_elsewhere(self, address: str) -> bool:
        return self._allows(address) and (self._config.get(source_settings.ORIGINS_INTERNAL, False) or is_public(address))

    def interrupt(self) -> None:
        """End a request that is under way, and make none any more. Called from another thread."""
        self._dialer.interrupt()
        if self._elsewhere is not None:
            self._elsewhere[0].interrupt()

    def close(self) -> None:
        self._client.close()
        if self._elsewhere is not None:
            self._elsewhere[1].close()

    def send(self, request: Request, keep: bool = True, cut: bool = False) -> Answer:
        """
        Send a request. LoginError if the service of tokens refuses to give one. With `keep=False` the answer's body is not
        needed; with `cut` the begin of a long one will do.
        """
        dialer, client = self._to_elsewhere(request) if request.elsewhere else (self._dialer, self._client)
        headers = dict(request.headers)
        try:
            for again in (False, True):
                if not request.elsewhere:
                    login = self._login.header(
                        lambda http_request: self._exchange(http_request, settings.TOKEN_URL), renew=again
                    )
                    if login:
                        headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
                        headers["Authorization"] = login
                try:
                    http_request = client.build_request(request.method, request.url, headers=headers, content=request.body)
                    dialer.begin(self._answer_s)
                    response = client.send(http_request, stream=True, auth=None, follow_redirects=False)
                except _FAULTS as error:
                    return Answer(f"{shown(request.url)} can't be asked: {self._said(str(error))}")
                if response.status_code == 401 and not again and not request.elsewhere and self._login.may_be_stale:
                    response.close()
                    continue
                with contextlib.closing(response):
                    return self._answer(request, response, dialer, keep, cut)
        except PassingLoginError as error:
            return Answer(str(error), passing=True)
        except httpx.TransportError as error:
            if dialer.refused and not request.elsewhere:
                return Answer(
                    f"{shown(request.url)} can't be asked: {dialer.refused} has an address at which a machine gets its own "
                    f"login from its cloud. To allow it, add {_METADATA} to the worker's {UNSAFE}"
                )
            if dialer.refused:
                return Answer(
                    f"The address of {shown(request.url)} is not one of the internet: {source_settings.ORIGINS_INTERNAL}=true "
                    "allows that"
                )
            final = isinstance(error, httpx.UnsupportedProtocol)
            return Answer(f"{shown(request.url)} {self._said(_reason(error))}", passing=not final)
        raise AssertionError("the second round returns")

    def _exchange(self, http_request: httpx.Request, setting: str) -> tuple[int, str, bytes]:
        """Make another request on the way, as for a token: its status, its reason and its body, or what can be had of it."""
        self._dialer.begin(self._answer_s)
        response = self._client.send(http_request, stream=True, auth=None, follow_redirects=False)
        with contextlib.closing(response):
            body = bodies.read(response, settings.MAX_BYTES, min(self._most, 1024 * 1024))
        return response.status_code, self._said(response.reason_phrase), body

    def _answer(self, request: Request, response: httpx.Response, dialer: Dialer, keep: bool, cut: bool) -> Answer:
        where = shown(request.url)
        if len(self._client.cookies.jar) > _MOST_COOKIES:
            self._client.cookies.clear()
        if response.is_success:
            if keep and not cut and _is_part(request, response):
                return Answer(f"{where} answers 206, with a part of the bytes only, though it was asked for the whole")
            try:
                body = self._body(response, dialer, keep, cut)
            except BrokenError as error:
                return Answer(f"{where} answers {response.status_code}, but {error}", passing=True)
            except TooMuchError as error:
                return Answer(f"{where} answers {response.status_code}, but {error}")
            return Answer(
                response=Response(response.status_code, body, links.following(response.headers.get_list("link")), response.url)
            )
        problem = f"{where} answers {response.status_code} {self._said(response.reason_phrase)}"
        excerpt = ""
        # What can't be read of it is not needed.
        with contextlib.suppress(httpx.TransportError, BrokenError, TooMuchError):
            dialer.hurry(self._connect_s)
            body = bodies.read(response, settings.MAX_BYTES, _LONGEST_ERROR, cut=True)
            excerpt = self._said(body.decode("utf-8", "replace"))
        passing = any(response.status_code in codes for codes in self._retry_on)
        problem = f"{problem}: {excerpt}" if excerpt else problem
        if not passing:
            return Answer(problem)
        wished_s = _after(response)
        if wished_s > self._longest_wait_s:
            problem = (
                f"{problem}. It asks to wait until later than {settings.MAX_WAIT} allows, which is "
                f"{self._longest_wait_s * 1000:.0f}"
            )
        return Answer(problem, True, min(wished_s, self._longest_wait_s))

    def _body(self, response: httpx.Response, dialer: Dialer, keep: bool, cut: bool) -> bytes:
        if keep:
            return bodies.read(response, settings.MAX_BYTES, self._most, cut)
        with contextlib.suppress(httpx.TransportError, BrokenError, TooMuchError):
            # The service has taken the request: what else it says does not matter.
            dialer.hurry(_DRAIN_S)
            bodies.read(response, settings.MAX_BYTES, _DRAINED, cut=True)
        return b""

    def _to_elsewhere(self, request: Request) -> tuple[Dialer, httpx.Client]:
        if self._elsewhere is None:
            dialer = Dialer(self._allows_elsewhere)
            self._elsewhere = dialer, self._made(dialer, _tls(self._config, certificate=False))
        dialer, client = self._elsewhere
        client.cookies.clear()
        by_proxy = client._transport_for_url(httpx.URL(request.url)) is not client._transport
        if by_proxy and not self._config.get(source_settings.ORIGINS_INTERNAL, False):
            raise ConnectError(
                f"{shown(request.url)} is reached by a proxy, which resolves its name by itself, so nobody can tell whether "
                f"its address is one of the internet: {source_settings.ORIGINS_INTERNAL}=true allows that"
            )
        return dialer, client

    def _said(self, text: str) -> str:
        """Return what a service has said, in one line, without what was sent to it."""
        plain = " ".join(self._echoes.hide(text).split())[:_SHOWN]
        return "".join(letter if letter.isprintable() else "?" for letter in plain)


def _tls(config: Mapping[str, Any], certificate: bool = True) -> ssl.SSLContext | bool:
    authorities, certificate_file = config[settings.CA], config[settings.CERTIFICATE] if certificate else ""
    if not authorities and not certificate_file:
        return True
    setting = settings.CA
    try:
        for setting in (settings.CA, settings.CERTIFICATE, settings.KEY) if certificate else (settings.CA,):
            if config[setting]:
                small_files.read(config[setting])
        setting = settings.CA
        context = ssl.create_default_context(cafile=authorities or None)
        if certificate_file:
            setting = settings.CERTIFICATE
            context.load_cert_chain(certificate_file, config[settings.KEY] or None, password="")
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConnectError(f"The file of {setting} can't be used: {reason}") from None
    return context


def shown(url: str) -> str:
    """Return the address without what may be secret."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the address"
    port = f":{parsed.port}" if parsed.port else ""
    return f"{parsed.scheme}://{parsed.host}{port}{parsed.path}"


def _reason(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.TimeoutException):
        late = "can't be reached in time" if isinstance(error, httpx.ConnectTimeout) else "does not answer in time"
        return f"{late} ({settings.CONNECT_TIMEOUT if isinstance(error, httpx.ConnectTimeout) else settings.TIMEOUT})"
    return f"can't be reached: {error}"


_SECONDS = re.compile("[0-9]+")


def _is_part(request: Request, response: httpx.Response) -> bool:
    """
    Return whether an answer has a part of the bytes, of which nobody has asked for one. Services that count in records may
    answer 206, too: these have all bytes of what was asked for.
    """
    unit = response.headers.get("content-range", "").strip().lower()
    asked = any(name.lower() == "range" for name in request.headers)
    return response.status_code == 206 and unit.startswith("bytes") and not asked


def _after(response: httpx.Response) -> float:
    """The seconds of a Retry-After, which may be infinitely many; 0 without one."""
    text = response.headers.get("Retry-After", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text) if len(text) < 20 else float("inf")
    try:
        at = email.utils.parsedate_to_datetime(text)
        at = at if at.tzinfo else at.replace(tzinfo=datetime.timezone.utc)
        return max(0.0, (at - datetime.datetime.now(datetime.timezone.utc)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        # No date, or one that is none of the years 1 to 9999.
        return 0.0
