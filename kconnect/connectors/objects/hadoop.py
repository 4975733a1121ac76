"""
HadoopStore: files in HDFS, by its web address (WebHDFS), so that no machine of ours needs Hadoop.

A file is written beside its place under a name that begins with a dot, and then renamed: nobody sees half of it. Opened by
`opening.py`. Errors become obstore's, of which `stores.py` knows what they mean.
"""

from __future__ import annotations

import datetime
import logging
import os
import posixpath
import re
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import requests
from hdfs import client
from hdfs.util import HdfsError
from obstore import exceptions
from requests.adapters import HTTPAdapter

from kconnect import deadlines, normal_forms
from kconnect.api import ConfigError
from kconnect.connectors.interrupts import Kept
from kconnect.connectors.objects import settings
from kconnect.connectors.objects.stores import DENIED, Listed, Store, moment

log = logging.getLogger(__name__)

_URL = re.compile(r"(s?)webhdfs://([^/?#@]+)(/[^?#]*)?")
_PORT = {"": "9870", "s": "9871"}
_PART = ".part"
_CONNECT_S = 10.0
_CHUNK, _PIECE = 1 << 20, 1 << 16
_API = "/webhdfs/v1/"
_MOST_REDIRECTS, _DEEPEST = 3, 100
_MOST_BYTES = 256 * 1024 * 1024
"""A folder of half a million files."""
_TIMES = 10
"""How many times the timeout of one answer's part all of it may take."""
_KINDS = {
    "FileNotFoundException": exceptions.NotFoundError,
    "AccessControlException": exceptions.PermissionDeniedError,
    "AuthorizationException": exceptions.PermissionDeniedError,
    "SecurityException": exceptions.UnauthenticatedError,
    "InvalidPathException": exceptions.InvalidPathError,
    "InvalidToken": exceptions.UnauthenticatedError,
}
_REFUSED = "Authentication failure"
"""How the client begins what it says of an answer with 401."""


class HadoopStore(Store):
    def __init__(self, config: Mapping[str, Any], longest_s: float) -> None:
        url: str = config[settings.STORE]
        match = _URL.fullmatch(url)
        if match is None:
            text = "It must be webhdfs://host:port/folder; more name nodes are separated by commas, swebhdfs:// is with TLS"
            raise ConfigError(settings.STORE, url, text)
        secure, hosts, folder = match[1], match[2], match[3] or "/"
        self.shown = url
        self._folder = posixpath.normpath(folder)
        self._has_warned = False
        timeout_s = min(config[settings.TIMEOUT] / 1000, longest_s)
        named = [host if ":" in host else f"{host}:{_PORT[secure]}" for host in hosts.split(",")]
        addresses = ";".join(f"http{secure}://{host}" for host in named)
        session = _Session()
        if config[settings.TOKEN].value:
            session.params = {"delegation": config[settings.TOKEN].value}
        elif config[settings.USER]:
            session.params = {"user.name": config[settings.USER]}
        self._client = _Client(addresses, timeout=(min(timeout_s, _CONNECT_S), timeout_s), session=session)

    def interrupt(self) -> None:
        """Do nothing: each answer has an end (`_TIMES`)."""

    def put(self, name: str, file: Path) -> None:
        path = self._path(name)
        folder, base = posixpath.split(path)
        part = posixpath.join(folder, f".{base}{_PART}")
        with open(file, "rb") as data, _translated():
            self._client.write(part, data=data, overwrite=True)
            self._client.replace(part, path)

    def names(self, folder: str, stopped: Callable[[], bool] = lambda: False) -> Iterator[Listed]:
        top = self._path(folder)
        places = [(top, 0)]
        while places and not stopped():
            place, depth = places.pop()
            for base, status in self._entries(place):
                path = posixpath.join(place, base)
                if not base or base in (".", "..") or "/" in base:
                    raise exceptions.GenericError("the name node says that a folder has a file without a name")
                kind, modified = _of_entry(status)
                if kind == "DIRECTORY" and depth < _DEEPEST:
                    places.append((path, depth + 1))
                elif kind == "DIRECTORY":
                    self._warn_once(place)
                elif not (base.startswith(".") and base.endswith(_PART)):
                    yield Listed(self._name(path), modified)

    def _entries(self, place: str) -> list[tuple[str, Any]]:
        with _translated():
            try:
                entries: list[tuple[str, Any]] = self._client.list(place, status=True)
            except HdfsError as error:
                # A folder that nobody has written to, or that is gone by now.
                if error.exception != "FileNotFoundException":
                    raise
                return []
        return entries

    def _warn_once(self, place: str) -> None:
        if not self._has_warned:
            text = "%s: folders are nested more than %d times in %.80r: what is further down is left alone"
            log.warning(text, self.shown, _DEEPEST, place)
        self._has_warned = True

    def get(self, name: str, file: BinaryIO) -> None:
        with _translated(), self._client.read(self._path(name), chunk_size=_CHUNK) as chunks:
            parts = iter(chunks)
            while True:
                with self._client.in_time():
                    chunk = next(parts, None)
                if chunk is None:
                    return
                file.write(chunk)

    def look(self) -> None:
        with _translated():
            self._client.status(self._folder, strict=False)

    def probe(self) -> None:
        """Write a file, so that the data node that takes it is tried, too."""
        path = self._path(f".kconnect-{socket.gethostname()}-{threading.get_native_id()}")
        with _translated():
            self._client.write(path, data=b"")
            self._client.delete(path)

    def setting_of(self, error: Exception) -> str:
        if isinstance(error, exceptions.InvalidPathError):
            # Such as a colon in a field that names folders.
            return settings.PARTITIONER
        return settings.USER if isinstance(error, DENIED) else settings.STORE

    def _path(self, name: str) -> str:
        return posixpath.join(self._folder, name)

    def _name(self, path: str) -> str:
        return posixpath.relpath(path, self._folder)


