"""The fault matrix's own parts: its rows, the configs of its cells, what it takes for wrong, and its table."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kconnect.plugins.registry import Registry
from tests.rig.plugin_faults import judge, package, places
from tests.rig.plugin_faults.judge import Seen
from tests.rig.plugin_faults.places import BY_NAME, JAVA_KINDS, JAVA_PLACES, KINDS, PLACES, Place
from tests.rig.plugin_faults.plugin import faults
from tests.rig.plugin_faults.report import keep, kept, table
from tests.rig.plugin_faults.watch import journal

POLL, STOP, VALIDATE = BY_NAME["source.poll"], BY_NAME["source.stop"], BY_NAME["connector.validate"]
FINE = Seen(True, state="FAILED", reason="RuntimeError: struck: an exception", struck=1, gap_s=0.4, gone_s=1.0)


def test_every_place_where_connects_test_blocks_is_a_row() -> None:
    blocks = {f"testBlockInConnector{call}" for call in ("Validate", "Config", "Initialize", "Start", "Stop")}
    blocks |= {f"testBlockIn{kind}Task{call}" for kind in ("Source", "Sink") for call in ("Start", "Stop")}
    assert {place.connect for place in PLACES if place.connect} == blocks


def test_each_kind_of_fault_is_a_column_and_code_of_the_plugin() -> None:
    assert set(KINDS) == set(faults.KINDS)


def test_each_cell_has_a_config_whose_plugins_are_installed(tmp_path: Path) -> None:
    package.write(tmp_path, "lane", tuple(KINDS))
    registry = Registry.scan([str(tmp_path)])
    assert not registry.broken
    kinds = {"connector.class": "connector", "transforms.bad.type": "transformation"}
    kinds |= {"predicates.bad.type": "predicate", "value.converter": "converter"}
    for place in PLACES:
        for kind in ("", *KINDS):
            config = places.config(place, kind, "lane", "bad")
            for setting in kinds.keys() & config.keys():
                assert registry.find(config[setting], kinds[setting]).location == str(tmp_path / "lane-1.0")


def test_every_place_is_one_that_the_plugin_strikes_at() -> None:
    folder = Path(faults.__file__).parent
    trees = [ast.parse(file.read_text("utf-8")) for file in folder.glob("*.py")]
    texts = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for place in PLACES:
        part, _, call = place.name.partition(".")
        plain = call.removesuffix(" (host)")
        by_part = part in ("transform", "predicate", "converter") and plain in texts
        assert f"{part}.{plain}" in texts or by_part or plain == "import"


def test_each_place_and_kind_of_the_matrix_for_java_is_code_of_the_plugin_in_java() -> None:
    folder = Path(places.__file__).parent / "java"
    texts = {text for file in folder.glob("*.java") for text in re.findall(r'"([^"\n]*)"', file.read_text("utf-8"))}
    assert {place.name.removesuffix(" (host)") for place in JAVA_PLACES} <= texts
    assert set(JAVA_KINDS) <= texts
    classes = {file.stem for file in folder.glob("*.java")}
    for place in JAVA_PLACES:
        named = [name for name in places.java_config(place, "hang", "lane").values() if name.startswith("faulty.")]
        assert named
        assert {name.removeprefix("faulty.") for name in named} <= classes


def test_who_leaves_threads_behind_at_each_record_may_fail_of_that_only() -> None:
    many = "SecurityException: The plugin has 500 live threads, and can't start another one: end each thread"
    assert judge.complaints(POLL, "leak", replace(FINE, reason=many)) == []
    assert judge.complaints(POLL, "leak", FINE) == [f"it is FAILED: {FINE.reason}"]


@pytest.mark.parametrize("kind", sorted({*KINDS, *JAVA_KINDS} - {*judge.MILD, *judge.HANGS}))
def test_each_failure_has_words_that_its_reason_must_have(kind: str) -> None:
    assert judge.complaints(POLL, kind, replace(FINE, reason="".join(judge._REASONS[kind]))) == []


@pytest.mark.parametrize(
    ("place", "kind", "change", "said"),
    [
        (POLL, "exception", {}, ""),
        (POLL, "exception", {"struck": 0}, "never met"),
        (POLL, "exception", {"state": "RUNNING"}, "it is RUNNING"),
        (POLL, "exception", {"reason": "no idea"}, "does not tell"),
        (POLL, "exception", {"gap_s": 61.0}, "no data for 61 s"),
        (POLL, "SIGSEGV", {"gap_s": 61.0, "reason": "SIGSEGV in poll"}, ""),
        (POLL, "exception", {"neighbours": "FAILED"}, "neighbours were FAILED"),
        (POLL, "exception", {"missing": 3}, "3 of the neighbours' records"),
        (POLL, "exception", {"rest_s": 61.0}, "GET /connectors"),
        (POLL, "exception", {"restart_s": 61.0}, "the restart"),
        (POLL, "exception", {"delete_s": 61.0}, "DELETE"),
        (POLL, "exception", {"gone_s": None, "left": "a thread"}, "is left: a thread"),
        (POLL, "exception", {"same_worker": False}, "worker's process"),
        (POLL, "builtins", {"patched_s": 61.0, "reason": "it replaced builtins.open"}, "stayed replaced"),
        (POLL, "stdout", {"state": "RUNNING"}, ""),
        (POLL, "stdout", {"state": "RUNNING", "flood_lines": 90_000}, "printed lines"),
        (POLL, "stdout", {}, "it is FAILED"),
        (POLL, "hang", {"state": "RUNNING"}, ""),
        (POLL, "hang", {"state": "RUNNING", "gap_s": 61.0}, ""),
        (POLL, "hang", {"state": "RUNNING", "gap_s": 121.0}, "no data for 121 s"),
        (POLL, "hang", {"accepted": False, "answer": "no"}, "refused: no"),
        (POLL, "", {"state": "RUNNING"}, ""),
        (POLL, "", {}, "without a fault"),
        (STOP, "SIGKILL", {"state": "RUNNING"}, ""),
        (VALIDATE, "hang", {"accepted": False, "answer": "x: Bad at the stage validate()"}, ""),
        (VALIDATE, "hang", {"accepted": False, "answer": "something went wrong"}, "no stage"),
        (VALIDATE, "slow", {"accepted": False, "answer": "at the stage validate()"}, "refused"),
    ],
)
def test_what_is_wrong_is_said(place: Place, kind: str, change: dict[str, object], said: str) -> None:
    found = judge.complaints(place, kind, replace(FINE, **change))  # type: ignore[arg-type]
    assert (found == []) if not said else (len(found) == 1 and said in found[0])


def test_the_table_has_a_row_a_place_and_a_column_a_fault_and_lists_what_is_wrong() -> None:
    text = table({(POLL, "exception"): FINE, (STOP, "hang"): replace(FINE, state="RUNNING", gone_s=None, left="a thread")})
    assert text.splitlines() == [
        "| call | hang | exception |",
        "| --- | --- | --- |",
        "| `source.poll` |  | FAILED, gap 0.4 s, gone 1 s |",
        "| `source.stop` | ✗ RUNNING, gap 0.4 s, **left** |  |",
        "",
        "2 cells, 1 as they should be.",
        "- `source.stop`, hang: after DELETE is left: a thread",
    ]


def test_what_earlier_runs_have_found_is_kept_and_the_newest_counts(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    assert kept(file) == {}
    for seen in (FINE, replace(FINE, gone_s=None)):
        keep(file, (POLL, "exception"), seen)
    keep(file, (STOP, "hang"), FINE)
    assert kept(file) == {(POLL, "exception"): replace(FINE, gone_s=None), (STOP, "hang"): FINE}


def test_a_journal_tells_whether_a_thread_still_lives(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text(
        '{"place": "source.poll", "kind": "hang", "pid": 1, "tid": 1, "at": 0}\n'
        '{"place": "source.poll", "kind": "hang", "pid": 1, "tid": 999999999, "at": 0}\n'
    )
    assert [struck.lives() for struck in journal([tmp_path, tmp_path / "none"])] == [True, False]
