"""
The converters of one task. Built in the task's thread by `chains.py`.

Which classes they are, and in which versions, `plugins/chain.py` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.core.settings import worker
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.task.chain import Converters
from kconnect.plugins import chain
from kconnect.plugins.registry import Registry, class_name, java_name
from kconnect.units.checked import CheckedConverter, CheckedHeaderConverter


def make(config: Mapping[str, str | None], settings: WorkerSettings, plugins: Registry) -> Converters:
    """
    The connector's own with their own settings, or else the worker's with the worker's.

    As in Connect, the two are never mixed: a connector that names a converter inherits none of the worker's settings.
    """

    def converter(which: str) -> Converter:
        asked = part(which, config, settings, plugins)
        instance: Converter = asked.load(plugins)()
        instance.configure({**given(asked, config, settings), "converter.type": which}, which == "key")
        return instance if is_built_in(type(instance)) else CheckedConverter(instance, class_name(type(instance)))

    @cache
    def header() -> HeaderConverter:
        # Only when the first header comes: most tasks never see one.
        asked = part("header", config, settings, plugins)
        instance: HeaderConverter = asked.load(plugins)()
        instance.configure({**given(asked, config, settings), "converter.type": "header"})
        return instance if is_built_in(type(instance)) else CheckedHeaderConverter(instance, class_name(type(instance)))

    names = class_names(config, settings, plugins)
    return Converters(converter("key"), converter("value"), header, names)


def is_built_in(part: type[Any]) -> bool:
    """Whether a class is one of the box, or stands for one of Java: of these the types of their answers are known."""
    return part.__module__.startswith("kconnect.") or java_name(part) is not None


def class_names(config: Mapping[str, str | None], settings: WorkerSettings, plugins: Registry) -> tuple[str, str, str]:
    """Return the class names of the key, value and header converters."""
    key, value, header = (class_name(part(which, config, settings, plugins).load(plugins)) for which, _ in chain.CONVERTERS)
    return key, value, header


def part(which: str, config: Mapping[str, str | None], settings: WorkerSettings, plugins: Registry) -> chain.Part:
    """The converter that a task has: `which` is key, value or header."""
    return chain.converter(plugins, config, worker.converters(settings), which)


def given(asked: chain.Part, config: Mapping[str, str | None], settings: WorkerSettings) -> dict[str, str]:
    """A converter's own settings; its version is none of them (KIP-891)."""
    prefix = f"{asked.setting}."
    source: Mapping[str, str | None] = settings.raw if asked.inherited else config
    settings_of_part = {
        key[len(prefix) :]: value for key, value in source.items() if key.startswith(prefix) and value is not None
    }
    settings_of_part.pop(chain.VERSION, None)
    return settings_of_part
