"""
What the connectors of both databases share: they divide tables among tasks, and a thread of theirs sees when all is read.

Made by `source.py` and `mariadb/source.py`, which know the database. Read next: `range_task.py`.
"""

from __future__ import annotations

import importlib.util
import json
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kconnect.api import Config, ConfigValue, ConnectError
from kconnect.connectors.backfill import settings, sinks
from kconnect.connectors.common import CheckedSource
from kconnect.connectors.libraries import Informed

if TYPE_CHECKING:
    from kconnect.connectors.sql.connections import Connections

_LOOK_S = 2.0
_INSTALL = "{} is not installed here: pip install 'kconnect[sql]' on every machine of the cluster"


class RangeConnector(Informed, CheckedSource):
    worker_settings = (*Informed.worker_settings, "lake.python", "lake.spark.")

    libraries: ClassVar[tuple[str, ...]]
    """The modules that it can't do without."""

    def __init__(self) -> None:
        self._props: dict[str, str] = {}
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        """Guards what the thread and the framework's calls both change."""
        self._watching: threading.Thread | None = None
        self._connections: Connections | None = None
        self._done: Mapping[str, Any] | None = None

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        missing = [name for name in self.libraries if importlib.util.find_spec(name) is None]
        if missing:
            return [(settings.HOST, _INSTALL.format(" and ".join(missing)))]
        return sinks.problems(props, self.worker) if config[settings.INTO] else []

    @abstractmethod
    def unfit(self, props: Mapping[str, str]) -> Iterable[tuple[str, str]]:
        """Yield each setting that a copy can't be taken with, with a sentence, beside what `instead` has."""

    def validate(self, props: dict[str, str]) -> Config:
        config = super().validate(props)
        by_name = {value.name: value for value in config.values}
        for name, text in self.unfit(props):
            if name in by_name:
                by_name[name].errors.append(text)
            else:
                config.values.append(ConfigValue(name, props[name], errors=[text]))
        # Else they were told to be unknown. No values: some are secrets.
        config.values += [
            ConfigValue(settings.SINK + name, None) for name in sinks.config_of(props) if props.get(settings.INTO)
        ]
        return config

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        """Give up what is staged for a lake: who resets the offsets cancels the backfill, or begins anew. Refuse all else."""
        super().alter_offsets(connector_config, offsets)
        if connector_config.get(settings.INTO):
            sinks.give_up(connector_config, self.worker, [partition or {} for partition, _ in offsets])
        return True

    def check_offset(self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
        raise ConnectError("The offsets of a backfill can't be set, only reset: it begins anew then")

    def start(self, props: dict[str, str]) -> None:
        from kconnect.connectors.sql.connections import Connections

        super().start(props)
        self._connections = Connections()
        self._config = self.config().parse(props)

    def stop(self) -> None:
        self._stopped.set()
        if self._connections is not None:
            # Who waits for the database has the lock.
            self._connections.end()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        from kconnect.connectors.backfill.range_task import done_partition

        done: Mapping[str, Any] | None = self.context.offsets.offset(done_partition())
        with self._lock:
            if done is None and self._done is None:
                self.divide()
            done = done or self._done
            if done is not None:
                return [{**self._props, settings.DONE: json.dumps(done)}]
            if self._watching is None:
                name = f"progress of {self._props.get('name')}"
                self._watching = threading.Thread(target=self._watch, name=name, daemon=True)
                self._watching.start()
            snapshot, plans, ranges = self.divided()
            rate = self._config[settings.RATE]
            # A task reads one row a second at least: of more tasks than that the rate would not be kept.
            count = min(max_tasks, ranges, rate or ranges)
            more = {settings.SNAPSHOT: json.dumps(snapshot)}
            configs = []
            for place in range(count):
                if rate:
                    more[settings.RATE] = str(rate // count + (place < rate % count))
                share = {"tables": plans, "place": place, "of": count}
                configs.append({**self._props, **more, settings.RANGES: json.dumps(share)})
            return configs

    @abstractmethod
    def divide(self) -> None:
        """
        See what is to be read, and from where, unless that is known; or set `_done` if all is handed over. ConnectError if that
        can't be had. The lock is held.
        """

    @abstractmethod
    def divided(self) -> tuple[Mapping[str, Any], Sequence[Any], int]:
        """Return what tasks are told of the snapshot, how each table is divided, and how many ranges that makes."""

    def is_handed_on(
        self, copy: int, ranges: Sequence[Mapping[str, Any]], is_done: Callable[[Mapping[str, Any] | None], bool]
    ) -> bool:
        """Whether the topics have all ranges, of which these are the source partitions, or the tables have the copy."""
        if self._config[settings.INTO]:
            return self.context.offsets.offset(sinks.committed_partition(copy)) is not None
        return bool(ranges) and all(map(is_done, self.context.offsets.offsets(ranges)))

    @abstractmethod
    def look(self) -> bool:
        """See whether all is read, and whether it still can be. Return whether there is nothing more to see to."""

    def _watch(self) -> None:
        try:
            while not self._stopped.wait(_LOOK_S):
                if self.look():
                    return
        except Exception as error:  # noqa: BLE001 - in a thread nobody else would hear of it
            self.context.raise_error(error)
