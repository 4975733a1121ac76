"""`kconnect offsets` against a real server, with a herder in memory that keeps offsets as the real one does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kconnect.cli.offsets import entries, stopped
from kconnect.cli.offsets.entries import Entries, Entry
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.connectors import GetStatus
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets, ResetOffsets
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.state.records import TargetState
from kconnect.errors import BadRequestError, ConflictError, ConnectError, NotFoundError
from kconnect.kafka.positions import Place
from tests.cli.calls import Called, call, serving
from tests.rest.herder import MemoryHerder

DONE = "The offsets for this connector have been altered successfully"
SOURCE = [{"partition": {"filename": "in.txt"}, "offset": {"position": 7}}]


def at(partition: int, offset: int | None, topic: str = "t") -> Entry:
    return entries.sink_entry(Place(topic, partition), offset)


class Herder(MemoryHerder):
    """`refusals` are raised first, one a change; `forget` makes it say that it changed what it did not; `silent`
    is how often it has no status yet."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, dict[str, Entry]] = {}
        self.refusals: list[Exception] = []
        self.forget = False
        self.refuse_resume = False
        self.before_stop: Callable[[], None] = lambda: None
        self.silent = 0

    def keep(self, name: str, offsets: Entries) -> None:
        self.kept[name] = {entries.text(entry["partition"]): entry for entry in offsets}

    def submit(self, request: Request[Any]) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            if isinstance(request, GetOffsets):
                self.seen.append(request)
                self._known(request.name)
                future.set_result({"offsets": list(self.kept[request.name].values())})
                return future
            if isinstance(request, GetStatus) and self.silent:
                self.silent -= 1
                raise NotFoundError(f"No status found for connector {request.name}")
            if isinstance(request, AlterOffsets | ResetOffsets):
                self.seen.append(request)
                self._change(request)
                future.set_result({"message": DONE})
                return future
            if isinstance(request, StopConnector):
                self.before_stop()
            if self.refuse_resume and isinstance(request, SetTargetState):
                raise ConnectError("not today")
        except ConnectError as error:
            future.set_exception(error)
            return future
        return super().submit(request)

    def _change(self, request: AlterOffsets | ResetOffsets) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        if self.targets[self._known(request.name)] is not TargetState.STOPPED:
            raise BadRequestError("Connectors must be in the STOPPED state before their offsets can be modified.")
        if self.forget:
            return
        kept = self.kept[request.name]
        if isinstance(request, ResetOffsets):
            kept.clear()
            return
        for partition, offset in request.offsets:
            kept.pop(entries.text(partition), None)
            if offset is not None:
                kept[entries.text(partition)] = {"partition": partition, "offset": offset}

    def _info(self, name: str) -> dict[str, Any]:
        return {**super()._info(name), "type": "sink" if "topics" in self.configs[name] else "source"}


@pytest.fixture
def herder() -> Herder:
    found = Herder()
    found.configs = {
        "snk": {"connector.class": "FileStreamSink", "topics": "t"},
        "lines": {"connector.class": "FileStreamSource", "topic": "x"},
    }
    found.targets = {"snk": TargetState.STOPPED, "lines": TargetState.STOPPED}
    found.keep("snk", [at(1, 20), at(0, 10)])
    found.keep("lines", SOURCE)
    return found


@pytest.fixture
def url(herder: Herder) -> Iterator[str]:
    with serving(herder) as url:
        yield url


@pytest.fixture
def offsets(url: str) -> Any:
    def run(*arguments: str, stdin: str = "") -> Called:
        return call("offsets", *arguments, stdin=stdin, env={"KCONNECT_URL": url})

    return run


def kept(herder: Herder, name: str = "snk") -> dict[Place, int]:
    return entries.sink_offsets(herder.kept[name].values())


def states(herder: Herder) -> list[str]:
    """What was asked of connectors' states."""
    return [
        request.state.name if isinstance(request, SetTargetState) else "STOPPED"
        for request in herder.seen
        if isinstance(request, SetTargetState | StopConnector)
    ]


