"""The transform DropHeaders: takes off all headers of some names. Called by the task chain; read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, Importance, Type
from kconnect.transforms.common import BuiltIn, Items


class DropHeaders(BuiltIn):
    CONFIG = ConfigDef(
        ConfigKey("headers", Type.LIST, importance=Importance.HIGH, doc="Names of headers to drop.", validator=Items())
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._names = frozenset(settings["headers"])

    def apply(self, record: Any) -> Any:
        return record.new_record(headers=[header for header in record.headers if header.key not in self._names])
