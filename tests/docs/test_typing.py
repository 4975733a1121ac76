"""
Somebody types what the README and the page for beginners say, in their order, in an empty home: each command succeeds, and the
answers are what the pages promise.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.docs.pages import DOCS, Reader

_INDENTED = re.compile(r"(?:^|(?<=\n\n))(?:    .*\n|\n(?=    ))+", re.MULTILINE)
LEFT_OUT = {
    "./scripts/setup": "the tests run in what it has made, and have a broker and a worker at other ports",
}
"""Blocks by how they begin, and why nobody types them here."""


@pytest.fixture
def reader(worker: WorkerProcess, bootstrap: str, tmp_path: Path) -> Iterator[Reader]:
    home = tmp_path / "home"
    home.mkdir()
    (home / "worker.properties").write_text(f"bootstrap.servers={bootstrap}\ngroup.id=unused\n")
    yield Reader(home, 300.0, HOME=str(home), KCONNECT_URL=worker.url, KCONNECT_CONFIG=str(home / "contexts"))
    for name in ("lines", "lines-copy", "services", "hosts"):
        with contextlib.suppress(RestError):
            worker.client.delete(name)


def commands(page: Path, begin: str, end: str) -> list[str]:
    """The indented blocks between two headings that somebody types."""
    text = page.read_text("utf-8")
    text = text[text.index(begin) : text.index(end)]
    found = [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip("\n") for block in _INDENTED.findall(text)]
    return [block for block in found if not block.startswith(tuple(LEFT_OUT))]


@pytest.mark.integration
@pytest.mark.skipif(
    shutil.which("curl") is None or not Path("/etc/services").exists(), reason="there is no curl or /etc/services"
)
def test_each_command_of_the_first_hour_succeeds(reader: Reader, worker: WorkerProcess, tmp_path: Path) -> None:
    blocks = commands(DOCS.parent / "README.md", "## A first connector", "## The processes")
    blocks += commands(DOCS / "getting-started.md", "## A connector over REST", "## Docker")
    assert len(blocks) >= 6
    said = []
    for block in blocks:
        typed = block.replace("localhost:8083", worker.url.removeprefix("http://").rstrip("/")).replace(
            "/tmp/lines", f"{tmp_path}/lines"
        )
        typed = typed.replace("curl ", "curl --fail-with-body -sS ").replace(". .venv/bin/activate\n", "")
        # Its exit status says whether something differs, as the page has it.
        typed = re.sub(r"^(kconnect diff .*?)(\s+#.*)?$", r"\1 || [ $? -eq 2 ]", typed, flags=re.MULTILINE)
        # The output arrives when it does.
        typed = re.sub(
            r"^head (\S+)$", r"for _ in $(seq 600); do [ -s \1 ] && break; sleep 0.2; done; head \1", typed, flags=re.M
        )
        said.append(reader.run(typed))
    text = "\n".join(said)
    assert "lines-copy" in text and (tmp_path / "lines.txt").stat().st_size > 0
    assert worker.client.connector("hosts")["config"]["file"] == "/etc/hosts"
    assert worker.client.connector("services")["config"]["topic"] == "services"
