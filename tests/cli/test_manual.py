"""Help: every command has a line, examples that click accepts, and its part of docs/cli.md."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from kconnect.cli import main as cli
from kconnect.cli import manual
from kconnect.cli.lazy import LazyGroup
from kconnect.cli.main import cli as root
from kconnect.cli.manual import Page
from tests.cli import examples

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = list(manual.pages(root))
COMMANDS = [page for page in PAGES if page.path]

_LINE = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?(kconnect .*)$")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    return int(str(ended.value.code))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_are_there_and_are_accepted(page: Page) -> None:
    found = examples.of(page)
    assert found, f"{page.name} --help shows no example: a block behind \\b, with lines that begin with kconnect"
    for line in found:
        (words, *_) = examples.calls(line) or [[]]
        assert words[: len(page.path)] == list(page.path) or examples.calls(line), line
        for call in examples.calls(line):
            accepted(call, line)


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.name)
def test_one_example_at_least_is_of_the_command_itself(page: Page) -> None:
    called = [call for line in examples.of(page) for call in examples.calls(line)]
    assert any(call[: len(page.path)] == list(page.path) for call in called), examples.of(page)


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.name)
def test_help_begins_with_the_line_of_the_list(page: Page) -> None:
    assert page.context.parent is not None
    group = page.context.parent.command
    line = group.line(page.path[-1]) if isinstance(group, LazyGroup) else page.sentence
    assert page.sentence == line
    assert re.fullmatch(r"[A-Z].*\.", line) and len(line) <= 80, line


def test_every_command_has_its_section() -> None:
    assert isinstance(root, LazyGroup)
    assert root.in_sections()[-1] == ("More commands", [])


def test_help_lists_the_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    said = capsys.readouterr().out
    headings = [line for line in said.splitlines() if re.fullmatch(r"[A-Z][\w ]+:", line)]
    assert headings[0] == "Options:" and "Cluster:" in headings and "This command line:" in headings
    assert isinstance(root, LazyGroup)
    columns = set()
    for name in root.list_commands(PAGES[0].context):
        (line,) = [line for line in said.splitlines() if line.startswith(f"  {name} ")]
        columns.add(line.index(root.line(name)[:20]))
    assert len(columns) == 1, "all sections have one column"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_help_and_dash_dash_help_are_the_same(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*page.path, "--help") == 0
    shown = capsys.readouterr().out
    assert run("help", *page.path) == 0
    assert capsys.readouterr().out == shown
    assert shown.startswith(f"Usage: {page.name}")


def test_help_of_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("help", "plugin", "nonsense") == 2
    assert "There is no command 'plugin nonsense'. `kconnect plugin --help` lists" in capsys.readouterr().err
    assert run("help", "--all", "plugin") == 2


def test_the_page_is_what_the_commands_say(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever writes it has a terminal, an environment and a home of his own.
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("KCONNECT_URL", "http://elsewhere:1")
    assert run("help", "--all") == 0
    said = capsys.readouterr().out
    assert said == (DOCS / "cli.md").read_text("utf-8"), "docs/cli.md is stale: kconnect help --all > docs/cli.md"
    assert str(Path.home()) not in said


SHOWING = sorted(str(page.relative_to(DOCS.parent)) for page in (*DOCS.parent.glob("*.md"), *DOCS.rglob("*.md")))
INLINE = {"docs/alerts.md", "docs/cheat-sheet.md"}
"""Of these every command in the text is tried, too; elsewhere a text may name the beginning of one, as `kconnect plugin`."""
MANY = (*INLINE, "docs/cli.md", "README.md", "docs/getting-started.md", "docs/operating.md", "docs/connectors.md")


@pytest.mark.parametrize("page", SHOWING)
def test_pages_show_calls_that_are_accepted(page: str) -> None:
    text = (DOCS.parent / page).read_text("utf-8").replace("\\\n", " ")
    blocks = [line.strip() for line in re.findall(r"(?:^    .*$)", text, re.M)]
    blocks += [line for block in re.findall(r"^```\w*\n(.*?)^```$", text, re.M | re.S) for line in block.splitlines()]
    lines = [found[1] for line in blocks if (found := _LINE.match(re.sub(r"\s{2,}.*", "", line.strip())))]
    inline = [found for found in re.findall(r"`(kconnect [^`]+)`", text) if "…" not in found]
    if page == "docs/cli.md":
        lines = [line for line in lines if not re.search(r"\[OPTIONS\]|\[COMMAND\]|COMMAND \[ARGS\]", line)]
    for line in [*lines, *(inline if page in INLINE else [])]:
        for call in examples.calls(line):
            accepted(call, line)
    assert lines or inline or page not in MANY


@pytest.mark.parametrize("page", [page for page in SHOWING if page not in INLINE])
def test_commands_that_a_text_names_exist(page: str) -> None:
    """`kconnect plugin doctor`, with or without what follows; `kconnect COMMAND` and `kconnect get …` are no calls."""
    text = re.sub(r"^```.*?^```$", "", (DOCS.parent / page).read_text("utf-8"), flags=re.M | re.S)
    for inline in re.findall(r"`(?:\.venv/bin/)?(kconnect [a-z][^`]*)`", text):
        command: click.Command = root
        for word in " ".join(inline.split()).split()[1:]:
            if not isinstance(command, click.Group) or not re.fullmatch(r"[a-z][a-z-]*", word):
                break
            context = click.Context(command)
            found = command.get_command(context, word)
            assert found is not None, f"{page}: `{inline}`"
            command = found


def accepted(call: list[str], line: str) -> None:
    try:
        examples.check(root, call)
    except click.UsageError as error:
        pytest.fail(f"{line}: {error.format_message()}")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("kconnect get 'orders-*' -o json | jq .", [["get", "orders-*", "-o", "json"]]),
        ("cat x.json | kconnect apply -f - && kconnect get", [["apply", "-f", "-"], ["get"]]),
        ('A=1 B="x y" .venv/bin/kconnect cluster > file  # words', [["cluster"]]),
        ("echo kconnect", []),
        ("kconnect user ann --role read >> users", [["user", "ann", "--role", "read"]]),
    ],
)
def test_calls_in_a_line_of_the_shell(line: str, found: list[list[str]]) -> None:
    assert examples.calls(line) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["plugin", "nonsense"], "No such command 'nonsense'"),
        (["cluster", "--nonsense"], "No such option"),
        (["cluster", "-o", "xml"], "'xml' is not one of"),
        (["broker", "start", "--port", "0"], "0 is not in the range"),
        (["worker"], "Missing argument 'FILE'"),
        (["worker", "a", "b"], "unexpected extra argument"),
        (["user", "ann"], "Missing option '--role'"),
        (["plugin"], "Missing command"),
        (["user", "ann", "--role"], "requires an argument"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_a_wrong_example_is_found(words: list[str], said: str) -> None:
    with pytest.raises(click.UsageError) as error:
        examples.check(root, words)
    assert said in error.value.format_message()