def test_of_one_that_has_no_status_yet(herder: Herder, offsets: Any) -> None:
    """As soon as it is created: its status comes by the topic."""
    herder.silent = 3
    called = offsets("set", "snk", "t/0=3")
    assert (called.status, herder.silent) == (0, 0), called.err
    assert at(0, 3) in herder.kept["snk"].values()
    assert offsets("set", "nobody", "t/0=3").status == 4


def test_get_shows_sinks_and_sources(offsets: Any, herder: Herder) -> None:
    shown = offsets("get", "--all")
    assert shown.status == 0
    assert [line.split() for line in shown.out.splitlines()] == [
        ["CONNECTOR", "TOPIC", "PARTITION", "OFFSET"],
        ["snk", "t", "0", "10"],
        ["snk", "t", "1", "20"],
        [],
        ["CONNECTOR", "PARTITION", "OFFSET"],
        ["lines", '{"filename":"in.txt"}', '{"position":7}'],
    ]
    herder.keep("lines", [])
    shown = offsets("get", "lines")
    assert (shown.status, shown.out) == (0, "")
    assert shown.err == "lines has no offsets: it has not committed any yet, or they were reset\n"
    assert offsets("get", "nobody").status == 4
    assert offsets("get").status == 2


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_get_writes_is_what_set_takes(offsets: Any, herder: Herder, form: str, tmp_path: Path) -> None:
    file = tmp_path / "o"
    file.write_text(offsets("get", "snk", "-o", form).out)
    herder.keep("snk", [at(0, 1), at(7, 7)])
    assert offsets("set", "snk", "-f", str(file)).status == 0
    assert kept(herder) == {("t", 0): 10, ("t", 1): 20, ("t", 7): 7}
    assert offsets("set", "snk", "-f", "-", stdin=json.dumps({"offsets": [at(0, 3)]})).status == 0
    assert kept(herder)[Place("t", 0)] == 3
    several = offsets("get", "--all", "-o", form)
    herder.keep("lines", [])
    assert offsets("set", "lines", "-f", "-", stdin=several.out).status == 0
    assert list(herder.kept["lines"].values()) == SOURCE


def test_set_inline(offsets: Any, herder: Herder) -> None:
    done = offsets("set", "snk", "t/0=5", "t/1=null", "t/2=9")
    assert (done.status, done.err) == (0, f"{DONE}\n")
    assert [line.split() for line in done.out.splitlines()] == [
        ["PARTITION", "BEFORE", "AFTER"],
        ["t/0", "10", "5"],
        ["t/1", "20", "-"],
        ["t/2", "-", "9"],
    ]
    assert kept(herder) == {("t", 0): 5, ("t", 2): 9}
    done = offsets("set", "lines", "--partition", '{"filename": "in.txt"}', "--offset", '{"position": 0}')
    assert done.status == 0
    assert list(herder.kept["lines"].values()) == [{"partition": {"filename": "in.txt"}, "offset": {"position": 0}}]


