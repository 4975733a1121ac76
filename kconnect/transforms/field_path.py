"""
The path of a field: its name, or with `field.syntax.version=V2` the names to go through, joined by dots (KIP-821).

In V2 a name with a dot stands between backticks; a backtick inside such a name that a dot follows has a backslash before it.
Used by `extract_field.py`.
"""

from __future__ import annotations

from kconnect.api import ConfigError


def steps(path: str, nested: bool) -> tuple[str, ...]:
    """The names of a path; ConfigError for a backtick that is not closed."""
    if not nested:
        return (path,)
    names = []
    at = 0
    while at < len(path):
        if path[at] == "`":
            name, at = _quoted(path, at)
        else:
            end = path.find(".", at)
            end = len(path) if end < 0 else end
            name, at = path[at:end], end + 1
        names.append(name)
    if path.endswith("."):
        # The name after the last dot, an empty one.
        names.append("")
    return tuple(names)


def _quoted(path: str, start: int) -> tuple[str, int]:
    name = ""
    begin = start + 1
    at = path.find("`", begin)
    while at >= 0:
        last = at + 1 == len(path)
        if last or path[at + 1] == ".":
            if path[at - 1] != "\\":
                return name + path[begin:at], at + 2
            name += path[begin : at - 1] + "`"
            begin = at + 1
        at = path.find("`", at + 1)
    raise ConfigError(
        f"Incomplete backtick pair in path: [{path}], "
        f"consider adding a backslash before backtick at position {start} to escape it"
    )
