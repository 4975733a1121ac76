"""
Java's .properties files, read as `java.util.Properties.load` reads them. Called by `processes/worker_file.py`, the CLI and the
provider of files.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconnect.errors import ConfigError

_SPACE = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def load(text: str) -> dict[str, str]:
    """
    Keys and values of a properties file; of a key that comes twice, the last value.

    `#` and `!` begin comment lines, a trailing `\\` goes on in the next line without its leading blanks, `=`, `:` or
    blanks end a key, and `\\uXXXX` is a UTF-16 unit. ConfigError, naming the line, for a broken escape.
    """
    found: dict[str, str] = {}
    text = text.removeprefix("\ufeff")  # editors on Windows put it there; it would become part of the first key
    for number, line in _logical_lines(text):
        key_end = _end_of_key(line)
        rest = line[key_end:].lstrip(_SPACE)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_SPACE)
        found[_unescape(line[:key_end], number)] = _unescape(rest, number)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    started, so_far = 0, ""
    going_on = False
    # Only these three end a line in Java; `str.splitlines` knows many more.
    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.lstrip(_SPACE)
        if not going_on:
            if not line or line[0] in "#!":
                continue
            started, so_far = number, ""
        backslashes = len(line) - len(line.rstrip("\\"))
        going_on = backslashes % 2 == 1
        so_far += line[:-1] if going_on else line
        if not going_on:
            yield started, so_far
    if going_on:
        yield started, so_far


def _end_of_key(line: str) -> int:
    escaped = False
    for index, character in enumerate(line):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character in "=:" or character in _SPACE:
            return index
    return len(line)


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\" or position == len(text):
            out.append(character if character != "\\" else "")
            continue
        escape = text[position]
        position += 1
        if escape == "u":
            digits = text[position : position + 4]
            position += 4
            try:
                out.append(chr(int(digits, 16)) if len(digits) == 4 and digits.isalnum() else _bad(line))
            except ValueError:
                _bad(line)
        else:
            out.append(_ESCAPES.get(escape, escape))
    # Pairs of surrogates, as Java writes them, become one character.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _bad(line: int) -> str:
    raise ConfigError(
        f"Line {line} of the properties file has a malformed \\uXXXX escape: write four hexadecimal digits after \\u, "
        "or double the backslash if it stands for itself."
    )
