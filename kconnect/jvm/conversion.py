"""
The conversion of a batch between a task in Python and Kafka where a converter is Java's: as `core/task/chain.py` has it, with
all three converters in Java, a batch a call.

Made by `units/source_task.py` and `units/sink_task.py`, of converters that `units/java_chain.py` has put together. A batch
with a record on which a converter fails goes across in pieces. Read next: `crossing.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errors import Cut, Errors
from kconnect.jvm.chain import Chain
from kconnect.jvm.crossing import JavaConversion
from kconnect.jvm.errors import JavaError


class _Conversion:
    def __init__(self, chain: Chain, errors: Errors) -> None:
        self._java, self._errors = JavaConversion(chain), errors
        self.topics: Collection[str] = ()
        """Of the last batch: those of its messages, or those that its messages came from and could be read of."""

    def at_once(self, batch: Any) -> None:
        """There are no columns in Java: `apply` it is."""

    def _all(
        self,
        given: Sequence[Any],
        origins: Sequence[Any],
        convert: Callable[[Sequence[Any]], list[Any]],
        cut: Cut | None = None,
    ) -> list[Any]:
        done: list[Any] = []
        while len(done) < len(given):
            at = len(done)
            try:
                done += convert(given[at:] if at else given)
            except JavaError:
                failed = self._java.failed()
                if failed is None:
                    raise
                stage, component, error = self._java.failure()
                bad = at + failed
                if failed:
                    done += convert(given[at:bad])
                alone = given[bad]
                try:
                    done.append(
                        self._errors.handle(stage, component, origins[bad], error, lambda alone=alone: convert([alone])[0])  # type: ignore[misc]
                    )
                except Exception as final:
                    if cut is None:
                        raise
                    cut.error = final
                    break
        return done


class JavaSourceChain(_Conversion):
    """Stands for a `SourceChain`."""

    def apply(
        self, records: Sequence[SourceRecord], origins: Sequence[Any] | None = None, cut: Cut | None = None
    ) -> list[Outgoing | None]:
        """
        The messages of a batch, one a record; None for one that can't be converted, where that is tolerated. Where it is not,
        those before it, with `cut`.
        """
        found = self._all(records, origins or records, self._java.messages, cut)
        self.topics = {message[0] for message in found if message is not None}
        return found


class JavaSinkChain(_Conversion):
    """Stands for a `SinkChain`."""

    def runs(self, messages: Sequence[Any]) -> list[Sequence[Any]]:
        return [messages]

    def apply(self, messages: Sequence[Any]) -> list[SinkRecord | None]:
        """The records of a batch, one a message; None for one that can't be converted, where that is tolerated."""
        found = self._all(messages, messages, self._java.records)
        self.topics = {record.topic for record in found if record is not None}
        return found
