"""
Stores: where files go, and what their errors mean.

A file is sent when it is whole, by one request or by parts that the store puts together at the end, so that nobody ever sees
half of one. Parts of a file that can't be sent are given up by obstore. Opened by `opening.py`. HDFS, which obstore does not
know, is in `hadoop.py`.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import itertools
import logging
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import obstore
from obstore import exceptions
from obstore.store import S3Store, from_url

from kconnect.api import ConfigError
from kconnect.connectors import names
from kconnect.connectors.host_files import AstrayError, HostFiles
from kconnect.connectors.objects import listing, options, settings
from kconnect.connectors.objects.asking import Asker
from kconnect.connectors.objects.local_files import LocalFiles

log = logging.getLogger(__name__)

_PROBE = ".kconnect"
_PIECE = 1 << 20
_TIMES = 10
"""How many times the timeout of one answer a store may take until it lists another file."""
_LONGEST = 300
_NO_LIMITS = HostFiles({})
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>(?:<Message>([^<]*)</Message>)?")
_REASON = re.compile(r"(?:HTTP error: |source: )?(error sending request|operation timed out|[Cc]onnection \w+|dns error[^\n]*)")


class Listed(NamedTuple):
    name: str
    modified: datetime.datetime


def moment(seconds: float) -> datetime.datetime:
    """Return a point in time, or the nearest one that Python has: whoever puts a file somewhere may give it any."""
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    except (ValueError, OverflowError, OSError):
        end = datetime.datetime.max if seconds > 0 else datetime.datetime.min
        return end.replace(tzinfo=datetime.timezone.utc)


class Store:
    """A store that obstore knows. What its methods raise is in `ERRORS`."""

    _top: str | None = None
    """Where the store is, if it is a folder of this machine."""
    _bucket: Any = None
    """An `s3_names.Bucket`, which asks S3 for names without obstore."""
    _is_odd = _has_warned = False
    """Whether names are there that obstore can't list, and whether that was told."""

    def __init__(
        self, config: Mapping[str, Any], props: Mapping[str, str], longest_s: float, files: HostFiles = _NO_LIMITS
    ) -> None:
        url: str = config[settings.STORE] or f"s3://{config[settings.BUCKET]}"
        user_options = options.given(props, files)
        folder = options.local_path(url)
        if folder is not None:
            files.check(settings.STORE, folder)
        self._files = files
        self._top = None if folder is None else os.path.realpath(folder)
        self._files_here = None if folder is None else LocalFiles(folder, self._leads_out)
        timeout_s = min(config[settings.TIMEOUT] / 1000, longest_s)
        self._longest_s = timeout_s * _TIMES
        self._asker = Asker(config[settings.ANSWER_SIZE])
        client: dict[str, Any] = {
            "timeout": f"{timeout_s:g}s",
            "connect_timeout": f"{min(timeout_s, 10):g}s",
            **user_options.client,
        }
        self.shown = url.partition("?")[0]
        try:
            if url.startswith(("s3://", "s3a://")):
                self._store: Any = self._s3(url.partition("://")[2], config, user_options.store, client)
            elif folder is not None:
                self._store = from_url(url, mkdir=True)
            else:
                make: Any = from_url
                self._store = make(url, config=user_options.store, client_options=client, retry_config={"max_retries": 0})
        except exceptions.UnknownConfigurationKeyError as error:
            raise ConfigError(settings.STORE, url, f"An option that the store has not: {_line(error)}") from None
        except (exceptions.BaseError, ValueError, OSError) as error:
            raise ConfigError(settings.STORE, url, f"It can't be used: {_line(error)}") from None

    def _s3(self, place: str, config: Mapping[str, Any], more: dict[str, str], client: dict[str, Any]) -> Any:
        bucket, _, prefix = place.strip("/").partition("/")
        store_options, allows_http = options.of_s3(config)
        if allows_http is not None:
            client.setdefault("allow_http", allows_http)
        make: Any = S3Store
        # What its retries are to be, this sink knows.
        merged = {**store_options, **more}
        self._bucket = _bucket_of(bucket, prefix, merged, client, self._longest_s / _TIMES)
        return make(bucket, prefix=prefix or None, config=merged, client_options=client, retry_config={"max_retries": 0})

    def put(self, name: str, file: Path) -> None:
        """Send a whole file; what was there under that name is replaced."""
        if self._top is not None:
            self._put_here(self._top, name, file)
        else:
            self._asker.ask(lambda: obstore.put_async(self._store, name, file))

    def interrupt(self) -> None:
        """End a request that is under way, and make none any more. Called from another thread."""
        self._asker.end()
        if self._bucket is not None:
            self._bucket.end()

    def names(self, folder: str, stopped: Callable[[], bool] = lambda: False) -> Iterator[Listed]:
        """All files in a folder, and in those in it, or some of them once `stopped` says so."""
        if self._files_here is not None and not {".", ".."} & set(folder.split("/")):
            for name, status in self._files_here.names(folder):
                yield Listed(name, moment(status.st_mtime))
            return
        last: str | None = None
        if not self._is_odd:
            try:
                for some in listing.lots(self._store, self._asker, folder or None, 1000, self._longest_s, stopped):
                    for entry in some:
                        last = entry["path"]
                        yield Listed(entry["path"], entry["last_modified"])
                return
            except exceptions.InvalidPathError:
                if self._bucket is None or not self._bucket.can_ask:
                    raise
        self._is_odd = False
        for name, modified in self._bucket_names(folder, stopped):
            # Up to there they were told. If that one is gone by now, the others come with the next list.
            if last is None:
                yield Listed(name, modified)
            elif name == last:
                last = None

    def _bucket_names(self, folder: str, stopped: Callable[[], bool]) -> Iterator[Any]:
        """Yield the files of a bucket without obstore, and say once that others are passed over."""

        def pass_over(name: str) -> None:
            self._is_odd = True
            if not self._has_warned:
                log.warning(
                    "%s has %s, and perhaps others: a file with two slashes beside each other, a dot segment or a control "
                    "character in its name is passed over",
                    self.shown,
                    names.shown(name),
                )
            self._has_warned = True

        assert self._bucket is not None
        yield from self._bucket.names(folder, self._longest_s, stopped, pass_over)

    def get(self, name: str, file: BinaryIO) -> None:
        """Write a file's bytes into a local one. AstrayError if a link of this machine leads out of the store."""
        if self._top is not None:
            self._get_here(self._top, name, file)
            return
        answer = self._asker.ask(lambda: obstore.get_async(self._store, name))
        for chunk in answer.stream():
            file.write(chunk)

    def _leads_out(self, path: str) -> bool:
        return self._top is not None and self._files.leads_out(self._top, path)

    # A folder of this machine: by descriptors, so that nobody puts a link in place of a folder in between.

    def _put_here(self, top: str, name: str, file: Path) -> None:
        folder, last = os.path.split(os.path.join(top, name))
        with self._files.folder(settings.STORE, top, folder, makes=True) as place, open(file, "rb") as source:
            part, descriptor = _created(place, last)
            try:
                with open(descriptor, "wb") as target:
                    shutil.copyfileobj(source, target, _PIECE)
                os.replace(part, last, src_dir_fd=place, dst_dir_fd=place)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=place)
                raise

    def _get_here(self, top: str, name: str, file: BinaryIO) -> None:
        path = os.path.join(top, name)
        folder, last = os.path.split(self._files.check_link(settings.STORE, top, path))
        with self._files.folder(settings.STORE, top, folder) as place:
            try:
                descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise AstrayError(settings.STORE, path, "A link has taken the file's place") from None
                raise
        with open(descriptor, "rb") as source:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileNotFoundError(errno.ENOENT, "It is no file any more", name)
            while piece := source.read(_PIECE):
                file.write(piece)

    def look(self) -> None:
        """Whether files can be listed."""
        # Whoever may put files there may have put one of which obstore can make no name: then they can be listed.
        with contextlib.suppress(exceptions.InvalidPathError):
            for _ in listing.lots(self._store, self._asker, None, 1, self._longest_s):
                break

    def probe(self) -> None:
        """Whether files can be listed, or else written."""
        try:
            self.look()
        except DENIED as error:
            if "InvalidAccessKey" in str(error) or "SignatureDoesNotMatch" in str(error):
                raise
            # Who may only write is asked to.
            self._asker.ask(lambda: obstore.put_async(self._store, _PROBE, b""))
            self._asker.ask(lambda: _deleted(self._store))

    def setting_of(self, error: Exception) -> str:
        """The setting that the store complains of."""
        text = str(error)
        if "NoSuchBucket" in text or isinstance(error, FileNotFoundError):
            return settings.BUCKET
        if isinstance(error, DENIED) or "AccessKey" in text:
            return settings.ACCESS_KEY
        return settings.ENDPOINT


