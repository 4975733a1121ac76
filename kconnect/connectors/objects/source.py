"""
ObjectStoreSourceConnector: whether a config can be used, and which share of the files a task reads. The records:
`source_task.py`.

Altered offsets are taken if they have the right form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, SourceTask
from kconnect.connectors.common import CheckedSource
from kconnect.connectors.libraries import Informed
from kconnect.connectors.objects import connector, settings, source_settings
from kconnect.connectors.objects.source_settings import FILE, RECORDS, WHOLE


class ObjectStoreSourceConnector(Informed, CheckedSource):
    passthrough = (settings.PASSTHROUGH,)

    def task_class(self) -> type[SourceTask]:
        from kconnect.connectors.objects.source_task import ObjectStoreSourceTask

        return ObjectStoreSourceTask

    def config(self) -> ConfigDef:
        return source_settings.CONFIG

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        count = {source_settings.COUNT: str(max_tasks)}
        return [{**self._props, **count, source_settings.NUMBER: str(number)} for number in range(max_tasks)]

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        mismatches = connector.mismatches_of_store(config)
        if config[source_settings.MODE].upper() == source_settings.GENERIC and not config[source_settings.TOPICS]:
            text = f"It is missing: {source_settings.MODE} is {source_settings.GENERIC}, and it says where records go."
            mismatches.append((source_settings.TOPICS, text))
        return mismatches or _problems_of_store(config, props, self.worker)

    def check_offset(self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
        if partition is None or partition.keys() != {FILE} or not isinstance(partition[FILE], str):
            raise ConnectError(f'A partition of this connector is {{"{FILE}": …}}, with the name of a file')
        records, whole = offset.get(RECORDS), offset.get(WHOLE, False)
        if offset.keys() - {RECORDS, WHOLE} or type(records) is not int or records < 0 or type(whole) is not bool:
            raise ConnectError(f'An offset of this connector is {{"{RECORDS}": 7}}, and "{WHOLE}": true if those are all')


def _problems_of_store(config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    try:
        from kconnect.connectors.objects import opening, stores
    except ImportError:
        return [(settings.FORMAT, f"{connector.INSTALL}.")]
    try:
        store = opening.opened(config, props, worker, connector.PROBE_S)
    except ConfigError as error:
        return [(error.name or settings.STORE, f"{error}.")]
    try:
        store.look()
    except stores.ERRORS as error:
        return [connector.problem_of_store(config, store, error)]
    return []
