"""
A real browser for the console's tests: Chromium, driven by Playwright, and TypeScript's compiler on Playwright's own Node.

`scripts/setup --browser` runs this module, which installs Chromium where that can be done: as root on Debian. Playwright's own
browsers are not used.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import playwright
from playwright.sync_api import Browser, sync_playwright

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock
from tests.rig.systems import debian

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Without these it looks for servers of its maker, at each start.
_QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic")
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", *_QUIET)
_TYPESCRIPT = "https://registry.npmjs.org/typescript/-/typescript-5.9.3.tgz"
_TYPESCRIPT_SHA256 = "10e108c9cf7d5f2879053dff18515fb405abf2ccef63eaaf017d9c571687a1d3"


def find() -> Path | None:
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return None if found is None else Path(found)


def find_or_install(install: bool = False) -> Path:
    """ConnectError if there is none; it says what to install."""
    found = find()
    if found is None and install and debian.can_install():
        with lock.hold(jars.cache_dir() / "chromium.lock"):
            if find() is None:
                debian.install("chromium")
        found = find()
    if found is None:
        raise ConnectError("Chromium was not found: install it, on Debian with `apt-get install chromium`")
    return found


@contextmanager
def opened(program: Path, *arguments: str) -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=[*_ARGUMENTS, *arguments])
        try:
            yield browser
        finally:
            browser.close()


def check_types(folder: Path) -> str:
    """What TypeScript's compiler complains of in a folder with a jsconfig.json; "" if nothing."""
    node = Path(playwright.__file__).parent / "driver" / "node"
    command = [str(node), str(_typescript() / "bin" / "tsc"), "-p", str(folder / "jsconfig.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"exit status {done.returncode}")


def _typescript() -> Path:
    place = jars.cache_dir() / "typescript-5.9.3"
    with lock.hold(jars.cache_dir() / "typescript.lock"):
        if not place.exists():
            archive, new = place.with_suffix(".tgz"), place.with_suffix(".new")
            urllib.request.urlretrieve(_TYPESCRIPT, archive)
            if hashlib.sha256(archive.read_bytes()).hexdigest() != _TYPESCRIPT_SHA256:
                raise ConnectError(f"{_TYPESCRIPT} is not what it was")
            shutil.rmtree(new, ignore_errors=True)
            with tarfile.open(archive) as packed:
                packed.extractall(new, filter="data")
            archive.unlink()
            (new / "package").rename(place)
            new.rmdir()
    return place


if __name__ == "__main__":
    try:
        find_or_install(install=True)
    except ConnectError as error:
        sys.exit(str(error))
