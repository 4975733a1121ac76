"""The Python of docs/pyspark.md and the notebook beside it run as they stand, but with addresses and folders of the tests."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.docs.pages import DOCS, blocks
from tests.docs.steps import kind_of
from tests.spark.sessions import patiently, session

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(1800)]


def cells() -> Iterator[tuple[str, str]]:
    """Yield the code of the page and of the notebook, in order, with where it stands."""
    for block in blocks("pyspark.md"):
        if kind_of(block) == "python":
            yield block.place, block.text
    notebook = json.loads((DOCS / "pyspark.ipynb").read_text("utf-8"))
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            yield f"pyspark.ipynb, cell {number}", "".join(cell["source"])


def test_the_page_and_the_notebook_run(worker: WorkerProcess, bootstrap: str, tmp_path: Path) -> None:
    addresses = {"http://localhost:8083": worker.url.rstrip("/"), "localhost:9092": bootstrap, "/tmp/": f"{tmp_path}/"}
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        # The session that the page's `getOrCreate` finds.
        with session(tmp_path) as spark:
            for place, code in cells():
                for shown, meant in addresses.items():
                    code = code.replace(shown, meant)
                # Once more, as somebody does who comes back.
                for _ in range(2 if "readStream" in code else 1):
                    patiently(functools.partial(exec, compile(code, place, "exec"), names))
            assert names["spark"] is spark
            assert "orderid" in names["df"].columns
            assert spark.read.parquet(str(tmp_path / "kconnect-orders")).count()
    finally:
        with ConnectClient(worker.url) as client:
            for name in ("orders-for-spark", "notebook-orders"):
                with contextlib.suppress(RestError):
                    client.delete(name)
