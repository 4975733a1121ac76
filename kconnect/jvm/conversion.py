"""
The conversion of a batch between a task in Python and Kafka where a converter is Java's: as `core/task/chain.py` has it, with
all three converters in Java, a batch a call.

Made by `units/chains.py`, of converters that `units/java_chain.py` has put together. A batch
with a record on which a converter fails goes across in pieces, one with a record that can't cross record by record. Read next:
`crossing.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.errors import Component, Cut, Errors, Stage
from kconnect.errors import UnrecoverableError
from kconnect.jvm.chain import Chain
from kconnect.jvm.crossing import CROSSING, JavaConversion


class _Conversion:
    def __init__(self, chain: Chain, errors: Errors) -> None:
        self._java, self._errors = JavaConversion(chain), errors
        self.topics: Collection[str] = ()
        """Of the last batch: those of its messages, or those that its messages came from and could be read of."""

    def at_once(self, batch: Any) -> None:
        """Return None: there are no columns in Java, so `apply` is used."""

    def _all(
        self,
        records: Sequence[Any],
        origins: Sequence[Any],
        convert: Callable[[Sequence[Any]], list[Any]],
        cut: Cut | None = None,
    ) -> list[Any]:
        """
        Return one result of each, None for one that failed where that is tolerated. Where it is not, raise; or, with `cut`,
        return those before it. What can't cross has failed as well.
        """
        results: list[Any] = []
        while len(results) < len(records) and (cut is None or cut.error is None):
            at = len(results)
            try:
                results += convert(records[at:] if at else records)
                continue
            except Exception as error:  # noqa: BLE001 - a plugin's own
                failed, cause = self._java.failed(), error
            if failed is None and isinstance(cause, UnrecoverableError):
                raise cause
            if failed is None and len(records) - at > 1:
                # Which of them can't cross shows when each goes alone.
                results += self._each(records[at:], origins[at:], convert, cut)
                break
            judged = (Stage.VALUE_CONVERTER, CROSSING, cause) if failed is None else self._java.failure()
            if failed:
                results += self._all(records[at : at + failed], origins[at : at + failed], convert, cut)
            if cut is None or cut.error is None:
                results += self._judged(judged, records[len(results)], origins[len(results)], convert, cut)
        return results

    def _each(
        self,
        records: Sequence[Any],
        origins: Sequence[Any],
        convert: Callable[[Sequence[Any]], list[Any]],
        cut: Cut | None,
    ) -> list[Any]:
        results: list[Any] = []
        for record, origin in zip(records, origins):
            if cut is None or cut.error is None:
                results += self._all([record], [origin], convert, cut)
        return results

    def _judged(
        self,
        failure: tuple[Stage, Component, Exception],
        failed: Any,
        origin: Any,
        convert: Callable[[Sequence[Any]], list[Any]],
        cut: Cut | None,
    ) -> list[Any]:
        """Return what comes of one that failed; nothing if the batch is cut there."""
        try:
            return [self._errors.handle(*failure[:2], origin, failure[2], lambda: convert([failed])[0])]
        except Exception as final:
            if cut is None:
                raise
            cut.error = final
            return []


class JavaSourceChain(_Conversion):
    """Stands for a `SourceChain`."""

    def apply(
        self, records: Sequence[SourceRecord], origins: Sequence[Any] | None = None, cut: Cut | None = None
    ) -> list[Outgoing | None]:
        """
        The messages of a batch, one a record; None for one that can't be converted, where that is tolerated. Where it is not,
        those before it, with `cut`.
        """
        messages = self._all(records, origins or records, self._java.messages, cut)
        self.topics = {message[0] for message in messages if message is not None}
        return messages


class JavaSinkChain(_Conversion):
    """Stands for a `SinkChain`."""

    def runs(self, messages: Sequence[Any]) -> list[Sequence[Any]]:
        return [messages]

    def apply(self, messages: Sequence[Any]) -> list[SinkRecord | None]:
        """The records of a batch, one a message; None for one that can't be converted, where that is tolerated."""
        records = self._all(messages, messages, self._java.records)
        self.topics = {record.topic for record in records if record is not None}
        return records
