"""
The transform RegexRouter: gives a record another topic, made of its own by a Java pattern and a replacement.

Called by the task chain. Read next: `kconnect/java/regex.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConfigKey, DataError, Importance, Type
from kconnect.data.column import Unusual
from kconnect.java import regex
from kconnect.transforms.common import LONGEST_TOPIC, BuiltIn

_ROUTES = 1000
"""How many topics are remembered: most tasks see a few."""


class RegexRouter(BuiltIn):
    CONFIG = ConfigDef(
        ConfigKey(
            "regex",
            Type.STRING,
            importance=Importance.HIGH,
            doc="A Java pattern. Records whose whole topic name it matches get another topic, all others keep theirs.",
            validator=regex.ValidRegex(),
        ),
        ConfigKey(
            "replacement",
            Type.STRING,
            importance=Importance.HIGH,
            doc="The replacement for the pattern's first match in the topic name; `$1` or `${name}` stands for a group.",
        ),
    )

    def setup(self, settings: Mapping[str, Any]) -> None:
        self._routes: dict[str | None, str] = {}
        self._pattern = regex.compile(settings["regex"])
        self._replacement = settings["replacement"]
        if self._replacement is not None:
            try:
                self._pattern.check_replacement(self._replacement)
            except regex.UnsupportedPatternError as error:
                raise ConfigError("replacement", self._replacement, str(error)) from None

    def apply(self, record: Any) -> Any:
        topic = record.topic
        routed = self._route(topic)
        if routed == topic:
            return record
        if not self.owns_records:
            return record.new_record(topic=routed)
        record.topic = routed
        return record

    def apply_batch(self, batch: Any) -> Any:
        if batch.topic is None:
            raise Unusual
        return batch.replace(topic=self._route(batch.topic))

    def _route(self, topic: str | None) -> str:
        routed = self._routes.get(topic)
        if routed is None:
            routed = self._routed(topic)
            if len(self._routes) >= _ROUTES:
                self._routes.clear()
            self._routes[topic] = routed
        return routed

    def _routed(self, topic: str | None) -> str:
        if topic is None:
            raise DataError("A record without a topic can't be routed by its topic")
        if self._pattern.matches(topic) is None:
            return topic
        if self._replacement is None:
            raise DataError("replacement")
        # The first match, as Connect has it: of `a|ab` in the topic "ab" that is the "a" alone.
        return self._pattern.replace_first(topic, self._replacement, LONGEST_TOPIC)
