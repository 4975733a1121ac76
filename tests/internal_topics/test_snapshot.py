"""The file of a snapshot: byte-exact, for its owner's eyes only, and known when it is not whole."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import stat
import tracemalloc
from pathlib import Path

import pytest

from kconnect.cli.topics import restoring, snapshot
from kconnect.core.state.records import Topic
from kconnect.errors import AlreadyExistsError, BadRequestError, ForbiddenError, NotFoundError
from kconnect.internal_topics import reading
from kconnect.internal_topics.contents import Contents, Stored
from tests.internal_topics.logs import Log
from tests.internal_topics.test_checking import healthy


def odd() -> Contents:
    """What a topic may hold besides."""
    contents = healthy().inferred("snk", "t", {"fields": [["a", "text"]]}).contents(tuple(Topic))
    contents.created_ms, contents.missing = 17, {Topic.STATUS: "s"}
    contents.records += [
        Stored(Topic.CONFIG, 0, 9, b"\xff\x00", b"\xfe\n", -1, 0, (("h", b"\x80"), ("h", None), ("ü", b"text"))),
        Stored(Topic.CONFIG, 0, 12, None, b"", 5, 2),
        Stored(Topic.CONFIG, 0, 13, "line\u2028sep\r\n\x0b\x85".encode(), None, 6, 1),
        Stored(Topic.CONFIG, 0, 14, b"", b'{"a": 1.0, "b":"\\u00e9"}', 6, 1),
    ]
    return contents


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz"])
def test_all_comes_back(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    contents = odd()
    snapshot.write(contents, path)
    assert snapshot.read(path) == contents
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    assert os.listdir(tmp_path) == [name]


def test_one_without_inferred_schemas_is_for_older_ones_too(tmp_path: Path) -> None:
    contents = healthy().contents()
    contents.missing = {Topic.ASSIGNMENT: "a", Topic.SCHEMAS: "s"}
    snapshot.write(contents, tmp_path / "s")
    head = json.loads((tmp_path / "s").read_bytes().splitlines()[0])
    assert (head["kconnect_topics_snapshot"], head["missing"]) == (1, {"assignment": "a"})
    snapshot.write(odd(), tmp_path / "t")
    assert json.loads((tmp_path / "t").read_bytes().splitlines()[0])["kconnect_topics_snapshot"] == 2


def test_only_its_owner_may_read_it_whatever_the_mask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        snapshot.write(odd(), tmp_path / "s")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("mine")
    with pytest.raises(AlreadyExistsError, match="exists already"):
        snapshot.write(odd(), tmp_path / "s")
    assert (tmp_path / "s").read_text() == "mine"
    assert os.listdir(tmp_path) == ["s"]


def test_what_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s"
    snapshot.write(odd(), path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for damaged in (
        whole[: len(whole) // 2],
        b"".join(lines[:-1]),
        b"".join([*lines[:3], *lines[4:]]),
        whole.replace(b"FileStreamSink", b"FileStreamSunk"),
        lines[0],
    ):
        path.write_bytes(damaged)
        with pytest.raises(BadRequestError, match="is not complete"):
            snapshot.read(path)
    zipped = gzip.compress(whole)
    for damaged in (zipped[:-20], zipped[:10] + b"\xff" * 40 + zipped[50:], zipped[:-8] + bytes(8)):
        path.write_bytes(damaged)
        with pytest.raises(BadRequestError, match="is not complete"):
            snapshot.read(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a snapshot; `kconnect topics export`"),
        (b"hello\n", "is not a snapshot"),
        (b"[1]\n", "is not a snapshot"),
        (b'{"kconnect_topics_snapshot":3}\n', "format 3, but this kconnect reads formats up to 2: upgrade kconnect"),
    ],
)
def test_what_is_none_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(BadRequestError, match=said):
        snapshot.read(tmp_path / "s")
    with pytest.raises(NotFoundError, match="The file"):
        snapshot.read(tmp_path / "t")


def test_nothing_is_restored_if_nobody_may_know_whether_workers_live(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = healthy().contents()
    names = {role: facts.name for role, facts in contents.topics.items()}
    monkeypatch.setattr(reading, "describe", lambda *_: Contents({}, [], dict(names), members=None))
    with pytest.raises(ForbiddenError, match="the group connect has live workers: give the login of a user who may describe"):
        restoring.plan(contents, names, {}, "connect", create=True, repartition=False)


class TestComparing:
    """What is read back after a restore is compared with what should be there."""

    def step(self) -> restoring.Step:
        log = Log().status("status-connector-a", {"n": 1}).status("status-connector-b", {"n": 2})
        log.status("status-connector-a", None)
        return restoring.Step(Topic.STATUS, "s", 3, log.contents().of(Topic.STATUS), moved=False)

    def test_equal_is_equal_whatever_the_offsets_are(self) -> None:
        step = self.step()
        there = [Stored(*(r.role, r.partition, r.offset + 5, r.key, r.value, r.timestamp_ms, 1)) for r in step.records]
        assert restoring.difference(step, there) == ""

    def test_each_difference_is_told(self) -> None:
        step = self.step()
        first, *rest = step.records
        assert "records instead of" in restoring.difference(step, rest)
        assert "records instead of" in restoring.difference(step, [first, *step.records])
        place = (first.role, first.partition, first.offset)
        other = Stored(*place, first.key, b"{}", first.timestamp_ms, 1)
        assert f"offset 0 of partition {first.partition} differs" in restoring.difference(step, [other, *rest])
        late = Stored(*place, first.key, first.value, first.timestamp_ms + 1, 1)
        assert restoring.difference(step, [late, *rest]).startswith("the time of the record")
        brokers_time = Stored(*place, first.key, first.value, first.timestamp_ms + 1, 2)
        assert restoring.difference(step, [brokers_time, *rest]) == ""

    def test_keys_that_move_go_where_java_puts_them(self) -> None:
        log = Log().put(Topic.STATUS, "k", {"n": 1}, partition=2).put(Topic.STATUS, "k", {"n": 2}, partition=0)
        step = restoring.Step(Topic.STATUS, "s", 5, log.contents().of(Topic.STATUS), moved=True)
        (partition,) = {step.partition(record) for record in step.records}
        there = [Stored(Topic.STATUS, partition, n, r.key, r.value, r.timestamp_ms, 1) for n, r in enumerate(log.records)]
        assert restoring.difference(step, there) == "", "the older of the two comes first"


@pytest.mark.parametrize(
    "content", [b"\0", b"x\n", b'{"kconnect_topics_snapshot": 1}\n'], ids=["zeros", "no snapshot", "many heads"]
)
def test_a_file_that_becomes_too_large_is_not_unpacked(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    # A tenth of what it is: to count memory makes it slow.
    monkeypatch.setattr(snapshot, "_SMALL", 6 << 20)
    monkeypatch.setattr(snapshot, "_LONGEST_LINE", 6 << 20)
    path = tmp_path / "s.jsonl.gz"
    with gzip.open(path, "wb") as zipped:
        zipped.write(content * (30 * (1 << 20) // len(content)))
    tracemalloc.start()
    try:
        with pytest.raises(BadRequestError, match=r"is not a snapshot|times as large when it is unpacked"):
            snapshot.read(path)
        assert tracemalloc.get_traced_memory()[1] < 120 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("topics", {"config": {}}),
        ("topics", {"nobody's": {}}),
        ("topics", [1]),
        ("missing", {"status": None}),
        ("missing", 5),
        ("brokers", None),
        ("created_ms", "now"),
    ],
)
def test_a_head_of_another_form_is_no_snapshot(tmp_path: Path, name: str, value: object) -> None:
    """Somebody may have made it, with a number of records and a digest that are right."""
    snapshot.write(odd(), tmp_path / "s")
    lines = [json.loads(line) for line in (tmp_path / "s").read_bytes().splitlines()]
    forge(tmp_path / "s", [{**lines[0], name: value}, *lines[1:-1]])
    with pytest.raises(BadRequestError, match="is not a snapshot"):
        snapshot.read(tmp_path / "s")


@pytest.mark.parametrize(("name", "value"), [("partition", "0"), ("offset", None), ("timestamp", ["x", "y"])])
def test_a_record_of_another_form_is_in_no_snapshot(tmp_path: Path, name: str, value: object) -> None:
    snapshot.write(odd(), tmp_path / "s")
    lines = [json.loads(line) for line in (tmp_path / "s").read_bytes().splitlines()]
    forge(tmp_path / "s", [lines[0], {**lines[1], name: value}])
    with pytest.raises(BadRequestError, match="is not a snapshot"):
        snapshot.read(tmp_path / "s")


def forge(path: Path, lines: list[dict[str, object]]) -> None:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    end = {"records": len(lines) - 1, "sha256": hashlib.sha256(data).hexdigest()}
    path.write_bytes(data + json.dumps(end).encode() + b"\n")
