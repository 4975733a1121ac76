"""
The task configs of a connector that is run by hand, as a worker would store them, and its end if its start fails. Called by
`source.py`, `sink.py` and `checks.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from kconnect.api.connector import Connector, SinkConnector, SourceConnector
from kconnect.api.task import SinkTask, SourceTask
from kconnect.core.settings.common import TASKS_MAX
from kconnect.errors import ConnectError
from kconnect.plugins.java_names import task_class_name


def task_configs_of(connector: Connector, config: Mapping[str, str]) -> list[dict[str, str]]:
    """
    The task configs that a started connector makes for its `tasks.max`, with the settings that the framework adds. Raises
    ConnectError, with the reason, if a worker would not accept them.
    """
    name = type(connector).__name__
    limit = TASKS_MAX.read(config)
    kind: type[object] = SourceTask if isinstance(connector, SourceConnector) else SinkTask
    task_class = connector.task_class()
    if not isinstance(task_class, type) or not issubclass(task_class, kind):
        raise ConnectError(f"{name}.task_class() returned {task_class!r}, but must return a class derived from {kind.__name__}")
    configs = connector.task_configs(limit)
    if not isinstance(configs, list) or not all(isinstance(task_config, dict) for task_config in configs):
        raise ConnectError(f"{name}.task_configs({limit}) returned a {type(configs).__name__}, but must return a list of dicts")
    if len(configs) > limit:
        raise ConnectError(f"{name}.task_configs({limit}) returned {len(configs)} configs: at most {limit} are allowed")
    for number, task_config in enumerate(configs):
        for key, value in task_config.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise ConnectError(
                    f"{name}.task_configs({limit}) gave task {number} the setting {key!r} as a {type(value).__name__}: names "
                    "and values of settings must be texts"
                )
    common = {"task.class": task_class_name(task_class)}
    if isinstance(connector, SinkConnector):
        common |= {key: config[key] for key in ("topics", "topics.regex") if config.get(key)}
    return [{**task_config, **common} for task_config in configs]


@contextmanager
def stopped_on_failure(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` if what is within raises anything, which comes out as it is."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            stop()
        raise
