"""
Checksums of what a Maven repository sends: the strongest one that it has, and none only where nobody can have changed the file.

Called by `maven.py` for archives of plugins, and by `jars.py` for jars that Ivy has fetched. Over https the repository vouches
for what it sends, and a file on this machine is what it is. Over plain http a file without a checksum is refused.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from kconnect.errors import ConnectError

log = logging.getLogger(__name__)

KINDS = ("sha512", "sha256", "sha1")
"""The endings of files with checksums, the strongest first. Maven Central has SHA-1 of every file, and the others of some."""
_CHUNK = 2**20

Fetch = Callable[[str], "str | None"]
"""Returns the text of a small file of the repository, by its name; None if there is no such file."""


def is_plain(url: str) -> bool:
    """Whether others on the way can change what a URL gives."""
    return urlsplit(url).scheme.lower() not in ("https", "file")


def verify(file: Path, name: str, url: str, fetch: Fetch) -> None:
    """
    Compare a file that was fetched with its checksum. `name` is its name in the repository, and `url` for messages.

    Raises:
        ConnectError: it has another content than the checksum says, or came over plain http without one
    """
    for kind in KINDS:
        right = _hexadecimal(fetch(f"{name}.{kind}") or "", kind)
        if right is None:
            continue
        digest = _digest(file, kind)
        if digest != right:
            raise ConnectError(
                f"{url} was damaged on its way: its {_shown(kind)} is {digest}, and must be {right}. Run this again"
            )
        return
    if is_plain(url):
        raise ConnectError(
            f"{url} came over plain http, and the repository has no checksum of it (.{', .'.join(KINDS)}): anybody on the way "
            "may have changed it. Use a repository with https, or one that has checksums; or get the file in another way, and "
            "install it from your disk"
        )
    if not url.startswith("file:"):
        log.warning("%s has no checksum in its repository: it is taken as it came, over https", url)


def _hexadecimal(text: str, kind: str) -> str | None:
    """The checksum in the text, in whatever form tools have written it; None if there is none."""
    length = hashlib.new(kind, usedforsecurity=False).digest_size * 2
    match = re.search(rf"(?<![0-9a-f])[0-9a-f]{{{length}}}(?![0-9a-f])", text.lower())
    return None if match is None else match[0]


def _digest(file: Path, kind: str) -> str:
    digest = hashlib.new(kind, usedforsecurity=False)
    with file.open("rb") as content:
        while data := content.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()


def _shown(kind: str) -> str:
    return f"SHA-{kind[3:]}"