class _Session(requests.Session):
    """
    Follows a name node to data nodes only: it may name any host, for they are its own, but no other service there. Answers are
    not packed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept()
        self.max_redirects = _MOST_REDIRECTS
        self.headers["Accept-Encoding"] = "identity"
        for scheme in ("http://", "https://"):
            self.mount(scheme, self.kept.watch(HTTPAdapter()))

    def request(self, method: str, url: str | bytes, *arguments: Any, **more: Any) -> requests.Response:
        _check_place(str(url))
        return super().request(method, url, *arguments, **more)

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if target is not None:
            try:
                place = normal_forms.joined(resp.url, target)
            except ValueError as error:
                raise exceptions.GenericError(f"the name node names an address that is none: {error}") from None
            _check_place(place)
        return target


def _check_place(url: str) -> None:
    """Raise GenericError for an address at which there is no WebHDFS."""
    parts = normal_forms.split(url)
    path = urllib.parse.unquote(parts.path)
    if parts.scheme not in ("http", "https") or not f"{path}/".startswith(_API) or "/../" in f"{path}/":
        raise exceptions.GenericError("the name node names an address that is no data node's")


class _Client(client.Client):  # type: ignore[misc]
    def _request(self, method: str, url: str, **more: Any) -> requests.Response:
        """Request as the client does, but read answers that are not files within limits of size and time."""
        is_file = more.pop("stream", False)
        with self.in_time(_size(more.get("data"))):
            return self._answer(method, url, is_file, **more)

    def in_time(self, size: int = 0) -> AbstractContextManager[None]:
        """
        Have whatever waits for a node end, once it takes too long in all. `size` is how much is sent, of which each part has
        the time of an answer's part.
        """
        seconds = self._timeout[1] * (_TIMES + size / _CHUNK)
        return deadlines.within(seconds, self._session.kept.shut_down, lambda: requests.Timeout("it takes too long"))

    def _answer(self, method: str, url: str, is_file: bool, **more: Any) -> requests.Response:
        answer: requests.Response = super()._request(method, url, stream=True, **more)
        packed = answer.headers.get("Content-Encoding", "identity").strip().lower()
        if packed != "identity":
            answer.close()
            raise exceptions.GenericError(f"its answer is packed ({packed[:20]!a}), which was not asked for")
        if not (is_file and answer.ok):
            answer._content = _whole(answer, time.monotonic() + self._timeout[1] * _TIMES)
        return answer

    def resolve(self, hdfs_path: str) -> str:
        """Return the path as it is: the folder of a field may have what the client replaces."""
        return hdfs_path

    def replace(self, path: str, destination: str) -> None:
        """Rename it, over what is there."""
        self._rename(path, destination=destination, renameoptions="OVERWRITE")


def _size(data: Any) -> int:
    """Return how many bytes a request has, as far as they are known: files are sent as they are."""
    return os.fstat(data.fileno()).st_size if hasattr(data, "fileno") else len(data or b"")


def _whole(answer: requests.Response, end: float) -> bytes:
    data = bytearray()
    with answer:
        for piece in answer.iter_content(_PIECE):
            data += piece
            if len(data) > _MOST_BYTES:
                raise exceptions.GenericError(f"its answer has more than {_MOST_BYTES} bytes")
            if time.monotonic() > end:
                raise exceptions.GenericError(f"its answer takes more than {_TIMES} times what {settings.TIMEOUT} says")
    return bytes(data)


def _of_entry(status: Any) -> tuple[str, datetime.datetime]:
    """Return the kind and the time of what is in a folder. GenericError if they are none. 1970 is the time of what has none."""
    try:
        return str(status["type"]), moment(status.get("modificationTime", 0) / 1000)
    except (AttributeError, LookupError, TypeError, OverflowError):
        raise exceptions.GenericError("what the name node says of a file is none") from None


@contextmanager
def _translated() -> Iterator[None]:
    """Without addresses, which may have a token."""
    try:
        yield
    except HdfsError as error:
        first_line = str(error).partition("\n")[0]
        # Some exceptions of Java have no message.
        text = first_line if first_line != "None" else f"{error.exception}"
        kind = exceptions.UnauthenticatedError if text.startswith(_REFUSED) else _KINDS.get(error.exception)
        raise (kind or exceptions.GenericError)(text) from None
    except requests.Timeout:
        raise exceptions.GenericError("operation timed out") from None
    except requests.ConnectionError:
        raise exceptions.GenericError("error sending request") from None
    except requests.RequestException as error:
        raise exceptions.GenericError(type(error).__name__) from None
