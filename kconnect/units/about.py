"""
What a unit is made of, for `/metrics`: the classes and versions of its parts, never a setting's value.

Called by `connector_unit.py` and `task_unit.py` once the parts are loaded. The texts are those of `core/metrics/table.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api.connector import Connector
from kconnect.api.task import Task
from kconnect.core.settings import aliases
from kconnect.core.task.meters import About
from kconnect.plugins import chain
from kconnect.plugins.java_names import task_class_name
from kconnect.plugins.registry import class_name
from kconnect.units import converters
from kconnect.units.unit import Ports, well_formed


def version_of(plugin: Any) -> str | None:
    """
    Return the version of a connector or task: a text, or None, whatever it returns. Records and reports must be able to hold
    it.
    """
    version = plugin.version()
    return None if version is None else well_formed(str(version))


def of_connector(connector: Connector, kind: str) -> About:
    """`kind` is source or sink."""
    texts = {
        "connector-class": class_name(type(connector)),
        "connector-type": kind,
        "connector-version": version_of(connector) or "",
    }
    return About(texts)


def of_task(connector: Connector, kind: str, task: Task, config: Mapping[str, str], ports: Ports) -> About:
    plugins = ports.plugins

    def of(part: chain.Part) -> tuple[str, str]:
        """Class and version, which is that of its package: not all of these classes tell one."""
        return class_name(part.load(plugins)), part.find(plugins).version

    about = of_connector(connector, kind)
    about.texts.update({"task-class": task_class_name(type(task)), "task-version": version_of(task) or ""})
    for which, _ in chain.CONVERTERS:
        class_of_part, version = of(converters.part(which, config, ports.settings, plugins))
        about.texts.update({f"{which}-converter-class": class_of_part, f"{which}-converter-version": version})
    about.transforms.update({alias.name: of(chain.transform(alias)) for alias in aliases.transforms(config)})
    by_name = aliases.predicates(config)
    used = {alias.predicate for alias in aliases.transforms(config)}
    about.predicates.update({name: of(chain.predicate(by_name[name])) for name in by_name if name in used})
    return about
