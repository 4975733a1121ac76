"""`kconnect plugin list`: of directories, a worker file, the environment, and a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kconnect.cli import main as cli
from tests.cli.calls import serving
from tests.rest.herder import MemoryHerder
from tests.rig.systems.plugin_packages import PluginPackage

ACME = {"kconnect.transforms": {"Upper": "acme:Upper"}, "kconnect.connectors": {"Acme": "acme:AcmeSource"}}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONNECT_PLUGIN_PATH", raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two versions of one plugin, and a broken one."""
    for version in ("1.10", "1.9"):
        PluginPackage("acme", version, {"acme.py": ""}, ACME).install(tmp_path / "plugins")
    (tmp_path / "plugins" / "broken").mkdir()
    return tmp_path / "plugins"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["plugin", "list", *arguments])
    return int(str(ended.value.code))


def test_versions_are_in_their_order_and_the_broken_come_last(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-p", str(path), "--kind", "transformation") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["CLASS", "KIND", "VERSION", "LOCATION"]
    assert [line for line in lines if line[0] == "acme.Upper"] == [
        ["acme.Upper", "transformation", "1.9", str(path / "acme-1.9")],
        ["acme.Upper", "transformation", "1.10", str(path / "acme-1.10")],
    ]
    assert lines[-1][:4] == ["Broken:", f"{path / 'broken'}:", "the", "directory"]


def test_the_place_may_be_a_worker_file_or_the_environment(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(f"plugin.path = /no/such, {path}\n")
    assert run("-w", str(file), "--kind", "connector", "-o", "json") == 0
    of_file = json.loads(capsys.readouterr().out)
    acme = [(row["version"], row["location"]) for row in of_file["plugins"] if row["class"] == "acme.AcmeSource"]
    assert acme == [("1.9", str(path / "acme-1.9")), ("1.10", str(path / "acme-1.10"))]
    assert [each["location"] for each in of_file["broken"]] == ["/no/such", str(path / "broken")]
    monkeypatch.setenv("CONNECT_PLUGIN_PATH", f"/no/such,{path}")
    assert run("--kind", "connector", "-o", "yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == of_file


def test_names_come_once(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-p", str(path), "--kind", "connector", "-o", "name") == 0
    said = capsys.readouterr()
    assert said.out.splitlines().count("acme.AcmeSource") == 1
    assert said.err.startswith(f"Broken: {path / 'broken'}: ")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(MemoryHerder()) as url:
        yield url


def test_of_a_worker(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--url", url, "--kind", "source") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["CLASS", "KIND", "VERSION"]
    assert {line[1] for line in lines[1:]} == {"source"}


def test_what_is_wrong_says_how_to_do_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("group.id=g\n")
    for arguments, status, words in (
        (["-p", "/x", "-w", str(file)], 2, "Give either --plugin-path or --worker-file, not both"),
        (["-p", "/x", "--url", "http://127.0.0.1:9"], 2, "Give either --url, or --plugin-path or --worker-file"),
        (["-w", str(file)], 2, "does not set plugin.path; add a line such as plugin.path=/opt"),
        (["-w", "/no/such/file"], 2, "/no/such/file: No such file"),
        (["--url", "http://127.0.0.1:9"], 3, "No worker answers at http://127.0.0.1:9"),
        (["--kind", "nonsense"], 2, "is not one of 'connector', 'source'"),
    ):
        assert run(*arguments) == status, arguments
        assert words in capsys.readouterr().err
