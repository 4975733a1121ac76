"""What a catalog of the worker's file may have SparkSink's application ask, load and write, by what its service answers."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kconnect.connectors.spark import application
from kconnect.connectors.spark.application import Application, SparkFault
from tests.attacks.hostile import Asked, Hostile, Reply
from tests.attacks.test_catalogs import Catalog, metadata
from tests.rig.systems import lake as lakes
from tests.support import starts

OTHER = "http://127.0.0.1:9/stolen"
ANSWERED = {
    "uri": OTHER,
    "oauth2-server-uri": f"{OTHER}/token",
    "s3.endpoint": OTHER,
    "io-impl": "com.example.Anything",
    "metrics-reporter-impl": "javax.script.ScriptEngineManager",
    "client.credentials-provider": "com.example.Anything",
    "rest.auth.type": "none",
    "client.region": "example.com/x",
    "token-exchange-enabled": "false",
}


BEFORE = ("io-impl", "metrics-reporter-impl")


class Rig(NamedTuple):
    spark: Application
    catalogs: dict[str, Catalog]
    folder: Path

    def ask(self, name: str, do: str = "look", **more: Any) -> application.Answer:
        where = {"catalog": name, "table": ["shop", "orders"], "properties": {}}
        return self.spark.ask({"do": do, "format": "iceberg", "where": where, "connector": "c", **more}).result(240)


class TwoFaced(Catalog):
    """It says that the table is in a store where that is looked at, and in a folder of this machine where it is written to."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = folder

    def _table(self, asked: Asked) -> Reply:
        location = self.location if "snapshots=all" in asked.path else self.folder
        answer = {"metadata-location": f"{location}/metadata/1.json", "metadata": metadata(location, {}), "config": {}}
        return Reply(200, {"Content-Type": "application/json"}, json.dumps(answer).encode())


@pytest.fixture(scope="module")
@starts("process")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp("lake")
    with contextlib.ExitStack() as stack:
        made = {f"c{number}": stack.enter_context(Catalog()) for number in range(len(ANSWERED))}
        made["of_table"] = stack.enter_context(Catalog())
        made["local"] = stack.enter_context(Catalog(f"file://{folder}/stolen/orders"))
        made["two_faced"] = stack.enter_context(TwoFaced(f"file://{folder}/two_faced"))
        made["ours"] = stack.enter_context(Catalog(f"file://{folder}/ours/orders"))
        made["upwards"] = stack.enter_context(Catalog(f"file:{folder}/ours/../stolen"))
        worker = {application.PYTHON: lakes.python()}
        for name, catalog in made.items():
            setting = f"lake.spark.sql.catalog.{name}"
            worker |= {
                setting: "org.apache.iceberg.spark.SparkCatalog",
                f"{setting}.type": "rest",
                f"{setting}.uri": catalog.url,
            }
        for name in ("ours", "upwards"):
            worker[f"lake.spark.sql.catalog.{name}.warehouse"] = f"file://{folder}/ours"
        spark = application.of(worker)
        stack.callback(spark.end)
        yield Rig(spark, made, folder)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_catalog_s_answer_leads_nowhere_else(rig: Rig, name: str) -> None:
    """Whoever is the catalog has its requests, and logins, go elsewhere, or classes loaded."""
    number = list(ANSWERED).index(name)
    rig.catalogs[f"c{number}"].config["overrides"] = {name: ANSWERED[name]}
    # The second time, too: the session has the catalog by then.
    for _ in range(2):
        # Iceberg tries two of them before anybody could look: nothing that the jars have not is there to be loaded.
        expected = ANSWERED[name] if name in BEFORE else f"its catalog has answered {name}, which"
        with pytest.raises(SparkFault, match=re.escape(expected)):
            rig.ask(f"c{number}")


def test_what_a_catalog_answers_for_one_table_leads_nowhere_else(rig: Rig) -> None:
    catalog = rig.catalogs["of_table"]
    catalog.table = {"s3.endpoint": OTHER}
    with pytest.raises(SparkFault, match=r"its catalog has answered s3\.endpoint, which is another address"):
        rig.ask("of_table")
    catalog.table, catalog.properties = {}, {"write.location-provider.impl": "com.example.Anything"}
    with pytest.raises(SparkFault, match=r"write\.location-provider\.impl names a class"):
        rig.ask("of_table")
    catalog.properties = {"write.data.path": f"file://{rig.folder}/stolen"}
    with pytest.raises(SparkFault, match="in a folder of this machine"):
        rig.ask("of_table")
    # The control.
    catalog.table, catalog.properties = {"s3.access-key-id": "a", "s3.endpoint": catalog.url}, {"owner": "me"}
    assert rig.ask("of_table").table is not None


def test_a_catalog_has_no_files_written_on_this_machine(rig: Rig) -> None:
    """Whoever is the catalog says that a table is in a folder of the machine: files were written there."""
    for name in ("local", "upwards"):
        with pytest.raises(SparkFault, match="its catalog has it in a folder of this machine"):
            rig.ask(name, "set", ends=[["orders", 0, 7]])
    with pytest.raises(SparkFault, match="ThisFileSystemIsNotOpenedHere"):
        rig.ask("two_faced", "set", ends=[["orders", 0, 7]])
    assert not list(rig.folder.iterdir())


def test_a_catalog_of_a_folder_that_the_worker_names_is_used(rig: Rig) -> None:
    """The control for these: its own folder is, and what Iceberg itself brings is loaded."""
    catalog = rig.catalogs["ours"]
    catalog.config["overrides"] = {"io-impl": "org.apache.iceberg.hadoop.HadoopFileIO", "owner-url": "x", "prefix": ""}
    answer = rig.ask("ours")
    assert answer.table is not None
    assert isinstance(catalog, Hostile)
