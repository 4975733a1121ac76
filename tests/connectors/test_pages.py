"""
The settings in docs/connectors are what the connectors define: each setting says what it is, configs have no other.

`.venv/bin/python -m tests.connectors.test_pages` writes the tables anew.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from kconnect.api import ConfigDef, ConfigKey, Connector, OneOf, Type
from kconnect.api.config import to_text
from kconnect.core.settings.connector import framework_config
from tests.docs.pages import DOCS, blocks

PAGES = sorted((DOCS / "connectors").glob("*.md"))
_TABLE = re.compile(r"(<!-- settings of ([\w.]+):(\w+): begin -->\n).*?(<!-- end -->)", re.DOTALL)


def table(definition: ConfigDef) -> str:
    lines: list[str] = []
    group: str | None = ""
    for key in definition.keys.values():
        if key.group != group:
            group = key.group
            lines += ["", f"**{group}**", "", "| setting | type | default | meaning |", "| --- | --- | --- | --- |"]
        lines.append(_row(key))
    return "\n".join([*lines, "", ""])


def _row(key: ConfigKey) -> str:
    default = to_text(key.default, key.type) if not key.required else None
    shown = "required" if key.required else f"`{default}`" if default else "none"
    if isinstance(key.validator, OneOf):
        shown += f" of {', '.join(f'`{each}`' for each in key.validator.values)}"
    kind = key.type.value.lower()
    return f"| `{key.name}` | {kind} | {shown} | {key.doc.replace('|', chr(92) + '|')} |"


def renewed(text: str) -> str:
    def made(found: re.Match[str]) -> str:
        connector = getattr(importlib.import_module(found[2]), found[3])
        return found[1] + table(connector().config()) + found[4]

    return _TABLE.sub(made, text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_tables_are_what_is_defined(page: Path) -> None:
    text = page.read_text("utf-8")
    assert _TABLE.search(text)
    assert text == renewed(text), f"{page} is stale: .venv/bin/python -m tests.connectors.test_pages"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_says_what_it_is(page: Path) -> None:
    for _, module, name, _ in _TABLE.findall(page.read_text("utf-8")):
        connector: Connector = getattr(importlib.import_module(module), name)()
        for key in connector.config().keys.values():
            assert key.doc.endswith("."), key.name
            assert key.group is not None and key.order > 0, key.name
            assert key.type is not Type.STRING or "password" not in key.name, key.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_configs_have_settings_that_there_are(page: Path) -> None:
    shown = [json.loads(block.text)["config"] for block in blocks(f"connectors/{page.name}") if block.language == "json"]
    assert shown
    known: set[str] = set()
    for _, module, name, _ in _TABLE.findall(page.read_text("utf-8")):
        connector: Connector = getattr(importlib.import_module(module), name)()
        known |= connector.config().keys.keys()
    for config in shown:
        framework = {
            *framework_config("sink" if {"topics", "topics.regex"} & config.keys() else "source").keys,
            "connector.class",
        }
        own = {name for name in config if not re.match(r"(key|value)\.converter\.|transforms\.", name)}
        assert own - known - framework == set()


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(renewed(each.read_text("utf-8")), "utf-8")
