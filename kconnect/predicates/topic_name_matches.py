"""The predicate TopicNameMatches: whether a Java pattern matches a record's whole topic name. Called by the task chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api import ConfigDef, ConfigKey, Importance, NonEmptyString, Predicate, SinkRecord, SourceRecord, Type
from kconnect.java import regex


@dataclass(frozen=True)
class _NonEmptyRegex:
    def __call__(self, name: str, value: Any) -> None:
        NonEmptyString()(name, value)
        regex.ValidRegex()(name, value)

    def __str__(self) -> str:
        return "non-empty string, valid regex"

_TOPICS = 1000


class TopicNameMatches(Predicate):
    CONFIG = ConfigDef(
        ConfigKey(
            "pattern",
            Type.STRING,
            importance=Importance.MEDIUM,
            doc="A Java pattern for the topic's name, as the transforms before have left it.",
            validator=_NonEmptyRegex(),
        )
    )

    def config(self) -> ConfigDef:
        return self.CONFIG

    def configure(self, configs: Mapping[str, str]) -> None:
        self._pattern = regex.compile(self.CONFIG.parse(configs)["pattern"])
        self._known: dict[str | None, bool] = {None: False}

    def test(self, record: SourceRecord | SinkRecord) -> bool:
        # Tasks see few topics, and many records of each.
        topic = record.topic
        known = self._known.get(topic)
        if known is None:
            if len(self._known) > _TOPICS:
                self._known = {None: False}
            known = self._known[topic] = self._pattern.matches(topic) is not None
        return known

    def test_all(self, records: Sequence[SourceRecord | SinkRecord]) -> list[bool]:
        """`test` for many; it looks at nothing but their topics."""
        known, test = self._known, self.test
        return [known[record.topic] if record.topic in known else test(record) for record in records]
