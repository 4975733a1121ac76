"""Outcomes of a preview that others read: what the config or a provider has put into them is blotted out."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kconnect.preview import preview
from kconnect.preview.preview import Preview
from tests.transforms.test_golden import PLUGINS

SECRET = "s3cr3t-Zoë/7+8"
INSERT = {
    "connector.class": "FileStreamSource",
    "transforms": "insert",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.static.field": "pw",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}


def shown(tmp_path: Path, secret: str, **more: str) -> tuple[dict[str, Any], Any]:
    (tmp_path / "db.properties").write_text(f"pw={secret}\n", encoding="utf-8")
    provider = {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }
    text = f"${{file:{tmp_path}/db.properties:pw}}"
    config = {**INSERT, "transforms.insert.static.value": text, **{name: t.replace("PW", text) for name, t in more.items()}}
    chain = Preview(config, "source", preview.worker_settings(provider, {}), PLUGINS)
    record: Any = preview.read({"topic": "t", "value": {"schema": None, "payload": {"a": 1}}}, "source")
    outcome = chain.record(record)
    return chain.shown(outcome).as_json(), outcome


@pytest.mark.parametrize("secret", [SECRET, "a line\\u0020more", '"quoted"', "12345678", "\U0001f511key"])
def test_a_secret_that_a_transform_puts_into_records_is_in_no_answer(tmp_path: Path, secret: str) -> None:
    body, outcome = shown(tmp_path, secret)
    assert outcome.value is not None and b"pw" in outcome.value
    decoded = base64.b64decode(body["value_bytes"]).decode()
    written = json.loads(outcome.value)["payload"]["pw"] if b"payload" in outcome.value else json.loads(outcome.value)["pw"]
    for text in (json.dumps(body), json.dumps(body, ensure_ascii=False), decoded):
        assert written not in text and json.dumps(written)[1:-1] not in text
    assert body["out"]["value"]["payload"]["a"] == 1 or "a" in json.dumps(body["out"]), "what is no secret is shown"


def test_a_secret_that_was_cast_to_a_number_is_in_no_answer(tmp_path: Path) -> None:
    cast = {
        "transforms": "insert,cast",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "pw:int64",
    }
    body, _ = shown(tmp_path, "987654321", **cast)
    assert "987654321" not in json.dumps(body) + base64.b64decode(body["value_bytes"]).decode()


def test_a_secret_in_a_field_s_name_and_in_the_topic_s_is_in_no_answer(tmp_path: Path) -> None:
    more = {
        "transforms": "insert,route",
        "transforms.insert.static.field": "field-PW",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": "topic-PW",
    }
    body, outcome = shown(tmp_path, "n0tshown", **more)
    assert outcome.out is not None and outcome.out["topic"] == "topic-n0tshown"
    assert "n0tshown" not in json.dumps(body) + base64.b64decode(body["value_bytes"]).decode()
