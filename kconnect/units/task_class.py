"""
The class of a task: the one that the started connector has named, whose name its task config has, as in Kafka Connect.

Called by `task_unit.py`, which has no started connector: one that decides by its config which tasks it has says nothing here.
Read next: `connector_unit.py`, which writes the name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kconnect.api.connector import Connector
from kconnect.api.task import Task
from kconnect.core.task import answers
from kconnect.errors import ConnectError
from kconnect.plugins.java_names import task_class_name
from kconnect.plugins.realms import plain_name
from kconnect.plugins.registry import class_name, java_name


def of(connector: Connector, name: str | None) -> Callable[[], Any]:
    """
    Return the class of a task whose config has this `name`, of a connector that was never started. What the connector itself
    says counts if there is no such class any more, as after an update: its next task configs have the new name.
    """
    try:
        answer = answers.task_class(class_name(type(connector)), connector.task_class())
    except Exception:
        named = None if name is None else _named(connector, name)
        if named is None:
            raise
        return named
    if name is None or (isinstance(answer, type) and task_class_name(answer) == name):
        return answer
    return _named(connector, name) or answer


def _named(connector: Connector, name: str) -> type[Task] | None:
    """Return the class of that name that comes with the connector; None if there is none."""
    if java_name(type(connector)) is not None:
        with suppress(ConnectError):
            return connector.task_class_named(name)  # type: ignore[attr-defined, no-any-return]
        return None
    module_name = type(connector).__module__
    # Nothing is imported that the connector has nothing to do with, whoever has written the config.
    realm, package = module_name.removesuffix(plain_name(module_name)), plain_name(module_name).partition(".")[0]
    module, _, rest = name.rpartition(".")
    while module == package or module.startswith(f"{package}."):
        with suppress(ImportError, AttributeError):
            candidate: Any = importlib.import_module(realm + module)
            for part in rest.split("."):
                candidate = getattr(candidate, part)
            if isinstance(candidate, type) and issubclass(candidate, Task):
                return candidate
        module, _, last = module.rpartition(".")
        rest = f"{last}.{rest}"
    return None
