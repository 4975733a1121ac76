"""
Decimals of bytes: an integer as two's complement, and a scale, as Avro, Java and JSON in base64 have them.

To make a decimal of an integer takes Python time by the square of its digits, in one call that holds the interpreter's lock, so
that nothing else runs in the process: a megabyte takes minutes. Used by whoever reads such bytes.
"""

from __future__ import annotations

import decimal

from kconnect.errors import DataError

LONGEST = 1785
"""
Bytes of an unscaled number: those of 4,300 digits, as long as Python's own texts of integers may be. Databases have a thousand
digits, and most formats 38.
"""


def of_bytes(data: bytes | bytearray | memoryview, scale: int) -> decimal.Decimal:
    """Return the decimal. No bytes are 0. DataError if they are too many."""
    if len(data) > LONGEST:
        raise DataError(f"A decimal has {len(data)} bytes, of which {LONGEST} may be")
    number = int.from_bytes(data, "big", signed=True)
    try:
        return decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
    except ValueError as error:
        raise DataError(f"A decimal can't be read: {error}") from None
