"""
SparkSinkConnector: whether a config can be used. The rows: `task.py`.

Nothing is asked of Spark to check a config: it takes seconds to start, and a config is checked at each key that somebody types.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent import futures
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, SinkTask, TopicPartition
from kconnect.connectors.common import CheckedSink
from kconnect.connectors.lake import settings as lake_settings
from kconnect.connectors.libraries import Informed
from kconnect.connectors.spark import settings

_PYTHON, _SPARK = "lake.python", "lake.spark."


class SparkSinkConnector(Informed, CheckedSink):
    worker_settings = (*Informed.worker_settings, _PYTHON, _SPARK)

    def task_class(self) -> type[SinkTask]:
        from kconnect.connectors.spark.task import SparkSinkTask

        return SparkSinkTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        names = settings.NAMES
        problems = lake_settings.mismatches(names, config, props)
        problems += lake_settings.missing_ids(names, config, props)
        return problems or _problems_of_store(config, props, self.worker)

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Change the offsets of the tables, which go before the group's. Tables that a field names are unknown here."""
        from kconnect.connectors.spark.application import Application, SparkFault
        from kconnect.connectors.spark.lake import SparkLake

        config = settings.CONFIG.parse(connector_config)
        spark, longest_s = Application(self.worker), config[settings.PATIENCE] / 1000
        lake = SparkLake(config, connector_config, self.worker, spark.ask, lambda answer: answer.result(longest_s))
        try:
            for place, offset in offsets.items():
                for template in config[settings.NAMES.tables]:
                    lake.set_offset(template.replace("${topic}", place.topic), place, offset)
        except SparkFault as error:
            raise ConnectError(f"The offsets in the tables can't be changed: {error}") from None
        except futures.TimeoutError:
            text = f"The offsets in the tables can't be changed: Spark has not answered for {longest_s:.0f} s"
            raise ConnectError(f"{text}, which is {settings.PATIENCE}") from None
        finally:
            spark.end()
        return True


def _problems_of_store(config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    from kconnect.connectors.spark.lake import SparkLake

    def never(*arguments: Any) -> Any:
        raise AssertionError

    try:
        SparkLake(config, props, worker, never, never)
        for name in {"", *lake_settings.of_tables(settings.NAMES, props)}:
            settings.partitions_of(config, props, name)
    except ConfigError as error:
        return [(error.name if error.name in (settings.STORE, settings.CATALOG) else settings.NAMES.partitions, f"{error}.")]
    return []
