"""
Java's own stores (JKS, JCEKS), read by Java's own `keytool`: it is there wherever such a store is, and takes a quarter of a
second.

Why not pyjks: its last release is of 2020, and it needs a cipher in C that has to be compiled.

Called by `stores.py`, once for a store, when a worker starts. A password goes to keytool in its environment, which only this
user can read, and never on its command line.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_LIMIT_S = 60
# Its texts are read, so they must be in English; it runs for a moment only.
_JVM = ("-J-Duser.language=en", "-J-Duser.country=US", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
_STORE, _KEY, _NEW = "KCONNECT_STORE_PASSWORD", "KCONNECT_KEY_PASSWORD", "KCONNECT_NEW_PASSWORD"
_WRONG_PASSWORD = re.compile(r"password was incorrect|Cannot recover key|UnrecoverableKey|BadPadding", re.IGNORECASE)


class KeytoolError(Exception):
    """Keytool did not do it; the text is its own, in one line."""

    @property
    def wrong_password(self) -> bool:
        return _WRONG_PASSWORD.search(str(self)) is not None


@dataclass(frozen=True)
class Entry:
    """An entry of a store; `certificates` are PEM, the key's own first."""

    alias: str
    is_key: bool
    certificates: str


def entries(path: str, kind: str, password: str | None) -> list[Entry]:
    """All keys and trusted certificates. Without a password the store is read, but not checked."""
    password_option = () if password is None else ("-storepass:env", _STORE)
    listed = _run("-list", "-rfc", "-keystore", path, "-storetype", kind, *password_option, passwords={_STORE: password})
    listed_entries = []
    for part in re.split(r"^Alias name: ", listed, flags=re.MULTILINE)[1:]:
        alias, _, rest = part.partition("\n")
        is_key = re.search(r"^Entry type: PrivateKeyEntry", rest, re.MULTILINE) is not None
        listed_entries.append(Entry(alias.rstrip("\r"), is_key, rest))
    return listed_entries


def converted(path: str, kind: str, password: str, alias: str, key_password: str) -> tuple[bytes, str]:
    """Return a key with its certificates as a PKCS12 store, and that store's password, which is new each time."""
    new = secrets.token_urlsafe(24)
    # Only this user can look into the directory, and what is in it is encrypted.
    with tempfile.TemporaryDirectory(prefix="kconnect-") as directory:
        target = Path(directory, "key.p12")
        source = ("-srckeystore", path, "-srcstoretype", kind, "-srcstorepass:env", _STORE)
        entry = ("-srcalias", alias, "-srckeypass:env", _KEY)
        destination = ("-destkeystore", str(target), "-deststoretype", "PKCS12", "-deststorepass:env", _NEW)
        passwords = {_STORE: password, _KEY: key_password, _NEW: new}
        _run("-importkeystore", "-noprompt", *source, *entry, *destination, "-destkeypass:env", _NEW, passwords=passwords)
        return target.read_bytes(), new


def _run(*arguments: str, passwords: Mapping[str, str | None]) -> str:
    environment = {**os.environ, **{name: value for name, value in passwords.items() if value is not None}}
    try:
        process = subprocess.run(
            [_program(), *_JVM, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except OSError as error:
        raise KeytoolError(f"it can't be run ({error.strerror})") from None
    except subprocess.TimeoutExpired:
        raise KeytoolError(f"it did not end within {_LIMIT_S} s") from None
    if process.returncode != 0:
        text = " ".join((process.stdout + process.stderr).split())
        raise KeytoolError(text.partition("keytool error: ")[2] or text)
    return process.stdout


def _program() -> str:
    """Return the path of keytool, beside the Java that runs the rest: that of `JAVA_HOME`, or the one on the `PATH`."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "keytool")) if home else shutil.which("keytool")
    java = None if home else shutil.which("java")
    if program is None and java is not None:
        program = str(Path(os.path.realpath(java)).with_name("keytool"))
    if program is None or not os.access(program, os.X_OK):
        raise KeytoolError(
            "it was not found; put Java 17 on the PATH or set JAVA_HOME, or give a store of type PKCS12 or PEM instead"
        )
    return program
