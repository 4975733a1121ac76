"""What the tests of `kconnect doctor` on real brokers share."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.cli.checkup import run


def be_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine an answer may take longer than the command's user would wait."""
    monkeypatch.setattr(run, "LIMIT_S", 60.0)
    monkeypatch.setattr(run, "ALL_S", 240.0)


def worker_file(directory: Path, servers: str, name: str, **settings: str) -> str:
    texts = {
        "bootstrap.servers": servers,
        "group.id": name,
        "config.storage.topic": f"{name}-configs",
        "offset.storage.topic": f"{name}-offsets",
        "status.storage.topic": f"{name}-status",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        **{setting.replace("_", "."): text for setting, text in settings.items()},
    }
    made = directory / f"{name}.properties"
    made.write_text("".join(f"{setting}={text}\n" for setting, text in texts.items()))
    return str(made)
