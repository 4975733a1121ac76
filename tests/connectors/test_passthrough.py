"""All settings of all connectors in the box: somebody looks at what is passed on to a library, and nothing is dangerous."""

from __future__ import annotations

import ast
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import kconnect.connectors
from kconnect.connectors.passthrough import CheckedBy, Passthrough
from kconnect.core.settings.host_paths import named
from kconnect.core.settings.unsafe import dangers
from kconnect.testing import config_errors

ROOT = Path(kconnect.connectors.__file__).parent
CONNECTORS = {
    each.name: each.load() for each in entry_points(group="kconnect.connectors") if each.value.startswith("kconnect.")
}
PREFIXES = [(name, each) for name, made in CONNECTORS.items() for each in getattr(made, "passthrough", ())]

LOADED = {
    CheckedBy.POLICY: ("plugin.library.paths", "sasl.oauthbearer.token.endpoint.url", "sasl.kerberos.kinit.cmd"),
    CheckedBy.LIST: ("aws_web_identity_token_file", "azure_use_azure_cli", "not_known_yet"),
    CheckedBy.RULES: ("py-io-impl", "s3.retry-strategy-impl", "not-known-yet-impl"),
}
CONFIGS = {
    "HttpSink": {
        "http.api.url": "http://127.0.0.1:1",
        "reporter.result.topic.name": "answers",
        "reporter.bootstrap.servers": "127.0.0.1:1",
    },
    "MariaDbBackfill": {
        "database.hostname": "localhost",
        "database.user": "u",
        "topic.prefix": "p",
        "backfill.debezium.version": "3.5.0.Final",
        "schema.history.internal.kafka.topic": "h",
        "schema.history.internal.kafka.bootstrap.servers": "127.0.0.1:1",
    },
    "ObjectStoreSink": {"store": "memory:///", "format.class": "JsonFormat", "flush.size": "1"},
    "ObjectStoreSource": {"store": "memory:///", "format.class": "JsonFormat"},
    "DeltaSink": {"store": "file:///lake", "delta.tables": "a.b", "delta.tables.auto-create-enabled": "true"},
    "IcebergSink": {"iceberg.catalog.type": "in-memory", "iceberg.tables": "a.b", "iceberg.tables.auto-create-enabled": "true"},
}
PATHS = frozenset(("file", "schema.filename", "spool.dir", "ssl.ca.location", "ssl.certificate.location", "ssl.key.location"))
"""Settings that name a file or folder of the machine; `core/settings/host_paths.py` knows each."""
ELSEWHERE = frozenset(
    (
        "topics.dir",
        "path.format",
        "directory.delim",
        "file.delim",
        "records.path",
        "key.path",
        "timestamp.path",
        "page.cursor.path",
        "since.path",
    )
)
"""Names that look so, and are not of the machine."""
ITERATE = {
    "backfill/settings.py:others",
    "backfill/sinks.py:config_of",
    "lake/settings.py:of_tables",
    "iceberg/staging.py:known",
    "iceberg/logins.py:_addresses",
    "iceberg/logins.py:_has",
}
"""Functions that look at all names of a config, or of a table's properties, and pass nothing on."""


@pytest.mark.parametrize(("name", "prefix"), PREFIXES, ids=lambda each: each if isinstance(each, str) else each.prefix)
def test_each_prefix_is_looked_at(name: str, prefix: Passthrough) -> None:
    for setting in LOADED[prefix.by]:
        found: Any = config_errors(CONNECTORS[name], {**CONFIGS[name], f"{prefix.prefix}{setting}": "a.B"})
        assert setting in str(found), f"nobody refused {prefix.prefix}{setting}"


def test_the_walk_knows_of_all_of_them() -> None:
    assert {name for name, _ in PREFIXES} == set(CONFIGS)


def _iterations(path: Path) -> list[str]:
    """The functions of a module that look at all names of a config: of an argument or attribute called props or configs."""
    found = []
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            iterated = node.iter if isinstance(node, ast.For | ast.comprehension) else None
            if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Attribute):
                iterated = iterated.func.value  # of `props.items()`
            name = getattr(iterated, "id", getattr(iterated, "attr", ""))
            if name.strip("_") in ("props", "configs", "properties"):
                found.append(f"{path.relative_to(ROOT)}:{function.name}")
    return found


def test_settings_of_a_prefix_are_taken_by_the_declaration_only() -> None:
    found = {each for path in ROOT.rglob("*.py") if path.name != "passthrough.py" for each in _iterations(path)}
    assert found == ITERATE, "a prefix is passed on without a `Passthrough`"
    assert _iterations(ROOT / "passthrough.py") == ["passthrough.py:given"], "the control"


@pytest.mark.parametrize("name", CONNECTORS)
def test_no_setting_is_dangerous_or_an_unknown_path(name: str) -> None:
    for key in CONNECTORS[name]().config().keys.values():
        assert list(dangers(key.name, "a.B")) == [], f"{key.name} would be refused, whoever sets it"
        looks_so = key.name.rpartition(".")[2] in (
            "file",
            "filename",
            "dir",
            "directory",
            "folder",
            "path",
            "location",
            "keytab",
        )
        if looks_so and key.name not in ELSEWHERE:
            assert key.name in PATHS, f"{key.name}: is it a file of the machine?"
        if key.name in PATHS:
            assert list(named({key.name: "/x"})) == [(key.name, "/x")]
