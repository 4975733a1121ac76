"""The transform Filter: drops every record that its predicate lets through to it (KIP-585). Read next: `common.py`."""

from __future__ import annotations

from typing import Any

from kconnect.transforms.common import BuiltIn


class Filter(BuiltIn):
    def apply(self, record: Any) -> Any:
        return None
