"""
Certificates of the machines, by an authority of the rig's own: for brokers among themselves, for clients of Kafka and of REST.

Held by `cluster.py`; the fault that renews certificates calls `renew`. Needs openssl. Read next: `brokers.py`.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.rig.machines import ADDRESSES

_DAYS = "30"


class Certificates:
    """Files in the folder `certificates` of the rig: `ca.pem`, and NAME.pem with key and certificate of each machine."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "certificates"
        self.authority = self._folder / "ca.pem"

    def write(self) -> None:
        """Make the authority, and a certificate for each machine."""
        self._folder.mkdir(parents=True, exist_ok=True)
        new = ["-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key"]
        self._openssl("req", "-x509", *new, "-out", "ca.pem", "-days", _DAYS, "-subj", "/CN=kconnect-rig")
        for name in ADDRESSES:
            self.renew(name)

    def renew(self, name: str) -> None:
        """Make a new key and certificate for a machine, in the place of those that it had."""
        uses = "extendedKeyUsage=serverAuth,clientAuth"
        extensions = self._folder / f"{name}.extensions"
        extensions.write_text(f"subjectAltName=DNS:{name},IP:{ADDRESSES[name]}\n{uses}\n", "utf-8")
        key = ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key"]
        self._openssl("req", *key, "-out", f"{name}.request", "-subj", f"/CN={name}")
        authority = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
        ends = ["-days", _DAYS, "-extfile", extensions.name, "-out", f"{name}.certificate"]
        self._openssl("x509", "-req", "-in", f"{name}.request", *authority, *ends)
        texts = [(self._folder / f"{name}.{kind}").read_text("utf-8") for kind in ("key", "certificate")]
        file = self.file(name)
        unfinished = file.with_suffix(".new")
        unfinished.touch(0o600)
        unfinished.write_text("".join(texts), "utf-8")
        # Whoever reads it at this moment has the old one or the new one, and no half.
        unfinished.rename(file)

    def file(self, name: str) -> Path:
        return self._folder / f"{name}.pem"

    def serial_number(self, name: str) -> str:
        """Return the serial number of a machine's certificate, as hexadecimal digits."""
        return self._openssl("x509", "-in", f"{name}.certificate", "-noout", "-serial").strip().partition("=")[2]

    def _openssl(self, *words: str) -> str:
        done = subprocess.run(["openssl", *words], cwd=self._folder, capture_output=True, text=True, check=True)
        return done.stdout
