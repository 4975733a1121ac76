"""
DatagenSourceConnector: whether records can be made by a config. What that says: `settings.py`. The records: `task.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConnectError, SourceTask
from kconnect.connectors.common import CheckedSource
from kconnect.connectors.datagen import settings
from kconnect.connectors.datagen.schemas import LocaleError
from kconnect.connectors.datagen.settings import (
    CONFIG,
    ITERATION,
    KEY_FIELD,
    LOCALE,
    QUICKSTART,
    SCHEMA,
    SCHEMA_FILE,
    SEED,
    TASK_ID,
    TIME_START,
)
from kconnect.connectors.datagen.task import DatagenSourceTask
from kconnect.connectors.libraries import Informed


class DatagenSourceConnector(Informed, CheckedSource):
    def task_class(self) -> type[SourceTask]:
        return DatagenSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return as many configs as are allowed: each task makes records of its own."""
        return [{**self._props, TASK_ID: str(task)} for task in range(max_tasks)]

    def config(self) -> ConfigDef:
        return CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        problems = []
        sources = [name for name in (QUICKSTART, SCHEMA, SCHEMA_FILE) if config[name]]
        if not sources:
            problems.append(
                (
                    QUICKSTART,
                    f"One of {QUICKSTART}, {SCHEMA} and {SCHEMA_FILE} must say what the records are.",
                )
            )
        elif len(sources) > 1:
            problems.append(
                (sources[1], f"{sources[1]} and {sources[0]} both say what the records are: leave out one of them.")
            )
        else:
            try:
                generator = settings.read(config, "0", self.worker)
                key = settings.key_field(config)
                if key and generator.schema.field(key) is None:
                    names = ", ".join(field.name for field in generator.schema.fields)
                    problems.append((KEY_FIELD, f"The schema has no field {key}, but {names}."))
            except ConnectError as error:
                problems.append((LOCALE if isinstance(error, LocaleError) else sources[0], str(error)))
        try:
            settings.start_of_time(config)
        except ValueError:
            text = f"{config[TIME_START]} is no point in time in ISO 8601, such as 2026-01-31T12:00:00Z."
            problems.append((TIME_START, text))
        return problems

    def check_offset(self, partition: Mapping[str, Any] | None, offset: Mapping[str, Any]) -> None:
        if partition is None or not isinstance(partition.get(TASK_ID), int):
            raise ConnectError(f'A partition of this connector is {{"{TASK_ID}": n}}, n being the number of a task from 0')
        iteration, seed = offset.get(ITERATION), offset.get(SEED)
        if not isinstance(iteration, int) or isinstance(iteration, bool) or iteration < 0:
            raise ConnectError(f'An offset of this connector has "{ITERATION}", the number of records made: 0 or more')
        if SEED in offset and not isinstance(seed, int):
            raise ConnectError(f'"{SEED}" in an offset of this connector is an integer')
