"""Configs and names that the Spark sink refuses, without a Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kconnect.api import (
    ConnectError,
)
from kconnect.connectors.spark.connector import SparkSinkConnector
from kconnect.connectors.spark.lake import SparkLake
from kconnect.testing import config_errors
from tests.connectors.spark.tables import PLACE, UPSERTS, Lake


class Plain:
    """A config that needs none."""

    def __init__(self, folder: Path) -> None:
        self.config = Lake(folder, "delta").config


def test_a_worker_without_a_python_for_lakes_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"run kconnect lake setup.*lake\.python"), Lake(tmp_path, "delta").sink() as runner:
        runner.open(PLACE)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("/data/lake", "must begin with"),
        ("file://host/lake", "file:///folder"),
        ("http://example.org/x", "must begin with"),
        ("jdbc:x://y", "must begin with"),
        ("file:///a?b", "must begin with"),
    ],
)
def test_a_url_that_is_none_is_refused(tmp_path: Path, url: str, error: str) -> None:
    errors = config_errors(SparkSinkConnector, {**Plain(tmp_path).config(), "lake.store.url": url})
    assert error in str(errors["lake.store.url"])


@pytest.mark.parametrize(
    ("more", "setting", "error"),
    [
        ({"lake.catalog": "other"}, "lake.catalog", "leave lake.store.url out"),
        ({"lake.catalog": "other", "lake.store.url": ""}, "lake.catalog", "has prod as lake.spark.sql.catalog.NAME"),
        ({"lake.catalog": "prod.type", "lake.store.url": ""}, "lake.catalog", "has prod as"),
        ({"lake.catalog": "prod", "lake.store.url": "", "lake.format": "delta"}, "lake.catalog", "are in folders"),
        ({"lake.store.url": ""}, "lake.store.url", "missing"),
        ({"lake.store.url": "file:///x/${{env:HOME}}"}, "lake.store.url", "must begin"),
        ({"lake.tables.order-by": "id", **UPSERTS}, "lake.tables.order-by", "of the id"),
        ({"lake.catalog": "prod", "lake.store.url": ""}, None, ""),
    ],
)
def test_a_catalog_is_one_of_the_workers(tmp_path: Path, more: dict[str, str], setting: str | None, error: str) -> None:
    connector = SparkSinkConnector()
    connector.worker = {"lake.spark.sql.catalog.prod": "x", "lake.spark.sql.catalog.prod.type": "rest"}
    validated = connector.validate({**Plain(tmp_path).config(), "lake.format": "iceberg", **more})
    errors = {value.name: value.errors for value in validated.values if value.errors}
    assert set(errors) == ({setting} if setting else set())
    assert error in str(errors.get(setting or ""))


AZURE = "abfss://lake@shop.dfs.core.windows.net/x"
NODE = {"lake.spark.hadoop.fs.defaultFS": "hdfs://node-1:8020"}
OWN_AZURE = {"lake.spark.hadoop.fs.azure.account.auth.type.lake.example.org": "OAuth"}


@pytest.mark.parametrize(
    ("url", "worker", "error"),
    [
        (AZURE, {}, ""),
        ("abfss://lake@evil.example.org/x", {}, "leads the worker's login"),
        ("abfss://lake@evil.example.org/shop.dfs.core.windows.net", {}, "leads the worker's login"),
        ("abfss://lake@shop.dfs.core.windows.net@evil.example.org/x", {}, "leads the worker's login"),
        ("abfss://lake@evil.example.org:443/x", OWN_AZURE, "leads the worker's login"),
        ("abfss://lake/x", OWN_AZURE, "leads the worker's login"),
        ("abfss://lake@lake.example.org/x", OWN_AZURE, ""),
        ("hdfs://anywhere:8020/x", {}, ""),
        ("hdfs:///x", NODE, ""),
        ("hdfs://NODE-1:8020/x", NODE, ""),
        ("hdfs://node-1:22/x", NODE, "names node-1:8020 as HDFS"),
        ("hdfs://evil:8020/x", NODE, "names node-1:8020 as HDFS"),
        ("hdfs://node-1:8020@evil:8020/x", NODE, "names node-1:8020 as HDFS"),
        ("hdfs://evil/x", {"lake.spark.hadoop.dfs.nameservices": "one, two"}, "names one, two as HDFS"),
        ("hdfs://two/x", {"lake.spark.hadoop.dfs.nameservices": "one, two"}, ""),
    ],
)
def test_the_workers_login_goes_where_the_worker_allows(tmp_path: Path, url: str, worker: dict[str, str], error: str) -> None:
    """Who may create a connector names a store elsewhere, to which Spark takes the login of the worker's file."""
    connector = SparkSinkConnector()
    connector.worker = {"lake.python": "/lake/python", **worker}
    config = {**Plain(tmp_path).config(), "lake.store.url": url}
    errors = [text for value in connector.validate(config).values if value.name == "lake.store.url" for text in value.errors]
    assert (error in str(errors)) if error else not errors


def test_a_folder_that_the_worker_does_not_allow_is_refused(tmp_path: Path) -> None:
    connector, props = SparkSinkConnector(), Plain(tmp_path).config()
    for allowed, refused in ((tmp_path / "other", True), (tmp_path, False)):
        connector.worker = {"connector.files.allowed.paths": str(allowed)}
        errors = {value.name for value in connector.validate(props).values if value.errors}
        assert errors == ({"lake.store.url"} if refused else set())


@pytest.mark.parametrize(
    "name", ["shop.history", "shop.at_timestamp_1", "shop.br{ace", "sh${x}op.orders", "shop.a[0]", "shop.a.data"]
)
def test_names_that_spark_takes_for_something_else_are_no_tables(tmp_path: Path, name: str) -> None:
    from kconnect.api import DataError
    from kconnect.connectors.spark import settings

    props = {**Plain(tmp_path).config(), "lake.format": "iceberg"}
    lake = SparkLake(settings.CONFIG.parse(props), props, {}, _never, _never)
    with pytest.raises(DataError, match="can't be a table"):
        lake.where(name)


@pytest.mark.parametrize("name", ["_delta_log.x", "shop._delta_log", "shop.branch_x", "shop.tag_main"])
def test_names_that_lakes_have_for_themselves_are_no_tables(tmp_path: Path, name: str) -> None:
    from kconnect.api import DataError
    from kconnect.connectors.spark import settings

    props = Plain(tmp_path).config()
    lake = SparkLake(settings.CONFIG.parse(props), props, {}, _never, _never)
    with pytest.raises(DataError, match="names of their own"):
        lake.where(name)


def _never(*arguments: Any) -> Any:
    raise AssertionError
