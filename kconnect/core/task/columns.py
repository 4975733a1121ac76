"""
A part of many records, keys or values, as one list: how a chain of built-in transforms changes a batch at once.

Record by record, a transform that adds a field spends most of its time on calls. So those that the framework knows offer a
second form: given the schema that all records share and the list of their values, it gives another schema and another list.
Consecutive steps hand the column on, and the records, which must be nobody else's, get their values at the end. A struct is
the list of its values meanwhile. Whatever is out of the ordinary (schemas that differ, a value of another kind, an error)
is left to the ordinary form, which starts from the same values. Called by `steps.py`; offered by `kconnect/transforms`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kconnect.api.schema import Schema, SchemaType, Struct

if TYPE_CHECKING:
    from kconnect.core.task.steps import Step

Values = list[Any]
ColumnForm = Callable[["Schema | None", Values, "list[Any]"], "tuple[Schema | None, Values]"]
"""
Of (schema, values, records): the schema and the values after. Where the schema is a struct's, each value is the list of its
fields' values, or None. It changes nothing that it is given, and raises what it likes for a batch that it does not take.
"""


class Column:
    """The keys or the values (`part`) of `records`, which are all that were not dropped."""

    def __init__(self, part: str, records: list[Any], schema: Schema | None, values: Values) -> None:
        self.part, self.records, self.schema, self.values = part, records, schema, values

    @classmethod
    def of(cls, part: str, records: list[Any]) -> Column | None:
        """None if the records differ in their schemas."""
        records = [record for record in records if record is not None] if None in records else records
        if not records:
            return None
        if part == "value":
            schemas, values = [record.value_schema for record in records], [record.value for record in records]
        else:
            schemas, values = [record.key_schema for record in records], [record.key for record in records]
        schema = schemas[0]
        if schemas.count(schema) != len(schemas):
            return None
        if schema is not None and schema.type is SchemaType.STRUCT:
            if any(value is not None and (type(value) is not Struct or value.schema is not schema) for value in values):
                return None
            values = [None if value is None else value._values for value in values]
        return cls(part, records, schema, values)

    def write_back(self) -> None:
        schema, values = self.schema, self.values
        if schema is not None and schema.type is SchemaType.STRUCT:
            values = [None if value is None else Struct.unchecked(schema, value) for value in values]
        if self.part == "value":
            for record, value in zip(self.records, values):
                record.value_schema, record.value = schema, value
        else:
            for record, value in zip(self.records, values):
                record.key_schema, record.key = schema, value


def changed(column: Column | None, step: Step, records: list[Any]) -> Column | None:
    """
    The column after `step`; None if the step must go record by record, from records that have their values again.

    `column` is that of the steps before, if there is one.
    """
    assert step.columns is not None
    part = step.columns.__self__.part  # type: ignore[attr-defined]
    if column is not None and (column.part != part or (step.test is not None and step.test_all is None)):
        column.write_back()
        column = None
    if step.test is not None:
        taken = None if step.test_all is None else step.test_all([record for record in records if record is not None])
        wanted = not step.negate
        if taken is None or not taken or taken.count(wanted) != len(taken):
            if column is not None:
                column.write_back()
            return None
    fresh = column or Column.of(part, records)
    if fresh is None:
        return None
    try:
        fresh.schema, fresh.values = step.columns(fresh.schema, fresh.values, fresh.records)
    except Exception:  # noqa: BLE001 - whatever it is, one record is the reason, and will be found alone
        if column is not None:
            column.write_back()
        return None
    return fresh
