"""What a sink's chain makes of messages, together and one by one, so that tests can compare the two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kconnect.api.converter import Converter
from kconnect.converters.simple_header import SimpleHeaderConverter
from kconnect.converters.string import StringConverter
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.batch import Batch
from kconnect.core.task.chain import Converters, SinkChain
from kconnect.core.task.errors import Errors, Failure
from kconnect.core.task.sink_pump import Parts, SinkConversion
from kconnect.core.task.steps import Steps
from kconnect.core.task.topic_use import TopicUse
from kconnect.data.schema import Struct
from tests.core.task.records import Message


def shown(value: Any) -> str:
    """A value with all that tells it from an equal one: 1, 1.0 and true; 0.0 and -0.0; digits of decimals."""
    if isinstance(value, Struct):
        return f"struct {value.schema!r} {[shown(item) for item in value.values]}"
    if isinstance(value, dict):
        return f"map {[(shown(key), shown(item)) for key, item in value.items()]}"
    if isinstance(value, list):
        return f"list {[shown(item) for item in value]}"
    return f"{type(value).__name__} {value!r}"


class Outcome:
    """What a chain has made of messages: records by their offsets, and failures."""

    def __init__(self, made: Converter, messages: Sequence[Message], together: bool, headers: bool = False) -> None:
        self.failures: list[Failure] = []
        self.batches = 0
        errors = Errors(ErrorSettings(tolerant=True), self.failures.append, lambda s: True, lambda: 0.0, lambda s: s)
        chain = SinkChain(Converters(StringConverter(), made, SimpleHeaderConverter), errors)
        intake = SinkConversion(chain, Steps([]), errors, TopicUse(set, lambda topic: None), columns=True, headers=headers)
        self.intake, self.chain = intake, chain
        done = intake(messages) if together else [record for each in messages for record in chain.apply([each]) if record]
        records: list[Any] = []
        for part in done.parts if isinstance(done, Parts) else [done]:
            self.batches += isinstance(part, Batch)
            records += part.records() if isinstance(part, Batch) else part
        self.values = [(record.offset, repr(record.value_schema), shown(record.value)) for record in records]
        self.headers = [[(name, schema, shown(value)) for name, value, schema in record.headers] for record in records]
        self.reasons = [(failure.origin.offset(), failure.stage, str(failure.error)) for failure in self.failures]
