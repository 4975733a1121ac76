"""The Spark of these tests, and their lakes: one application serves all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.connectors.backfill import range_into
from kconnect.connectors.spark import application
from kconnect.connectors.spark.application import Application
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.connectors.spark.task import SparkSinkTask
from tests.connectors.spark.tables import Lake
from tests.rig.systems import lake as lakes
from tests.support import starts


@pytest.fixture(scope="package")
@starts("process")
def python() -> Iterator[dict[str, str]]:
    """What a worker's file has."""
    worker = {application.PYTHON: lakes.python()}
    yield worker
    application.of(worker).end()


# Delta's commits take three times as long: by day it has what differs.
@pytest.fixture(params=[pytest.param("delta", marks=pytest.mark.long), "iceberg"])
@starts("process")
def lake(tmp_path: Path, request: pytest.FixtureRequest, python: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr(SparkSinkTask, "worker", python)
    monkeypatch.setattr(SparkSinkConnector, "worker", python)
    (tmp_path / "lake").mkdir()
    return Lake(tmp_path / "lake", request.param)


@pytest.fixture
def one_spark(python: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Application:
    """The application of the other tests for commits of copies, too, which have one each otherwise: they take long to start."""
    shared = application.of(python)
    monkeypatch.setattr(range_into, "Application", lambda worker: _Kept(shared))
    monkeypatch.setattr(application, "Application", lambda worker: _Kept(shared))
    return shared


class _Kept:
    """An application that nobody ends."""

    def __init__(self, shared: Application) -> None:
        self._shared = shared

    def ask(self, *arguments: Any) -> Any:
        return self._shared.ask(*arguments)

    def end(self) -> None: ...
