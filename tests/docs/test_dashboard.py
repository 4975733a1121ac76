"""docs/grafana/kconnect.json is what `tests/rig/dashboard.py` makes, and what Grafana can lay out."""

from __future__ import annotations

import itertools
import json
import re

import pytest
import yaml

from tests.docs import metric_names
from tests.docs.pages import DOCS
from tests.rig import dashboard

FILE = json.loads(dashboard.FILE.read_text("utf-8"))
PANELS = FILE["panels"]
QUERIES = [query.expression for query in dashboard.queries()]


def test_the_file_is_what_the_code_makes() -> None:
    assert dashboard.FILE.read_text("utf-8") == dashboard.text(), "write it anew: .venv/bin/python -m tests.rig.dashboard"


@pytest.mark.parametrize("expression", QUERIES)
def test_metrics_and_labels_are_those_that_are_served(expression: str) -> None:
    assert list(metric_names.unknown(expression)) == []
    assert '{job=~"$job"' in expression, "of the chosen cluster only"


def test_variables_ask_for_what_is_served() -> None:
    asked = [re.fullmatch(r"label_values\((.*), (\w+)\)", each["definition"]) for each in FILE["templating"]["list"][1:]]
    assert [match and list(metric_names.unknown(f"sum by ({match[2]}) ({match[1]})")) for match in asked] == [[], []]
    names = {each["name"] for each in FILE["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", dashboard.FILE.read_text("utf-8"))) - {"__rate_interval"}
    assert used == names


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        place = panel["gridPos"]
        cells = set(itertools.product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])))
        assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells


def test_alerts_that_panels_name_are_there() -> None:
    rules = yaml.safe_load((DOCS / "alerts.yml").read_text("utf-8"))
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    named = set(re.findall(r"Kconnect\w+", dashboard.FILE.read_text("utf-8")))
    assert named and named <= alerts
