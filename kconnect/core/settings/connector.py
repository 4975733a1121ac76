"""
The framework's settings of a connector, by its type. Used by `validation.py` (for REST) and the units.

Transforms and predicates add keys of their own by alias. Read next: `source.py` and `sink.py`, then `validation.py`.
"""

from __future__ import annotations

from kconnect.api.config import ConfigDef
from kconnect.core.settings.sink import SINK_CONFIG
from kconnect.core.settings.source import SOURCE_CONFIG

__all__ = ["SINK_CONFIG", "SOURCE_CONFIG", "framework_config"]


def framework_config(kind: str) -> ConfigDef:
    """The table for a `source` or a `sink`."""
    return SINK_CONFIG if kind == "sink" else SOURCE_CONFIG
