"""`kconnect preview` on records of a file; `tests/integration/test_preview.py` has those of a topic."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kconnect.cli import connector_file
from tests.cli.test_main import run
from tests.golden import envelopes
from tests.transforms.test_golden import PLUGINS, chain_config

STRING = {"type": "string", "optional": False}
ORDER = {
    "type": "struct",
    "name": "com.acme.Order",
    "version": 2,
    "fields": [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "card", "type": "string", "optional": True},
        {
            **{"field": "amount", "type": "bytes", "optional": False, "version": 1},
            **{"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
        },
    ],
}
CONFIG = {
    "connector.class": "com.acme.OrdersSource",
    "transforms": "route,mask,drop",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "orders",
    "transforms.route.replacement": "eu-orders",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "card",
    "transforms.mask.predicate": "payment",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.drop.predicate": "tombstone",
    "predicates": "payment,tombstone",
    "predicates.payment.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
    "predicates.payment.name": "payment",
    "predicates.tombstone.type": "RecordIsTombstone",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
PAYMENT = {
    "topic": "orders",
    "key": {"schema": STRING, "payload": "k-1"},
    "value": {"schema": ORDER, "payload": {"id": 7, "card": "4111", "amount": "BNI="}},
    "headers": [{"name": "payment", "value": {"schema": None, "payload": "visa"}}],
}
PLAIN: dict[str, Any] = {"topic": "orders", "value": {"id": 7, "card": "4111"}}
TOMBSTONE = {"topic": "orders", "key": "k-1", "value": None}
ODD = {"topic": "orders", "value": "4111", "headers": [{"name": "payment", "value": 1}]}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Looking at what is installed takes most of the time.
    monkeypatch.setattr(connector_file, "plugins_of", lambda settings: PLUGINS)
    return tmp_path


def write(records: list[Any], config: Any = None) -> None:
    config = {"name": "orders", "config": CONFIG} if config is None else config
    Path("connector.json").write_text(json.dumps(config))
    Path("records.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def preview(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> list[dict[str, Any]]:
    """The JSON objects that it printed."""
    assert run("preview", "-f", "connector.json", "--input", "records.jsonl", "-o", "json", *arguments) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert run("preview", "-f", "connector.json", "--input", "records.jsonl", *arguments) == status
    return capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one sentence on standard error."""
    assert run("preview", "-f", "connector.json", *arguments) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    (line,) = caught.err.splitlines()
    return line


# --- JSON ---


def test_each_step_and_the_bytes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([PAYMENT])
    (found,) = preview(capsys)
    assert list(found) == ["in", "steps", "out", "key_bytes", "value_bytes", "error"]
    assert found["in"]["topic"] == "orders"
    assert found["in"]["value"]["payload"] == PAYMENT["value"]["payload"]  # type: ignore[index]
    route, mask, drop = found["steps"]
    assert (route["alias"], route["predicate"], route["applied"]) == ("route", None, True)
    assert (route["record"]["topic"], route["record"]["value"]) == ("eu-orders", found["in"]["value"])
    has_header = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"
    assert mask["predicate"] == {"alias": "payment", "type": has_header, "result": True, "negate": False}
    assert mask["record"]["value"]["payload"]["card"] == ""
    assert (drop["applied"], drop["predicate"]["result"], drop["record"]) == (False, False, mask["record"])
    assert found["out"] == drop["record"]
    assert base64.b64decode(found["key_bytes"]) == b"k-1"
    assert base64.b64decode(found["value_bytes"]) == b'{"id":7,"card":"","amount":"BNI="}'
    assert found["error"] is None


