"""
What became of a connector, told by the records of the config and status topics and the times at which they were written.

Called by `cli/describe/` and `internal_topics/changes_child.py` with what `kafka/stamped.py` has read. It sees as far back as
compaction has left records: the last of each key at least, mostly those of the last days, too. Read next:
`core/state/records.py`, which knows the records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kconnect.api.config import HIDDEN
from kconnect.core.settings import secrets
from kconnect.core.state import records
from kconnect.core.state.records import LogRecord, State, Topic, UnitId

_LONGEST = 60
_MOST_HIDDEN = 20_000
"""Forms of secrets that are looked for in each value. Of a config with more, no value is shown."""
_MOST_SETTINGS = 50
"""So many settings are named of a change."""
_NAME_IN_KEY = re.compile(
    rb"(?:(?:target-state|commit|connector|restart-connector|status-connector)-(.*)|status-task-(.*)-[0-9]+)", re.DOTALL
)
_RUNS_ON = (State.PAUSED, State.STOPPED)
"""Whoever runs again after these was not started anew because of a failure."""

Config = Mapping[str, "str | None"]


@dataclass(frozen=True)
class Event:
    """`text` in a few words; `unit` None: the connector as a whole."""

    at_ms: int
    text: str
    unit: UnitId | None = None


@dataclass
class History:
    """
    `since`: when a unit came into the state that it is in, by the records that are left; `starts`: how often it came to run.
    Both of the connector's present life: one that was deleted, and made again, begins anew.
    """

    states: dict[UnitId, State] = field(default_factory=dict)
    since: dict[UnitId, int] = field(default_factory=dict)
    starts: dict[UnitId, int] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    begins_ms: int | None = None

    def since_if(self, unit: UnitId, state: str) -> int | None:
        """When it came into that state; None if the topic has another one for it, so that REST knew more, or less."""
        current = self.states.get(unit)
        return self.since.get(unit) if current is not None and current.value == state else None

    def restarts(self) -> int:
        return sum(count - 1 for count in self.starts.values() if count > 1)


def keys(names: Iterable[str]) -> Callable[[bytes], bool]:
    """Whether a record of that key may tell of one of these connectors: what `of` needs of large topics."""
    wanted = set(names)

    def is_wanted(key: bytes) -> bool:
        found = _NAME_IN_KEY.fullmatch(key)
        return found is not None and (found[1] or found[2] or b"").decode("utf-8", "replace") in wanted

    return is_wanted


def of(name: str, stamped: Iterable[tuple[LogRecord, int]]) -> History:
    """Return the history of the connector of that name, from records in the order of their times, in ms since 1970."""
    history = History()
    config: Config | None = None
    tasks: int | None = None
    for record, at_ms in stamped:
        if record.topic is Topic.STATUS:
            _status(history, name, records.decode_status(record), at_ms)
            continue
        text = None
        match records.decode_config(record):
            case records.ConnectorConfig(which, None) if which == name:
                # A new life: what was before is not this connector's.
                history.states, history.since, history.starts, config, tasks = {}, {}, {}, None, None
                text = "deleted"
            case records.ConnectorConfig(which, properties) if which == name and properties is not None:
                text = _change(config, properties)
                config = properties
            case records.TargetStateChange(which, state) if which == name and state is not None:
                text = f"target state {state.value}"
            case records.RestartRequest(which, include_tasks, only_failed) if which == name:
                what = "the connector and its tasks" if include_tasks else "the connector"
                text = f"restart of {what} requested{', if failed' if only_failed else ''}"
            case records.TasksCommit(which, count) if which == name and count != tasks:
                text, tasks = f"given {count} task{'' if count == 1 else 's'}", count
        if text is not None:
            _add(history, Event(at_ms, text))
    return history


def _status(history: History, name: str, decoded: records.StatusRecord | records.Broken, at_ms: int) -> None:
    if not isinstance(decoded, records.StatusChange) or decoded.unit.connector != name:
        return
    unit, status = decoded.unit, decoded.status
    before = history.states.get(unit)
    if status is None:
        history.states.pop(unit, None)
        history.since.pop(unit, None)
        return
    if status.state is before:
        return
    history.states[unit], history.since[unit] = status.state, at_ms
    if status.state is State.RUNNING and before not in _RUNS_ON:
        history.starts[unit] = history.starts.get(unit, 0) + 1
    _add(history, Event(at_ms, f"{status.state.value} on {status.worker_id}", unit))


def _add(history: History, event: Event) -> None:
    if history.begins_ms is None:
        history.begins_ms = event.at_ms
    history.events.append(event)


def _change(before: Config | None, after: Config) -> str:
    """Describe which settings differ, without secrets: neither settings with secret names, nor what URLs have of them."""
    if before is None:
        return f"config written, {len(after)} settings"
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key) or (key in before) != (key in after))
    old, new = secrets.values(before), secrets.values(after)
    parts = []
    for key in changed[:_MOST_SETTINGS]:
        if key not in after:
            parts.append(f"{key} removed")
        elif key not in before:
            parts.append(f"{key}={_shown(key, after[key], new)} added")
        else:
            parts.append(f"{key}: {_shown(key, before[key], old)} → {_shown(key, after[key], new)}")
    if len(changed) > _MOST_SETTINGS:
        parts.append(f"{len(changed) - _MOST_SETTINGS} more settings")
    return "config: " + ("; ".join(parts) if parts else "written again, unchanged")


def shown(config: Config) -> dict[str, str]:
    """A config for others to see, without its secrets, in lines that are not long."""
    hidden = secrets.values(config)
    return {key: _shown(key, value, hidden) for key, value in config.items()}


def _shown(key: str, value: str | None, hidden: Collection[str]) -> str:
    if value is None:
        return "null"
    if secrets.is_secret(key) or len(hidden) > _MOST_HIDDEN:
        return HIDDEN
    text = secrets.hide(value, hidden)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
