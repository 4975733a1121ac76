"""`kconnect topics …` as it is typed, on snapshots; `tests/integration/test_cli_topics.py` has what needs brokers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from kconnect.cli.topics import snapshot
from tests.cli.calls import call
from tests.internal_topics.logs import NOW_MS, Log
from tests.internal_topics.test_checking import healthy


def written(directory: Path, log: Log, name: str = "s.jsonl") -> str:
    contents = log.contents()
    contents.created_ms = NOW_MS
    snapshot.write(contents, directory / name)
    return str(directory / name)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path, healthy().connector("pay", 1, **{"db.password": "hunter2222"}).config("connector-bad", b"{"))


class TestDump:
    def test_a_line_for_each_record_in_the_order_of_time(self, file: str) -> None:
        found = call("topics", "dump", "--snapshot", file)
        lines = found.out.splitlines()
        assert (found.status, found.err) == (0, "")
        assert re.fullmatch(r"TOPIC +AT +TIME +RECORD", lines[0])
        assert re.fullmatch(r"config +0/1 +2027-01-15 08:00:00\.001 +connector config of src: 2 settings, \w+", lines[2])
        assert [line.split()[3] for line in lines[1:]] == sorted(line.split()[3] for line in lines[1:])
        assert lines[-1].endswith("broken, not JSON: connector-bad")

    def test_of_some_topics_and_connectors(self, file: str) -> None:
        def shown(*options: str) -> list[str]:
            found = call("topics", "dump", "--snapshot", file, "-o", "json", *options)
            return [json.loads(line)["key"] for line in found.out.splitlines()]

        assert shown("--topic", "offset") == ['["src",{"file":"a"}]']
        assert shown("--connector", "p*", "--topic", "config") == ["connector-pay", "task-pay-0", "commit-pay"]
        assert shown("--connector", "snk", "--topic", "status") == ["status-connector-snk"]
        assert len(shown("--connector", "snk", "--connector", "pay")) == 6
        assert shown("--since", "2999-01-01") == []

    def test_nothing_to_show_is_said(self, file: str) -> None:
        found = call("topics", "dump", "--snapshot", file, "--connector", "nobody")
        assert (found.status, found.out) == (0, "")
        assert "None of 17 records matches these options." in found.err

    def test_secrets_are_shown_only_after_a_question(self, file: str) -> None:
        assert "hunter2222" not in call("topics", "dump", "--snapshot", file, "-o", "json").out
        refused = call("topics", "dump", "--snapshot", file, "-o", "json", "--show-secrets")
        assert refused.status == 2
        assert "give --yes" in refused.err and not refused.out
        shown = call("topics", "dump", "--snapshot", file, "-o", "json", "--show-secrets", "--yes").out
        assert "hunter2222" in shown
        assert "c2VjcmV0" not in shown, "session keys are never shown"

    def test_nothing_is_written_that_a_terminal_would_obey(self, tmp_path: Path) -> None:
        log = Log().connector("src").running("src", state="FAILED").config("connector-\x1b[2J", b"{")
        body = {"state": "FAILED", "trace": "\x1b]0;mine\x07 fails", "worker_id": "n1:8083", "generation": 5}
        path = written(tmp_path, log.status("status-connector-src", body))
        found = call("topics", "dump", "--snapshot", path).out
        assert "\x1b" not in found and "\\x1b]0;mine\\x07 fails" in found
        checked = call("topics", "check", "--snapshot", path).out
        assert "\x1b" not in checked and "Workers ignore the record connector-\\x1b[2J" in checked

    def test_a_topic_of_something_else_is_said_to_be_one(self, tmp_path: Path) -> None:
        found = call("topics", "dump", "--snapshot", written(tmp_path, Log().config("order-1", {})))
        assert found.status == 0
        assert "connect-config holds none of the records of config topics: check its name" in found.err


class TestCheck:
    def test_errors_warnings_and_notes_by_exit_status(self, tmp_path: Path) -> None:
        fine = written(tmp_path, healthy().offset("old", {"a": 1}, {"b": 1}), "fine")
        warned = written(tmp_path, healthy().running("old"), "warned")
        wrong = written(tmp_path, healthy().config("connector-x", b"{"), "wrong")
        statuses = {
            name: [call("topics", "check", "--snapshot", name, *more).status for more in ([], ["--strict"])]
            for name in (fine, warned, wrong)
        }
        assert statuses == {fine: [0, 0], warned: [0, 1], wrong: [1, 1]}

    def test_each_finding_says_what_helps(self, tmp_path: Path) -> None:
        path = written(tmp_path, healthy().running("old").config("connector-x", b"{"))
        found = call("topics", "check", "--snapshot", path)
        assert found.out.splitlines() == [
            "ERROR    config      Workers ignore the record connector-x (offset 7): not JSON.",
            "                  -> Submit the connector's config again, or pause, stop or resume the connector again: that "
            "rewrites the record.",
            "WARNING  status      There are statuses of old, which is gone.",
            "                  -> The leader removes them after the next rebalance: restart a worker.",
            "1 error, 1 warning: 15 records of connect-config, connect-offset, connect-status.",
        ]
        data = json.loads(call("topics", "check", "--snapshot", path, "-o", "json").out)
        assert (data["errors"], data["warnings"], data["notes"]) == (1, 1, 0)
        assert data["findings"][1]["kind"] == "gone-status" and data["findings"][1]["names"] == ["old"]

    def test_nothing_found(self, tmp_path: Path) -> None:
        found = call("topics", "check", "--snapshot", written(tmp_path, healthy()))
        assert found.out.startswith("Nothing found: 13 records of")

    def test_a_topic_of_something_else_is_refused(self, tmp_path: Path) -> None:
        path = written(tmp_path, Log().config("order-1", {}).config("order-2", {}))
        for command in ("check", "compact-view"):
            found = call("topics", command, "--snapshot", path)
            assert (found.status, found.out) == (6, "")
            assert "connect-config is not the config topic: none of its 2 records is one that a worker" in found.err


class TestView:
    def test_the_table_and_the_whole(self, file: str) -> None:
        found = call("topics", "compact-view", "--snapshot", file)
        assert [re.split(r" {2,}", line) for line in found.out.splitlines()] == [
            ["NAME", "TARGET STATE", "TASKS", "STATUSES", "OFFSETS", "TOPICS"],
            ["pay", "STARTED", "1", "none", "0", "0"],
            ["snk", "STOPPED", "0", "1 STOPPED", "0", "0"],
            ["src", "STARTED", "2", "3 RUNNING", "1", "1"],
        ]
        whole = yaml.safe_load(call("topics", "compact-view", "p*", "--snapshot", file, "-o", "yaml").out)
        assert list(whole["connectors"]) == ["pay"]
        assert whole["connectors"]["pay"]["config"]["db.password"] == "[hidden]"
        shown = call("topics", "compact-view", "pay", "--snapshot", file, "-o", "json", "--show-secrets", "-y")
        assert json.loads(shown.out)["connectors"]["pay"]["config"]["db.password"] == "hunter2222"

    def test_what_is_left_of_others_and_names_that_are_not_there(self, tmp_path: Path) -> None:
        path = written(tmp_path, healthy().running("old", 0))
        shown = call("topics", "compact-view", "--snapshot", path).out
        assert "old is gone; these records of it remain: status, status of task 0" in shown
        found = call("topics", "compact-view", "nobody", "--snapshot", path)
        assert found.status == 4
        assert "No connector in connect-config, connect-offset, connect-status is called nobody" in found.err


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["dump"], 2, "Say which topics: give the workers' --worker-file"),
        (["check", "--config-topic", "c"], 2, "Kafka's address is not known: give --bootstrap-server"),
        (["dump", "--snapshot", "/nowhere/s"], 4, "The file /nowhere/s does not exist"),
        (["dump", "--snapshot", __file__], 6, "is not a snapshot; `kconnect topics export` writes them"),
        (["dump", "--snapshot", "s", "-f"], 2, "-f is for topics"),
        (["dump", "--snapshot", "s", "--since", "tomorrow"], 2, "--since tomorrow is not a time"),
        (["dump", "--bootstrap-server", "h:1", "--config-topic", "c", "--topic", "status"], 2, "give --status-topic"),
        (["export", "-"], 2, "Say which topics"),
        (["export", __file__, "--config-topic", "c"], 5, "exists already; choose another name"),
        (["export", "/nowhere/s.gz", "--config-topic", "c"], 4, "There is no directory /nowhere: make it"),
        (["restore", "/nowhere/s", "--bootstrap-server", "h:1"], 4, "The file /nowhere/s does not exist"),
        (["export", "new-file", "--worker-file", "/nowhere/w"], 2, "/nowhere/w"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_wrong_use(words: list[str], status: int, said: str) -> None:
    found = call("topics", *words)
    assert (found.status, found.out) == (status, "")
    assert said in found.err
