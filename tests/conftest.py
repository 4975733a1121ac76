"""
Shared by all tests: one broker for the whole run, and the marker `integration` for everything under `tests/integration`.

Plain `pytest -m "not integration"` needs neither a broker nor Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from kconnect.local.broker import Broker

# How long an example takes says something about the machine only.
hypothesis.settings.register_profile("kconnect", deadline=None)
hypothesis.settings.load_profile("kconnect")

_INTEGRATION = Path(__file__).parent / "integration"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _INTEGRATION in item.path.parents:
            item.add_marker("integration")
    # Quick ones first: who broke something wants to know soon.
    items.sort(key=lambda item: item.get_closest_marker("integration") is not None)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker on a free port, for the whole run. A test that kills it starts it again."""
    started = Broker(tmp_path_factory.mktemp("broker"))
    started.start()
    yield started
    started.stop()
