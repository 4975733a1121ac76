"""
What Java makes of bytes that are no text in an encoding, and of halves of surrogate pairs that have no bytes.

`JAVAS` names an error handler for `bytes.decode` and `str.encode`, where `replace` would be Python's way; texts without errors
take as long as ever. Used by the converters of texts; what Jackson makes of such bytes is in `json_bytes.py`.
"""

from __future__ import annotations

import codecs

JAVAS = "kconnect-java"


def replacement(encoding: str) -> str:
    """The error handler with which to encode: half a surrogate pair is a question mark where a character need not be wide."""
    return JAVAS if encoding.startswith(("utf-16", "utf-32")) else "replace"


def _as_java(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError):
        return ("\ufffd" * (error.end - error.start)).encode(error.encoding), error.end
    assert isinstance(error, UnicodeDecodeError)
    encoding = error.encoding.lower().replace("_", "-")
    if encoding.startswith("utf-8"):
        return "\ufffd", max(error.end, _end_of_surrogate(error.object, error.start))
    little = encoding.endswith("le")
    if encoding.startswith("utf-32") and "surrogate" in error.reason:
        return chr(int.from_bytes(error.object[error.start : error.start + 4], "little" if little else "big")), error.start + 4
    if not encoding.startswith("utf-16") or error.reason != "illegal UTF-16 surrogate":
        return "\ufffd", error.end
    # A first half of a pair that another unit follows than a second half takes that unit with it.
    unit = int.from_bytes(error.object[error.start : error.start + 2], "little" if little else "big")
    return "\ufffd", min(error.start + 4, len(error.object)) if 0xD800 <= unit < 0xDC00 else error.end


def _end_of_surrogate(data: bytes, start: int) -> int:
    """The bytes of a surrogate, or the first two of them, are one mistake in Java; in Python each byte is."""
    if data[start] != 0xED:
        return start
    end = start + 1
    while end < min(start + 3, len(data)) and data[end] & 0xC0 == 0x80:
        end += 1
    return end


codecs.register_error(JAVAS, _as_java)
