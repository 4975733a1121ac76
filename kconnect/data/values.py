"""
Values: their text as Java shows them, their text in headers and back, from one type to another, and dates as milliseconds.

For plugins, by this name: `values.to_text(...)`, `values.parse_string(...)`, `values.convert_to_long(...)`. What is behind it:
`text.py`, `literals.py`, `conversion.py` and `java/moments.py`.
"""

from __future__ import annotations

from kconnect.data.conversion import (
    convert_to_boolean,
    convert_to_byte,
    convert_to_date,
    convert_to_decimal,
    convert_to_double,
    convert_to_float,
    convert_to_integer,
    convert_to_list,
    convert_to_long,
    convert_to_map,
    convert_to_short,
    convert_to_string,
    convert_to_struct,
    convert_to_time,
    convert_to_timestamp,
)
from kconnect.data.literals import parse_string
from kconnect.data.schema import java_class
from kconnect.data.text import column_texts, float32, float32_text, float64_text, message_text, to_text
from kconnect.java.moments import FarDate, date_of, milliseconds_of

__all__ = [
    "FarDate",
    "column_texts",
    "convert_to_boolean",
    "convert_to_byte",
    "convert_to_date",
    "convert_to_decimal",
    "convert_to_double",
    "convert_to_float",
    "convert_to_integer",
    "convert_to_list",
    "convert_to_long",
    "convert_to_map",
    "convert_to_short",
    "convert_to_string",
    "convert_to_struct",
    "convert_to_time",
    "convert_to_timestamp",
    "date_of",
    "float32",
    "float32_text",
    "float64_text",
    "java_class",
    "message_text",
    "milliseconds_of",
    "parse_string",
    "to_text",
]
