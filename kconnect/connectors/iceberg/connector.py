"""
IcebergSinkConnector: whether a config can be used, and what the catalog says to it. The rows: `task.py`.

pyiceberg is imported where a catalog is needed, so that without it all else works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, SinkTask, TopicPartition
from kconnect.connectors import patterns
from kconnect.connectors.common import CheckedSink
from kconnect.connectors.iceberg import settings
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
        from kconnect.connectors.iceberg.tables import Tables

        config = settings.CONFIG.parse(connector_config)
        tables = Tables(catalogs.made_catalog(config, connector_config, self.worker), config, connector_config)
        try:
            for place, offset in offsets.items():
                for name in config[settings.TABLES]:
                    table = tables.existing(name.replace("${topic}", place.topic))
                    if table is not None:
                        commits.alter(table, connector_config["name"], place, offset)
        except catalogs.errors() as error:
            raise ConnectError(f"The offsets in the tables can't be changed: {catalogs.reason(error)}") from None
        return True


def _mismatches(config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    problems = []
    if config[settings.DYNAMIC] and not config[settings.ROUTE_FIELD]:
        problems.append((settings.ROUTE_FIELD, f"It is missing: {settings.DYNAMIC} is true, and it names the table."))
    if not config[settings.DYNAMIC] and not config[settings.TABLES]:
        problems.append((settings.TABLES, f"It is missing: without {settings.DYNAMIC} it names the tables."))
    problems += [
        (settings.TABLES, f"{name} has no namespace: write it as in shop.orders.")
        for name in config[settings.TABLES]
        if "." not in name
    ]
    of_tables = settings.of_tables(props)
    if config[settings.ROUTE_FIELD] and not config[settings.DYNAMIC]:
        without = [name for name in config[settings.TABLES] if "route-regex" not in of_tables.get(name, {})]
        if without:
            text = f"iceberg.table.{without[0]}.route-regex is missing: it says which values of that field are for the table."
            problems.append((settings.ROUTE_FIELD, text))
    for name, table_settings in of_tables.items():
        try:
            patterns.Pattern(table_settings.get("route-regex", ""))
        except patterns.error as error:
            problems.append((settings.ROUTE_FIELD, f"iceberg.table.{name}.route-regex is no regular expression: {error}."))
    try:
        settings.partitions(settings.PARTITIONS, config[settings.PARTITIONS])
        for name, table_settings in of_tables.items():
            settings.partitions(f"iceberg.table.{name}.partition-by", [table_settings.get("partition-by", "")])
    except ConfigError as error:
        problems.append((settings.PARTITIONS, f"{error}."))
    branches = [name for name, table_settings in of_tables.items() if "commit-branch" in table_settings]
    if branches:
        problems.append((settings.TABLES, f"iceberg.table.{branches[0]}.commit-branch is not supported: rows go to main."))
    return problems


def _problems_of_catalog(
    config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]
) -> list[tuple[str, str]]:
    try:
        from kconnect.connectors.iceberg import catalogs
        from kconnect.connectors.iceberg.tables import Tables
    except ImportError:
        return [(settings.KIND, f"{_INSTALL}.")]
    topics = [topic.strip() for topic in props.get("topics", "").split(",") if topic.strip()]
    try:
        catalog = catalogs.made_catalog(config, props, worker)
        tables = Tables(catalog, config, props)
        catalog.list_namespaces()
        for name in {
            template.replace("${topic}", topic) for template in config[settings.TABLES] for topic in topics or ["${topic}"]
        }:
            table = tables.existing(name) if "${topic}" not in name else None
            if table is None and not config[settings.CREATE] and "${topic}" not in name:
                return [(settings.TABLES, f"There is no table {name}: create it, or set {settings.CREATE}=true.")]
            if table is not None and config[settings.UPSERT]:
                missing = [column for column in tables.ids(name, table) if column not in table.schema().column_names]
                if missing:
                    return [(settings.IDS, f"The table {name} has no column {missing[0]}.")]
    except ConfigError as error:
        return [(error.name if error.name in settings.CONFIG.keys else settings.URI, f"{error}.")]
    except ConnectError as error:
        return [(settings.IDS, f"{error}.")]
    except catalogs.errors() as error:
        return [(settings.URI, f"The catalog can't be used: {catalogs.reason(error)}.")]
    return []
