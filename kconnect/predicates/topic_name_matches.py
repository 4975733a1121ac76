"""The predicate TopicNameMatches: whether a Java pattern matches a record's whole topic name. Called by the task chain."""

from __future__ import annotations

from collections.abc import Mapping
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


class TopicNameMatches(Predicate):
    of_topic = True
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

    def test(self, record: SourceRecord | SinkRecord) -> bool:
        return record.topic is not None and self._pattern.matches(record.topic) is not None
