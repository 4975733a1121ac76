"""Attacks by who may write one record, which names a target that the sink's user may not use: the others go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from kconnect.api import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, ConnectError, SinkRecord, Struct, schema
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.search.connector import OpenSearchSinkConnector
from kconnect.testing import SinkRunner
from tests.attacks import hostile
from tests.attacks.hostile import Asked, Hostile, Reply
from tests.attacks.test_iceberg import ROW_OF_TABLE

ROW = schema.struct({"id": INT32_SCHEMA, "to": OPTIONAL_STRING_SCHEMA})


def record(offset: int, value: Any, topic: str = "t") -> SinkRecord:
    return SinkRecord("t", 0, None, f"k{offset}", None, value, offset).new_record(topic=topic)


def row(offset: int, to: str) -> SinkRecord:
    return SinkRecord("t", 0, None, None, ROW, Struct(ROW, {"id": offset, "to": to}), offset)


# OpenSearch.


class Guarded:
    """A cluster whose user may not use the index `secret`: not at all, or not write there."""

    def __init__(self, shows: bool) -> None:
        self.shows, self.indexes = shows, set[str]()

    def answer(self, asked: Asked) -> Reply:
        refusal = {"type": "security_exception", "reason": "no permissions"}
        if asked.path.startswith("/_bulk"):
            names = [json.loads(line)["index"]["_index"] for line in asked.body.splitlines()[::2]]
            self.indexes.update(names)
            items = [{"status": 403, "error": refusal} if name == "secret" else {"status": 201} for name in names]
            return hostile.given({"errors": True, "items": [{"index": item} for item in items]})(asked)
        if asked.path.startswith("/secret") and not self.shows:
            return hostile.given({"error": refusal, "status": 403}, 403)(asked)
        return hostile.given({"version": {"number": "2.11.0", "distribution": "opensearch"}})(asked)


@pytest.mark.parametrize("shows", [False, True], ids=["hidden", "shown"])
@pytest.mark.parametrize("by", ["field", "topic", "config"])
def test_an_index_that_may_not_be_used(shows: bool, by: str) -> None:
    more = {"index.name.field": "i"} if by == "field" else {}
    topics = ["t", "secret" if by == "topic" else "t", "t"]
    own = "secret" if by == "config" else "t"
    some = [record(at, {"i": "secret" if at == 1 else "good"}, topic) for at, topic in enumerate(topics)]
    config = {"topics": own, "errors.tolerance": "all", "max.retries": "0", **more}
    with Hostile() as service:
        service.default = Guarded(shows).answer
        with SinkRunner(OpenSearchSinkConnector, {**config, "connection.url": service.url}) as runner:
            if by == "config":
                with pytest.raises(ConnectError, match=r"403|no permissions"):
                    runner.put([SinkRecord("secret", 0, None, "k", None, {"a": 1}, 0)])
                return
            runner.put(some)
            assert [bad.original_offset for bad, _ in runner.reported] == [1]


# Iceberg.


class Guardian:
    """A REST catalog with the table `hr.secret`, which its user may not see, or not change."""

    def __init__(self, directory: Path, shows: bool) -> None:
        self.shows, self.may_list, self.spoils = shows, True, False
        (directory / "lake").mkdir()
        place = {"type": "sql", "uri": f"sqlite:///{directory}/catalog.db", "warehouse": f"file://{directory}/lake"}
        catalog = load_catalog("x", **place)
        catalog.create_namespace("hr")
        self.table = catalog.create_table("hr.secret", ROW_OF_TABLE)

    def answer(self, asked: Asked) -> Reply:
        forbidden = hostile.given({"error": {"message": "no", "type": "ForbiddenException", "code": 403}}, 403)
        path = asked.path.partition("?")[0]
        if path == "/v1/config":
            return hostile.given({"defaults": {}, "overrides": {}})(asked)
        if path == "/v1/namespaces":
            return hostile.given({"namespaces": []})(asked) if self.may_list else forbidden(asked)
        if path == "/v1/namespaces/hr/tables/secret" and self.shows and asked.method == "GET":
            metadata = json.loads(self.table.metadata.model_dump_json())
            if self.spoils:
                metadata["schemas"][0]["fields"][0]["type"] = "of the future"
            return hostile.given({"metadata-location": self.table.metadata_location, "metadata": metadata, "config": {}})(asked)
        return forbidden(asked)


@pytest.mark.parametrize("kind", ["hidden", "shown", "elsewhere", "unreadable"])
def test_a_table_that_may_not_be_used(tmp_path: Path, kind: str) -> None:
    shows = kind == "shown"
    catalog = Guardian(tmp_path, kind != "hidden")
    catalog.spoils = kind == "unreadable"
    config = {
        **{"name": "lake", "topics": "t", "errors.tolerance": "all", "max.retries": "0", "iceberg.catalog.type": "rest"},
        **{"iceberg.tables.route-field": "to", "iceberg.tables.dynamic-enabled": "true"},
        **{
            "iceberg.catalog.warehouse": "shop" if kind == "elsewhere" else f"file://{tmp_path}/lake",
            "iceberg.control.commit.interval-ms": "0",
        },
    }
    with Hostile() as service:
        service.default = catalog.answer
        with SinkRunner(IcebergSinkConnector, {**config, "iceberg.catalog.uri": service.url}) as runner:
            runner.put([row(0, "hr.secret"), row(1, "hr.secret")])
            # Where only the commit is refused, they come again.
            runner.put([])
            if shows:
                assert (runner.reported, runner.rewinds) == ([], {("t", 0): 0})
                runner.put([row(0, "hr.secret"), row(1, "hr.secret")])
            assert [bad.original_offset for bad, _ in runner.reported] == [0, 1]
            runner.put([])
            runner.flush()
        # A user who may not do anything any more is no fault of a record's.
        with SinkRunner(IcebergSinkConnector, {**config, "iceberg.catalog.uri": service.url}) as runner:
            catalog.may_list = catalog.shows = False
            with pytest.raises(ConnectError, match=r"The table hr\.secret can't be used"):
                runner.put([row(2, "hr.secret")])


ODD_PROPERTIES = {
    "write.parquet.compression-codec": "evil",
    "write.metadata.metrics.column.id": "evil",
    "write.parquet.page-size-bytes": "much",
}


@pytest.mark.parametrize(("name", "value"), ODD_PROPERTIES.items(), ids=ODD_PROPERTIES.keys())
def test_a_table_whose_properties_make_no_sense_ends_no_other(tmp_path: Path, name: str, value: str) -> None:
    """The owner of one table sets a property of which no file is made: the sink ended for good, with all its tables."""
    (tmp_path / "lake").mkdir()
    place = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    catalog = load_catalog("iceberg", **place)
    catalog.create_namespace("s")
    catalog.create_table("s.good", ROW_OF_TABLE)
    with catalog.create_table("s.odd", ROW_OF_TABLE).transaction() as change:
        change.set_properties({name: value})
    config = {
        **{"name": "lake", "topics": "t", "errors.tolerance": "all", "max.retries": "0"},
        **{"iceberg.tables.route-field": "to", "iceberg.tables.dynamic-enabled": "true"},
        **{"iceberg.control.commit.interval-ms": "0", **{f"iceberg.catalog.{part}": text for part, text in place.items()}},
    }
    some = [row(0, "s.odd"), row(1, "s.good"), row(2, "s.odd")]
    with SinkRunner(IcebergSinkConnector, config) as runner:
        runner.put(some)
        runner.put([])
        if not runner.reported:
            # Only a commit shows it, and then they come again.
            assert runner.rewinds == {("t", 0): 0}
            runner.put(some)
            runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [0, 2]
        assert [found["to"] for found in catalog.load_table("s.good").scan().to_arrow().to_pylist()] == ["s.good"]


@pytest.mark.parametrize("name", ["write.data.path", "write.metadata.path", "location"])
def test_a_table_leads_no_file_out_of_the_folder_of_its_catalog(tmp_path: Path, name: str) -> None:
    """The owner of one table says that its files are in another folder of the machine: they were written there."""
    (tmp_path / "lake").mkdir()
    elsewhere = tmp_path / "elsewhere"
    place = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    catalog = load_catalog("iceberg", **place)
    catalog.create_namespace("s")
    catalog.create_table("s.good", ROW_OF_TABLE)
    if name == "location":
        catalog.create_table("s.odd", ROW_OF_TABLE, location=f"file://{elsewhere}")
    else:
        catalog.create_table("s.odd", ROW_OF_TABLE)
        with catalog.load_table("s.odd").transaction() as change:
            change.set_properties({name: f"file://{elsewhere}"})
    before = sorted(elsewhere.rglob("*"))
    config = {
        **{"name": "lake", "topics": "t", "errors.tolerance": "all", "max.retries": "0"},
        **{"iceberg.tables.route-field": "to", "iceberg.tables.dynamic-enabled": "true"},
        **{"iceberg.control.commit.interval-ms": "0", **{f"iceberg.catalog.{part}": text for part, text in place.items()}},
    }
    with SinkRunner(IcebergSinkConnector, config) as runner:
        runner.put([row(0, "s.odd"), row(1, "s.good")])
        runner.put([])
        assert [bad.original_offset for bad, _ in runner.reported] == [0]
        assert "names a file of this machine" in str(runner.reported[0][1])
    assert sorted(elsewhere.rglob("*")) == before
    assert len(catalog.load_table("s.good").scan().to_arrow()) == 1
    # What the config itself names is no business of the table's owner.
    with SinkRunner(IcebergSinkConnector, {**config, "iceberg.tables.upsert.locations": f"file://{elsewhere}"}) as runner:
        runner.put([row(2, "s.odd")])
        runner.put([])
        assert not runner.reported
    assert len(sorted(elsewhere.rglob("*"))) > len(before)