def _bucket_of(name: str, prefix: str, options: Mapping[str, Any], client: Mapping[str, Any], timeout_s: float) -> Any:
    """Return what asks for names without obstore; None if its client is not installed."""
    try:
        from kconnect.connectors.objects.s3_names import Bucket
    except ImportError:
        return None
    return Bucket(name, prefix, options, client, timeout_s)


def _created(place: int, name: str) -> tuple[str, int]:
    """Make a file beside another one, in a folder, and return its name: one that is not listed, since it is not whole."""
    for number in itertools.count(1):
        part = f"{name}#{number}"
        with contextlib.suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return part, os.open(part, flags, 0o666, dir_fd=place)
    raise AssertionError


async def _deleted(store: Any) -> bool:
    await obstore.delete_async(store, _PROBE)
    return True


DENIED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)

ERRORS: tuple[type[Exception], ...] = (exceptions.BaseError, OSError)
"""What a store raises."""


def is_absent(error: BaseException) -> bool:
    """Whether there is no such file."""
    return isinstance(error, exceptions.NotFoundError | FileNotFoundError)


def is_unnameable(error: BaseException) -> bool:
    """Whether obstore can make no name of what a store has, such as two slashes beside each other, and so lists nothing."""
    return isinstance(error, exceptions.InvalidPathError)


def passes(error: Exception) -> bool:
    """Whether another try may succeed."""
    if isinstance(error, FileNotFoundError | PermissionError):
        return False
    if isinstance(error, (*DENIED, exceptions.NotFoundError, exceptions.InvalidPathError)):
        return False
    status = _STATUS.search(str(error))
    return status is None or status[1] in ("408", "409", "425", "429") or status[1] >= "500"


def reason(error: Exception) -> str:
    """Return the reason in one line, without what a request had."""
    text = str(error)
    code = _CODE.search(text)
    if code is not None:
        return f"{code[1]}: {code[2]}"[:_LONGEST] if code[2] else code[1][:_LONGEST]
    status = _STATUS.search(text)
    if status is not None:
        return f"status {status[1]}"
    match = _REASON.search(text)
    return match[1] if match is not None else _line(error)


def _line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0][:_LONGEST]
