"""
Java connectors on Connect 4.3.1 and then on kconnect: nothing differs but what is known to. `scripts/java-parity` runs all
cases; these are Debezium's PostgreSQL source and its JDBC sink, which ask most of a framework.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig.java_parity.cases import CASES
from tests.rig.java_parity.run import Report, run

# The first of them pays for two clusters.
pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(1500)]

SHORT = ("debezium", "jdbc-sink")


@pytest.fixture(scope="module")
def report(postgres_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return run([case for case in CASES if case.name in SHORT], tmp_path_factory.mktemp("java-parity"))


def test_nothing_differs_that_is_not_known(report: Report) -> None:
    told = [f"{difference.title}: {difference}" for difference in report.unexpected]
    assert not told, f"{len(told)} differences, the first ones:\n" + "\n".join(told[:20])


def test_both_have_moved_data(report: Report) -> None:
    """A control: what was compared isn't empty after all rules."""
    theirs = {each.title: each.theirs for each in report.compared}
    orders = theirs["debezium: plain, records"]["plain.public.orders"]
    values = [record["value"] for records in orders.values() for record in records]
    assert len(orders) == 2 and len(values) == 13
    assert sorted(value["payload"]["op"] for value in values if value is not None) == sorted("rrrccccuuuud")
    assert theirs["debezium: plain, offsets"][0]["offset"]["messageType"] == "INSERT"
    assert [row[1] for row in theirs["jdbc-sink: upserts, table"]["rows"]] == ["Malmö", "again", "Bergen", "old schema"]
    assert len(theirs["jdbc-sink: dead letters"]["dead"]["partition 0"]) == 4
