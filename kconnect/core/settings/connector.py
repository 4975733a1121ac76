"""
The framework's settings of a connector, by its type. Used by `validation.py` (for REST) and the units in `worker/`.

Transforms and predicates add keys of their own by alias. Read next: `source.py` and `sink.py`, then `validation.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kconnect.api.config import ConfigDef
from kconnect.core.settings.common import ConnectorSettings
from kconnect.core.settings.sink import SINK_CONFIG, SinkSettings
from kconnect.core.settings.source import SOURCE_CONFIG, SourceSettings

__all__ = ["SINK_CONFIG", "SOURCE_CONFIG", "ConnectorSettings", "framework_config", "parse"]


def framework_config(kind: str) -> ConfigDef:
    """The table for a `source` or a `sink`."""
    return SINK_CONFIG if kind == "sink" else SOURCE_CONFIG


def parse(kind: str, config: Mapping[str, str]) -> ConnectorSettings:
    """The view of a `source`'s or `sink`'s config. ConfigError for the first setting that can't be used."""
    return SinkSettings.from_config(config) if kind == "sink" else SourceSettings.from_config(config)
