"""
DeltaSinkConnector: whether a config can be used, and what the store says to it. The rows: `task.py`.

The library is imported where a table is needed, so that without it all else works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, SinkTask, TopicPartition
from kconnect.connectors.common import CheckedSink
from kconnect.connectors.delta import settings
from kconnect.connectors.lake import settings as lake_settings
from kconnect.connectors.libraries import Informed

_INSTALL = "deltalake and pyarrow are not installed here: pip install 'kconnect[delta]' on every machine of the cluster"


class DeltaSinkConnector(Informed, CheckedSink):
    passthrough = (settings.PASSTHROUGH,)

    def task_class(self) -> type[SinkTask]:
        from kconnect.connectors.delta.task import DeltaSinkTask

        return DeltaSinkTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        names = settings.NAMES
        problems = lake_settings.mismatches(names, config, props)
        problems += lake_settings.missing_ids(names, config, props)
        return problems or _problems_of_store(config, props, self.worker)

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Change the offsets of the tables, which go before the group's. Tables that a field names are unknown here."""
        from kconnect.connectors.delta import commits
        from kconnect.connectors.delta.asking import Asker, DeltaFault
        from kconnect.connectors.delta.lake import DeltaLake

        config, asker = settings.CONFIG.parse(connector_config), Asker()
        lake = DeltaLake(config, connector_config, self.worker, asker)
        try:
            for place, offset in offsets.items():
                for template in config[settings.NAMES.tables]:
                    table = lake.load(template.replace("${topic}", place.topic))
                    if table is not None:
                        commits.alter(table, asker, connector_config["name"], place, offset)
        except DeltaFault as error:
            raise ConnectError(f"The offsets in the tables can't be changed: {error}") from None
        return True


def _problems_of_store(config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    names = settings.NAMES
    try:
        from kconnect.connectors.delta.asking import Asker, DeltaFault
        from kconnect.connectors.delta.lake import DeltaLake
    except ImportError:
        return [(settings.STORE, f"{_INSTALL}.")]
    try:
        lake = DeltaLake(config, props, worker, Asker())
        lake.lets_in()
        topics = [topic.strip() for topic in props.get("topics", "").split(",") if topic.strip()]
        templates = config[names.tables]
        for name in {template.replace("${topic}", topic) for template in templates for topic in topics or ["${topic}"]}:
            table = lake.existing(name) if "${topic}" not in name else None
            if table is None and not config[names.create] and "${topic}" not in name:
                return [(names.tables, f"There is no table {name}: create it, or set {names.create}=true.")]
            if table is not None and config[names.upsert]:
                missing = [column for column in lake.ids(name, table) if column not in lake.schema(table).names]
                if missing:
                    return [(names.ids, f"The table {name} has no column {missing[0]}.")]
    except ConfigError as error:
        return [(error.name if error.name in settings.CONFIG.keys else settings.STORE, f"{error}.")]
    except (DeltaFault, ConnectError) as error:
        return [(settings.STORE, f"It can't be used: {error}.")]
    return []
