"""`kconnect migrate` between clusters in memory behind real servers: there and back, hindered, refused and interrupted."""

from __future__ import annotations

import fcntl
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from kconnect.core.state.records import TargetState
from kconnect.rest.client import ConnectClient
from tests.cli.calls import Called, call
from tests.cli.clusters import Cluster, create, served


@dataclass
class Pair:
    """Two clusters on one Kafka, and a journal between them."""

    old: Cluster
    new: Cluster
    journal: Path

    def migrate(self, *arguments: str) -> Called:
        own = ("--from", self.old.url, "--to", self.new.url, "--state", str(self.journal))
        return call("migrate", *own, *(("--yes",) if "--dry-run" not in arguments else ()), *arguments)

    def never_both(self) -> bool:
        return not (self.old.both_ran or self.new.both_ran)

    @property
    def writes(self) -> int:
        return self.old.writes + self.new.writes


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[Cluster, Cluster]]:
    made = Cluster("old:8083"), Cluster("new:8083")
    with served(*made):
        yield made


@pytest.fixture
def pair(clusters: tuple[Cluster, Cluster], tmp_path: Path) -> Pair:
    old, new = clusters
    for cluster, other in ((old, new), (new, old)):
        cluster.reset(other)
    new.groups = old.groups
    return Pair(old, new, tmp_path / "journal.json")


@pytest.mark.parametrize("kind", ["Source", "Sink"])
@pytest.mark.parametrize("state", list(TargetState))
def test_there_and_back_with_its_state_and_offsets(pair: Pair, kind: str, state: TargetState) -> None:
    create(pair.old, "lines", kind, 7, secret="s3cret")
    pair.old.targets["lines"] = state
    moved = pair.migrate("lines")
    assert moved.status == 0, moved.err
    assert pair.new.configs["lines"] == pair.old.configs["lines"]
    assert (pair.old.targets["lines"], pair.new.targets["lines"]) == (TargetState.STOPPED, state)
    there = pair.new.place("lines")
    assert there is not None
    assert there >= 7
    pair.new.set_place("lines", there + 100)
    assert pair.migrate("lines", "--back").status == 0
    assert (pair.old.targets["lines"], pair.new.targets["lines"]) == (state, TargetState.STOPPED)
    back = pair.old.place("lines")
    assert back is not None
    assert back >= there + 100
    assert pair.never_both()
    assert "s3cret" not in moved.out + moved.err + pair.journal.read_text()


def test_what_has_moved_is_not_moved_again(pair: Pair) -> None:
    create(pair.old, "a")
    create(pair.old, "b")
    assert pair.migrate("a").status == 0
    before = pair.writes
    again = pair.migrate("a")
    assert (again.status, pair.writes) == (0, before)
    assert f"a: it has already moved, and is RUNNING at {pair.new.url}" in again.out
    assert pair.migrate("--all").status == 0
    assert pair.new.running() == {"a", "b"}
    assert pair.migrate("--all", "--delete").status == 0
    assert not pair.old.configs
    assert pair.migrate("a", "b", "--back").status == 0
    assert pair.old.running() == {"a", "b"}


def test_offsets_that_the_target_had_before_are_gone(pair: Pair) -> None:
    create(pair.old, "a", "Source", 7)
    pair.new.stored["a"] = [{"partition": {"filename": "other.txt"}, "offset": {"position": 1}}]
    assert pair.migrate("a").status == 0
    assert [each["partition"] for each in pair.new.stored["a"]] == [{"filename": "in.txt"}]


def test_a_dry_run_writes_nothing(pair: Pair) -> None:
    create(pair.old, "a")
    before = pair.writes
    found = pair.migrate("a", "--dry-run")
    assert (found.status, pair.writes, pair.journal.exists()) == (0, before, False)
    assert found.out.splitlines()[1].split() == ["a", "source", "RUNNING", "-", "1", "move", "RUNNING"]


def test_a_rebalance_hides_no_state(pair: Pair) -> None:
    create(pair.old, "a", "Source", 7)
    assert pair.migrate("a").status == 0
    pair.new.targets["a"] = TargetState.PAUSED
    # Both clusters give their connectors to other workers meanwhile: what is stopped there and paused here looks alike.
    pair.old.between["a"], pair.new.between["a"] = 3, 3
    back = pair.migrate("a", "--back")
    assert back.status == 0, back.err
    assert (pair.old.targets["a"], pair.new.targets["a"]) == (TargetState.PAUSED, TargetState.STOPPED)


