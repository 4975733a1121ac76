"""
What the pages say of other places is true: links and anchors lead somewhere, paths and scripts are there, settings exist, and
each page is found from the index.

`tests/cli/test_manual.py` asks whether commands are accepted; the tests beside this one, and those of what a page is about, do
what its examples say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

from kconnect.core.settings.sink import SINK_CONFIG
from kconnect.core.settings.source import SOURCE_CONFIG
from kconnect.core.settings.worker import WORKER_CONFIG, WorkerSettings
from kconnect.java import properties
from tests.docs.pages import DOCS, blocks

ROOT = DOCS.parent
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "scripts" / "README.md"])
INDEX = DOCS / "index.md"

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^|(?<=\n\n))(?:    .*\n|\n(?=    ))+", re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+(?:\n[^`\n]+)?`")
_LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")
_REFERENCE = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)
_PATH = re.compile(r"(?:\./)?((?:kconnect|tests|scripts|docs|docker)/[\w./$-]*)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def prose(page: Path) -> str:
    """Without blocks of code, in which brackets mean something else."""
    return _INDENTED.sub("\n", _FENCED.sub("", page.read_text("utf-8")))


def links(page: Path) -> Iterator[str]:
    text = _CODE.sub("`code`", prose(page))
    yield from _LINK.findall(text)
    for _, target in _REFERENCE.findall(text):
        yield target


def anchors(page: Path) -> set[str]:
    """As GitHub and most others make them of headings: small letters, no punctuation, dashes for blanks, numbers for twins."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+?)\s*$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        number = 0
        while (numbered := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(numbered)
    return found


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"[…]({link}): there is no {target}"
        assert not anchor or anchor in anchors(target), f"[…]({link}): {name_of(target)} has no such heading"


def test_every_page_is_found_from_the_index() -> None:
    linked = {(INDEX.parent / link.partition("#")[0]).resolve() for link in links(INDEX)}
    # The rest of the top level is found from the README.
    missing = [name_of(page) for page in PAGES if page not in linked and page not in (INDEX, ROOT / "README.md")]
    assert missing == [], "docs/index.md does not list them"


def section(page: Path, heading: str) -> str:
    text = page.read_text("utf-8")
    level = heading.partition(" ")[0]
    found = text.split(f"\n{heading}\n")
    assert len(found) == 2, f"{name_of(page)} has no heading {heading}, or several"
    return re.split(rf"^#{{1,{len(level)}}} ", found[1], flags=re.MULTILINE)[0]


def paths(text: str) -> set[str]:
    """Those in code: `kconnect/api/`, `./scripts/test`. A place in angle brackets, or one with an ellipsis, is none."""
    found = set()
    for code in [*_CODE.findall(text), *_FENCED.findall(text), *_INDENTED.findall(text)]:
        for match in _PATH.finditer(code):
            before, after = code[: match.start()], code[match.end() : match.end() + 1]
            if not re.search(r"[\w./<~-]$", before) and after not in "<*…":
                found.add(match[1].rstrip("."))
    return found


MAP = section(ROOT / "CONTRIBUTING.md", "## Map of the code")


@every_page
def test_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8").replace(MAP, "")
    # Guides have the reader make files of a project of his own.
    own = {block.file for block in blocks(name_of(page).removeprefix("docs/"))} if DOCS in page.parents else set()
    missing = [path for path in sorted(paths(text) - own) if not (ROOT / path).exists()]
    assert missing == []


def test_the_map_names_what_is_there() -> None:
    missing = [path for path in sorted(paths(MAP)) if not (ROOT / path).exists()]
    assert missing == []


def test_the_map_names_every_folder() -> None:
    shown = paths(MAP)
    package = ROOT / "kconnect"
    folders = {f"kconnect/{each.name}/" for each in package.iterdir() if (each / "__init__.py").exists()} - {"kconnect/core/"}
    folders |= {f"kconnect/core/{each.name}/" for each in (package / "core").iterdir() if (each / "__init__.py").exists()}
    assert sorted(folders - shown) == []


def test_the_glossary_is_short_and_says_each_word_once() -> None:
    words = re.findall(r"^\| ([a-z][\w ]*) \|", section(ROOT / "CONTRIBUTING.md", "## Glossary"), re.MULTILINE)
    words.remove("word")
    assert len(words) == len(set(words)) <= 40
    assert words == sorted(words)


def test_the_readme_is_an_introduction() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert 150 <= len(lines) <= 200


@every_page
def test_scripts_are_there_and_may_be_run(page: Path) -> None:
    for name in {path for path in paths(page.read_text("utf-8").replace(MAP, "")) if re.fullmatch(r"scripts/[\w-]+", path)}:
        script = ROOT / name
        assert script.is_dir() or script.stat().st_mode & 0o100, f"{name} can't be run"


def test_every_script_is_listed() -> None:
    listed = set(re.findall(r"^\| `([\w-]+)", (ROOT / "scripts" / "README.md").read_text("utf-8"), re.MULTILINE))
    scripts = {each.name for each in (ROOT / "scripts").iterdir() if each.is_file() and "." not in each.name}
    assert sorted(scripts - listed) == []


# --- settings ---


def rows(text: str) -> list[str]:
    """The settings that a table's first column names."""
    first = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return [name for cell in first for name in re.findall(r"`([\w.]+[^`]*)`", cell)]


def test_settings_of_the_worker_exist() -> None:
    shown = rows(section(DOCS / "operating.md", "## Settings that Kafka Connect does not have"))
    assert len(shown) > 12
    assert [name for name in shown if name not in WORKER_CONFIG.keys and name != "spark.*"] == []


def test_settings_of_opentelemetry_are_all_shown_with_their_defaults() -> None:
    page = (DOCS / "opentelemetry.md").read_text("utf-8")
    keys = {name: key for name, key in WORKER_CONFIG.keys.items() if name.startswith("opentelemetry.")}
    assert rows(section(DOCS / "opentelemetry.md", "## Turn it on")) == list(keys)
    for name in ("opentelemetry.endpoint", "opentelemetry.traces.sample.ratio", "opentelemetry.metrics.interval.ms"):
        [row] = re.findall(rf"^\| `{re.escape(name)}` \| (.*) \|$", page, re.MULTILINE)
        default = keys[name].default
        assert (f"default {default // 1000} s" if name.endswith(".ms") else str(default)) in row


def test_settings_of_connectors_exist() -> None:
    shown = rows(section(DOCS / "connectors.md", "## Settings that only kconnect has"))
    assert len(shown) == 6
    assert [name for name in shown if name not in SOURCE_CONFIG.keys or name not in SINK_CONFIG.keys] == []


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_the_worker_file_that_is_shown_is_accepted(page: str) -> None:
    lines = re.findall(r"^    ([a-z.]+=.*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    settings = WorkerSettings.from_properties(properties.load("\n".join(lines)), {}, host_name="machine-1")
    assert (settings.unknown_keys, settings.group_id) == ([], "connect-cluster")


def test_connectors_that_are_shown_are_files_for_apply() -> None:
    for page in ("README.md", "docs/getting-started.md"):
        (text,) = re.findall(r"cat > \w+.yaml <<'?END'?\n(.*?)^    END$", (ROOT / page).read_text("utf-8"), re.M | re.S)
        for document in yaml.safe_load_all(re.sub("^    ", "", text, flags=re.MULTILINE)):
            assert document["name"] and document["config"]["connector.class"].startswith("FileStream")


# --- what the code says of pages ---


def test_headings_that_the_code_names_are_there() -> None:
    checked = 0
    for source in (ROOT / "kconnect").rglob("*.py"):
        text = re.sub(r"\s+", " ", source.read_text("utf-8"))
        for page, heading in re.findall(r'docs/([\w-]+\.md)`?, "([^"]+)"', text):
            checked += 1
            shown = re.findall(r"^#+ (.+)$", (DOCS / page).read_text("utf-8"), re.MULTILINE)
            assert heading in shown, f'{source} says docs/{page}, "{heading}"'
    assert checked >= 2


def test_pages_that_the_code_names_are_there() -> None:
    for source in (*(ROOT / "kconnect").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")):
        for page in re.findall(r"\bdocs/[\w/-]+\.md", source.read_text("utf-8")):
            assert (ROOT / page).exists(), f"{source} names {page}"
