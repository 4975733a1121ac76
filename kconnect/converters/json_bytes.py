"""
Which text the bytes of a JSON message are, as Connect's library, Jackson, sees it.

It takes UTF-8, UTF-16 and UTF-32, in UTF-8 also forms that are longer than they need be and characters beyond Unicode's last,
and it never looks at what stands behind the value. Called by `json_text.py`, for what orjson has refused.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Any

from kconnect.converters.encodings import JAVAS

Pairs = list[tuple[str, Any]]

_JACKSONS = "kconnect-jackson"
_MARKS = {
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF8: "utf-8",
}
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_LONG = re.compile(rb"\xf0[\x80-\x8f]|\xf4[\x90-\xbf]|[\xf5-\xf7]")
_LONG_IN_NAME = re.compile("([\uffc0-\uffff])[\udc00-\udfff]|[\udc00-\udfbf][\udc00-\udfff]")


def text_of(data: bytes) -> tuple[str, Callable[[Pairs], Any] | None]:
    """The text, which need be right up to the end of its first value only, and what makes an object of names and values."""
    encoding, start = _encoding(data)
    data = data[start:]
    if encoding.startswith("utf-16"):
        return data.decode(encoding, JAVAS), None
    if encoding.startswith("utf-32"):
        whole = data[: len(data) // 4 * 4].decode(encoding, "surrogatepass")
        # Two halves of a pair are one character, and some bytes of a character are none that a value may have.
        joined = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined + "x" * bool(len(data) % 4), None
    try:
        text = data.decode("utf-8", _JACKSONS)
    except UnicodeDecodeError as error:
        # No value goes on with the letter, so it must have ended before.
        text = data[: error.start].decode("utf-8", _JACKSONS) + "x"
    if _HALF.search(text) is None:
        return text, None
    return text, _long_named if _LONG.search(data) else _named


def _encoding(data: bytes) -> tuple[str, int]:
    """The encoding, and how long the mark is that says so; without one, zeros tell."""
    head = data[:4]
    if len(head) == 4:
        for mark, encoding in _MARKS.items():
            if head.startswith(mark):
                return encoding, len(mark)
        if not any(head[:3]):
            return "utf-32-be", 0
        if not any(head[1:]):
            return "utf-32-le", 0
    if len(head) > 1 and not all(head[:2]):
        return "utf-16-le" if head[0] else "utf-16-be", 0
    return "utf-8", 0


def _named(pairs: Pairs) -> dict[str, Any]:
    """Half a surrogate pair may stand in a text, but not in a name."""
    for name, _ in pairs:
        name.encode()
    return dict(pairs)


def _long_named(pairs: Pairs) -> dict[str, Any]:
    """
    Return an object whose names have characters that are not in Unicode. They come out as two odd halves, which may stand
    there.
    """
    _named([(_LONG_IN_NAME.sub("", name), None) for name, _ in pairs])
    return {_LONG_IN_NAME.sub(_of_name, name): value for name, value in pairs}


def _of_name(halves: re.Match[str]) -> str:
    """The first half is made by `+` in names, where texts have `|`."""
    return chr(ord(halves[1]) - 0x2800) + halves[0][1] if halves[1] else halves[0]


def _as_jackson(error: UnicodeError) -> tuple[str, int]:
    """
    Return what Jackson reads of a malformed character, as an escape: where the character is not allowed, the escape is not
    either.
    """
    assert isinstance(error, UnicodeDecodeError)
    data, start = error.object, error.start
    lead = data[start]
    size = 2 if lead & 0xE0 == 0xC0 else 3 if lead & 0xF0 == 0xE0 else 4 if lead & 0xF8 == 0xF0 else 0
    code, rest = lead & (0x7F >> size), data[start + 1 : start + size]
    if len(rest) + 1 != size or any(byte & 0xC0 != 0x80 for byte in rest):
        raise error
    for byte in rest:
        code = code << 6 | byte & 0x3F
    before = start
    while before and data[before - 1] == ord("\\"):
        before -= 1
    if (size == 3 and 0xD800 <= code < 0xE000) or (start - before) % 2:
        raise error
    if size < 4:
        return f"\\u{code:04x}", start + size
    code -= 0x10000
    return f"\\u{(code >> 10 | 0xD800) & 0xFFFF:04x}\\u{code & 0x3FF | 0xDC00:04x}", start + size


codecs.register_error(_JACKSONS, _as_jackson)
