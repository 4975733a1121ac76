"""
ObjectStoreSinkConnector: whether a config can be used, and what the store says to it. The files: `task.py`.

pyarrow and obstore are imported where they are needed, so that without them all else works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import kconnect
from kconnect.api import Config, ConfigDef, ConfigError, SinkConnector, SinkTask, TopicPartition
from kconnect.connectors.objects import settings

_PROBE_S = 5.0
_INSTALL = "obstore and pyarrow are not installed here: pip install 'kconnect[objects]' on every machine of the cluster"


class ObjectStoreSinkConnector(SinkConnector):
    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SinkTask]:
        from kconnect.connectors.objects.task import ObjectStoreSinkTask

        return ObjectStoreSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._props) for _ in range(max_tasks)]

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def validate(self, props: dict[str, str]) -> Config:
        found = super().validate(props)
        by_name = {each.name: each for each in found.values}
        if any(each.errors for each in found.values):
            return found
        parsed = {name: each.value for name, each in by_name.items()}
        for name, text in _mismatches(parsed) or _problems_of_store(parsed, props):
            by_name[name].errors.append(text)
        return found

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return True


def _mismatches(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    if bool(config[settings.STORE]) == bool(config[settings.BUCKET]):
        found.append((settings.STORE, f"Either {settings.STORE} or {settings.BUCKET} must say where files go."))
    kind = settings.simple(config[settings.PARTITIONER])
    if kind == "FieldPartitioner" and not config[settings.FIELDS]:
        found.append((settings.FIELDS, f"{settings.PARTITIONER}={kind} needs the fields that make folders."))
    if kind == "TimeBasedPartitioner" and not config[settings.PATH]:
        found.append((settings.PATH, f"{settings.PARTITIONER}={kind} needs the folder of a time."))
    if bool(config[settings.ACCESS_KEY].value) != bool(config[settings.SECRET_KEY].value):
        found.append((settings.SECRET_KEY, f"{settings.ACCESS_KEY} and {settings.SECRET_KEY} belong together."))
    return found


def _problems_of_store(config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    try:
        from kconnect.connectors.objects import partitioners, stores
    except ImportError:
        return [(settings.FORMAT, f"{_INSTALL}.")]
    try:
        partitioners.Partitioner(config)
        store = stores.Store(config, props, _PROBE_S)
    except ConfigError as error:
        return [(error.name or settings.STORE, f"{error}.")]
    try:
        store.probe()
    except stores.ERRORS as error:
        name = stores.setting_of(error)
        if name == settings.BUCKET and config[settings.STORE]:
            name = settings.STORE
        return [(name, f"{store.shown} can't be used: {stores.reason(error)}.")]
    return []
