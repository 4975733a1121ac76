"""Chains that would hurt whoever runs them: a preview's own process bears it, and says so."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import BadRequestError, ConnectError, RequestTimeoutError, UnavailableError
from kconnect.worker.errands import Errands
from tests.support import wait_until

pytestmark = pytest.mark.process

PLUGIN = """
import os, signal, sys
from kconnect.api import ConfigDef, ConfigKey, Transformation, Type

class Bad(Transformation):
    def config(self):
        return ConfigDef(ConfigKey("do", Type.STRING), ConfigKey("secret", Type.PASSWORD, ""))
    def configure(self, configs):
        self.do, self.secret = configs["do"], configs.get("secret", "")
    def apply(self, record):
        exec(self.do)
        return record
    def close(self):
        pass
"""
SECRET = "canary-preview-90ab"


@pytest.fixture
def settings(tmp_path: Path) -> WorkerSettings:
    info = tmp_path / "bad" / "bad-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kconnect.transforms]\nBad = bad:Bad\n")
    (info.parent / "bad.py").write_text(PLUGIN)
    names = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
    converters = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")
    properties = {**dict.fromkeys(names, "x"), **converters, "bootstrap.servers": "127.0.0.1:1", "plugin.path": str(tmp_path)}
    return WorkerSettings.from_properties({**properties, "sandbox.memory.max.bytes": str(2**29)}, {})


def tried(errands: Errands, do: str) -> Any:
    config = {"connector.class": "FileStreamSink", "topics": "t", "transforms": "b", "transforms.b.type": "Bad"}
    config |= {"transforms.b.do": do, "transforms.b.secret": SECRET}
    return errands.preview(config, [{"topic": "t", "value": "v"}], {})


def test_the_control(settings: WorkerSettings) -> None:
    assert '"payload": "v"' in tried(Errands(settings), "pass")


@pytest.mark.parametrize(
    ("do", "kind", "text"),
    [
        ("os._exit(3)", ConnectError, r"The process ended \(exit status 3\)"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", ConnectError, r"The process ended \(SIGSEGV"),
        ("os.close(1); os.close(0); os._exit(0)", ConnectError, r"The process ended"),
        ("import threading; threading.Event().wait()", RequestTimeoutError, "no answer within 6 s"),
        ("while True: pass", RequestTimeoutError, "no answer within 6 s"),
    ],
)
def test_what_a_chain_does_to_its_process(settings: WorkerSettings, do: str, kind: type[Exception], text: str) -> None:
    previews = Errands(settings, 6 if kind is RequestTimeoutError else 120)
    with pytest.raises(kind, match=text):
        tried(previews, do)
    # The next one is as good as ever.
    assert '"payload": "v"' in tried(Errands(settings), "pass")


def test_memory_has_its_limit(settings: WorkerSettings) -> None:
    found = tried(Errands(settings), "x = [bytearray(1 << 26) for _ in range(100)]")
    assert "MemoryError" in found


def test_a_config_of_thousands_of_secrets_is_not_tried(settings: WorkerSettings) -> None:
    config = {"connector.class": "FileStreamSink", "topics": "t", **{f"label.{n}.token": f"canary-{n}" for n in range(1001)}}
    with pytest.raises(BadRequestError, match="The config has 1,001 secrets, of which 1,000 are possible"):
        Errands(settings).preview(config, [{"topic": "t", "value": "v"}], {})


def test_what_it_prints_is_no_answer_and_shows_no_secret(settings: WorkerSettings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    secret = f"getattr(self.secret, 'value', self.secret) or '{SECRET}'"
    found = tried(Errands(settings), f"print('said', {secret}, flush=True); raise ValueError({secret})")
    assert SECRET not in found
    assert SECRET not in caplog.text


def test_two_at_once_and_no_more(settings: WorkerSettings, tmp_path: Path) -> None:
    go = tmp_path / "go"
    wait = f"import time\nopen({str(tmp_path)!r} + f'/up-{{os.getpid()}}', 'w').close()\n"
    wait += f"while not os.path.exists({str(go)!r}): time.sleep(0.05)"
    previews = Errands(settings, 300)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(tried(previews, wait))) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(list(tmp_path.glob("up-*"))) == 2)
    with pytest.raises(UnavailableError, match="2 such requests are being answered"):
        tried(previews, "pass")
    go.touch()
    for thread in threads:
        thread.join(120)
    assert len(found) == 2
