"""
Java names of built-in task classes, for `task.class` in task configs.

Called by `units/connector_unit.py`: a Kafka Connect worker that takes the topics over then starts the same task. The names
of connectors and other plugins are in `registry.py`.
"""

from __future__ import annotations

from typing import Any

from kconnect.plugins.realms import plain_name
from kconnect.plugins.registry import java_name

_TASKS = {
    "kconnect.connectors.file_source:FileStreamSourceTask": "org.apache.kafka.connect.file.FileStreamSourceTask",
    "kconnect.connectors.file_sink:FileStreamSinkTask": "org.apache.kafka.connect.file.FileStreamSinkTask",
}


def task_class_name(task_class: type[Any]) -> str:
    """The class's name as a task config holds it: Java's for a built-in one and for Java's own, else its Python path."""
    if (java := java_name(task_class)) is not None:
        return java
    path = f"{plain_name(task_class.__module__)}:{task_class.__qualname__}"
    return _TASKS.get(path, path.replace(":", "."))
