"""`kconnect plugin new`: a project of each kind passes its own tests at once. tests/docs/test_plugins.py installs one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kconnect.cli.main import cli

KINDS = ("source", "sink", "transform", "predicate", "converter", "config-provider")


def new(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plugin", "new", *arguments])


def start(*command: str | Path, directory: Path) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, command)],
        cwd=directory,
        # The plugins of pytest that this project has are none of an author's, and take longer than all else.
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("new")
    for kind in KINDS:
        made = new(f"acme-{kind}", "--kind", kind, "--directory", str(directory / kind))
        assert made.exit_code == 0, made.output
    return directory


@pytest.fixture(scope="module")
def runs(projects: Path) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """The tests of all projects, beside each other."""
    started = {kind: start("pytest", "-q", "-p", "no:cacheprovider", directory=projects / kind) for kind in KINDS}
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


@pytest.mark.process
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_project_passes_its_own_tests(runs: dict[str, subprocess.Popen[str]], kind: str) -> None:
    output, _ = runs[kind].communicate(timeout=240)
    assert runs[kind].returncode == 0 and " passed" in output, output


@pytest.mark.process
def test_new_projects_are_clean_for_the_linter(projects: Path) -> None:
    linter = start("ruff", "check", "--no-cache", "--select", "E,F,W,I,B,UP,SIM", ".", directory=projects)
    output, _ = linter.communicate(timeout=240)
    assert linter.returncode == 0, output
    texts = [file.read_text("utf-8") for file in projects.rglob("*") if file.is_file()]
    assert len(texts) == 6 * len(KINDS) and not any("{{" in text for text in texts)


def test_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = new("orders")
    assert made.output.startswith("Created orders with the source connector OrdersSourceConnector. Next:\n\n  cd orders\n")
    assert [path.name for path in tmp_path.iterdir()] == ["orders"]


@pytest.mark.parametrize(
    ("name", "kind", "class_name"),
    [
        ("sqlsink", "sink", "SqlSinkConnector"),
        ("acme-sql-sink-connector", "sink", "AcmeSqlSinkConnector"),
        ("mysource", "source", "MySourceConnector"),
        ("acme-resource", "source", "AcmeResourceSourceConnector"),
        ("sink", "sink", "SinkSinkConnector"),
        ("masktransform", "transform", "Mask"),
        ("vault-config-provider", "config-provider", "VaultConfigProvider"),
    ],
)
def test_a_class_says_its_kind_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str, class_name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    made = new(name, "--kind", kind)
    assert f" {class_name}. Next:" in made.output
    for text in (made.output, (tmp_path / name / "README.md").read_text("utf-8")):
        assert "pip install -e '.[test]'" in text
    assert 'test = ["pytest' in (tmp_path / name / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Orders"], "a letter first, such as orders."),
        (["AcmeOrders"], "such as acme-orders."),
        (["a--b"], "such as a-b."),
        (["7up"], "such as up."),
        (["é"], "such as orders."),
        (["json"], "json is the name of an installed module. Choose another one, such as my-json."),
        (["kconnect"], "such as my-kconnect."),
        (["class"], "class is a keyword of Python"),
        (["there"], "there exists: choose another name"),
        (["x", "--directory", "no/such"], "no is not a directory: create it"),
        (["x", "--kind", "connector"], "is not one of"),
    ],
)
def test_what_it_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    refused = new(*arguments)
    assert refused.exit_code == 2 and words in refused.output
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
