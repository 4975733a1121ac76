"""The transform InsertHeader: one more header, the same for every record. Read next: `common.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, Header, Importance, NonNull, Type
from kconnect.data import values
from kconnect.transforms.common import BuiltIn


class InsertHeader(BuiltIn):
    CONFIG = ConfigDef(
        ConfigKey("header", Type.STRING, importance=Importance.HIGH, doc="The header's name.", validator=NonNull()),
        ConfigKey(
            "value.literal",
            Type.STRING,
            importance=Importance.HIGH,
            doc="The header's value; its type is the one that it looks like.",
            validator=NonNull(),
        ),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        schema, value = values.parse_string(settings["value.literal"])
        self._header = Header(settings["header"], value, schema)

    def apply(self, record: Any) -> Any:
        return record.new_record(headers=[*record.headers, self._header])