def test_after_a_drop_there_is_nothing(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([TOMBSTONE], {**CONFIG, "transforms": "drop,mask,route"})
    (found,) = preview(capsys)
    (step,) = found["steps"]
    assert (step["alias"], step["applied"], step["record"]) == ("drop", True, None)
    assert step["predicate"]["result"] is True
    assert [found[name] for name in ("out", "key_bytes", "value_bytes", "error")] == [None] * 4


def test_an_error_names_step_stage_and_class(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([ODD, PLAIN])
    failed, fine = preview(capsys, status=1)
    assert failed["error"] == {
        "stage": "TRANSFORMATION",
        "class": "org.apache.kafka.connect.errors.DataException",
        "message": failed["error"]["message"],
        "alias": "mask",
        "tolerated": False,
    }
    assert "mask" in failed["error"]["message"]
    assert [step["alias"] for step in failed["steps"]] == ["route", "mask"]
    assert (failed["steps"][1]["applied"], failed["steps"][1]["record"], failed["out"]) == (True, None, None)
    assert fine["error"] is None


def test_an_error_that_is_tolerated_is_no_failure(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([ODD], {**CONFIG, "errors.tolerance": "all"})
    (found,) = preview(capsys)
    assert found["error"]["tolerated"] is True


def test_an_error_of_a_converter_has_no_alias(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([PLAIN], {**CONFIG, "value.converter": "LongConverter"})
    (found,) = preview(capsys, status=1)
    assert (found["error"]["stage"], found["error"]["alias"]) == ("VALUE_CONVERTER", None)
    assert (found["out"], len(found["steps"])) == (None, 3)


def test_a_sink_ends_with_the_record(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {**PLAIN, "partition": 2, "offset": 17, "timestamp": 5}
    write([record], {**CONFIG, "topics": "orders"})
    (found,) = preview(capsys)
    assert found["in"]["offset"] == 17
    assert "original" not in found["in"]
    assert found["out"]["topic"] == "eu-orders"
    assert found["out"]["original"] == {"topic": "orders", "partition": 2, "offset": 17}
    assert (found["key_bytes"], found["value_bytes"]) == (None, None)


def test_a_sink_may_be_given_bytes(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = {"topic": "orders", "key_text": "k", "value_text": '{"id": 1}'}
    write([good, {**good, "value_text": "{"}], {**CONFIG, "topics": "orders"})
    read, broken = preview(capsys, status=1)
    assert (read["in"]["key"]["payload"], read["out"]["value"]["payload"]) == ("k", {"id": 1})
    assert base64.b64decode(read["value_bytes"]) == b'{"id": 1}'
    assert (broken["error"]["stage"], broken["steps"]) == ("VALUE_CONVERTER", [])
    assert broken["in"]["value"] == {"schema": None, "payload": "ew==", "types": "bytes"}


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("chains.jsonl")))
def test_golden_chains(case: dict[str, Any], files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What Connect's own chains did to the same records, and where they stopped."""
    write(case["ins"], {**chain_config(case["steps"]), "errors.tolerance": "all"})
    found = preview(capsys, "--kind", case["kind"])
    for outcome, wanted in zip(found, case["outs"], strict=True):
        # Of what comes out of the last step: some of it no converter takes.
        assert outcome["steps"][-1]["record"] == wanted["out"]
        if wanted["out"] is None:
            assert (outcome["out"], len(outcome["steps"])) == (None, wanted["stopped_at"] + 1)
        if wanted["error"] is not None:
            assert outcome["error"]["class"] == wanted["error"]["class"]
            assert outcome["error"]["message"] == wanted["error"]["message"]


# --- what people read ---


def test_only_what_changed_is_shown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([PAYMENT, TOMBSTONE, ODD])
    assert (
        said(capsys, status=1)
        == """\
Record 1: orders
  before   topic           orders
           key             "k-1"  string
           value           struct com.acme.Order v2
           value.id        7  int64
           value.card      "4111"  string?
           value.amount    12.34  Decimal
           header payment  "visa"
✓ route  ~ topic           orders → eu-orders
✓ mask     applied: payment is true
         ~ value.card      "4111"  string? → ""  string?
– drop     not applied: tombstone is false
  bytes    key             k-1  (3 bytes)
           value           {"id":7,"card":"","amount":"BNI="}  (34 bytes)
           header payment  visa  (4 bytes)

Record 2: orders
  before   topic  orders
           key    "k-1"
           value  null
✓ route  ~ topic  orders → eu-orders
– mask     not applied: payment is false
✗ drop     dropped: tombstone is true

Record 3: orders
  before   topic           orders
           key             null
           value           "4111"
           header payment  1
✓ route  ~ topic           orders → eu-orders
✗ mask     payment is true
           failed: DataException: Only Map objects supported in absence of schema for [mask fields], found: java.lang.String

3 records: 1 out, 1 dropped, 1 failed
"""
    )


def test_a_value_that_becomes_another_kind_of_thing(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {
        **{"topics": "orders", "transforms": "take,wrap,name,add", "transforms.take.type": "ExtractField$Value"},
        **{"transforms.take.field": "id", "transforms.wrap.type": "HoistField$Value", "transforms.wrap.field": "n"},
        **{"transforms.name.type": "SetSchemaMetadata$Value", "transforms.name.schema.name": "N"},
        **{"transforms.add.type": "InsertField$Value", "transforms.add.topic.field": "from"},
    }
    write([{**PAYMENT, "offset": 3, "partition": 1}], config)
    assert (
        said(capsys).split('header payment  "visa"')[1]
        == """
✓ take   ~ value           struct com.acme.Order v2 → 7  int64
✓ wrap   ~ value           7  int64 → struct
         + value.n         7  int64
✓ name   ~ value           struct → struct N
✓ add    + value.from      "orders"  string?
  after    topic           orders
           partition       1
           offset          3
           key             "k-1"  string
           value           struct N
           value.n         7  int64
           value.from      "orders"  string?
           """
    )


def test_rows_are_not_cut_where_nobody_looks(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([{"topic": "orders", "value": {"id": "x" * 900}}])
    out = said(capsys)
    assert f'value.id  "{"x" * 900}"\n' in out
    assert "…" not in out
    write([{"topic": "orders", "value": {"id": "x" * 5000}}])
    assert "…  (the first 1,000 of 5,009 characters; -o json has all)\n" in said(capsys)


def test_nothing_in_a_record_reaches_the_terminal_as_a_command(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    headers = [{"name": "\x9b1m", "value": 1}]
    write([{"topic": "orders", "value": {"a\x1b[31m": "\x1b]0;x\x07\u202e[bold]"}, "headers": headers}])
    out = said(capsys)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(out)
    assert "[bold]" in out


@pytest.mark.process
def test_an_output_without_unicode(files: Path) -> None:
    write([PAYMENT])
    command = [sys.executable, "-m", "kconnect", "preview", "-f", "connector.json", "--input", "records.jsonl"]
    done = subprocess.run(command, capture_output=True, env={"PYTHONIOENCODING": "ascii"}, check=True)
    assert b"+ route  ~ topic           orders -> eu-orders\n" in done.stdout


# --- where things come from ---


def test_converters_come_from_the_worker_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([PLAIN], {"connector.class": "x"})
    (found,) = preview(capsys)
    assert base64.b64decode(found["value_bytes"]) == b'{"schema":null,"payload":{"id":7,"card":"4111"}}'
    Path("worker.properties").write_text("value.converter=JsonConverter\nvalue.converter.schemas.enable=false\n")
    (found,) = preview(capsys, "-w", "worker.properties")
    assert base64.b64decode(found["value_bytes"]) == b'{"id":7,"card":"4111"}'


@pytest.mark.parametrize("name", ["c.properties", "c.yaml", "c.json"])
def test_forms_of_a_config(files: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    write([PLAIN])
    signs = {"c.properties": "{}={}\n", "c.yaml": "{}: {}\n", "c.json": ""}[name]
    text = "".join(signs.format(*setting) for setting in CONFIG.items()) or json.dumps(CONFIG)
    Path(name).write_text(text)
    assert run("preview", "-f", name, "--input", "records.jsonl", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["out"]["topic"] == "eu-orders"


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"connector.class": "FileStreamSink"}, "sink"),
        ({"connector.class": "FileStreamSource", "topics": "x"}, "source"),
        ({"connector.class": "com.acme.Unknown", "topics.regex": "x"}, "sink"),
        ({"connector.class": "com.acme.Unknown"}, "source"),
        ({"tasks.max": "1"}, "source"),
    ],
)
def test_whether_it_is_a_source_or_a_sink(
    files: Path, capsys: pytest.CaptureFixture[str], config: dict[str, str], kind: str
) -> None:
    write([{"topic": "t"}], config)
    (found,) = preview(capsys)
    assert ("offset" in found["in"]) is (kind == "sink")
    (found,) = preview(capsys, "--kind", "sink")
    assert "offset" in found["in"]


@pytest.mark.process
def test_limit_and_standard_input(files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write([PLAIN, PLAIN, PLAIN])
    assert len(preview(capsys, "--limit", "2")) == 2
    command = [sys.executable, "-m", "kconnect", "preview", "-f", "connector.json", "--input", "-", "-o", "json"]
    done = subprocess.run(command, input=json.dumps(PLAIN).encode(), capture_output=True, check=True)
    assert json.loads(done.stdout)["out"]["topic"] == "eu-orders"


# --- refusals ---


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"transforms.mask.type": "org.apache.kafka.connect.transforms.MaskFeld$Value"},
            "Invalid value org.apache.kafka.connect.transforms.MaskFeld$Value for configuration transforms.mask.type: no "
            "transformation of that name is installed here; write one of MaskField$Value, ",
        ),
        ({"transforms.mask.fields": None}, "transforms.mask (org.apache.kafka.connect.transforms.MaskField$Value) can't be "),
        ({"transforms.mask.type": None}, 'Missing required configuration "transforms.mask.type" which has no default value.'),
        (
            {"transforms.mask.predicate": "other"},
            "Invalid value other for configuration transforms.mask.predicate: there is no predicate of that alias; "
            "`predicates` names: payment, tombstone",
        ),
        ({"transforms.mask.negate": "perhaps"}, "Invalid value perhaps for configuration transforms.mask.negate: "),
        ({"transforms": "route,route"}, "Invalid value [route, route] for configuration transforms: Duplicate alias provided."),
        ({"errors.tolerance": "some"}, "Invalid value some for configuration errors.tolerance: "),
        ({"value.converter": "Jason"}, "Invalid value Jason for configuration value.converter: no converter of that name"),
        ({"transforms": ["route"]}, "the setting transforms is a list, but settings are text: write it as one string"),
    ],
    ids=lambda part: "" if isinstance(part, str) else next(iter(part)),
)
def test_a_setting_that_is_wrong(
    files: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], sentence: str
) -> None:
    write([PLAIN], {name: value for name, value in {**CONFIG, **change}.items() if value is not None})
    line = refused(capsys, "--input", "records.jsonl")
    assert line.startswith("kconnect: connector.json: ")
    assert sentence in line


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "connector.json: this is not JSON (Expecting value: line 1 column 1 (char 0)); it must hold "),
        ("[]", "connector.json: no connector's config found; it must hold "),
        ('{"name": "x", "config": {}}', "connector.json: no connector's config found; it must hold "),
    ],
)
def test_a_config_that_is_none(files: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str) -> None:
    write([PLAIN])
    Path("connector.json").write_text(text)
    assert sentence in refused(capsys, "--input", "records.jsonl")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "records.jsonl, line 2: not JSON (Expecting property name"),
        ('{"topic": "t", "value": NaN}', 'records.jsonl, line 2: not JSON (NaN is not JSON; write "NaN")'),
        ('{"key": 1}', "records.jsonl, line 2: `topic` must be a text, and is missing"),
        ('{"topic": "t", "value_text": "x"}', "records.jsonl, line 2: bytes are what a sink reads"),
    ],
)
def test_a_line_that_is_no_record(files: Path, capsys: pytest.CaptureFixture[str], line: str, sentence: str) -> None:
    write([PLAIN])
    with Path("records.jsonl").open("a") as file:
        file.write(line)
    assert run("preview", "-f", "connector.json", "--input", "records.jsonl") == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give records: either --input FILE or --topic NAME"),
        (["--input", "records.jsonl", "--topic", "t"], "Give records: either --input FILE or --topic NAME"),
        (["--input", "records.jsonl", "--newest"], "--newest, --partition and --offset choose records of a --topic"),
        (["--topic", "t", "--offset", "3"], "--offset needs --partition"),
        (["--topic", "t"], "--topic needs Kafka's address: give --bootstrap-server HOST:PORT, or -w"),
        (["--input", "none.jsonl"], "'none.jsonl': No such file or directory"),
    ],
)
def test_a_wrong_use(files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str) -> None:
    write([PLAIN])
    assert run("preview", "-f", "connector.json", *arguments) == 2
    assert sentence in capsys.readouterr().err


def test_missing_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write([PLAIN])
    assert "none.properties: No such file" in refused(capsys, "--input", "records.jsonl", "-w", "none.properties")
    Path("worker.properties").write_text("key.converter=\\u12\n")
    assert "worker.properties: Line 1 of the properties file" in refused(
        capsys, "--input", "records.jsonl", "-w", "worker.properties"
    )


def test_secrets_are_not_said(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "canary-7f31"
    write([PLAIN], {**CONFIG, "db.password": secret, "transforms.mask.type": f"no.{secret}"})
    assert secret not in refused(capsys, "--input", "records.jsonl")
    config = {**CONFIG, "db.password": secret, "transforms": "date", "predicates": "", "transforms.date.field": "id"}
    config |= {"transforms.date.type": "TimestampConverter$Value", "transforms.date.target.type": "Timestamp"}
    write([{"topic": "t", "value": {"id": secret}}], {**config, "transforms.date.format": "yyyy"})
    (found,) = preview(capsys, status=1)
    assert secret not in json.dumps(found["error"])