def test_nothing_is_asked_where_nothing_changes(offsets: Any, herder: Herder) -> None:
    done = offsets("set", "snk", "t/0=10")
    assert (done.status, done.out, done.err) == (0, "", "The offsets have these values already\n")
    assert offsets("set", "snk", "t/0=11", "--dry-run").out.split() == ["PARTITION", "BEFORE", "AFTER", "t/0", "10", "11"]
    assert offsets("reset", "snk", "--dry-run").status == 0
    assert not [request for request in herder.seen if isinstance(request, AlterOffsets | ResetOffsets)]


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (("set", "snk"), 2, "Give offsets in one way"),
        (("set", "snk", "t/0=1", "-f", "x"), 2, "Give offsets in one way"),
        (("set", "snk", "--partition", "{}"), 2, "Give an --offset for each --partition."),
        (("set", "snk", "t/0=-1"), 2, "the offset -1 of t/0 is negative"),
        (("set", "snk", "t/0=9223372036854775808"), 2, "9223372036854775808 of t/0 is beyond Kafka's largest"),
        (("set", "snk", "t/99999999999999999999=1"), 2, "99999999999999999999 of t is beyond Kafka's largest"),
        (("set", "lines", "--partition", '{"x": 1}', "--offset", '{"x": 99999999999999999999}'), 2, "can't be sent"),
        (("set", "snk", "t/0"), 2, "write TOPIC/PARTITION=OFFSET"),
        (("set", "snk", "-f", "/nowhere"), 2, "/nowhere: No such file"),
        (("set", "lines", "t/0=1"), 6, "lines is a source, which has no offset of t/0=1: give --partition JSON --offset JSON"),
        (("set", "lines", "--partition", "{x", "--offset", "null"), 2, "put it in single quotes"),
        (("set", "nobody", "t/0=1"), 4, "Connector nobody not found"),
        (("reset", "nobody"), 4, "Connector nobody not found"),
        (("reset", "snk"), 2, "There is no terminal to ask on: give --yes"),
        (("rewind", "snk"), 2, "Give one of"),
        (("rewind", "snk", "--by", "1", "--to-latest"), 2, "Give one of"),
        (("rewind", "snk", "--by", "0"), 2, "x>=1"),
        (("rewind", "snk", "--to-time", "soon"), 2, "'soon' is not a time:"),
        (("rewind", "snk", "--by", "1"), 2, "Kafka's address is not known: give --bootstrap-server"),
        (("rewind", "lines", "--by", "1"), 6, "kconnect offsets reset lines"),
        (("diff",), 1, "Missing argument"),
        (("diff", "snk"), 1, "Give what to compare with: a FILE, or --to-url URL"),
        (("diff", "nobody", "/nowhere"), 1, "Connector nobody not found"),
        (("diff", "snk", "/nowhere"), 1, "/nowhere: No such file"),
        (("diff", "snk", "--to-url", "nowhere"), 1, "nowhere"),
        (("import", "/nowhere"), 2, "/nowhere: No such file"),
    ],
)
def test_wrong_use(offsets: Any, herder: Herder, arguments: tuple[str, ...], status: int, text: str) -> None:
    done = offsets(*arguments)
    assert (done.status, text in done.err) == (status, True), done
    assert not [request for request in herder.seen if isinstance(request, AlterOffsets | ResetOffsets)]


@pytest.mark.parametrize("arguments", [("set", "snk", "t/0=1"), ("reset", "snk", "--yes")])
def test_a_connector_that_is_not_stopped_is_left_alone(offsets: Any, herder: Herder, arguments: tuple[str, ...]) -> None:
    herder.targets["snk"] = TargetState.STARTED
    done = offsets(*arguments)
    assert done.status == 6
    assert "snk is RUNNING" in done.err
    assert "kconnect stop snk" in done.err
    assert "--stop" in done.err
    assert states(herder) == []
    assert kept(herder) == {("t", 0): 10, ("t", 1): 20}


@pytest.mark.parametrize("state", [TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED])
def test_it_is_stopped_for_the_change_and_brought_back_to_where_it_was(
    offsets: Any, herder: Herder, state: TargetState
) -> None:
    herder.targets["snk"] = state
    done = offsets("set", "snk", "t/0=1", "--stop")
    assert done.status == 0
    assert states(herder) == ([] if state is TargetState.STOPPED else ["STOPPED", state.name])
    assert herder.targets["snk"] is state
    assert kept(herder)[Place("t", 0)] == 1
    assert offsets("reset", "snk", "--stop", "--yes").status == 0
    assert herder.targets["snk"] is state
    assert kept(herder) == {}


def test_it_is_brought_back_also_when_the_change_fails(offsets: Any, herder: Herder) -> None:
    herder.targets["snk"] = TargetState.PAUSED
    herder.refusals = [ConnectError("no offsets have changed on Sundays")]
    done = offsets("set", "snk", "t/0=1", "--stop")
    assert done.status == 1
    assert "no offsets have changed on Sundays" in done.err
    assert herder.targets["snk"] is TargetState.PAUSED


