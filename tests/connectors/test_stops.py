"""`stop` of what has opened nothing, as a worker calls it after a start that failed: it is to raise nothing of its own."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest

BUILT_IN = sorted(
    (point for point in entry_points(group="kconnect.connectors") if point.value.startswith("kconnect.")),
    key=lambda point: point.name,
)


@pytest.mark.parametrize("point", BUILT_IN, ids=lambda point: point.name)
def test_a_connector_and_a_task_that_opened_nothing_can_be_stopped(point: Any) -> None:
    connector = point.load()()
    connector.stop()
    connector.task_class()().stop()
