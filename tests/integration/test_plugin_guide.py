"""The end of the guide's page about sources, on a real worker: installed as the page says, and read from Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import Reader, blocks


@pytest.mark.long
# A worker of its own: on a machine with much else to do Spark alone took 80 s to start.
@pytest.mark.timeout(900)
def test_the_source_of_the_guide_moves_rows(tmp_path: Path, bootstrap: str) -> None:
    reader = Reader(tmp_path, limit_s=800, HOME=str(tmp_path), KCONNECT_TEST_BROKER=bootstrap)
    first, *others = blocks("plugins/source.md")
    reader.run(first.text)
    for block in others:
        if block.file is not None:
            reader.paste(block)
    assert "1 passed" in reader.run("python -m pytest tests/test_on_a_worker.py")
