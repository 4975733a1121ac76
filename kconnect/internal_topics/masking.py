"""
Keeps secrets out of what `kconnect topics …` shows: values of settings whose names say so, wherever else they stand, too.

The internal topics hold configs as they were submitted, so whatever is no reference stands there in plain text. Used by
`meaning.py` and `view.py`. Session keys are not shown by either, masked or not. Read next: `core/settings/secrets.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kconnect.api.config import HIDDEN
from kconnect.core.settings import references, secrets
from kconnect.core.state.assignment_records import GeneratedTasks
from kconnect.core.state.records import ConnectorConfig, TaskConfig
from kconnect.internal_topics.contents import Stored, decode


class Mask:
    """A mask over secrets. With `show` nothing is hidden."""

    def __init__(self, show: bool = False) -> None:
        self.show = show
        self._secrets: set[str] = set()

    @classmethod
    def of(cls, records: Iterable[Stored], show: bool = False) -> Mask:
        """Return a mask that knows the secrets of all these records: what one has in a config, another may have in a trace."""
        mask = cls(show)
        for record in records:
            mask.learn(record)
        return mask

    def learn(self, record: Stored) -> None:
        if self.show:
            return
        match decode(record.log):
            case ConnectorConfig(_, properties) | TaskConfig(_, _, properties):
                self._secrets |= secrets.values(properties or {})
            case GeneratedTasks(_, configs):
                for config in configs or ():
                    self._secrets |= secrets.values(config)
            case _:
                pass

    def properties(self, config: Mapping[str, str | None]) -> dict[str, str | None]:
        return {name: self._property(name, value) for name, value in config.items()}

    def _property(self, name: str, value: str | None) -> str | None:
        if self.show or value is None:
            return value
        # Whatever it is: too short to be looked for elsewhere may still be a secret.
        if secrets.is_secret(name) and any(part.strip() for part in references.literals(value)):
            return HIDDEN
        return self.text(value)

    def text(self, given: str) -> str:
        return given if self.show or not self._secrets else secrets.hide(given, self._secrets)

    def data(self, given: Any) -> Any:
        """Mask what JSON can hold: names that say so hide their values, and texts are searched."""
        if self.show:
            return given
        match given:
            case str():
                return self.text(given)
            case list() | tuple():
                return [self.data(item) for item in given]
            case dict():
                return {name: self._field(str(name), value) for name, value in given.items()}
            case _:
                return given

    def _field(self, name: str, value: Any) -> Any:
        return self._property(name, value) if isinstance(value, str) else self.data(value)
