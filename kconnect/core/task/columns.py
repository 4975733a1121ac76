"""
Columns: the keys or the values of many records as one list, so that a chain of built-in transforms can change a batch at once.

Record by record, a transform that adds a field spends most of its time on calls. So built-in transforms can have a second form:
it takes the shape that all values share and the list of values, and returns another shape and another list. Consecutive steps
pass the column on. At the end the records get their new values, so nobody else may hold these records. In a column, a struct is
the list of its fields' values. So is a map without a schema, if all maps have the same keys. Unusual cases (schemas that
differ, a null, an error) are left to the ordinary form, which starts from the same values. Called by `steps.py`; the second
forms are in `kconnect/transforms`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kconnect.data.schema import Schema, SchemaType, Struct

if TYPE_CHECKING:
    from kconnect.core.task.steps import Step

Shape = Schema | tuple[str, ...]
"""The schema of all values; of maps without one, their keys."""
Values = list[Any]
ColumnForm = Callable[[Shape, Values, "list[Any]"], "tuple[Shape, Values]"]
"""
Of (shape, values, records): the shape and the values after. Of structs and maps each value is a list, the column's own, which
may be changed; but only once nothing can fail any more. It raises what it likes for a batch that it does not take.
"""


class Column:
    """The keys or the values (`part`) of `records`, which are all that were not dropped."""

    def __init__(self, part: str, records: list[Any], shape: Shape, values: Values) -> None:
        self.part, self.records, self.shape, self.values = part, records, shape, values

    @classmethod
    def of(cls, part: str, records: list[Any]) -> Column | None:
        """None if the records differ in their shapes, or one has no value."""
        records = [record for record in records if record is not None] if None in records else records
        if not records:
            return None
        if part == "value":
            schemas, values = [record.value_schema for record in records], [record.value for record in records]
        else:
            schemas, values = [record.key_schema for record in records], [record.key for record in records]
        schema = schemas[0]
        if schemas.count(schema) != len(schemas) or None in values:
            return None
        if schema is None:
            keys = _keys(values)
            return None if keys is None else cls(part, records, keys, [list(value.values()) for value in values])
        if schema.type is SchemaType.STRUCT:
            if any(type(value) is not Struct or value.schema is not schema for value in values):
                return None
            values = [value._values.copy() for value in values]
        return cls(part, records, schema, values)

    def write_back(self) -> None:
        shape, values = self.shape, self.values
        schema = None
        if isinstance(shape, tuple):
            values = [dict(zip(shape, row)) for row in values]
        else:
            schema = shape
            if schema.type is SchemaType.STRUCT:
                values = [Struct.unchecked(schema, row) for row in values]
        if self.part == "value":
            for record, value in zip(self.records, values):
                record.value_schema, record.value = schema, value
        else:
            for record, value in zip(self.records, values):
                record.key_schema, record.key = schema, value


def _keys(values: Values) -> tuple[str, ...] | None:
    """Those that all of these have, if all are maps of texts, in the same order."""
    if type(values[0]) is not dict:
        return None
    keys = tuple(values[0])
    if set(map(type, keys)) != {str} or set(map(type, values)) != {dict}:
        return None
    return None if [1 for value in values if tuple(value) != keys] else keys


def changed(column: Column | None, step: Step, records: list[Any]) -> Column | None:
    """
    The column after `step`; None if the step must go record by record, from records that have their values again.

    `column` is that of the steps before, if there is one.
    """
    assert step.columns is not None
    if column is not None and (column.part != step.part or not (step.test is None or step.of_topic)):
        column.write_back()
        column = None
    all_taken = step.test is None or (step.of_topic and all(step.takes(each) for each in records if each is not None))
    fresh = (column or Column.of(step.part, records)) if all_taken else None
    if fresh is None:
        if column is not None:
            column.write_back()
        return None
    try:
        fresh.shape, fresh.values = step.columns(fresh.shape, fresh.values, fresh.records)
    except Exception:  # noqa: BLE001 - whatever it is, one record is the reason, and will be found alone
        if column is not None:
            column.write_back()
        return None
    return fresh
