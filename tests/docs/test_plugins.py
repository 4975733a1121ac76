"""The guide for authors of plugins, followed to the letter: what it shows runs, passes its own tests and is clean."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kconnect.plugins.registry import Registry
from kconnect.testing import config_errors
from tests.docs.pages import DOCS, Reader, blocks
from tests.testing.bad_plugins import Counting

# pip, pytest and linters run within them.
pytestmark = pytest.mark.timeout(1200)

PAGES = ("plugins/source.md", "plugins/sink.md", "plugins/transform.md")
ON_A_WORKER = "tests/test_on_a_worker.py"
"""Run by tests/integration/test_plugin_guide.py."""


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path, HOME=str(tmp_path))
    reader.follow(page, without=(ON_A_WORKER,))
    tests = sum(block.text.count("\ndef test_") for block in blocks(page) if block.file not in (None, ON_A_WORKER))
    passed = re.search(r"(\d+) passed", reader.output)
    assert passed is not None and int(passed[1]) == tests > 5, reader.output
    reader.run("ruff check --no-cache --select E,F,W,I,B,UP --ignore E501 .")


@pytest.mark.process
@pytest.mark.long
def test_a_new_plugin_is_built_and_installed_as_the_guide_says(tmp_path: Path) -> None:
    reader = Reader(tmp_path, HOME=str(tmp_path))
    reader.follow("plugins.md")
    assert "No problems" in reader.output
    plugin = Registry.scan([str(tmp_path / "plugins")]).find("OrdersSourceConnector", "connector")
    assert (plugin.version, plugin.class_name) == ("0.1.0", "orders.source.OrdersSourceConnector")
    assert plugin.location == str(tmp_path / "plugins" / "orders-0.1.0")


@pytest.mark.parametrize("page", [*PAGES, "plugins.md"])
def test_every_block_is_a_file_or_is_run_or_is_a_config(page: str) -> None:
    for block in blocks(page):
        assert block.file is not None or block.language in ("sh", "json"), block.text
    # Indented blocks would be found by nobody.
    assert not re.search(r"^    \S", re.sub(r"^```.*?^```$", "", (DOCS / page).read_text(), flags=re.M | re.S), re.M)


def test_configs_are_such() -> None:
    found = [json.loads(block.text) for page in (*PAGES, "plugins.md") for block in blocks(page) if block.language == "json"]
    assert len(found) == 3
    for config in found:
        # The plugins of the pages are not installed here; of all else validation can tell.
        others = ("transforms", "connector.class", "connector.plugin.version")
        settings = {name: text for name, text in config.items() if not name.startswith(others)}
        assert config_errors(Counting, {"topic": "t", **settings}) == {}
