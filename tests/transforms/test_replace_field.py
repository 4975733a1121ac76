"""ReplaceField where two fields get one name."""

from __future__ import annotations

import pytest

from kconnect.api import DataError, SinkRecord, Struct
from kconnect.data import schema as s
from kconnect.transforms.replace_field import ReplaceFieldValue


def test_a_value_found_under_another_old_name_must_be_of_the_fields_type() -> None:
    transform = ReplaceFieldValue()
    transform.configure({"include": "b", "renames": "c:a,b:a"})
    narrow, wide = s.struct({"b": s.FLOAT64_SCHEMA, "c": s.FLOAT32_SCHEMA}), s.struct({"b": s.INT8_SCHEMA, "c": s.INT8_SCHEMA})
    with pytest.raises(DataError, match=r'class java\.lang\.Float for field: "a"'):
        transform.apply(SinkRecord("t", 0, None, None, narrow, Struct(narrow, {"b": 1.5, "c": 2.5}), 0))
    found = transform.apply(SinkRecord("t", 0, None, None, wide, Struct(wide, {"b": 1, "c": 2}), 0))
    assert found.value["a"] == 2
