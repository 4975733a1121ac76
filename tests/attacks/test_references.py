"""
Names that others have given, in the configs that a connector makes for its tasks: what looks like a reference to a secret there
stands for nothing. Who may create a table would have it read, and sent to where the table is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.connectors.sql import source_settings
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.records import TargetState
from kconnect.units.unit import Unit
from kconnect.units.units import make_unit

from ..integration.units import MemoryHost, Numbers, Plugins, end, source_of, until

PROVIDERS = {
    "config_providers": "env",
    "config_providers_env_class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}
OTHERS, OWN = "${env:KCONNECT_TRIED_OTHERS}", "${env:KCONNECT_TRIED_OWN}"


class Told(Numbers):
    """Keeps what it was started with."""

    props: list[dict[str, str]] = []

    def start(self, props: dict[str, str]) -> None:
        type(self).props.append(dict(props))
        super().start(props)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> MemoryHost:
    monkeypatch.setenv("KCONNECT_TRIED_OTHERS", "canary-others")
    monkeypatch.setenv("KCONNECT_TRIED_OWN", "canary-own")
    Told.props = []
    return MemoryHost("127.0.0.1:1", Plugins(Told=source_of(Told), Sql=SqlSourceConnector), **PROVIDERS)


@pytest.fixture
def units() -> Iterator[list[Unit]]:
    started: list[Unit] = []
    yield started
    for unit in started:
        end(unit)


def published(there: MemoryHost, units: list[Unit], database: Path, **more: str) -> list[dict[str, str]] | str:
    """Return the configs that an SqlSource makes for its tasks, or why it has failed."""
    config = {
        "connector.class": "Sql",
        "connection.url": f"sqlite:///{database}",
        "mode": "bulk",
        "topic.prefix": "db-",
        "tasks.max": "1",
    }
    units.append(there.unit({**config, **{name.replace("_", "."): text for name, text in more.items()}}, task=None))
    until(lambda: there.configs or "FAILED" in there.states)
    return there.configs[0][0] if there.configs else there.statuses[-1][1] or ""


def with_table(path: Path, name: str) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute(f'CREATE TABLE "{name}" (id integer)')
    return path


@pytest.mark.parametrize("name", [OTHERS, "${env:NO_SUCH_VARIABLE}", "${no:such:provider}"])
def test_a_table_that_is_called_as_a_reference_stays_a_table(
    there: MemoryHost, units: list[Unit], tmp_path: Path, name: str
) -> None:
    made = published(there, units, with_table(tmp_path / "db", name), label_secret=OWN)
    assert not isinstance(made, str), made
    assert json.loads(made[0][source_settings.TABLES]) == [[None, name]]
    config = {"name": "unit", "connector.class": "Told", "limit": "0", "label.secret": OWN}
    task: dict[str, Any] = {**config, source_settings.TABLES: made[0][source_settings.TABLES]}
    unit = make_unit(UnitSpec("unit", 0, config, task, 7, 0), there, TargetState.STARTED)
    unit.start()
    units.append(unit)
    until(lambda: Told.props or "FAILED" in there.states)
    assert Told.props, there.statuses[-1][1]
    assert json.loads(Told.props[0][source_settings.TABLES]) == [[None, name]]
    assert Told.props[0]["label.secret"] == "canary-own", "the control: its own are resolved"


def test_a_table_that_is_called_as_a_reference_of_the_config_is_refused(
    there: MemoryHost, units: list[Unit], tmp_path: Path
) -> None:
    """It would be replaced by that connector's own secret."""
    reason = published(there, units, with_table(tmp_path / "db", OWN), label_secret=OWN)
    assert isinstance(reason, str), "it was published"
    assert "Rename what is called so" in reason and OWN in reason
    assert "canary" not in reason