def test_what_no_worker_has_is_taken_for_running(pair: Pair) -> None:
    create(pair.old, "a", "Source", 7)
    pair.old.between["a"] = 1_000_000
    found = pair.migrate("a", "--dry-run", "--timeout", "0.5s")
    assert found.status == 0, found.err
    assert f"a: its state is unknown, as no worker runs it at {pair.old.url} (UNASSIGNED)" in found.out


def test_it_asks_first(pair: Pair) -> None:
    create(pair.old, "a")
    before = pair.writes
    found = call("migrate", "--from", pair.old.url, "--to", pair.new.url, "a", "--state", str(pair.journal))
    assert (found.status, pair.writes) == (2, before)
    assert "There is no terminal to ask on: give --yes" in found.err


def _class_missing(pair: Pair) -> None:
    create(pair.old, "a", "Sink")
    pair.new.missing.add("FileStreamSink")


def _refused(pair: Pair) -> None:
    create(pair.old, "a", secret="hunter22", wrong="yes")


def _own_topic(pair: Pair) -> None:
    create(pair.old, "a", "Source", 7, **{"offsets.storage.topic": "mine"})


def _exactly_once(pair: Pair) -> None:
    create(pair.old, "a", "Source", 7, **{"exactly.once.support": "required"})


def _other_kafka(pair: Pair) -> None:
    create(pair.old, "a", "Sink")
    pair.new.kafka = "two"


def _name_taken(pair: Pair) -> None:
    create(pair.old, "a")
    create(pair.new, "a", "Sink")


def _runs_at_both(pair: Pair) -> None:
    create(pair.old, "a")
    create(pair.new, "a", file="other.txt")


def _both_stopped(pair: Pair) -> None:
    for cluster, place in ((pair.old, 3), (pair.new, 4)):
        create(cluster, "a", "Source", place)
        cluster.targets["a"] = TargetState.STOPPED


def _same_cluster(pair: Pair) -> None:
    create(pair.old, "a")
    create(pair.new, "a")
    pair.new.worker = pair.old.worker


@pytest.mark.parametrize(
    ("situation", "words"),
    [
        (_class_missing, "has no connector class FileStreamSink. Install its plugin there"),
        (_refused, "refuses wrong: Must not be [hidden]"),
        (_own_topic, "it keeps its offsets in a topic of its own (offsets.storage.topic)"),
        (_exactly_once, "exactly.once.support=required"),
        (_other_kafka, "The same offset is another record there"),
        (_name_taken, "has another connector of this name, of class FileStreamSink"),
        (_runs_at_both, "Stop it at the cluster that it should not run on"),
        (_both_stopped, "it is stopped at both clusters, with different offsets"),
        (_same_cluster, "are the same cluster"),
    ],
)
def test_what_hinders_is_said_before_anything_is_touched(pair: Pair, situation: Any, words: str) -> None:
    situation(pair)
    create(pair.old, "good")
    before = pair.writes
    found = pair.migrate("--all")
    assert (found.status, pair.writes) == (6, before)
    assert words in found.err
    assert "1 of 2 can't be moved. Nothing was changed." in found.err


def test_a_target_that_is_too_old(pair: Pair) -> None:
    create(pair.old, "a")
    pair.new.version, pair.new.is_kconnect = "3.6.2", False
    before = pair.writes
    found = pair.migrate("a")
    assert (found.status, pair.writes) == (6, before)
    assert "runs 3.6.2, which can't create connectors in the STOPPED state: it needs 3.7 or newer" in found.err


def test_sinks_go_to_another_kafka_if_that_is_asked_for(pair: Pair) -> None:
    create(pair.old, "a", "Sink", 5)
    pair.old.targets["a"] = TargetState.PAUSED
    pair.new.kafka, pair.new.groups = "two", {}
    assert pair.migrate("a", "--copy-sink-offsets").status == 0
    assert pair.new.place("a") == pair.old.place("a")


