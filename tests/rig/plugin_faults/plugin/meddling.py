"""
What plugin code may do to the framework within a call without any error of its own: change what it was given, and call the
framework, from the same thread or from another one.

Used by `faults.py`, and by `tests/units/test_meddling.py`, which has a row for each call of the API.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

_LIMIT_S = 30.0
CALLS: dict[str, Callable[[Any], Any]] = {
    "configs": lambda context: context.configs().clear(),
    "offsets": lambda context: _read_offsets(context.offsets),
    "transaction_context": lambda context: context.transaction_context,
    "waits_for": lambda context: context.waits_for("bad"),
    "request_task_reconfiguration": lambda context: context.request_task_reconfiguration(),
    "assignment": lambda context: context.assignment().clear(),
    "topic_ids": lambda context: context.topic_ids(["bad"]),
    "end_offsets": lambda context: context.end_offsets(context.assignment()),
    "timeout": lambda context: context.timeout(10),
    "pause": lambda context: context.pause(*context.assignment()),
    "resume": lambda context: context.resume(*context.assignment()),
    "passed_over": lambda context: context.passed_over(1),
    "superseded": lambda context: context.superseded(1),
    "metric": lambda context: context.metric("bad", 1.0),
    "request_commit": lambda context: context.request_commit(),
    "errant_record_reporter": lambda context: context.errant_record_reporter(),
}
"""What a plugin may ask of the framework at any time, by the name in its context."""
ENDS_OR_MOVES = ("raise_error", "offset")
"""What does something to the plugin itself: it fails, or reads elsewhere."""


def _read_offsets(offsets: Any) -> None:
    # A sink's context has a call of this name.
    if not callable(offsets):
        for offset in offsets.offsets([{"bad": "1"}]):
            _change(offset, 1)


def changes(given: Sequence[Any], context: Any) -> None:
    """Empty what can be emptied of what the call was given, and put something else in its place."""
    for thing in given:
        _change(thing, 3)


def _change(thing: Any, depth: int) -> None:
    if depth and isinstance(thing, dict):
        inner = list(thing.values())
        thing.clear()
        thing["struck"] = "yes"
    elif (depth and isinstance(thing, list)) or (depth and isinstance(thing, set)):
        inner = list(thing)
        thing.clear()
    elif depth and hasattr(thing, "original_topic"):
        inner = [thing.value, thing.headers]
        thing.topic = thing.original_topic = "struck"
        thing.key = thing.value = None
        thing.headers = ()
    elif depth and hasattr(thing, "source_offset"):
        inner = [thing.value, thing.headers, thing.source_partition, thing.source_offset]
        thing.topic = "struck"
        thing.source_offset = {"struck": "yes"}
        thing.key = thing.value = None
        thing.headers = ()
    elif depth and hasattr(thing, "values") and hasattr(thing, "schema"):
        inner = [thing.values]
    elif depth and hasattr(thing, "every"):
        inner = [thing.key, thing.value]
    else:
        return
    for part in inner:
        _change(part, depth - 1)


def within(given: Sequence[Any], context: Any) -> None:
    """Ask everything of the framework that may be asked, within its own call."""
    for name, call in CALLS.items():
        if hasattr(type(context), name) or hasattr(context, name):
            call(context)


def in_another_thread(given: Sequence[Any], context: Any) -> None:
    """The same from another thread, which the call waits for. RuntimeError if it has no answer, or what it raised."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            within(given, context)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            raised.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(_LIMIT_S)
    if raised:
        raise raised[0]
    if thread.is_alive():
        raise RuntimeError(f"the framework does not answer another thread within {_LIMIT_S:.0f} s")


KINDS: dict[str, Callable[[Sequence[Any], Any], None]] = {
    "changes": changes,
    "thread": in_another_thread,
    "within": within,
}
