"""What of a queue is deleted without a look at its letters."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.cli.dlq.dropping import _beginnings
from kconnect.dlq.choice import Choice

BOUNDS = {0: (0, 9), 1: (4, 6), 2: (0, 0)}


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        ({}, {0: (0, 9), 1: (4, 6)}),
        ({"offset": (None, 4)}, {0: (0, 5), 1: (4, 5)}),
        ({"offset": (None, 2)}, {0: (0, 3)}),
        ({"offset": (None, 2), "queue_partition": 1}, {}),
        ({"offset": (4, 4), "queue_partition": 1}, {1: (4, 5)}),
        ({"offset": (4, 4)}, None),
        ({"stage": "TASK_PUT"}, None),
    ],
    ids=["all", "up to an offset", "nothing of a partition", "nothing", "from its beginning", "in the midst", "by content"],
)
def test_places_alone_are_deleted_without_reading(choice: dict[str, Any], chosen: dict[int, tuple[int, int]] | None) -> None:
    assert _beginnings(BOUNDS, Choice(**choice)) == chosen