def test_kafka_connect_does_not_tell_of_its_config_providers(pair: Pair) -> None:
    pair.new.is_kconnect = False
    create(pair.old, "a", password="${vault:db:password}")
    found = pair.migrate("a", "--dry-run")
    assert "does not show whether its workers have config.providers=vault" in found.out
    pair.old.configs["a"]["topic"] = "${env:TOPIC}"
    assert "does not resolve topic=${env:TOPIC}" in pair.migrate("a").err


def test_offsets_that_are_refused(pair: Pair) -> None:
    create(pair.old, "a")
    create(pair.old, "b")
    pair.new.refuses_offsets.add("a")
    found = pair.migrate("a", "b")
    assert found.status == 1
    assert found.err.splitlines() == [
        "a: It keeps offsets elsewhere and can't set them",
        f"a is STOPPED at {pair.old.url} and STOPPED at {pair.new.url}. The state at {pair.old.url} is the valid one. To "
        "continue, give the same command; to go back, swap --from and --to.",
        "Not moved yet: b.",
    ]
    assert pair.old.running() == {"b"}
    assert pair.migrate("a", "--back").status == 0
    assert (pair.old.running(), pair.new.configs) == ({"a", "b"}, {})


def test_a_config_that_the_target_has_not_checked_does_not_go_there(pair: Pair) -> None:
    """Who answers as one cluster shows a harmless config first, and another one once it is asked to stop the connector."""
    create(pair.old, "a")
    pair.old.when_stopped = lambda: pair.old.configs["a"].update({"connector.class": "Evil"})
    found = pair.migrate("a")
    assert (found.status, pair.new.configs) == (1, {})
    assert f"a: Its config at {pair.old.url} was changed after it had been checked" in found.err
    pair.old.when_stopped = None
    assert pair.migrate("a").status == 0
    assert pair.new.running() == {"a"}


def test_offsets_that_never_rest_end_the_move(pair: Pair) -> None:
    create(pair.old, "a")
    count = itertools.count()
    pair.old.is_kconnect = False
    pair.old.shows_offsets = lambda: [{"partition": {"f": "x"}, "offset": {"p": next(count)}}]
    found = pair.migrate("a", "--timeout", "0.5")
    assert (found.status, pair.new.configs) == (1, {})
    assert f"a: Its offsets at {pair.old.url} still change, though it is stopped" in found.err


@pytest.mark.parametrize("odd", [[1], {"a": 1}, [{"x": 1}], "text", 7, [None]], ids=str)
def test_offsets_of_another_form(pair: Pair, odd: Any) -> None:
    create(pair.old, "a")
    pair.old.shows_offsets = lambda: odd
    before = pair.writes
    found = pair.migrate("a")
    assert (found.status, pair.writes) == (1, before)
    assert f"{pair.old.url} does not answer as a worker does: what it shows of 'a' has another form" in found.err


def test_no_name_of_another_cluster_begins_a_line(pair: Pair) -> None:
    name = "a\nb: has moved"
    create(pair.old, name)
    found = pair.migrate("--all")
    assert pair.new.running() == {name}
    assert not any(line.startswith("b: has moved:") for line in found.out.splitlines())


def test_what_fails_at_the_target_is_said(pair: Pair) -> None:
    create(pair.old, "a")
    pair.new.failed.add(("a", 0))
    found = pair.migrate("a")
    assert found.status == 1
    assert f"a has moved to {pair.new.url}, and failed there." in found.err
    assert "disk on fire" in found.err
    pair.new.failed.clear()
    assert pair.migrate("a", "--back").status == 0
    assert pair.old.running() == {"a"}


def test_what_has_failed_at_the_source_is_said(pair: Pair) -> None:
    create(pair.old, "a")
    pair.old.failed.add(("a", 0))
    found = pair.migrate("a", "--dry-run")
    words = f"it has FAILED at {pair.old.url}; it is started at {pair.new.url}, and may fail there again"
    assert f"a: {words}" in found.out


