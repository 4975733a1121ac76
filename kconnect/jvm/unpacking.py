"""
Archives, jars and folders of Java plugins, made one directory of jars: as vendors pack them, and nothing outside of it.

Called by `plugins/java_installation.py`. An archive may hold its jars at its top or in a folder, with documents and a
`manifest.json` (Confluent Hub) beside them; folders around all of it are taken away. What would land elsewhere is refused.
"""

from __future__ import annotations

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
from typing import IO

from kconnect.errors import BadRequestError

ENDINGS = (".zip", ".tar.gz", ".tgz")

_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError)
_RUBBISH = (".DS_Store", "__MACOSX")
"""What macOS adds."""


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def names(archive: Path) -> list[str]:
    """The files in it. BadRequestError if it can't be read to its end."""
    with _reading(archive):
        return [name for name, _ in _members(archive)]


def unpack(archive: Path, directory: Path) -> None:
    """
    Everything in an archive, into a directory that is there and empty.

    Raises:
        BadRequestError: it is damaged, or a member would be outside of the directory, is a link, or is no file
    """
    with _reading(archive):
        for name, source in _members(archive):
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
    _lift(directory)


def copy(source: Path, directory: Path) -> None:
    """A jar, or all that is in a folder; of links there, what they lead to."""
    if source.is_dir():
        try:
            shutil.copytree(source, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_RUBBISH))
        except (shutil.Error, OSError) as error:
            found = error.args[0][0][2] if isinstance(error, shutil.Error) else error
            raise BadRequestError(f"{source} can't be copied: {found}") from None
        _lift(directory)
    else:
        shutil.copyfile(source, directory / source.name)


def manifest(directory: Path) -> tuple[str, str] | None:
    """Name and version by Confluent Hub's `manifest.json`; None without one that has both."""
    try:
        found = json.loads((directory / "manifest.json").read_text("utf-8"))
        name, version = found["name"], found["version"]
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


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Its files by their paths; their content must be read before the next one is asked for."""
    if archive.name.lower().endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                _refuse(archive, info.filename, stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR))
                if not info.is_dir() and not _is_rubbish(info.filename):
                    yield info.filename, packed.open(info)
    else:
        with tarfile.open(archive, "r:gz") as opened:
            for member in opened:
                _refuse(archive, member.name, not (member.isreg() or member.isdir()))
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