def test_one_that_can_not_be_brought_back_is_told_with_the_command(offsets: Any, herder: Herder) -> None:
    herder.targets["snk"] = TargetState.STARTED
    herder.refuse_resume = True
    done = offsets("set", "snk", "t/0=1", "--stop")
    assert done.status == 1
    assert "Its offsets were changed, but snk could not be brought back (not today): it is STOPPED" in done.err
    assert "To bring it back: kconnect resume snk" in done.err
    assert kept(herder)[Place("t", 0)] == 1


def test_ctrl_c_says_where_the_connector_is(offsets: Any, herder: Herder, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(stopped, "write", interrupted)
    herder.targets["snk"] = TargetState.PAUSED
    done = offsets("set", "snk", "t/0=1", "--stop")
    assert done.status == 130
    assert "Interrupted: snk is STOPPED. Its offsets may have been changed; to see" in done.err
    assert "kconnect pause snk" in done.err
    assert herder.targets["snk"] is TargetState.STOPPED


def test_a_worker_whose_tasks_are_still_ending_is_asked_again(offsets: Any, herder: Herder) -> None:
    herder.refusals = [
        ConflictError("Cannot complete request momentarily due to no known leader URL"),
        BadRequestError("Connectors must be in the STOPPED state before their offsets can be modified."),
        ConnectError("Failed to alter consumer group offsets, its tasks haven't stopped completely yet or"),
    ]
    assert offsets("set", "snk", "t/0=1").status == 0
    assert kept(herder)[Place("t", 0)] == 1


def test_offsets_that_are_others_afterwards_are_an_error(offsets: Any, herder: Herder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopped, "_SHOWN_S", 0.5)
    herder.forget = True
    herder.keep("snk", [at(0, 10)])
    for arguments in (("set", "snk", "t/0=1"), ("reset", "snk", "--yes")):
        done = offsets(*arguments)
        assert done.status == 1
        assert '{"kafka_partition":0,"kafka_topic":"t"} is at {"kafka_offset":10}' in done.err


def test_what_helps_with_a_sink_s_group(offsets: Any, herder: Herder) -> None:
    """As Connect refuses, without a reason; kconnect says it."""
    herder.refusals = [ConnectError("Failed to alter consumer group offsets for connector snk")]
    assert "no other consumer uses the group connect-snk" in offsets("set", "snk", "t/0=1").err
    herder.configs["snk"]["consumer.override.group.id"] = "mine"
    herder.refusals = [ConnectError("Failed to alter consumer group offsets for connector snk")]
    assert "the group mine (its consumer.override.group.id)" in offsets("set", "snk", "t/0=1").err


def test_diff_with_a_file_and_another_cluster(offsets: Any, herder: Herder, url: str, tmp_path: Path) -> None:
    file = tmp_path / "o"
    file.write_text(offsets("export", "--all").out)
    same = offsets("diff", "snk", str(file))
    assert (same.status, same.out, same.err) == (0, "", "No difference\n")
    herder.keep("snk", [at(0, 11), at(1, 20), at(2, 5)])
    other = offsets("diff", "snk", str(file))
    assert other.status == 2
    assert [line.split() for line in other.out.splitlines()] == [
        ["PARTITION", "HERE", "FILE"],
        ["t/0", "11", "10"],
        ["t/2", "5", "-"],
    ]
    herder.configs["copy"] = herder.configs["snk"]
    herder.targets["copy"] = TargetState.STOPPED
    herder.keep("copy", [at(0, 11), at(1, 20)])
    other = offsets("diff", "snk", "--to-url", url, "--to-name", "copy")
    assert (other.status, other.out.split()) == (2, ["PARTITION", "HERE", "THERE", "t/2", "5", "-"])
    other = offsets("diff", "snk", "--to-url", url, "--to-name", "lines")
    assert (other.status, "snk is a sink here, but lines is a source" in other.err) == (1, True)


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_export_and_import(offsets: Any, herder: Herder, form: str, tmp_path: Path) -> None:
    file = tmp_path / "o"
    file.write_text(offsets("export", "--all", "-o", form).out)
    assert offsets("import", str(file)).err == "The offsets have these values already\n"
    herder.keep("snk", [at(0, 99), at(5, 5)])
    herder.keep("lines", [])
    dry = offsets("import", str(file), "--dry-run")
    assert dry.status == 0
    assert ["snk", "t/0", "99", "10"] in [line.split() for line in dry.out.splitlines()]
    assert "snk: 1 partition(s) that the file does not have stay as they are (--exact resets them)" in dry.err
    assert kept(herder) == {("t", 0): 99, ("t", 5): 5}
    assert offsets("import", str(file)).status == 2
    assert offsets("import", str(file), "nobody").status == 4
    assert offsets("import", str(file), "s*", "--yes").status == 0
    assert kept(herder) == {("t", 0): 10, ("t", 1): 20, ("t", 5): 5}
    assert herder.kept["lines"] == {}
    assert offsets("import", str(file), "--yes", "--exact").status == 0
    assert kept(herder) == {("t", 0): 10, ("t", 1): 20}
    assert list(herder.kept["lines"].values()) == SOURCE


def test_an_import_goes_on_after_a_failure_and_tells_of_it(offsets: Any, herder: Herder) -> None:
    file = offsets("export", "--all").out
    herder.targets = dict.fromkeys(herder.targets, TargetState.STARTED)
    herder.keep("snk", [])
    herder.keep("lines", [])
    refused = offsets("import", "-", "--yes", stdin=file)
    assert (refused.status, "lines is RUNNING" in refused.err, "snk is RUNNING" in refused.err) == (6, True, True)
    herder.refusals = [ConnectError("not on Sundays")]
    done = offsets("import", "-", "--yes", "--stop", stdin=file)
    assert done.status == 1
    assert "kconnect: lines: " in done.err
    assert "not on Sundays" in done.err
    assert kept(herder) == {("t", 0): 10, ("t", 1): 20}
    assert set(herder.targets.values()) == {TargetState.STARTED}


def test_an_import_does_what_it_can_without_those_that_are_not_there(offsets: Any, herder: Herder) -> None:
    file = offsets("export", "--all").out
    herder.keep("snk", [])
    del herder.configs["lines"]
    asked = offsets("import", "-", stdin=file)
    assert "Set the offsets of snk? There is no terminal" in asked.err
    assert offsets("import", "-", "--dry-run", stdin=file).status == 4
    assert kept(herder) == {}
    done = offsets("import", "-", "--yes", stdin=file)
    assert (done.status, done.err) == (4, f"kconnect: lines: Connector lines not found\nsnk: {DONE}\n")
    assert kept(herder) == {("t", 0): 10, ("t", 1): 20}
    again = offsets("import", "-", "--yes", stdin=file)
    assert (again.status, again.out) == (4, ""), "that the others have these values already makes it no success"


def test_reset_stops_also_what_has_no_offsets_yet(offsets: Any, herder: Herder) -> None:
    """A connector that runs commits what it has read when it is stopped."""
    herder.keep("snk", [])
    herder.targets["snk"] = TargetState.STARTED
    herder.before_stop = lambda: herder.keep("snk", [at(0, 10)])
    told = "snk has not committed any offsets yet; those that it commits until it is stopped are reset, too\n"
    done = offsets("reset", "snk", "--stop", "--yes")
    assert (done.status, done.out, done.err.startswith(told)) == (0, "", True), done
    assert (kept(herder), herder.targets["snk"]) == ({}, TargetState.STARTED)


def test_an_import_takes_what_a_connector_read_until_it_was_stopped(offsets: Any, herder: Herder) -> None:
    file = offsets("export", "snk").out
    herder.targets["snk"] = TargetState.STARTED
    herder.keep("snk", [at(0, 99), at(1, 20)])

    def stop(herder_: Herder, request: StopConnector) -> None:
        herder.keep("snk", [at(0, 100), at(1, 30), at(2, 1)])
        MemoryHerder._target(herder, request)

    herder._answers = {**herder._answers, StopConnector: stop}
    done = offsets("import", "-", "--yes", "--stop", "--exact", stdin=file)
    assert (done.status, kept(herder)) == (0, {("t", 0): 10, ("t", 1): 20}), done
