"""What `scripts/demo --cdc` makes and compares; that connectors carry it over is for `tests/integration/test_cdc.py`."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.cli.main import cli
from kconnect.errors import ConnectError
from tests.cli import examples
from tests.rig.cdc import demo, pipeline
from tests.rig.systems.postgres import NULL, Postgres


@pytest.mark.parametrize("command", demo._MEANWHILE)
def test_what_it_says_to_try_can_be_typed(command: str) -> None:
    examples.check(cli, shlex.split(f"{command} --url http://x:1")[1:])


def test_it_is_complete_when_something_came_and_nothing_is_missing() -> None:
    assert demo.View({}, 5, 5, []).complete
    assert not demo.View({}, 0, 0, []).complete
    assert not demo.View({}, 5, 4, []).complete
    assert not demo.View({}, 5, 5, ["row 1 is missing"]).complete


def test_what_was_made_is_counted_by_kind() -> None:
    assert demo._made(Counter(inserts=1200, deletes=3)) == "1,200 inserts, 3 deletes"
    assert demo._made(Counter(inserts=1, updates=2, columns=1)) == "1 inserts, 2 updates and a new column"


def test_rows_are_compared_value_by_value() -> None:
    left = {"1": ("1", "a"), "2": ("2", "b"), "3": ("3", "c")}
    assert pipeline.compared(["id", "city"], left, dict(left)) == []
    right = {"2": ("2", "x"), "3": ("3", "c"), "4": ("4", "d")}
    assert pipeline.compared(["id", "city"], left, right) == [
        "row 1 is missing",
        "row 4 should have been deleted",
        "row 2: city is 'x', and should be 'b'",
    ]


def test_a_slot_s_name_is_one_that_postgresql_takes() -> None:
    assert pipeline.slot("Demo-1.x") == "demo_1_x"


def test_plugins_that_are_there_are_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONNECT_CACHE", str(tmp_path))
    monkeypatch.setenv("KCONNECT_MAVEN", "http://127.0.0.1:1/")
    with pytest.raises(ConnectError, match=r"127\.0\.0\.1:1"):
        pipeline.plugin_path()
    path = tmp_path / "plugins" / "cdc"
    assert list(path.iterdir()) == [], "half of a plugin is none"
    for plugin in pipeline.PLUGINS:
        (path / f"{plugin.artefact}-{plugin.version}").mkdir()
    assert pipeline.plugin_path() == path


@pytest.fixture
def server(postgres_programs: Path) -> Iterator[Postgres]:
    started = Postgres(postgres_programs).start()
    try:
        pipeline.make_databases(started)
        yield started
    finally:
        started.stop()


def test_changes_are_the_same_for_the_same_seed_and_of_every_kind(server: Postgres) -> None:
    changes = pipeline.Changes(server)
    changes.fill(20)
    changes.some(100)
    changes.add_column("note")
    changes.some(20)
    assert changes.made == Counter(inserts=59, updates=48, deletes=33, columns=1)
    there = pipeline.rows(server, pipeline.FROM, ["id", "note"])
    assert len(there) == changes.made["inserts"] - changes.made["deletes"]
    assert {note[:5] for _, note in there.values()} == {"\\N", "note "}


def test_every_difference_between_both_tables_is_told(server: Postgres) -> None:
    pipeline.Changes(server).fill(3)
    assert pipeline.differences(server) == ["there is no table orders in the database copy yet"]
    server.execute("create table orders (id bigint primary key)", pipeline.TO)
    assert pipeline.differences(server)[0] == "the column city is missing"
    server.execute(
        """
        drop table orders;
        create table orders (
            id bigint primary key, city text, state text, price numeric, weight float8, express boolean, due date,
            placed timestamptz, copied_by text default 'x'
        );
        """,
        pipeline.TO,
    )
    for row in server.rows("select * from orders", pipeline.FROM):
        values = ("null" if value == NULL else pipeline._text(value) for value in row)
        server.execute(f"insert into orders values ({', '.join(values)})", pipeline.TO)
    assert pipeline.differences(server) == []
    server.execute("delete from orders where id = 1;\nupdate orders set city = 'Oz' where id = 2;", pipeline.TO)
    server.execute("delete from orders where id = 3;\nupdate orders set city = 'Cádiz' where id = 2;", pipeline.FROM)
    assert pipeline.differences(server) == [
        "row 1 is missing",
        "row 3 should have been deleted",
        "row 2: city is 'Oz', and should be 'Cádiz'",
    ]
    server.execute("alter table orders add column more int", pipeline.TO)
    assert pipeline.differences(server)[0] == "the column more should not be there"
