"""
The Python type of a Java connector's tasks. Called by `connectors.py`. Read next: `source_task.py`, `sink_task.py`.
"""

from __future__ import annotations

from typing import Any

from kconnect.api.task import Task
from kconnect.jvm import loading
from kconnect.jvm.sink_task import JavaSinkTask
from kconnect.jvm.source_task import JavaSourceTask


def of(loaded: Any, place: str, is_sink: bool) -> type[Task]:
    """Return the type that stands for the class of a connector's tasks."""
    base: type[Task] = JavaSinkTask if is_sink else JavaSourceTask
    return loading.type_of(base, loaded, place)
