"""
The converters of one task. Built in the task's thread by `source_task.py` and `sink_task.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.task.chain import Converters
from kconnect.plugins.registry import Registry, class_name

_KINDS = (("key", "converter"), ("value", "converter"), ("header", "header_converter"))


def make(config: Mapping[str, str | None], settings: WorkerSettings, plugins: Registry) -> Converters:
    """
    The connector's own with their own settings, or else the worker's with the worker's.

    As in Connect, the two are never mixed: a connector that names a converter inherits none of the worker's settings.
    """

    def converter(which: str) -> Converter:
        name, given = _asked(which, config, settings)
        made: Converter = plugins.load(name, "converter")()
        made.configure({**given, "converter.type": which}, which == "key")
        return made

    @cache
    def header() -> HeaderConverter:
        # Only when the first header comes: most tasks never see one.
        name, given = _asked("header", config, settings)
        made: HeaderConverter = plugins.load(name, "header_converter")()
        made.configure({**given, "converter.type": "header"})
        return made

    names = tuple(class_name(plugins.load(_asked(which, config, settings)[0], kind)) for which, kind in _KINDS)
    return Converters(converter("key"), converter("value"), header, names)  # type: ignore[arg-type]


def _asked(which: str, config: Mapping[str, str | None], settings: WorkerSettings) -> tuple[str, dict[str, str]]:
    setting = f"{which}.converter"
    own = config.get(setting)
    prefix = f"{setting}."
    source: Mapping[str, str | None] = config if own else settings.raw
    given = {key[len(prefix) :]: value for key, value in source.items() if key.startswith(prefix) and value is not None}
    return own or getattr(settings, f"{which}_converter"), given
