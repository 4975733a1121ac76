"""
Java plugins from a Maven repository: the archive that a project publishes for Kafka Connect, or its jar and what that needs.

Called by `plugins/java_installation.py`. Many projects publish an archive with all jars of a plugin, with the classifier
`plugin`; what has none is resolved by the Ivy of `jars.py`, without what Connect's class loaders take from the worker anyway.
Read next: `repository.py`, `checksums.py`, `unpacking.py`.
"""

from __future__ import annotations

import http.client
import re
import shutil
import ssl
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from kconnect.errors import BadRequestError, ConnectError, NotFoundError
from kconnect.java import versions
from kconnect.jvm import checksums, jars, repository
from kconnect.jvm.repository import AbsentError

FRAMEWORK = (
    *(("org.apache.kafka", f"connect-{part}") for part in ("api", "runtime", "json", "transforms")),
    ("org.apache.kafka", "kafka-clients"),
    *(("org.slf4j", f"slf4j-{part}") for part in ("api", "simple", "nop", "jdk14", "log4j12", "reload4j")),
    ("ch.qos.logback", "logback-classic"),
    ("org.apache.logging.log4j", "log4j-slf4j-impl"),
    ("org.apache.logging.log4j", "log4j-slf4j2-impl"),
)
"""What every plugin has from the worker: Connect, its client and the log. What only these need is left out with them."""

_ENDINGS = (".tar.gz", ".zip")
_CHUNK = 2**18
_SHOWN = 6
_METADATA = 2**22
_MOST = 4 * 2**30
"""Bytes of an archive. The largest known have some hundred million."""
_LONGEST_S = 3600.0
"""For one archive: a repository that sends a byte a minute keeps nobody for ever."""

Tell = Callable[[str], None]
"""Hears what is being done."""


class Coordinates(NamedTuple):
    """The coordinates of an artefact in Maven's words."""

    group: str
    artefact: str
    version: str

    def __str__(self) -> str:
        return ":".join(self)

    @property
    def folder(self) -> str:
        """The folder of all versions, below the repository's root."""
        return f"{self.group.replace('.', '/')}/{self.artefact}"

    @property
    def stem(self) -> str:
        """The beginning of its files' paths."""
        return f"{self.folder}/{self.version}/{self.artefact}-{self.version}"


def coordinates(text: str) -> Coordinates | None:
    """
    Parse `text` as Maven coordinates. Return None if it looks like something else: no colon, a URL, a path.

    BadRequestError if they are none.
    """
    if ":" not in text or "/" in text or "@" in text or " " in text:
        return None
    parts = text.split(":")
    if len(parts) != 3 or not all(re.fullmatch(r"[A-Za-z0-9_][\w.+-]*", part, re.ASCII) for part in parts):
        raise BadRequestError(
            f"{text!r} is not a Maven coordinate: write group:artefact:version, such as org.apache.kafka:connect-file:4.3.1"
        )
    parsed = Coordinates(*parts)
    if parsed[:2] in FRAMEWORK:
        raise BadRequestError(f"{text} is not a plugin to install: it is a part of Kafka Connect, which every worker has")
    return parsed


def archive(wanted: Coordinates, directory: Path, tell: Tell) -> Path | None:
    """
    The plugin's archive, fetched into a directory and compared with its checksum; None if the project publishes none.

    Raises:
        ConnectError: the repository can't be reached, or what came is not what it has
    """
    for ending in _ENDINGS:
        name = f"{wanted.stem}-plugin{ending}"
        with suppress(AbsentError), repository.open_file(name) as answer:
            target = directory / name.rpartition("/")[2]
            _save(answer, target, tell)
            checksums.verify(target, name, _shown(name, answer), repository.small_file)
            return target
    return None


def jar(wanted: Coordinates, directory: Path, tell: Tell) -> Path:
    """
    The artefact's own jar alone, put into a directory.

    Raises:
        NotFoundError: there is no such artefact, or not in that version; it says which there are
        ConnectError: the repository can't be reached, or what it sends is damaged
    """
    name = f"{wanted.stem}.jar"
    try:
        answer = repository.open_file(name)
    except AbsentError:
        raise NotFoundError(_absent(wanted)) from None
    with answer:
        target = directory / name.rpartition("/")[2]
        _save(answer, target, tell)
        checksums.verify(target, name, _shown(name, answer), repository.small_file)
    return target


def jars_of(wanted: Coordinates, directory: Path, tell: Tell) -> None:
    """
    The artefact's jar and those that it needs at run time, put into a directory, but for the framework's.

    Raises:
        NotFoundError: there is no such artefact, or not in that version; it says which there are
        ConnectError: no Java, or the repository can't be reached
    """
    try:
        repository.open_file(f"{wanted.stem}.pom").close()
    except AbsentError:
        raise NotFoundError(_absent(wanted)) from None
    with tempfile.TemporaryDirectory(prefix="kconnect-maven-") as cache:
        # A cache of its own: a plugin's directory is the only place where its jars are kept.
        directory_of_jars = jars.resolve(
            wanted.artefact, [str(wanted)], lambda done, total, what: tell(f"Fetching {what}"), Path(cache), FRAMEWORK
        )
        for jar in sorted(directory_of_jars.glob("*.jar")):
            shutil.move(jar, directory / jar.name)


def _absent(coordinates: Coordinates) -> str:
    offered: list[str] = []
    with suppress(AbsentError), repository.open_file(f"{coordinates.folder}/maven-metadata.xml") as answer:
        # Of what the repository says only what may be a version gets to somebody's terminal.
        offered = re.findall(r"<version>\s*([\w.+-]{1,100})\s*</version>", repository.text(answer, _METADATA), re.ASCII)
    if not offered:
        return (
            f"{repository.shown()} has no {coordinates.group}:{coordinates.artefact}: check the spelling, or name the "
            "repository that has it in KCONNECT_MAVEN"
        )
    newest = versions.oldest_first(offered)[::-1][:_SHOWN]
    return (
        f"{repository.shown()} has no version {coordinates.version} of {coordinates.group}:{coordinates.artefact}; it has "
        f"{', '.join(newest)}{' and older ones' if len(offered) > len(newest) else ''}"
    )


def _save(answer: IO[bytes], target: Path, tell: Tell) -> None:
    size, ends_at = 0, time.monotonic() + _LONGEST_S
    length = getattr(answer, "headers", {}).get("Content-Length") or ""
    length = length if re.fullmatch("[0-9]{1,18}", length) else ""
    total = f" of {int(length) / 1e6:.0f}" if length else ""
    with target.open("wb") as file:
        try:
            while data := answer.read(_CHUNK):
                size += len(data)
                if size > _MOST or time.monotonic() > ends_at:
                    raise ConnectError(
                        f"{target.name} has more than {_MOST} bytes, or takes longer than {_LONGEST_S:.0f} s. "
                        "Get it in another way, and install it from your disk"
                    )
                file.write(data)
                tell(f"Fetching {target.name}: {size / 1e6:.0f}{total} MB")
        except (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError) as error:
            raise repository.unreachable(error) from None
    if length and size != int(length):
        raise ConnectError(f"{target.name} was cut off after {size} of {length} bytes: run this again")


def _shown(name: str, answer: IO[bytes]) -> str:
    """The address of a file, as it is shown; that which it came from if it is a less safe one."""
    came_from = str(getattr(answer, "url", ""))
    return repository.without_login(came_from) if checksums.is_plain(came_from) else f"{repository.shown()}{name}"
