"""References of options: resolved where they are used, by kconnect's own providers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kconnect.errors import ConfigError
from kconnect.pyspark import secrets


def test_references_are_resolved_where_they_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "from-env")
    (tmp_path / "logins.properties").write_text("pw=from-file\n")
    (tmp_path / "pw").write_text("from-dir\n")
    texts = {
        "kafka.a": "${env:PW}",
        "kafka.b": f"x${{file:{tmp_path}/logins.properties:pw}}y",
        "kafka.c": f"${{dir:{tmp_path}:pw}}",
        "kafka.d": "plain",
    }
    assert secrets.resolved(texts) == {
        "kafka.a": "from-env",
        "kafka.b": "xfrom-filey",
        "kafka.c": "from-dir",
        "kafka.d": "plain",
    }


@pytest.mark.parametrize(
    "text, reason",
    [("${env:NOT_THERE_9}", "has no NOT_THERE_9"), ("${file:/nowhere/x:pw}", "no file"), ("${vault:x}", "no provider")],
)
def test_what_can_not_be_had_names_the_option_and_the_machine(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        secrets.resolved({"kafka.sasl.password": text})
    assert "kafka.sasl.password" in str(caught.value)
    assert reason in str(caught.value)
    assert socket.gethostname() in str(caught.value)


def test_a_file_of_credentials_has_options(tmp_path: Path) -> None:
    path = tmp_path / "logins.properties"
    path.write_text("kafka.sasl.password=hunter2\nvalue.converter.basic.auth.user.info=a:b\n")
    assert secrets.of_file(str(path)) == {"kafka.sasl.password": "hunter2", "value.converter.basic.auth.user.info": "a:b"}
    path.write_text("topics=t\n")
    with pytest.raises(ConfigError, match=r"it has topics, and may have kafka\.\*"):
        secrets.of_file(str(path))
    with pytest.raises(ConfigError, match="Each machine that runs Spark"):
        secrets.of_file(str(tmp_path / "other"))
