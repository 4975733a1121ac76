"""
Plugins that change what a call was given, or call the framework within it, from the same thread or another one: what becomes of
their connectors, and of the offsets. The plugin of the fault matrix.

Read next: `tests/rig/plugin_faults/java/Meddling.java`; `../side.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from kconnect.rest.client import RestError, WaitError
from tests.rig.java_parity.cases.debezium import STRING
from tests.rig.java_parity.run import FAULTY, Case, Observed
from tests.rig.java_parity.side import Side
from tests.rig.plugin_faults import places
from tests.rig.plugin_faults.places import JAVA_PLACES, Place

FAULTS = ("changes", "thread", "within")
_PLANNED = ("constructor", "version", "config", "(host)")
"""Calls that know no settings: they are given nothing, and have nobody to ask."""
PLACES = [place for place in JAVA_PLACES if not place.name.endswith(_PLANNED)]
_RECORDS, _READ = 8, 3
"""How many a source gives, at least, once it has met its fault; how many a sink reads."""
_WAIT_S = 40.0


def _config(place: Place, fault: str, name: str) -> dict[str, str]:
    config = places.java_config(place, fault, "lane")
    config |= {"topics": f"meddled-{fault}"} if "topics" in config else {"topic": name}
    return {"key.converter": STRING, "value.converter": STRING, **config}


def _meddle(side: Side, fault: str) -> Observed:
    """What each place's connector has come to."""
    topic = f"meddled-{fault}"
    side.make_topics(**{topic: 1})
    side.send(topic, [(b"k", b"v")] * _READ)
    cells = [_Cell(side, place, fault) for place in PLACES]
    for step in (_Cell.create, _Cell.look, _Cell.stop, _Cell.look_at_offsets):
        for cell in cells:
            step(cell)
    side.delete(*(cell.name for cell in cells))
    # How often a connector that asks for it has made task configs is a matter of time.
    side.made.clear()
    return {f"{fault}, {cell.place.name}": cell.seen for cell in cells}


class _Cell:
    """A connector that meddles at one place, and what was seen of it. All go through each step beside each other."""

    def __init__(self, side: Side, place: Place, fault: str) -> None:
        self.place, self.name = place, f"{fault}-{place.name.replace('.', '-').replace('_', '-')}"
        self.seen: dict[str, Any] = {}
        self._side, self._config = side, _config(place, fault, self.name)

    def create(self) -> None:
        self._side.made.append(self.name)
        self.seen["created"] = _answer(lambda: self._side.client.put_config(self.name, self._config) and None)

    def look(self) -> None:
        self.seen["state"] = self._state()

    def stop(self) -> None:
        with suppress(RestError):
            self._side.client.stop(self.name)

    def look_at_offsets(self) -> None:
        with suppress(RestError, WaitError):
            self._side.client.wait_for(self.name, "STOPPED", tasks=0, timeout=_WAIT_S)
        self.seen["offsets"] = _shape(_answer(lambda: self._side.offsets(self.name)))
        if self.place.name == "connector.alter_offsets":
            offsets = [{"partition": {"bad": "1"}, "offset": {"number": 1}}]
            self.seen["altered"] = _answer(lambda: self._side.client.alter_offsets(self.name, offsets) and None)

    def _state(self) -> Any:
        """The states of connector and task, and whether records go on, once that is certain."""
        end = time.monotonic() + _WAIT_S
        states: list[str] = []
        while True:
            with suppress(RestError):
                status = self._side.client.status(self.name)
                states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
            if "FAILED" in states:
                return "FAILED"
            if (goes_on := self._goes_on()) or time.monotonic() > end:
                return [*dict.fromkeys(states), "goes on" if goes_on else "does not go on"]
            time.sleep(0.3)

    def _goes_on(self) -> bool:
        if "topics" in self._config:
            offsets = _answer(lambda: self._side.client.offsets(self.name))
            return isinstance(offsets, list) and any(row["offset"] == {"kafka_offset": _READ} for row in offsets)
        topics = _answer(lambda: self._side.client.topics(self.name))
        return self.name in topics and len(self._side.records(self.name)[self.name].get("partition 0", ())) >= _RECORDS


def _answer(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except RestError as error:
        return {"status": error.status}


def _shape(offsets: Any) -> Any:
    """Source offsets without their numbers, which tell how long it ran."""
    if not isinstance(offsets, list):
        return offsets
    return [
        {"partition": row["partition"], "offset": {"number": "some"} if row["offset"].keys() == {"number"} else row["offset"]}
        for row in offsets
    ]


MEDDLING = tuple(Case(f"meddling-{fault}", (FAULTY,), partial(_meddle, fault=fault)) for fault in FAULTS)
