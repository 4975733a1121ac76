"""Attacks by whoever may read statuses on the secrets of config providers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kconnect.data.secret_texts import HIDDEN, forms, hide
from kconnect.units.unit import Unit
from tests.attacks.test_topic_names import FILES, Installed
from tests.integration.units import MemoryHost, Numbers, end, source_of, until


@pytest.mark.parametrize("secret", ["hunter2", "a-longer-canary"])
@pytest.mark.parametrize("form", ["/tmp/x{}", "/tmp/{}_old", "pw{}pw", "{}"])
def test_a_secret_within_a_word_of_a_config(tmp_path: Path, form: str, secret: str) -> None:
    """A config has letters right beside a reference, and the connector fails quoting the text: no status has the secret."""
    file, started = tmp_path / "secrets", list[str]()
    file.write_text(f"pw={secret}\n")

    class Failing(source_of(Numbers)):  # type: ignore[misc]
        def start(self, props: dict[str, str]) -> None:
            started.append(props["place"])
            raise OSError(f"No such file: {props['place']}, nor '{props['place']}/x'")

    config = {"name": "x", "connector.class": "Failing", "topic": "t", "place": form.format(f"${{file:{file}:pw}}")}
    host = MemoryHost("127.0.0.1:1", Installed(Failing=Failing), **FILES)
    unit: Unit = host.unit(config, task=None)
    until(lambda: "FAILED" in host.states)
    end(unit)
    trace = host.statuses[-1][1] or ""
    assert started == [form.format(secret)], "the control: the connector has it"
    assert "No such file" in trace and config["place"] in trace
    assert secret not in trace


@pytest.mark.parametrize("secret", ["it's so", "pa\\ss'", 'quo"te', "naïve", "tab\tbed"])
def test_a_secret_within_a_text_that_is_quoted(secret: str) -> None:
    """A config has other quotation marks beside a reference, and a message quotes the whole, as Python or JSON does."""
    for beside in ("/x", '/x"', "/x'", "/x'\""):
        whole = f"{beside}{secret}/y"
        for quoted in (repr(whole), json.dumps(whole), json.dumps(whole, ensure_ascii=False)):
            hidden = hide(f"names the file {quoted}", forms(secret))
            assert HIDDEN in hidden, (quoted, hidden)
