"""The config that docs/connectors/datagen.md shows, on a worker: its records come whole, also after their host was killed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from kconnect.testing.processes import WorkerProcess
from tests.docs.pages import blocks
from tests.rig.systems import recorder
from tests.support import wait_until

COUNT, TASKS = 1500, 2


@pytest.mark.long
def test_a_series_is_whole_after_a_kill(worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str]) -> None:
    name, topic = unique("datagen"), unique("orders")
    (shown,) = [json.loads(block.text) for block in blocks("connectors/datagen.md") if block.language == "json"]
    more = {"records.per.second": "250", "iterations": str(COUNT), "tasks.max": str(TASKS), "random.seed": "1"}
    worker.client.create(name, {**shown["config"], "kafka.topic": topic, **more})

    def values() -> list[dict[str, Any]]:
        if topic not in worker.client.topics(name):
            return []
        return [orjson.loads(message.value() or b"") for message in recorder.read(bootstrap, topic)]

    try:
        worker.client.wait_for(name, "RUNNING", tasks=TASKS, timeout=240)
        wait_until(lambda: len(values()) > 200, 120)
        for host in worker.hosts():
            host.kill()

        def whole() -> bool:
            return sorted({value["orderid"] for value in values()}) == list(range(COUNT)) and len(values()) >= TASKS * COUNT

        wait_until(whole, 240)
        # A record that came again is the same one: the seed says what it is, but for its time.
        found = {orjson.dumps({**value, "ordertime": 0}, option=orjson.OPT_SORT_KEYS) for value in values()}
        assert len(found) == TASKS * COUNT
        assert all(re.fullmatch(r"Item_[1-9]\d{0,2}", value["itemid"]) for value in values())
        wait_until(
            lambda: (
                {each["partition"]["task.id"]: each["offset"]["current.iteration"] for each in worker.client.offsets(name)}
                == dict.fromkeys(range(TASKS), COUNT)
            ),
            60,
        )
        assert {task["state"] for task in worker.client.status(name)["tasks"]} == {"RUNNING"}
    finally:
        worker.client.delete(name)
