"""
Java's .properties files, read as `java.util.Properties.load` reads them. The library javaproperties has the grammar; this
module adds errors that name the line. Called by `worker/main.py`, the CLI and the provider of files.
"""

from __future__ import annotations

from kconnect.errors import ConfigError


def load(text: str) -> dict[str, str]:
    """
    Keys and values of a properties file; of a key that comes twice, the last value.

    `#` and `!` begin comment lines, a trailing `\\` goes on in the next line without its leading blanks, `=`, `:` or
    blanks end a key, and `\\uXXXX` is a UTF-16 unit. ConfigError, naming the line, for a broken escape.
    """
    import javaproperties  # It brings XML and HTTP along, and the command line reads such files seldom.

    entries: dict[str, str] = {}
    line = 1
    try:
        # Editors on Windows put a mark at the beginning: it would become part of the first key.
        for part in javaproperties.parse(text.removeprefix("\ufeff")):
            if isinstance(part, javaproperties.KeyValue):
                entries[_characters(part.key)] = _characters(part.value)
            line += len(part.source.replace("\r\n", "\n").replace("\r", "\n").split("\n")) - 1
    except javaproperties.InvalidUEscapeError:
        # Without the escape itself: it may be a part of a password.
        raise ConfigError(
            f"Line {line} of the properties file has a malformed \\uXXXX escape: write four hexadecimal digits after \\u, "
            "or double the backslash if you mean a backslash."
        ) from None
    return entries


def _characters(text: str) -> str:
    """Replace each half of a surrogate pair by U+FFFD: no text in UTF-8 can have it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
