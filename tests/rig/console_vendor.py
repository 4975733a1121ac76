"""
The libraries of others in the console, as they were published: `.venv/bin/python -m tests.rig.console_vendor` brings them anew.

To update one, change its version and checksum here, run this, and look at the console. Licences come along. The files stay
as they are.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import urllib.request
from pathlib import Path

import kconnect.console

CONSOLE = Path(kconnect.console.__file__).parent
UPLOT = "https://registry.npmjs.org/uplot/-/uplot-1.6.32.tgz"
SHA256 = "4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d"
FILES = {
    "package/dist/uPlot.esm.js": "uplot.js",
    "package/dist/uPlot.min.css": "uplot.css",
    "package/dist/uPlot.d.ts": "uplot.d.ts",
    "package/LICENSE": "uplot.LICENSE",
}


def fetched() -> dict[str, bytes]:
    """By the name that each file has in the console."""
    with urllib.request.urlopen(UPLOT, timeout=120) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise SystemExit(f"{UPLOT} is not what it was")
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        found = {name: packed.extractfile(member) for member, name in FILES.items()}
        return {name: file.read() for name, file in found.items() if file is not None}


if __name__ == "__main__":
    for name, content in fetched().items():
        (CONSOLE / name).write_bytes(content)
