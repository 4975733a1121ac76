"""`/admin/loggers` over Python's loggers (KIP-495)."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.processes import java_loggers
from kconnect.processes.levels import PythonLoggers
from kconnect.rest.app import RestSettings, build

from .conftest import ADVERTISED, Http, assert_error
from .herder import MemoryHerder

NOW = 1_700_000_000_123


@pytest.fixture
def http(herder: MemoryHerder) -> Iterator[Http]:
    """Over the loggers of a little tree, whose levels are put back afterwards."""
    before = {logger: logger.level for logger in _loggers()}
    for name in ("tree", "tree.oak", "tree.oak.leaf", "treehouse"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.getLogger("tree").setLevel(logging.WARNING)
    logging.getLogger("treehouse").setLevel(logging.INFO)
    yield Http(build(herder, RestSettings(ADVERTISED), PythonLoggers(now_ms=lambda: NOW)))
    for logger in _loggers():
        logger.setLevel(before.get(logger, logging.NOTSET))


def _loggers() -> list[logging.Logger]:
    known = logging.root.manager.loggerDict.values()
    return [logging.root, *(logger for logger in known if isinstance(logger, logging.Logger))]


def test_list_is_sorted_and_gives_effective_levels(http: Http) -> None:
    logging.getLogger("quiet.tree").setLevel(100)
    listed = http("GET", "/admin/loggers").json()
    assert list(listed) == sorted(listed)
    assert "root" in listed
    assert "quiet.tree" not in listed
    assert listed["tree.oak.leaf"] == {"level": "WARN", "last_modified": None}


def test_get(http: Http) -> None:
    assert http("GET", "/admin/loggers/tree").json() == {"level": "WARN", "last_modified": None}
    assert http("GET", "/admin/loggers/ROOT").status_code == 200
    assert_error(http("GET", "/admin/loggers/no.such"), 404, "Logger no.such not found.")


@pytest.mark.parametrize("query", ["", "?scope=worker", "?scope=WORKER", "?scope=galaxy"])
def test_put_sets_a_namespace(http: Http, query: str) -> None:
    response = http("PUT", f"/admin/loggers/tree.oak{query}", json={"level": "debug"})
    assert (response.status_code, response.json()) == (200, ["tree.oak", "tree.oak.leaf"])
    assert logging.getLogger("tree.oak.leaf").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("tree").isEnabledFor(logging.INFO)
    assert http("GET", "/admin/loggers/tree.oak").json() == {"level": "DEBUG", "last_modified": NOW}


def test_put_goes_by_prefix_and_gives_what_changed_only(http: Http) -> None:
    changed = http("PUT", "/admin/loggers/tree", json={"level": "INFO"}).json()
    assert changed == ["tree", "tree.oak", "tree.oak.leaf"]
    assert http("PUT", "/admin/loggers/tree", json={"level": "INFO"}).json() == []
    assert http("PUT", "/admin/loggers/tree", json={"level": "TRACE"}).json()[-1] == "treehouse"


def test_put_makes_a_logger(http: Http) -> None:
    assert http("PUT", "/admin/loggers/tree.elm", json={"level": "ERROR"}).json() == ["tree.elm"]
    assert http("GET", "/admin/loggers/tree.elm").json()["level"] == "ERROR"


@pytest.mark.parametrize("root", ["root", "Root"])
def test_root_is_everything(http: Http, root: str) -> None:
    changed = http("PUT", f"/admin/loggers/{root}", json={"level": "FATAL"}).json()
    assert {"root", "tree", "treehouse"} <= set(changed)
    assert {entry["level"] for entry in http("GET", "/admin/loggers").json().values()} == {"FATAL"}


def test_a_name_of_javas_leads_to_the_logger_that_does_the_same(http: Http) -> None:
    sink = "org.apache.kafka.connect.runtime.WorkerSinkTask"
    changed = http("PUT", f"/admin/loggers/{sink}", json={"level": "TRACE"}).json()
    assert changed == ["kconnect.core.task.sink_pump", "kconnect.kafka.consumer", "kconnect.units.sink_task"]
    assert logging.getLogger("kconnect.units.sink_task").isEnabledFor(5)
    assert http("GET", f"/admin/loggers/{sink}").json() == {"level": "TRACE", "last_modified": NOW}
    below = http("PUT", "/admin/loggers/org.apache.kafka.connect.runtime.rest.RestServer", json={"level": "FATAL"}).json()
    assert "kconnect.rest" in below and all(name.startswith("kconnect.rest") for name in below)
    everything = http("PUT", "/admin/loggers/org.apache.kafka.connect", json={"level": "ALL"}).json()
    assert {"kconnect", "kconnect.units.sink_task"} <= set(everything)
    assert all(name.startswith("kconnect") for name in everything)


@pytest.mark.parametrize("scope", ["worker", "cluster"])
@pytest.mark.parametrize("end", ["connect.runtime.Nothing", "raft"])
def test_a_name_of_javas_that_would_change_nothing_is_refused(http: Http, herder: MemoryHerder, end: str, scope: str) -> None:
    name = f"org.apache.kafka.{end}"
    refused = http("PUT", f"/admin/loggers/{name}?scope={scope}", json={"level": "DEBUG"})
    assert refused.status_code == 404 and refused.json()["message"].startswith(f"Logger {name} not found. It is a Java class")
    assert herder.cluster_levels == []
    assert http("GET", f"/admin/loggers/{name}").status_code == 404
    assert http("PUT", "/admin/loggers/org.apache.other", json={"level": "DEBUG"}).json() == ["org.apache.other"]


@pytest.mark.parametrize("name", ["org.apache.kafka.connect.mirror", "org.apache.kafka.connect.mirror.Scheduler"])
def test_mirror_makers_names_are_those_of_a_plugin(http: Http, herder: MemoryHerder, name: str) -> None:
    assert http("PUT", f"/admin/loggers/{name}?scope=cluster", json={"level": "DEBUG"}).status_code == 204
    assert herder.cluster_levels == [(name, "DEBUG")]
    assert http("PUT", f"/admin/loggers/{name}", json={"level": "TRACE"}).json() == [name]
    assert http("GET", f"/admin/loggers/{name}").json()["level"] == "TRACE"


def test_javas_names_are_there_before_anybody_has_set_them(http: Http) -> None:
    for name in (*java_loggers.CLASSES, *java_loggers.PACKAGES):
        for end in ("", ".AnyClass") if name in java_loggers.PACKAGES else ("",):
            found = http("GET", f"/admin/loggers/{name}{end}")
            assert found.status_code == 200, name
            assert set(found.json()) == {"level", "last_modified"}


def test_each_of_javas_names_leads_to_what_there_is_and_stands_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "compatibility.md").read_text("utf-8")
    for also, table in (("", java_loggers.CLASSES), (" and below", java_loggers.PACKAGES)):
        for name, targets in table.items():
            assert f"| `{name}`{also} | {', '.join(f'`{target}`' for target in targets)} |" in page
            for target in targets:
                assert target == "kconnect.kafka.client" or importlib.util.find_spec(target) is not None


@pytest.mark.parametrize("level", ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"])
def test_levels(http: Http, level: str) -> None:
    assert http("PUT", "/admin/loggers/tree", json={"level": level.lower()}).status_code == 200
    assert http("GET", "/admin/loggers/tree").json()["level"] == level


def test_refused(http: Http) -> None:
    path = "/admin/loggers/tree"
    assert_error(http("PUT", path, json={"level": "blah"}), 404, "invalid log level 'blah'.")
    assert http("PUT", path, json={"level": " INFO "}).status_code == 200
    missing = "Desired 'level' parameter was not specified in request."
    assert_error(http("PUT", path, json={}), 400, missing)
    assert_error(http("PUT", path, json={"level": None}), 400, missing)
    assert 'send {"level": "<level>"}' in http("PUT", path).json()["message"]
    assert_error(http("PUT", f"{path}?scope=cluster", json={"level": "blah"}), 404, "invalid log level 'blah'.")


@pytest.mark.parametrize("scope", ["cluster", "CLUSTER"])
def test_for_the_cluster_it_goes_to_the_log_as_it_was_sent(http: Http, herder: MemoryHerder, scope: str) -> None:
    response = http("PUT", f"/admin/loggers/tree.oak?scope={scope}", json={"level": "debug"})
    assert (response.status_code, response.content) == (204, b"")
    assert herder.cluster_levels == [("tree.oak", "debug")]
    # What it reads there it applies; the request itself has changed nothing.
    assert http("GET", "/admin/loggers/tree.oak").json() == {"level": "WARN", "last_modified": None}
