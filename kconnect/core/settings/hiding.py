"""
Has the answer of a validation show a config as it was submitted, while its references are resolved for those who validate.

Made by `plugins/validation.py`, used by `validation.py`. Read next: `references.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kconnect.core.settings import references, secrets
from kconnect.core.settings.references import Resolved


class Submitted:
    """`raw` is the config with references, `resolved` what is known of those; `config` is what validators get."""

    def __init__(self, raw: Mapping[str, str], resolved: Resolved) -> None:
        self.raw = raw
        self.config = {
            setting: text if setting in references.FOR_THE_WORKER else resolved.text(text) for setting, text in raw.items()
        }
        self.covered = {form: ref for value, ref in resolved.cover(raw).items() for form in secrets.forms(value)}
        """By what no message may quote: the reference that is put there instead."""
        self._values = resolved.values
        self._holding = {setting: references.find(text) for setting, text in raw.items() if references.find(text)}
        self._problems = resolved.problems(raw)
        for setting, message in references.of_the_worker(raw):
            self._problems[setting] = [message]

    def text(self, text: str) -> str:
        """A text of plugin code, without what references stand for."""
        return references.hide(text, self.covered)

    def rows(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Entries of `configs`. What a setting's reference can't be resolved for is all that is said about the setting."""
        return [self._row(row) for row in rows]

    def undeclared(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Entries for the settings that have problems and are not among `names`."""
        missing = self._problems.keys() - set(names)
        return [
            {"definition": None, "value": {**_EMPTY, "name": name, "value": self.raw[name], "errors": self._problems[name]}}
            for name in sorted(missing)
        ]

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        shown: dict[str, Any] = _in_texts(row, self.text)
        value = shown["value"]
        if value is None or value["name"] not in self._holding:
            return shown
        setting = value["name"]
        by_value = {self._values[ref]: ref.text for ref in self._holding[setting] if self._values.get(ref)}
        # However short: in messages about this very setting it is known where the value comes from.
        errors = [_in_words(message, by_value) for message in value["errors"]]
        return {**shown, "value": {**value, "value": self.raw[setting], "errors": self._problems.get(setting, errors)}}


_EMPTY: dict[str, Any] = {"recommended_values": [], "visible": True}


def _in_texts(body: Any, change: Any) -> Any:
    if isinstance(body, str):
        return change(body)
    if isinstance(body, dict):
        return {key: _in_texts(value, change) for key, value in body.items()}
    return [_in_texts(value, change) for value in body] if isinstance(body, list | tuple) else body


def _in_words(text: str, values: Mapping[str, str]) -> str:
    pattern = "|".join(rf"(?<!\w){re.escape(value)}(?!\w)" for value in sorted(values, key=len, reverse=True))
    return re.sub(pattern, lambda match: values[match[0]], text) if pattern else text