def test_what_fails_at_the_target_is_not_deleted_at_the_source(pair: Pair) -> None:
    create(pair.old, "a")
    pair.new.failed.add(("a", 0))
    found = pair.migrate("a", "--delete")
    assert (found.status, set(pair.old.configs)) == (1, {"a"})
    assert f"It remains at {pair.old.url}, stopped." in found.err
    again = pair.migrate("a", "--delete")
    assert (again.status, set(pair.old.configs)) == (1, {"a"})
    assert f"a has failed at {pair.new.url}, so it is not deleted at {pair.old.url}" in again.err
    pair.new.failed.clear()
    assert pair.migrate("a", "--delete").status == 0
    assert (pair.old.configs, pair.new.running()) == ({}, {"a"})


def test_clusters_whose_workers_have_one_name(pair: Pair) -> None:
    create(pair.old, "a")
    pair.new.worker = pair.old.worker
    assert pair.migrate("a").status == 0
    back = pair.migrate("a", "--back")
    assert back.status == 0, back.err
    assert (pair.old.running(), pair.never_both()) == ({"a"}, True)


def test_a_cluster_that_does_not_answer_is_told_at_once(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def send(asking: ConnectClient, method: str, path: str, *rest: Any) -> httpx.Response:
        asked.append(asking.url)
        return _SEND(asking, method, path, *rest)

    monkeypatch.setattr(ConnectClient, "_send", send)
    own = ("--from", pair.old.url, "--to", "http://127.0.0.1:1")
    found = call("migrate", *own, "a", "--state", str(pair.journal))
    assert found.status == 3
    assert asked.count("http://127.0.0.1:1") == 3


def test_one_run_at_a_time(pair: Pair) -> None:
    create(pair.old, "a")
    with pair.journal.with_name("journal.json.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = pair.migrate("a")
    assert found.status == 5
    assert "Another kconnect migrate holds the journal" in found.err
    assert pair.old.running() == {"a"}


def test_a_journal_of_other_clusters(pair: Pair) -> None:
    create(pair.old, "a")
    assert pair.migrate("a").status == 0
    found = call("migrate", "--from", pair.old.url, "--to", f"{pair.new.url}/x", "a", "--state", str(pair.journal), "--yes")
    assert found.status != 0
    pair.journal.write_text("[]")
    assert "is not a journal of kconnect migrate" in pair.migrate("a").err


# --- interrupted ---


class _Killed(BaseException):
    """Nothing of ours handles it, as nothing handles SIGKILL."""


class _Fate:
    """Ends the run at a write, before it has reached the cluster or before the answer is back."""

    def __init__(self, number: int, answered: bool) -> None:
        self._left, self._answered = number, answered
        self.struck = False

    def send(self, asking: ConnectClient, method: str, path: str, *rest: Any) -> httpx.Response:
        if method == "GET" or path.endswith("validate"):
            return _SEND(asking, method, path, *rest)
        self._left -= 1
        if self._left:
            return _SEND(asking, method, path, *rest)
        self.struck = True
        if self._answered:
            _SEND(asking, method, path, *rest)
        raise _Killed


_SEND = ConnectClient._send


def _interrupted(pair: Pair, monkeypatch: pytest.MonkeyPatch, number: int, answered: bool, *arguments: str) -> bool:
    """Whether the run came that far."""
    fate = _Fate(number, answered)
    with monkeypatch.context() as patched:
        patched.setattr(ConnectClient, "_send", lambda *call: fate.send(*call))
        try:
            assert pair.migrate(*arguments).status == 0
        except _Killed:
            assert fate.struck
    return fate.struck


_STEPS = [(number, answered) for number in range(1, 6) for answered in (False, True)]


@pytest.mark.parametrize(("kind", "state"), [("Source", TargetState.PAUSED), ("Sink", TargetState.STARTED)])
@pytest.mark.parametrize(("number", "answered"), _STEPS)
def test_a_run_that_was_killed_is_started_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, kind: str, number: int, answered: bool, state: TargetState
) -> None:
    create(pair.old, "a", kind, 7)
    pair.old.targets["a"] = state
    struck = _interrupted(pair, monkeypatch, number, answered, "a", "--delete")
    steps = 5 if kind == "Source" else 4
    assert struck is (number <= steps), "stop, create, offsets but for a sink on the same Kafka, resume, delete"
    place = pair.old.place("a") if "a" in pair.old.configs else 7
    assert place is not None
    assert pair.migrate("a", "--delete").status == 0
    assert pair.new.targets["a"] is state
    there = pair.new.place("a")
    assert there is not None
    assert there >= place
    assert (pair.old.configs, pair.never_both()) == ({}, True)


@pytest.mark.parametrize(("number", "answered"), [step for step in _STEPS if step[0] < 5])
def test_a_run_that_was_killed_is_taken_back(pair: Pair, monkeypatch: pytest.MonkeyPatch, number: int, answered: bool) -> None:
    create(pair.old, "a", "Source", 7)
    assert _interrupted(pair, monkeypatch, number, answered, "a")
    found = pair.migrate("a", "--back")
    assert found.status == 0, found.err
    assert (pair.old.running(), pair.new.running(), pair.never_both()) == ({"a"}, set(), True)
    assert pair.migrate("a").status == 0
    assert (pair.new.running(), pair.never_both()) == ({"a"}, True)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("answered", [False, True])
def test_a_way_back_that_was_killed_goes_on(pair: Pair, monkeypatch: pytest.MonkeyPatch, number: int, answered: bool) -> None:
    create(pair.old, "a")
    assert _interrupted(pair, monkeypatch, 3, True, "a")
    assert _interrupted(pair, monkeypatch, number, answered, "a", "--back")
    assert pair.migrate("a", "--back").status == 0
    assert (pair.old.running(), pair.new.configs, pair.never_both()) == ({"a"}, {}, True)


def test_what_ran_at_the_target_keeps_its_offsets(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    create(pair.old, "a", "Source", 7)
    assert _interrupted(pair, monkeypatch, 4, True, "a")
    pair.new.set_place("a", 500)
    pair.new.targets["a"] = TargetState.STOPPED
    assert pair.migrate("a").status == 0
    place = pair.new.place("a")
    assert place is not None
    assert place >= 500, "the source's older offsets would have it send again"


def test_somebody_started_it_again_meanwhile(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    create(pair.old, "a", "Source", 7)
    assert _interrupted(pair, monkeypatch, 4, False, "a")
    pair.old.targets["a"] = TargetState.STARTED
    pair.old.set_place("a", 50)
    moved = pair.migrate("a")
    assert moved.status == 0
    assert f"a: it was started again at {pair.old.url} in the meantime" in moved.out
    place = pair.new.place("a")
    assert place is not None
    assert place >= 50
    assert pair.never_both()


def test_somebody_started_both_meanwhile(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    create(pair.old, "a", "Source", 7)
    assert _interrupted(pair, monkeypatch, 4, True, "a")
    pair.old.targets["a"] = TargetState.STARTED
    found = pair.migrate("a")
    assert found.status == 6
    assert "has run at both. Stop the one that should not continue" in found.err


def test_somebody_starts_the_one_at_the_target_while_it_moves(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    create(pair.old, "a", file="new.txt")
    create(pair.new, "a", file="old.txt")
    pair.new.targets["a"] = TargetState.STOPPED

    def send(asking: ConnectClient, method: str, path: str, *rest: Any) -> httpx.Response:
        answer = _SEND(asking, method, path, *rest)
        if path.endswith("/stop"):
            pair.new.targets["a"] = TargetState.STARTED
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(ConnectClient, "_send", send)
        found = pair.migrate("a", "--timeout", "60")
    assert found.status == 1
    assert f"a: Somebody started it at {pair.new.url}: it is RUNNING there" in found.err
    assert pair.new.configs["a"]["file"] == "old.txt", "what runs is not changed"
    assert (pair.old.running(), pair.new.running()) == (set(), {"a"})


def test_somebody_starts_it_at_the_source_while_it_moves(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    create(pair.old, "a", "Source", 7)

    def send(asking: ConnectClient, method: str, path: str, *rest: Any) -> httpx.Response:
        answer = _SEND(asking, method, path, *rest)
        if method == "PATCH":
            pair.old.targets["a"] = TargetState.STARTED
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(ConnectClient, "_send", send)
        found = pair.migrate("a")
    assert found.status == 1
    assert f"a: Somebody started it again at {pair.old.url}" in found.err
    assert (pair.old.running(), pair.new.running()) == ({"a"}, set())
    assert pair.migrate("a").status == 0
    assert (pair.new.running(), pair.never_both()) == ({"a"}, True)
