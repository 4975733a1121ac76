"""
The fold of the config topic: which connectors exist, with which tasks, in which target state.

Only `ConfigState.apply` changes this state, both in a running worker and in one that starts. Held by the herder and by each
task host. The rules (deferred commits, inconsistent tasks, commits of deleted connectors) are those of Connect 3.7.1 and later,
so that both read the same from one topic. Read next: `records.py` for the bytes, `herder/herder.py` for what uses this state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kconnect.core.state import records
from kconnect.core.state.records import Broken, ConfigRecord, LogRecord, TargetState, UnitId, Units

Properties = Mapping[str, "str | None"]


@dataclass(slots=True)
class Connector:
    """
    A connector that exists. `tasks` may hold entries past `task_count`, left by an earlier, larger set: address tasks through
    `task_config`. `applied` is the config that was in force when the task set was committed (KAFKA-9228).
    """

    name: str
    properties: Properties
    offset: int
    """Of the record that holds `properties`: it identifies this version of the config."""
    task_count: int = 0
    tasks: dict[int, Properties] = field(default_factory=dict)
    tasks_offset: int = -1
    """Of the commit in force: it identifies this version of the task set."""
    applied: Properties | None = None
    inconsistent: bool = False
    deferred: dict[int, Properties] = field(default_factory=dict)
    pending_fencing: bool = False


class ConfigState:
    """The content of the config topic, up to `offset` (exclusive, as Connect's group protocol counts it)."""

    def __init__(self) -> None:
        self.connectors: dict[str, Connector] = {}
        self.session_keys: tuple[records.SessionKey, ...] = ()
        """The newest first, then the one before it: what was signed while the key changed is still valid."""
        self.fencing: dict[str, int] = {}
        self.offset = 0
        self._targets: dict[str, tuple[TargetState, int]] = {}
        self._units: tuple[int, Units] = (-1, frozenset())

    def apply(self, record: LogRecord) -> ConfigRecord | Broken:
        """Fold one record in; the answer is what it said, for those who act on events (restart requests)."""
        self.offset = record.offset + 1
        decoded = records.decode_config(record)
        match decoded:
            case records.ConnectorConfig(name, None):
                self.connectors.pop(name, None)
            case records.ConnectorConfig(name, properties) if properties is not None:
                connector = self.connectors.get(name)
                if connector is None:
                    self.connectors[name] = Connector(name, properties, record.offset)
                else:
                    connector.properties, connector.offset = properties, record.offset
            case records.TaskConfig(name, task, properties):
                if name in self.connectors:
                    self.connectors[name].deferred[task] = properties
            case records.TasksCommit(name, count):
                # A commit of an unknown connector is an orphan that compaction left behind (KAFKA-16838).
                if name in self.connectors:
                    _commit(self.connectors[name], count, record.offset)
            case records.TargetStateChange(name, None):
                self._targets.pop(name, None)
            case records.TargetStateChange(name, state) if state is not None:
                self._targets[name] = (state, record.offset)
            case records.TasksFencing(name, count):
                self.fencing[name] = count
                if name in self.connectors:
                    self.connectors[name].pending_fencing = False
            case records.SessionKey():
                self.session_keys = (decoded, *self.session_keys[:1])
            case _:
                pass
        return decoded

    def target_state(self, name: str) -> TargetState:
        """STARTED where nothing was written: Connect assumes the same."""
        return self._targets.get(name, (TargetState.STARTED, -1))[0]

    def desired_offset(self, name: str) -> int:
        """
        Return the offset up to which one must have read to know the user's config and target state of this connector.

        It depends on the latest record of each key only, so that a reader of the compacted topic finds the same.
        """
        return max(self.connectors[name].offset, self._targets.get(name, (None, -1))[1])

    def changed_at(self, unit: UnitId) -> int:
        """
        Return the offset of the record that last changed an existing connector's unit. The unit is started with that record.
        """
        connector = self.connectors[unit.connector]
        return connector.offset if unit.is_connector else connector.tasks_offset

    def task_ids(self, name: str) -> range:
        """The tasks that may run: none while the set is inconsistent."""
        connector = self.connectors.get(name)
        return range(0) if connector is None or connector.inconsistent else range(connector.task_count)

    def task_config(self, unit: UnitId) -> Properties | None:
        return self.connectors[unit.connector].tasks.get(unit.task) if unit.task in self.task_ids(unit.connector) else None

    def units(self) -> Units:
        """Everything that is to be assigned. A STOPPED connector keeps its instance's place but has no tasks."""
        if self._units[0] != self.offset:
            all_units: set[UnitId] = set()
            for name in self.connectors:
                all_units.add(UnitId(name))
                if self.target_state(name) is not TargetState.STOPPED:
                    all_units.update(UnitId(name, task) for task in self.task_ids(name))
            self._units = (self.offset, frozenset(all_units))
        return self._units[1]


def _commit(connector: Connector, count: int, offset: int) -> None:
    complete = all(task in connector.deferred for task in range(count))
    if complete:
        connector.tasks.update(connector.deferred)
        connector.applied = connector.properties
        connector.tasks_offset = offset
    connector.inconsistent = not complete
    connector.task_count = count
    connector.deferred = {}
    connector.pending_fencing = True
