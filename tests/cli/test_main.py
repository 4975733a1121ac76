"""The command line itself: start, help, errors and exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest

import kconnect
from kconnect.cli import lazy
from kconnect.cli import main as cli
from kconnect.errors import ConfigError, ConnectError, NotFoundError, UnavailableError
from tests.cli.calls import call

HEAVY = (
    *("confluent_kafka", "pyspark", "starlette", "uvicorn", "httpx", "psutil", "structlog", "javaproperties"),
    *("kconnect.worker", "kconnect.local.broker", "kconnect.preview.preview", "kconnect.plugins.registry"),
    *("kconnect.plugins.sandbox", "kconnect.core.settings.worker"),
)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    return int(str(ended.value.code))


@pytest.mark.process
def test_help_lists_the_commands() -> None:
    shown, imported = shown_with_help()
    for command in ("broker", "demo", "worker"):
        assert f"\n  {command} " in shown
    assert imported == "[]"


@pytest.mark.process
@pytest.mark.parametrize("command", cli._COMMANDS)
def test_the_help_of_a_command_imports_nothing_heavy(command: str) -> None:
    shown, imported = shown_with_help(command)
    assert shown.startswith(f"Usage: kconnect {command} ")
    assert imported == "[]"


def shown_with_help(*command: str) -> tuple[str, str]:
    """What is printed, and which heavy modules were imported for that."""
    code = (
        "import sys\nfrom kconnect.cli.main import main\n"
        "try: main([*sys.argv[1:], '--help'])\nexcept SystemExit as ended: assert not ended.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    shown, _, imported = done.stdout.rstrip().rpartition("\n")
    return shown, imported


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import kconnect

    assert run("--version") == 0
    assert capsys.readouterr().out == f"kconnect, version {kconnect.__version__}\n"


@pytest.mark.process
def test_as_a_module_it_is_the_same() -> None:
    done = subprocess.run([sys.executable, "-m", "kconnect", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "kconnect,")


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["worker"], ["worker", "/no/such/file"]], ids=" ".join)
def test_a_wrong_use_says_how(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Usage: kconnect" in said.err
    assert "\nError: " in said.err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["aply"], "Did you mean apply?"), (["get", "conectors"], "Did you mean connectors?"), (["xyzzy"], "'xyzzy'.")],
)
def test_a_mistyped_command_is_guessed(arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert capsys.readouterr().err.endswith(f" {meant}\n")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ls", "get connectors"),
        ("list -o name", "get connectors -o name"),
        ("ls tasks", "get tasks"),
        ("connectors", "get connectors"),
        ("status", "get connectors"),
        ("status orders", "describe connector orders"),
        ("describe orders", "describe connector orders"),
        ("describe connector/orders", "describe connector orders"),
        ("get task/orders/0 -o json", "get tasks orders/0 -o json"),
        ("get plugin/X", "get plugins X"),
        ("workers", "get workers"),
        ("plugins -o name", "get plugins -o name"),
        ("config get-contexts", "context list"),
        ("config use-context prod", "context use prod"),
        ("config delete-context prod", "context remove prod"),
        ("explain X", "describe plugin X"),
        ("describe orders/0 -o json", "describe task orders/0 -o json"),
        ("get orders", "get connectors orders"),
        ("info", "cluster"),
        ("info orders", "describe connector orders"),
        ("rm orders -y", "delete orders -y"),
        ("log orders", "logs orders"),
    ],
)
def test_words_of_other_tools_and_bare_names_are_understood(typed: str, meant: str) -> None:
    assert parsed(typed) == parsed(meant)


def parsed(line: str) -> tuple[str | None, dict[str, Any]]:
    """The command that a line means, and its parameters."""
    context = cli.cli.make_context("kconnect", line.split())
    while isinstance(command := context.command, click.Group):
        words = [*context._protected_args, *context.args]
        if not words and command.invoke_without_command:
            break
        name, found, rest = command.resolve_command(context, words)
        assert found is not None
        context = found.make_context(name, rest, parent=context)
    return context.command.name, context.params


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Makes `kconnect worker` raise."""

    def make(error: BaseException) -> None:
        @click.command()
        def worker() -> None:
            raise error

        monkeypatch.setattr("kconnect.cli.machine.worker.worker", worker)

    return make


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ConnectError("No broker.\n  Start one.\n"), 1, "No broker.; Start one."),
        (UnavailableError("starting"), 3, "starting"),
        (NotFoundError("gone"), 4, "gone"),
        (ConfigError("tasks.max", 0, "at least 1"), 6, "Invalid value 0 for configuration tasks.max: at least 1"),
        (PermissionError(13, "Permission denied", "/x"), 1, "[Errno 13] Permission denied: '/x'"),
    ],
    ids=["error", "unavailable", "not found", "setting", "system"],
)
def test_errors_are_one_line_and_a_status(
    failing: Callable[[BaseException], None],
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    status: int,
    line: str,
) -> None:
    failing(error)
    assert run("worker") == status
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"kconnect: {line}\n")


