"""
Plugins that change what a call was given, or call the framework within it, from the same thread or another one: the table of
each call of the API and what comes of that.

Each cell is played in a world of `meddled.py` and compared with the same world without a fault. It must come to the same, but
for what `DIFFERENT` says; a call that no world makes needs a reason in `NEVER`, so that a call which is added to the API fails
here until it is in a world. Calls of plugins in Java: `tests/jvm/test_meddling.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kconnect.api import connector as connector_api
from kconnect.api import task as task_api
from kconnect.core.task.transactions import PollBoundary
from tests.rig.plugin_faults.plugin import meddling

from . import meddled
from .meddled import BATCHES, CHAIN, Meddler, Parts
from .test_misbehaving import calls

WORLDS: dict[str, Callable[[Parts], Any]] = {
    "source": lambda parts: meddled.source(parts, CHAIN),
    "source, exactly once": lambda parts: meddled.source(parts, CHAIN, PollBoundary()),
    "source in batches": lambda parts: meddled.source(parts, BATCHES),
    "source of columns": lambda parts: meddled.source(parts, {**BATCHES, "transforms": ""}),
    "sink": lambda parts: meddled.sink(parts, CHAIN),
    "sink in batches": lambda parts: meddled.sink(parts, BATCHES),
    "sink of columns": lambda parts: meddled.sink(parts, {**BATCHES, "transforms": ""}, batches=True),
    "source connector": lambda parts: meddled.connector(parts, "PlainSource"),
    "sink connector": lambda parts: meddled.connector(parts, "PlainSink"),
    "a source's validation": lambda parts: meddled.validation(parts, "PlainSource"),
    "a sink's validation": lambda parts: meddled.validation(parts, "PlainSink"),
    "provider": meddled.provider,
}
NEVER = {
    "Connector.reconfigure": "kconnect makes a new instance in its place",
    "Converter.version": "a listing tells the package's",
    "HeaderConverter.version": "the same",
    "HeaderConverter.close": "kconnect does not call it",
    "Predicate.version": "the same",
    "Transformation.version": "the same",
    "ConfigProvider.version": "the same",
    "Converter.config": "asked by validation, of nothing",
    "HeaderConverter.config": "the same",
    "Predicate.config": "the same",
    "Transformation.config": "the same",
}
"""What no world here calls."""
STRUCK_SOURCE = [("struck", None, None, None)] * (meddled.COUNT + 2), {"{'struck': 'yes'}": {"struck": "yes"}}, {"number": "0"}
STRUCK_SINK = [None] * (meddled.COUNT + 1), {0: meddled.COUNT, 1: 1}, {"name": "sink"}


def without_headers(outcome: Any) -> Any:
    messages, _, configs = outcome
    return [(*message[:3], None) for message in messages], STRUCK_SOURCE[1], configs


def all_but_columns(outcome: Any) -> Any:
    values = outcome[0]
    return [*values[: meddled.COUNT], None], *outcome[1:]


SOURCES = ("source", "source, exactly once", "source in batches")
DIFFERENT: dict[tuple[str, str, str], Callable[[Any], Any]] = {
    # Records are the chain's, and then the task's: what one of them changes goes on, or comes again. In a source, the source
    # partition, the offset and the headers are the very objects of the task's record, as in Connect.
    **{("changes", "Predicate.test", world): lambda _: STRUCK_SOURCE for world in SOURCES},
    **{("changes", "Predicate.test", world): lambda _: STRUCK_SINK for world in ("sink", "sink in batches")},
    **{("changes", "Transformation.apply", world): without_headers for world in SOURCES},
    **{("changes", "Transformation.apply_all", world): without_headers for world in SOURCES},
    **{("changes", "SinkTask.put", world): lambda _: STRUCK_SINK for world in ("sink", "sink in batches")},
    ("changes", "SinkTask.put", "sink of columns"): all_but_columns,
}
"""What comes of a fault that does come to something, by fault, call and world, of what comes without."""
CALLS = dict(calls())


@cache
def control(world: str) -> tuple[Any, frozenset[str]]:
    """What a world comes to without a fault, and the calls that it makes."""
    meddler = Meddler("", None)
    return WORLDS[world](Parts(meddler)), frozenset(meddler.reached)


def test_each_call_is_made_by_a_world_or_has_a_reason() -> None:
    made = {call for world in WORLDS for call in control(world)[1]}
    assert made | NEVER.keys() == set(CALLS)
    assert not made & NEVER.keys()


def test_each_call_of_a_context_is_made_by_who_meddles() -> None:
    contexts = (connector_api.ConnectorContext, task_api.SourceTaskContext, task_api.SinkTaskContext)
    names = {name for context in contexts for name in vars(context) if not name.startswith("_")}
    assert names == {*meddling.CALLS, *meddling.ENDS_OR_MOVES}


def calls_for(world: str, fault: str) -> list[str]:
    """The calls of a world in which there is something to change, or a context to ask."""

    def takes(call: str) -> bool:
        if fault == "changes":
            return len(inspect.signature(CALLS[call]).parameters) > 1
        return call.partition(".")[0].endswith(("Connector", "Task"))

    return [call for call in sorted(control(world)[1]) if takes(call)]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("fault", meddling.KINDS)
def test_who_meddles_harms_nothing(world: str, fault: str) -> None:
    seen: dict[str, Any] = {}
    expected: dict[str, Any] = {}
    for call in calls_for(world, fault):
        meddler = Meddler(call, meddling.KINDS[fault])
        outcome = WORLDS[world](Parts(meddler))
        seen[call] = outcome, meddler.errors
        expected[call] = DIFFERENT.get((fault, call, world), lambda same: same)(control(world)[0]), []
    assert seen == expected
