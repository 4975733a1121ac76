"""
IcebergSinkConnector: whether a config can be used, and what the catalog says to it. The rows: `task.py`.

pyiceberg is imported where a catalog is needed, so that without it all else works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, SinkTask, TopicPartition
from kconnect.connectors.common import CheckedSink
from kconnect.connectors.iceberg import settings
from kconnect.connectors.lake import partitions
from kconnect.connectors.lake import settings as lake_settings
from kconnect.connectors.libraries import Informed

_INSTALL = "pyiceberg is not installed here: pip install 'kconnect[iceberg]' on every machine of the cluster"


class IcebergSinkConnector(Informed, CheckedSink):
    passthrough = (settings.PASSTHROUGH,)
    instead = settings.INSTEAD

    def task_class(self) -> type[SinkTask]:
        from kconnect.connectors.iceberg.task import IcebergSinkTask

        return IcebergSinkTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        return _mismatches(config, props) or _problems_of_catalog(config, props, self.worker)

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Change the offsets of the tables, which go before the group's. Tables that a field names are unknown here."""
        from kconnect.connectors.iceberg import catalogs, commits
        from kconnect.connectors.iceberg.lake import IcebergLake

        config, name = settings.CONFIG.parse(connector_config), connector_config["name"]
        lake = IcebergLake(catalogs.made_catalog(config, connector_config, self.worker), name, config, connector_config)
        try:
            for place, offset in offsets.items():
                for template in config[settings.NAMES.tables]:
                    table = lake.existing(template.replace("${topic}", place.topic))
                    if table is not None:
                        commits.alter(table, name, place, offset)
        except catalogs.errors() as error:
            raise ConnectError(f"The offsets in the tables can't be changed: {catalogs.reason(error)}") from None
        return True


def _mismatches(config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    names = settings.NAMES
    problems = lake_settings.mismatches(names, config, props)
    try:
        partitions.parsed(names.partitions, config[names.partitions])
        for name, table_settings in lake_settings.of_tables(names, props).items():
            partitions.parsed(names.of_table(name, "partition-by"), [table_settings.get("partition-by", "")])
    except ConfigError as error:
        problems.append((names.partitions, f"{error}."))
    return problems


def _problems_of_catalog(
    config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]
) -> list[tuple[str, str]]:
    try:
        from kconnect.connectors.iceberg import catalogs
        from kconnect.connectors.iceberg.lake import IcebergLake
    except ImportError:
        return [(settings.KIND, f"{_INSTALL}.")]
    topics = [topic.strip() for topic in props.get("topics", "").split(",") if topic.strip()]
    try:
        catalog = catalogs.made_catalog(config, props, worker)
        lake = IcebergLake(catalog, props.get("name", ""), config, props)
        catalog.list_namespaces()
        for name in {
            template.replace("${topic}", topic)
            for template in config[settings.NAMES.tables]
            for topic in topics or ["${topic}"]
        }:
            table = lake.existing(name) if "${topic}" not in name else None
            if table is None and not config[settings.NAMES.create] and "${topic}" not in name:
                return [(settings.NAMES.tables, f"There is no table {name}: create it, or set {settings.NAMES.create}=true.")]
            if table is not None and config[settings.NAMES.upsert]:
                missing = [column for column in lake.ids(name, table) if column not in table.schema().column_names]
                if missing:
                    return [(settings.NAMES.ids, f"The table {name} has no column {missing[0]}.")]
    except ConfigError as error:
        return [(error.name if error.name in settings.CONFIG.keys else settings.URI, f"{error}.")]
    except ConnectError as error:
        return [(settings.NAMES.ids, f"{error}.")]
    except catalogs.errors() as error:
        return [(settings.URI, f"The catalog can't be used: {catalogs.reason(error)}.")]
    return []
