"""
Archives, jars and folders of Java plugins, made one directory of jars: as vendors pack them, and nothing outside of it.

Called by `plugins/java_installation.py`. An archive may hold its jars at its top or in a folder, with documents and a
`manifest.json` (Confluent Hub) beside them; folders around all of it are taken away. What would land elsewhere is refused.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NoReturn

from kconnect.errors import BadRequestError

ENDINGS = (".zip", ".tar.gz", ".tgz")

_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
_FILES = 100_000
_LONGEST_NAME = 1024
_HEADER = 2**20
"""Bytes of a header in a tar archive: long names, and what else tools note of a file."""
_RATIO, _FLOOR = 200, 64 * 2**20
"""How much more than itself an archive may hold, and what any may. Jars are packed already: of plugins it is less than 2."""
MOST_BYTES = 4 * 2**30
"""What an archive may hold unless the user allows more. Most plugins have 30 to 150 MB."""

_CHUNK = 2**18
_RUBBISH = (".DS_Store", "__MACOSX")
"""What macOS adds."""


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def names(archive: Path, most: int | None = None) -> list[str]:
    """
    The files in an archive.

    Raises:
        BadRequestError: it can't be read to its end, or holds more than it may
    """
    limit = _Limit(archive, most)
    with _reading(archive):
        return [name for name, _ in _members(archive, limit)]


def unpack(archive: Path, directory: Path, most: int | None = None) -> None:
    """
    Everything in an archive, into a directory that is there and empty. `most` bytes may be in it, however small it is; None:
    as many as archives of plugins have.

    Raises:
        BadRequestError: it is damaged, holds more than it may, or a member would be outside of the directory, is a link, or is
            no file
    """
    limit = _Limit(archive, most)
    with _reading(archive):
        for name, source in _members(archive, limit):
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with source, target.open("wb") as file:
                while data := source.read(_CHUNK):
                    limit.count(len(data))
                    file.write(data)
    _lift(directory)


class _Limit:
    """The limits of one archive: bytes, files, and the length of names."""

    def __init__(self, archive: Path, most: int | None) -> None:
        self._archive = archive
        self.most = min(MOST_BYTES, max(_FLOOR, _RATIO * archive.stat().st_size)) if most is None else most
        self._bytes = self._files = 0

    def count(self, content: int) -> None:
        self._bytes += content
        self.check(self._bytes)

    def check(self, content: int) -> None:
        if content > self.most:
            self.refuse(f"it holds more than {self.most} bytes", "allow more with --max-bytes")

    def member(self, name: str) -> None:
        self._files += 1
        if self._files > _FILES:
            self.refuse(f"it holds more than {_FILES} files")
        if len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
            self.refuse(f"a name in it has more than {_LONGEST_NAME} bytes: {name[:60]!r}...")

    def refuse(self, rule: str, more: str = "") -> NoReturn:
        raise BadRequestError(
            f"{self._archive} is refused: {rule}, though it has {self._archive.stat().st_size} bytes itself. If it is what you "
            f"want, {f'{more}, or ' if more else ''}unpack it yourself, look at it, and install the folder"
        )


class _Unzipped:
    """A tar archive's content, as a file that is read as far as it may be long."""

    def __init__(self, file: gzip.GzipFile, limit: _Limit) -> None:
        self._file, self._limit = file, limit

    def read(self, size: int = -1) -> bytes:
        # Headers are read whole, whatever length they say they have; files in pieces.
        if size < 0 or size > _HEADER:
            self._limit.refuse(f"a header in it has more than {_HEADER} bytes")
        data = self._file.read(size)
        self._limit.check(self._file.tell())
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._limit.check(offset if whence == io.SEEK_SET else self.tell() + offset)
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def copy(source: Path, directory: Path) -> None:
    """A jar, or all that is in a folder; of links there, what they lead to."""
    if source.is_dir():
        try:
            shutil.copytree(source, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_RUBBISH))
        except (shutil.Error, OSError) as error:
            reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error
            raise BadRequestError(f"{source} can't be copied: {reason}") from None
        _lift(directory)
    else:
        shutil.copyfile(source, directory / source.name)


def manifest(directory: Path) -> tuple[str, str] | None:
    """Name and version by Confluent Hub's `manifest.json`; None without one that has both."""
    try:
        content = json.loads((directory / "manifest.json").read_text("utf-8"))
        name, version = content["name"], content["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (name, version) if isinstance(name, str) and isinstance(version, str) else None


def _lift(directory: Path) -> None:
    """Take away folders that hold all the rest, as long as there is one."""
    while True:
        children = list(directory.iterdir())
        if len(children) != 1 or not children[0].is_dir():
            return
        # Under a name that nothing in it can have.
        aside = directory.with_name(f"{directory.name}.lifted")
        children[0].rename(aside)
        directory.rmdir()
        aside.rename(directory)


@contextmanager
def _reading(archive: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise BadRequestError(f"{archive} is damaged or not whole ({error}): download it again") from None
    except RuntimeError as error:
        raise BadRequestError(f"{archive} can't be unpacked: {error}") from None
    except OSError as error:
        # gzip's own error is one, without a number.
        if error.errno is None:
            raise BadRequestError(f"{archive} is damaged or not whole ({error}): download it again") from None
        raise BadRequestError(f"{archive} can't be unpacked: {error}") from None


def _members(archive: Path, limit: _Limit) -> Iterator[tuple[str, IO[bytes]]]:
    """Its files by their paths; their content must be read before the next one is asked for."""
    if archive.name.lower().endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            # Members may overlap, so that a small archive holds any number of large ones.
            limit.check(sum(info.file_size for info in packed.infolist()))
            for info in packed.infolist():
                limit.member(info.filename)
                _refuse(archive, info.filename, stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR))
                if not info.is_dir() and not _is_rubbish(info.filename):
                    yield info.filename, packed.open(info)
    else:
        with gzip.open(archive) as file, tarfile.open(fileobj=_Unzipped(file, limit), mode="r:") as opened:  # type: ignore[call-overload]
            for member in opened:
                limit.member(member.name)
                if member.size < 0:
                    # Some readers would go back and come here for ever.
                    limit.refuse(f"its member {member.name!r} has less than no bytes")
                _refuse(archive, member.name, not (member.isreg() or member.isdir()) or member.issparse())
                content = opened.extractfile(member) if member.isreg() else None
                if content is not None and not _is_rubbish(member.name):
                    yield member.name, content


def _refuse(archive: Path, name: str, special: bool) -> None:
    path = PurePosixPath(name)
    if special:
        rule = "is a link or a device, and a plugin has files and folders only"
    elif path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name:
        rule = "would land outside of the plugin's directory"
    else:
        return
    raise BadRequestError(
        f"{archive} is refused: its member {name!r} {rule}. Get the plugin from another place, or unpack it "
        "yourself, look at it, and install the folder"
    )


def _is_rubbish(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any(part in _RUBBISH or part.startswith("._") for part in parts) or os.path.basename(name) == ""
