"""`kconnect context` and `kconnect completion`."""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.core.herder.requests.configs import CreateConnector
from tests.cli.calls import Called, call, complete, serving
from tests.rest.conftest import FILE_SOURCE
from tests.rest.herder import MemoryHerder


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "below" / "config.yaml"


def test_a_life_of_contexts(file: Path) -> None:
    def run(*arguments: str) -> Called:
        return call("context", *arguments, env={"KCONNECT_CONFIG": str(file)})

    assert run("list") == Called(0, "", "No contexts: `kconnect context set NAME --url URL` creates one\n")
    assert run("set", "dev", "--url", "http://dev:8083").out == f"Set dev in {file}, and commands now use it\n"
    called = run("set", "prod", "--url", "https://prod", "--user", "ann", "-w", "worker.properties")
    assert called.out == f"Set prod in {file}\n"
    assert called.err == f"There is no file {Path.cwd()}/worker.properties yet: commands that need it fail until there is\n"
    assert run("use", "prod").status == 0
    assert [line.split()[:2] for line in run("list").out.splitlines()[1:]] == [["dev", "http://dev:8083"], ["*", "prod"]]
    assert f"worker_file: {Path.cwd()}/worker.properties" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("set", "prod", "--user", "").status == 0
    assert "ann" not in run("list", "-o", "yaml").out
    assert run("remove", "prod").out == "Removed prod: none is in use now\n"
    assert run("list", "-o", "name").out == "dev\n"
    for command in ("use", "remove"):
        assert run(command, "prod") == Called(4, "", "kconnect: There is no context prod; known: dev\n")


def test_no_password_gets_into_the_file(file: Path) -> None:
    called = call("context", "set", "x", "--url", "http://ann:canary-5@h", env={"KCONNECT_CONFIG": str(file)})
    assert called.status == 2
    assert "canary-5" not in called.err
    assert not file.exists()


# -- completion -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    herder = MemoryHerder()
    for name in ("orders-eu", "orders-us", "bills", "a b"):
        herder.submit(CreateConnector(name, FILE_SOURCE))
    with serving(herder) as url:
        yield url


@pytest.mark.parametrize("command", ["pause", "restart", "get connectors", "wait"])
def test_names_of_connectors(url: str, command: str) -> None:
    assert complete(f"kconnect {command} ord", KCONNECT_URL=url) == ["orders-eu", "orders-us"]
    assert complete(f"kconnect {command} --url {url} a") == ["'a b'"]
    assert complete(f"kconnect {command} orders-eu ord", KCONNECT_URL=url) == ["orders-us"]


def test_of_the_context_that_the_line_means(url: str, file: Path) -> None:
    environment = {"KCONNECT_CONFIG": str(file)}
    call("context", "set", "dev", "--url", "http://127.0.0.1:9", env=environment)
    call("context", "set", "here", "--url", url, env=environment)
    assert complete("kconnect pause --context ", **environment) == ["dev", "here"]
    assert complete("kconnect pause --context here bi", **environment) == ["bills"]
    assert complete("kconnect pause bi", **environment) == []


def test_nothing_to_say_is_nothing_said(url: str) -> None:
    assert complete("kconnect pause x", KCONNECT_URL="http://127.0.0.1:9") == []
    assert complete("kconnect pause x", KCONNECT_URL="nonsense") == []
    assert complete("kconnect pause ", KCONNECT_URL=url, KCONNECT_USER="ann") == [], "nobody is asked for a password"
    assert complete("kconnect comp") == ["completion"]
    assert complete("kconnect get co --state f") == ["failed"]


@pytest.mark.process
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts(shell: str) -> None:
    called = call("completion", shell)
    assert called.status == 0
    assert f"_KCONNECT_COMPLETE={shell}_complete" in called.out
    assert call("completion", "csh").status == 2


@pytest.mark.process
def test_bash_takes_its_script() -> None:
    done = subprocess.run(["bash", "-n"], input=call("completion", "bash").out, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("url", ["http://x:8083/?a=1", "http://x:8083/#a", "http://x:8083/a b"])
def test_what_would_swallow_the_paths_of_requests_is_no_address(url: str) -> None:
    assert (called := call("get", "connectors", "--url", url)).status == 2
    assert "is not a worker's URL" in called.err


def test_a_context_has_a_name_and_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONNECT_CONFIG", str(tmp_path / "new" / "config.yaml"))
    assert call("context", "set", " ", "--url", "http://x:1").status == 2
    monkeypatch.setenv("KCONNECT_CONFIG", "/proc/nowhere/config.yaml")
    called = call("context", "set", "a", "--url", "http://x:1")
    assert called.status == 2
    assert "the file of contexts, can't be written" in called.err
    assert "name another place in KCONNECT_CONFIG" in called.err