def test_verbose_adds_the_traceback(failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]) -> None:
    failing(ConnectError("broken"))
    assert run("-v", "worker") == 1
    said = capsys.readouterr().err
    assert said.startswith("kconnect: broken\nTraceback")
    assert said.rstrip().endswith("ConnectError: broken")


def test_ctrl_c(failing: Callable[[BaseException], None]) -> None:
    failing(KeyboardInterrupt())
    assert run("worker") == 130


def test_a_worker_file_with_errors_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("group.id=g\n")
    assert run("worker", str(file)) == 6
    (line,) = capsys.readouterr().err.splitlines()
    assert 'Missing required configuration "bootstrap.servers"' in line


@pytest.mark.parametrize(
    ("typed", "means"),
    [
        ("--url U get connectors -o json", "get connectors --url U -o json"),
        ("--url U apply -f", "apply --url U -f"),
        ("--url=U describe --help", "describe --url=U --help"),
        ("--url U -v top", "-v top --url U"),
        ("--url U --help", "--help"),
        ("--url U set logger x INFO", "set logger x INFO --url U"),
        ("--url U describe -- -x", "describe --url U -- -x"),
        ("get connectors --url U", "get connectors --url U"),
    ],
)
def test_options_before_the_verb_go_before_its_own(typed: str, means: str) -> None:
    assert lazy._behind(typed.split()) == means.split()


@pytest.mark.parametrize("group", ["describe", "get", "offsets", "set", "context", "topics", "dlq", "plugin"])
def test_a_group_shows_its_help_with_an_address_before_it(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--url", "http://127.0.0.1:1", group, "--help") == 0
    assert capsys.readouterr().out.startswith(f"Usage: kconnect {group} ")


def test_an_option_without_its_value_is_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--url", "http://127.0.0.1:1", "apply", "-f") == 2
    assert "Option '-f' requires an argument" in capsys.readouterr().err


def test_streams_that_are_closed_fail_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert run("context", "--help") == 0
    assert run("nope") == 2


def test_a_worker_file_that_is_not_utf_8_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_bytes(b"\xff\xfe#")
    assert run("worker", str(file)) == 6
    assert f"{file} is not UTF-8 (invalid start byte at byte 0): save the worker file as UTF-8" in capsys.readouterr().err


@pytest.mark.process
def test_all_versions_that_matter() -> None:
    done = call("version", "-o", "json")
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert done.status == 0 and rows["kconnect"]["version"] == kconnect.__version__
    assert rows["Kafka Connect"]["version"] == kconnect.CONNECT_VERSION
    assert rows["pyspark"]["version"] == metadata.version("pyspark") and "librdkafka 2." in rows["confluent-kafka"]["note"]
    without = call("version", env={"JAVA_HOME": "/nowhere"})
    assert without.status == 0 and "JAVA_HOME is /nowhere" in without.out


@pytest.mark.parametrize("module", ["pyspark", "starlette", "uvicorn", "jpype", "pyspark.sql"])
def test_what_the_client_lacks_is_told_with_the_remedy(module: str) -> None:
    text = cli.in_one_line(ModuleNotFoundError(f"No module named {module!r}", name=module))
    assert f"needs {module}" in text and "pip install kconnect" in text
    assert "unexpected" in cli.in_one_line(ModuleNotFoundError("No module named 'other'", name="other"))
