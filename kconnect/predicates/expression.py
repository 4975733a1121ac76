"""The predicate Expression: whether an expression in CEL holds for a record. Called by the task chain."""

from __future__ import annotations

from collections.abc import Mapping

from kconnect.api import NO_DEFAULT, ConfigDef, ConfigKey, DataError, Importance, Predicate, SinkRecord, SourceRecord, Type
from kconnect.cel import records


class Expression(Predicate):
    CONFIG = ConfigDef(
        ConfigKey(
            "expression",
            Type.STRING,
            NO_DEFAULT,
            Importance.HIGH,
            "An expression in CEL that gives true or false, such as `value.price > 100 && topic.startsWith('eu.')`. It knows "
            f"{', '.join(records.VARIABLES)}. If it gives neither, or fails, the record fails.",
            records.Expression("bool"),
        )
    )

    def config(self) -> ConfigDef:
        return self.CONFIG

    def configure(self, configs: Mapping[str, str]) -> None:
        self._program = records.program(self.CONFIG.parse(configs)["expression"])

    def test(self, record: SourceRecord | SinkRecord) -> bool:
        result = records.evaluate(self._program, "expression", record)
        if result is True or result is False:
            return result
        raise DataError(f"expression = {self._program.text} must be true or false, for this record it is neither")
