"""`kconnect preview --topic`: records of a real broker, which are left as they are."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from tests.cli.test_main import run
from tests.integration import units

CONFIG = {
    "name": "shelf",
    "connector.class": "com.acme.ShelfSink",
    "topics": "ignored",
    "transforms": "drop,take",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "tombstone",
    "transforms.take.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.take.field": "n",
    "predicates": "tombstone",
    "predicates.tombstone.type": "RecordIsTombstone",
    "key.converter": "StringConverter",
    "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture
def filled(bootstrap: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A topic of two partitions with six records: 0 to 3, a tombstone, and one that is not JSON."""
    monkeypatch.chdir(tmp_path)
    Path("connector.json").write_text(json.dumps(CONFIG))
    # Their timestamps are those of 1970: brokers would delete them as soon as they look.
    units.create(bootstrap, topic, partitions=2, retention_ms="-1")
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    values = [*(f'{{"n": {number}}}' for number in range(4)), None, "{"]
    for number, value in enumerate(values):
        headers = [("tenant", b"a")] if number == 0 else []
        producer.produce(topic, value, f"k{number}", partition=number % 2, timestamp=1000 + number, headers=[*headers])
    assert producer.flush(60) == 0
    return topic


def preview(
    capsys: pytest.CaptureFixture[str], bootstrap: str, topic: str, *more: str, status: int = 0
) -> list[dict[str, Any]]:
    arguments = ("-f", "connector.json", "--topic", topic, "--bootstrap-server", bootstrap, "-o", "json")
    assert run("preview", *arguments, *more) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def keys(outcomes: list[dict[str, Any]]) -> list[str]:
    return [base64.b64decode(outcome["key_bytes"]).decode() for outcome in outcomes]


def test_a_topic_of_a_sink(bootstrap: str, filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = preview(capsys, bootstrap, filled, status=1)
    assert keys(found) == ["k0", "k1", "k2", "k3", "k4", "k5"]
    first, *_, tombstone, broken = found
    assert (first["in"]["topic"], first["in"]["partition"], first["in"]["offset"]) == (filled, 0, 0)
    assert first["in"]["timestamp"] == 1000
    assert first["in"]["key"]["payload"] == "k0"
    assert first["in"]["headers"] == [
        {"name": "tenant", "value": {"schema": {"type": "string", "optional": False}, "payload": "a"}}
    ]
    assert base64.b64decode(first["value_bytes"]) == b'{"n": 0}'
    assert (first["out"]["value"]["payload"], first["out"]["original"]["topic"]) == (0, filled)
    assert (tombstone["steps"][0]["record"], tombstone["out"], tombstone["error"]) == (None, None, None)
    assert broken["error"]["stage"] == "VALUE_CONVERTER"
    assert (broken["in"]["partition"], broken["in"]["offset"], broken["steps"]) == (1, 2, [])
    # It was no member of a group, and committed nothing.
    assert units.committed(bootstrap, "connect-shelf", filled) == {}


def test_which_records(bootstrap: str, filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert keys(preview(capsys, bootstrap, filled, "--limit", "3")) == ["k0", "k1", "k2"]
    assert keys(preview(capsys, bootstrap, filled, "--limit", "2", "--newest", status=1)) == ["k4", "k5"]
    assert keys(preview(capsys, bootstrap, filled, "--partition", "1", "--limit", "2")) == ["k1", "k3"]
    assert keys(preview(capsys, bootstrap, filled, "--partition", "0", "--offset", "2")) == ["k4"]


def test_a_source_takes_them_for_its_own(bootstrap: str, filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = preview(capsys, bootstrap, filled, "--kind", "source", "--limit", "1")
    assert "offset" not in found["in"]
    assert base64.b64decode(found["value_bytes"]) == b"0"


def test_for_people(bootstrap: str, filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("worker.properties").write_text(f"bootstrap.servers={bootstrap}\nclient.id=someone\n")
    assert run("preview", "-f", "connector.json", "--topic", filled, "-w", "worker.properties") == 1
    out = capsys.readouterr().out
    assert (
        f"""\
Record 2: {filled}-1@0
  bytes    key        k1  (2 bytes)
           value      {{"n": 1}}  (8 bytes)
  before   topic      {filled}
           partition  1
           timestamp  1001 (1970-01-01T00:00:01.001Z)
           offset     0
           key        "k1"  string?
           value      object
           value.n    1
– drop     not applied: tombstone is false
✓ take   ~ value      object → 1
  after    topic      {filled}
"""
        in out
    )
    assert f"Record 6: {filled}-1@2\n" in out
    assert (
        """
  bytes       key    k5  (2 bytes)
              value  {  (1 byte)
✗ converter   failed in VALUE_CONVERTER: DataException: Converting byte[] to Kafka Connect data failed due to \
serialization error: """
        in out
    )
    assert out.endswith("\n6 records: 4 out, 1 dropped, 1 failed\n")


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (["--topic", "no-such-topic"], 4, "The topic no-such-topic can't be read: "),
        (["--partition", "7"], 4, " has no partition 7; its last one is 1"),
        (["--partition", "0", "--offset", "3"], 4, "-0 has no record at offset 3: its offsets are 0 to 2"),
        (["--bootstrap-server", "127.0.0.1:9"], 3, "No broker answers at bootstrap.servers=127.0.0.1:9: "),
    ],
)
def test_what_is_not_there(
    bootstrap: str, filled: str, capsys: pytest.CaptureFixture[str], more: list[str], status: int, said: str
) -> None:
    arguments = ["-f", "connector.json", "--topic", filled, "--bootstrap-server", bootstrap, *more]
    assert run("preview", *arguments) == status
    caught = capsys.readouterr()
    assert caught.out == ""
    assert said in caught.err
    assert len(caught.err.splitlines()) == 1
