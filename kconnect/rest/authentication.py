"""
Who is calling, and whether they may: `Gate.refusal` is asked before a request's body is read.

`resource.py` and `app.py` ask it for each request, `worker/main.py` makes it where `rest.authentication.file` is set. Users
prove themselves with a password (Basic) or a token (Bearer). Read next: `credentials.py`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import ipaddress
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from kconnect.rest import errors
from kconnect.rest.credentials import SETTING, Caller, Credentials
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.notes import noted
from kconnect.rest.operation import Role
from kconnect.rest.sessions import Sessions
from kconnect.rest.turns import Turns

CONSOLE = "x-kconnect-console"
"""The header by which the console's requests are known: its browser is not to ask for a password by itself."""
_SESSION = 'Session realm="kconnect"'
_CHALLENGES = {"basic": 'Basic realm="kconnect", charset="UTF-8"', "token": 'Bearer realm="kconnect"'}
_WANTED = {"basic": "a user name and password (Basic)", "token": "a token (Bearer)"}
_BUCKETS = 8


class _TooMany(Exception):
    pass


class Gate:
    """
    Lets a request in, or says why not. For the event loops of all listeners.

    A wrong password and an unknown name get the same answer after the same work. Hashing happens in turns: a lane is a client's
    address and a random group of names, names that failed lately come last, and what finds its lane full is told to come again.
    So a flood of wrong passwords delays others little, and the cache spares those who came in before.
    """

    def __init__(self, file: CredentialsFile, methods: tuple[str, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self.file = file
        self.methods = methods
        self._remembered = _Remembered(clock)
        self._turns = Turns("rest-password")
        self.sessions = Sessions()

    async def refusal(self, http: HTTPConnection, role: Role) -> Response | None:
        """The answer to a caller who may not; None lets them in. Notes for the logs who it is."""
        if role is Role.ANYONE:
            return None
        caller = await self.caller(http, http.headers.get("authorization"))
        if isinstance(caller, Response):
            return caller
        if caller.role < role:
            needed, has = role.name.lower(), caller.role.name.lower()
            return _refused(403, f"This request needs the role {needed}; user {caller.name} has the role {has}.")
        return None

    async def caller(self, http: HTTPConnection, authorization: str | None) -> Caller | Response:
        """Return the caller whom the header authenticates, and note them for the logs; or the response to a failed login."""
        try:
            caller = None if authorization is None else await self._caller(http, authorization)
        except _TooMany:
            noted(http.scope)["failed_login"] = True
            text = "Too many logins at once from this address. Try again in a moment."
            return _refused(429, text, {"Retry-After": "1"})
        if caller is None:
            noted(http.scope)["failed_login"] = authorization is not None
            return self._unauthenticated(http, authorization is not None)
        noted(http.scope)["user"] = caller.name
        noted(http.scope)["role"] = caller.role.name.lower()
        return caller

    def _unauthenticated(self, http: HTTPConnection, tried: bool) -> Response:
        methods = " or ".join(_WANTED[method] for method in self.methods)
        text = "The user, password or token is wrong." if tried else "This worker needs a login."
        response = _refused(401, f"{text} Send {methods}.")
        for challenge in [_SESSION] if CONSOLE in http.headers else [_CHALLENGES[method] for method in self.methods]:
            response.headers.append("WWW-Authenticate", challenge)
        return response

    async def _caller(self, http: HTTPConnection, authorization: str) -> Caller | None:
        scheme, _, value = authorization.strip().partition(" ")
        credentials = self.file.current()
        if scheme.lower() == "bearer" and "token" in self.methods:
            return credentials.by_token(value.strip())
        pair = _pair(value.strip()) if scheme.lower() == "basic" and "basic" in self.methods else None
        if pair is None:
            return None
        caller = await self._by_password(credentials, http, *pair)
        if caller is None and pair[0] in credentials.passwords:
            # Only names that are known: people type passwords into the wrong field.
            noted(http.scope)["tried"] = pair[0]
        return caller

    async def _by_password(self, credentials: Credentials, http: HTTPConnection, name: str, password: str) -> Caller | None:
        key = self._remembered.key(credentials, name, password)
        is_remembered, caller = self._remembered.get(key)
        if is_remembered:
            return caller

        def check() -> Caller | None:
            caller = credentials.by_password(name, password)
            self._remembered.put(key, name, caller)
            return caller

        address = http.client.host if http.client is not None else ""
        lane = address, self._remembered.bucket(name)
        future = self._turns.submit(lane, key, check, last=self._remembered.has_failed(name))
        if future is None:
            raise _TooMany
        return await asyncio.shield(asyncio.wrap_future(future))


class _Remembered:
    """
    A cache of checked passwords, right and wrong, for a minute and one state of the file, under keyed hashes. It also remembers
    for which names a wrong password came, whether such users exist or not.
    """

    _KEPT_S = 60.0
    _KEPT = 1000
    """Of each kind, so that wrong ones never push out right ones."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._secret = os.urandom(32)
        self._lock = threading.Lock()
        self._found: dict[bool, OrderedDict[bytes, tuple[float, Caller | None]]] = {True: OrderedDict(), False: OrderedDict()}
        self._failed: OrderedDict[bytes, float] = OrderedDict()

    def key(self, credentials: Credentials, name: str, password: str) -> bytes:
        # The stand-in is another one each time that the file is read.
        state = credentials.stand_in.digest
        lengths = f"{len(name)}:{len(password)}:".encode()
        return hashlib.blake2b(state + lengths + name.encode() + password.encode(), key=self._secret, digest_size=32).digest()

    def bucket(self, name: str) -> int:
        return self._name(name)[0] % _BUCKETS

    def has_failed(self, name: str) -> bool:
        with self._lock:
            return self._failed.get(self._name(name), 0.0) > self._clock()

    def _name(self, name: str) -> bytes:
        return hashlib.blake2b(name.encode(), key=self._secret, digest_size=16).digest()

    def get(self, key: bytes) -> tuple[bool, Caller | None]:
        """Whether it is known, and who it is, if anybody."""
        with self._lock:
            for callers in self._found.values():
                until, caller = callers.get(key, (0.0, None))
                if until > self._clock():
                    return True, caller
        return False, None

    def put(self, key: bytes, name: str, caller: Caller | None) -> None:
        until = self._clock() + self._KEPT_S
        with self._lock:
            self._keep(self._found[caller is not None], key, (until, caller))
            if caller is None:
                self._keep(self._failed, self._name(name), until)

    def _keep(self, entries: OrderedDict[bytes, Any], key: bytes, value: object) -> None:
        entries[key] = value
        entries.move_to_end(key)
        while len(entries) > self._KEPT:
            entries.popitem(last=False)


def warnings(listeners: Iterable[str], authentication: bool) -> list[str]:
    """Return warnings for an operator about these listeners."""
    reachable = [url for url in listeners if not _is_loopback(url)]
    if not authentication:
        text = (
            f"%s can be reached from other machines without a login: whoever reaches it may change connectors. Set {SETTING}, "
            "or listen on 127.0.0.1 only."
        )
        return [text % url for url in reachable]
    text = "Passwords and tokens cross the network unencrypted on %s: use https://, or a proxy that does TLS."
    return [text % url for url in reachable if not url.strip().lower().startswith("https:")]


def _is_loopback(url: str) -> bool:
    host = urlsplit(url.strip()).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _pair(value: str) -> tuple[str, str] | None:
    try:
        name, colon, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (name, password) if colon else None


def _refused(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return Response(errors.body(status, message), status, headers, media_type="application/json")
