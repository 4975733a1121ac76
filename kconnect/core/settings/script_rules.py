"""
Which scripts a config may have: those that only compare what is in a record.

Debezium's `Filter` and `ContentBasedRouter` evaluate a text of the config by a script engine, which may do whatever the
worker's user may. Most such texts compare a field with something. So those pass that call nothing, and others need the worker's
list. Called by `unsafe.py` with whole configs. Read next: `java_rules.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

ALLOWED = "language"
"""The name by which the worker's list allows all scripts."""

_LANGUAGE = re.compile(r"(?P<prefix>(?:.*\.)?)language", re.DOTALL)
_ENGINE = re.compile(r"\s*(jsr223|graal)\b", re.IGNORECASE)
_SCRIPT = re.compile(r"(?:.*\.)?(condition|expression|script)", re.DOTALL)
_TOKEN = re.compile(
    r"""\s+|(?P<value>'[^'\\$]*'|"[^"\\$]*"|\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<open>\()"""
    r"|\?\.|[=!]==?|<=|>=|&&|\|\||[.<>!?:)\[\],-]",
    re.ASCII,
)
_OPERATORS = frozenset(("in", "and", "or", "not"))
_BANNED = frozenset(("class", "metaClass", "constructor", "new", "import", "this", "def", "return", "eval", "evaluate"))


def of_config(config: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the scripts that do more than compare: setting, name and reason."""
    for setting, value in config.items():
        match = _LANGUAGE.fullmatch(setting.strip().lower())
        if match is None or not _ENGINE.match(value):
            continue
        scripts = {
            name: text
            for name, text in config.items()
            if (low := name.strip().lower()).startswith(match["prefix"]) and _SCRIPT.fullmatch(low[len(match["prefix"]) :])
        }
        unsafe = [name for name, text in scripts.items() if not only_compares(text)]
        for name in unsafe if scripts else [setting]:
            reason = "has a script that does more than compare fields, and may do whatever the worker's user may"
            yield name, ALLOWED, reason


def only_compares(script: str) -> bool:
    """Return whether a script compares what is in a record, and calls nothing: in Groovy, a call needs no parentheses."""
    at, before = 0, ""
    while at < len(script):
        match = _TOKEN.match(script, at)
        if match is None:
            return False
        at = match.end()
        if match[0].isspace():
            continue
        kind = match.lastgroup or match[0]
        if kind == "name" and match["name"] in _OPERATORS:
            kind = "operator"
        is_call = kind == "open" and before in ("name", ")", "]", "value")
        is_command = kind in ("name", "value") and before in ("name", ")", "]", "value")
        if is_call or is_command or match["name"] in _BANNED:
            return False
        before = kind
    return True
