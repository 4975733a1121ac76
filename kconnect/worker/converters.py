"""
The converters of one task. Built in the task's thread by `source_task.py` and `sink_task.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.core.settings.worker import WorkerSettings
from kconnect.plugins.registry import Registry


def make(
    which: str, config: Mapping[str, str | None], settings: WorkerSettings, plugins: Registry
) -> Converter:
    """
    The `key` or `value` converter: the connector's own with its own settings, or else the worker's with the worker's.

    As in Connect, the two are never mixed: a connector that names a converter inherits none of the worker's settings.
    """
    name, given = _asked(which, config, settings)
    converter: Converter = plugins.load(name, "converter")()
    converter.configure({**given, "converter.type": which}, which == "key")
    return converter


def make_header(
    config: Mapping[str, str | None], settings: WorkerSettings, plugins: Registry
) -> Callable[[], HeaderConverter]:
    """Gives the header converter when the first header comes: most tasks never see one."""

    @cache
    def get() -> HeaderConverter:
        name, given = _asked("header", config, settings)
        converter: HeaderConverter = plugins.load(name, "header_converter")()
        converter.configure({**given, "converter.type": "header"})
        return converter

    return get


def _asked(which: str, config: Mapping[str, str | None], settings: WorkerSettings) -> tuple[str, dict[str, str]]:
    setting = f"{which}.converter"
    own = config.get(setting)
    prefix = f"{setting}."
    source: Mapping[str, str | None] = config if own else settings.raw
    given = {key[len(prefix) :]: value for key, value in source.items() if key.startswith(prefix) and value is not None}
    return own or getattr(settings, f"{which}_converter"), given
