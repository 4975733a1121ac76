"""Files of offsets."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from kconnect.cli import output
from kconnect.cli.files import InputError
from kconnect.cli.offsets import snapshot
from kconnect.cli.offsets.entries import Entry, sink_entry
from kconnect.cli.offsets.snapshot import Saved
from kconnect.errors import NotFoundError
from kconnect.kafka.positions import Place

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc)
SINK = Saved("snk", "sink", "FileStreamSink", [sink_entry(Place("t", 0), 7)])


def saved(*offsets: Entry) -> Saved:
    return Saved("src", "source", "Any", list(offsets))


TRICKY = ["", "no", "~", "null", "1", "08", "1e5", "1_000", "0x1f", "0o17", "1:30", "2026-01-31", ".5", "+1", "é\u2028"]
TRICKY += ["#", "a: b", "=", "<<"]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_file_says_from_where_it_is_and_reads_back_as_it_was(form: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Also texts that look like something else, and numbers of all sizes."""
    offsets: list[Entry] = [{"partition": {"p": text}, "offset": {text: text, "n": 2**63 - 1}} for text in TRICKY]
    offsets.append({"partition": {"x": None, "y": [1.5, 1e100, -0.0, True]}, "offset": {"n": -(2**63)}})
    made = snapshot.document("http://a:1", {"version": "4.3.1", "kafka_cluster_id": "x"}, [saved(*offsets), SINK], NOW)
    output.write(made, form)
    found = snapshot.parse(capfd.readouterr().out, "f")
    assert found == made
    assert found["exported_at"] == "2026-01-02T03:04:05Z"
    assert found["cluster"] == {"url": "http://a:1", "version": "4.3.1", "kafka_cluster_id": "x"}
    assert snapshot.saved(found, "f") == [saved(*offsets), SINK]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"offsets": []}, "f has no list of connectors: give a file that kconnect offsets export wrote"),
        ({"connectors": {}}, "f: connectors must be a list"),
        ({"connectors": [{}]}, "f, connector 1: it needs a name"),
        ({"connectors": [{"name": "a"}]}, "f, connector 1: the type of a is None, but must be source or sink"),
        ({"connectors": [{"name": "a", "type": "sink"}]}, "f, connector 1 (a): no offsets found"),
        ({"connectors": [{"name": "a", "type": "sink", "offsets": []}] * 2}, "f: the connector a is in it twice"),
    ],
)
def test_what_is_wrong_in_an_export(body: Any, text: str) -> None:
    with pytest.raises(InputError) as error:
        snapshot.saved(body, "f")
    assert text in str(error.value)


def test_the_offsets_of_one_connector() -> None:
    export = snapshot.document("u", {}, [SINK], NOW)
    for body in (export, {"offsets": SINK.offsets}, SINK.offsets):
        assert snapshot.of_one(body, "f", "snk", "sink") == SINK.offsets
    with pytest.raises(NotFoundError, match="f has no offsets of other"):
        snapshot.of_one(export, "f", "other", "sink")
    with pytest.raises(InputError, match="offsets of a sink named snk, but snk is a source on this cluster"):
        snapshot.of_one(export, "f", "snk", "source")


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: No such file"):
        snapshot.read(str(tmp_path / "nowhere"))
    (tmp_path / "f").write_text('{"offsets": [}')
    with pytest.raises(InputError, match="f: this is neither JSON nor YAML"):
        snapshot.read(str(tmp_path / "f"))
    (tmp_path / "f").write_text("a: [")
    with pytest.raises(InputError, match="f: this is neither JSON nor YAML"):
        snapshot.read(str(tmp_path / "f"))
    with pytest.raises(InputError, match=r"--offset: \{x is not JSON .*single quotes"):
        snapshot.parse_json("--offset", "{x")
