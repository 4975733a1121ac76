"""
A connector that misbehaves as its config says: when it is called, how often, and what its state becomes. The rig's own plugin.

Read next: `tests/rig/java_plugin/NumbersSource.java` and its tasks; `../side.py`.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from kconnect.rest.client import RestError, WaitError
from tests.rig.java_parity.cases.debezium import STRING
from tests.rig.java_parity.run import RIG, Case, Observed
from tests.rig.java_parity.side import Config, Side
from tests.rig.java_plugin import NUMBERS, RECORDING
from tests.support import wait_until

_WAIT_S = 120.0
_COMMITS_S = 12.0
_STAYS_S = 3.0
"""For how long nothing more may come."""
_BASE = {"tasks.max": "1", "key.converter": "org.apache.kafka.connect.converters.LongConverter", "value.converter": STRING}


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _source(topic: str, **config: str) -> dict[str, str]:
    return {"connector.class": NUMBERS, **_BASE, "topic": topic, "batch": "5", "limit": "50", **config}


def _settled(file: Path) -> list[str]:
    """What is in a file once nothing more comes."""
    before, since = _lines(file), time.monotonic()
    while time.monotonic() - since < _STAYS_S:
        time.sleep(0.1)
        if (now := _lines(file)) != before:
            before, since = now, time.monotonic()
    return before


def _acknowledged(side: Side) -> Observed:
    """A task that waits in `poll` until all that it gave before is acknowledged, as IBM MQ's does."""
    heard = side.files / "heard"
    side.start({"acknowledged": _source("acknowledged", waits="yes", heard=str(heard))})
    side.wait_for({"acknowledged": 50})
    side.wait(lambda: len(_heard(heard)) >= 50, "all acknowledgements")
    observed: Observed = {"the task heard": _heard(heard), "records": side.records("acknowledged", timestamps=True)}
    side.stop("acknowledged")
    observed["offsets"] = side.offsets("acknowledged")
    side.delete("acknowledged")
    return observed


def _heard(file: Path) -> list[str]:
    """What a task heard of its records: when it commits, and that it stops, is another matter."""
    return [line for line in _lines(file) if line not in ("commit", "stop")]


def _starts(side: Side) -> Observed:
    """What starts twice, and fails: whether it is stopped."""
    observed: Observed = {}
    cases: dict[str, Config] = {
        "task": _source("starts", fails="task start", heard=str(side.files / "task")),
        "sink": {"connector.class": RECORDING, **_BASE, "topics": "starts", "how": "start", "file": str(side.files / "sink")},
    }
    side.make_topics(starts=1)
    observed |= _connector_starts(side)
    for what, config in cases.items():
        name = f"starts-{what}"
        side.client.put_config(name, config)
        side.made.append(name)
        side.client.wait_for(name, "FAILED", 1, timeout=_WAIT_S)
        observed[f"{what}, calls of one start"] = _settled(side.files / what)
        side.client.restart_task(name, 0)
        wait_until(partial(_has_two, side.files / what), _WAIT_S)
        side.client.wait_for(name, "FAILED", 1, timeout=_WAIT_S)
        side.delete(name)
        observed[f"{what}, all calls"] = _settled(side.files / what)
    return observed


def _connector_starts(side: Side) -> Observed:
    name, heard = "starts-connector", side.files / "connector"
    side.client.put_config(name, _source("starts", fails="start", **{"heard.connector": str(heard)}))
    side.made.append(name)
    side.client.wait_for(name, "FAILED", timeout=_WAIT_S)
    observed: Observed = {"connector, calls of one start": _settled(heard)}
    # Connect answers how the start went, and kconnect before it has begun.
    with suppress(RestError):
        side.client.restart(name)
    wait_until(partial(_has_two, heard), _WAIT_S)
    side.client.wait_for(name, "FAILED", timeout=_WAIT_S)
    side.delete(name)
    return {**observed, "connector, all calls": _settled(heard)}


def _has_two(file: Path) -> bool:
    return _lines(file).count("start") == 2


def _task_configs(side: Side) -> Observed:
    """They can't be made twice, and then can."""
    heard = side.files / "connector"
    side.start({"configs": _source("configs", configs="fail 2", **{"heard.connector": str(heard)})})
    side.wait_for({"configs": 50})
    observed: Observed = {"calls": _settled(heard), "records": side.records("configs", timestamps=True)}
    side.delete("configs")
    observed["calls in the end"] = _settled(heard)
    return observed


def _answers(side: Side) -> Observed:
    """What a task may not return fails it; nulls among records are left out."""
    observed: Observed = {}
    side.start({"nulls": _source("nulls", gives="null")})
    side.wait_for({"nulls": 40})
    observed["records"] = side.records("nulls", timestamps=True)
    side.delete("nulls")
    side.make_topics(answers=1)
    side.send("answers", [(None, b"a")])
    kinds = ("a text", "no topic", "a partition", "a time")
    cases: dict[str, Config] = {f"gives-{kind.replace(' ', '-')}": _source("odd", gives=kind) for kind in kinds}
    sink = {"connector.class": RECORDING, **_BASE, "topics": "answers", "file": str(side.files / "out")}
    for how in ("commits null", "commits a null", "commits a number", "commits nowhere", "commits a null elsewhere"):
        cases[how.replace(" ", "-")] = {**sink, "key.converter": STRING, "how": how}
    for name, config in cases.items():
        side.client.put_config(name, config)
        side.made.append(name)
    for name in cases:
        # Offsets are committed each second: who has not failed by now does not.
        _wait_for_end(side, name)
        status = side.status(name)
        observed[name] = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
    side.delete(*cases)
    return observed


def _wait_for_end(side: Side, name: str) -> None:
    with suppress(WaitError):
        side.client.wait_for(name, "FAILED", 1, timeout=_COMMITS_S)


LIFE = tuple(
    Case(f"life-{name}", (RIG,), run)
    for name, run in (
        ("acknowledged", _acknowledged),
        ("starts", _starts),
        ("task-configs", _task_configs),
        ("answers", _answers),
    )
)
