"""
Each block of each page is tried: typed, followed, accepted by what it is for, or left out with a reason.

`test_typing.py` and `test_plugins.py` type and follow them; here is what needs no process.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from kconnect.core.settings.connector import framework_config
from kconnect.core.settings.worker import WorkerSettings
from kconnect.java import properties
from kconnect.plugins.registry import Registry
from kconnect.rest import audit
from kconnect.testing import SourceRunner
from tests.docs import cheat_sheet, left_out
from tests.docs.pages import DOCS, Block, blocks
from tests.docs.readings import DISASTERS, JAVA, MOVING, READINGS, UPGRADE, USERS
from tests.docs.steps import agrees, kind_of, steps

FOLLOWED = ("plugins.md", "plugins/sink.md", "plugins/source.md", "plugins/transform.md")
"""By test_plugins.py, which looks at each of their blocks, too."""
GENERATED = ("cli.md",)
PAGES = ["../README.md", *sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))]
BLOCKS = [block for page in PAGES if page not in (*FOLLOWED, *GENERATED) for block in blocks(page)]
SMALLEST = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "connect-cluster",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}
"""A worker file, without what a page adds to it."""

REGISTRY = Registry.scan(None)


def of_kind(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "block", [block for block in BLOCKS if kind_of(block) == kind], ids=lambda block: block.place
    )


def is_read(block: Block) -> bool:
    parts = [part for reading in (*READINGS, USERS, MOVING, JAVA, *DISASTERS.values(), *UPGRADE) for part in reading.parts]
    return any(part.page == block.page and part.has(block.heading) for part in parts)


@of_kind("commands")
def test_each_command_is_typed_or_left_out_with_a_reason(block: Block) -> None:
    missing = [step.command for step in steps(block) if left_out.reason(block.page, step.command) is None]
    assert not missing or is_read(block), f"readings.py does not have {block.place}, and left_out.py gives no reason: {missing}"


def test_what_is_left_out_is_there() -> None:
    texts = [(block.page, text) for block in BLOCKS for text in (block.text, *(step.command for step in steps(block)))]
    texts += [(cheat_sheet.PAGE, step.command) for step in cheat_sheet.commands(cheat_sheet.PAGE)]
    unused = [key for key in left_out.LEFT_OUT if not any(page == key[0] and text.startswith(key[1]) for page, text in texts)]
    assert unused == []


def test_the_tests_that_reasons_name_are_there() -> None:
    named = re.findall(r"tests/[\w/]+(?:\.py)?", " ".join(left_out.LEFT_OUT.values()))
    assert [path for path in named if not (DOCS.parent / path).exists()] == []


@of_kind("shown")
def test_what_is_printed_is_below_what_prints_it(block: Block) -> None:
    before = [other for other in BLOCKS if other.page == block.page and other.line < block.line]
    assert left_out.reason(block.page, block.text) or (is_read(block) and kind_of(before[-1]) == "commands")


@of_kind("properties")
def test_a_worker_takes_a_worker_file(block: Block) -> None:
    settings = WorkerSettings.from_properties({**SMALLEST, **properties.load(block.text)}, {}, host_name="machine-1")
    assert settings.unknown_keys == []


def connectors() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the configs that pages show whole, and where they stand."""
    for block in BLOCKS:
        if kind_of(block) in ("json", "yaml"):
            for document in [json.loads(block.text)] if kind_of(block) == "json" else yaml.safe_load_all(block.text):
                if "config" in document:
                    yield block.place, {"name": document["name"], **{k: str(v) for k, v in document["config"].items()}}


@pytest.mark.parametrize(("place", "config"), [pytest.param(*each, id=each[0]) for each in connectors()])
def test_a_config_has_values_that_its_settings_take(place: str, config: Mapping[str, str]) -> None:
    """Without asking the system: a database or a service that a page names is nowhere."""
    # A reference stands for a text.
    values = {name: re.sub(r"\$\{file:[^}]*\}", "a-secret", value) for name, value in config.items()}
    definitions = [framework_config("sink" if "topics" in config else "source")]
    if not config["connector.class"].startswith("io.debezium."):
        definitions.append(REGISTRY.load(config["connector.class"], "connector")().config())
    errors = [error for definition in definitions for value in definition.validate(values) for error in value.errors]
    assert errors == [], place


@of_kind("settings")
def test_settings_that_are_shown_go_into_a_config(block: Block) -> None:
    shown = json.loads("{" + block.text.strip().rstrip(",") + "}")
    for kind in ("source", "sink"):
        definition = framework_config(kind)
        config = {"name": "a", "connector.class": "b", "topics": "c", **shown}
        assert [error for value in definition.validate(config) for error in value.errors] == []


def test_a_record_that_is_shown_is_like_those_that_are_made() -> None:
    config, record = (json.loads(block.text) for block in blocks("connectors/datagen.md") if kind_of(block) == "json")
    with SourceRunner(type(REGISTRY.load("Datagen", "connector")()), config["config"]) as source:
        (made, *_) = source.read(1)
    assert _shape(made.value) == _shape(record)


def _shape(value: Any) -> Any:
    """The names of a record's fields with their types, those of JSON: a time is a number there."""
    if not hasattr(value, "items"):
        return type(value).__name__.replace("datetime", "int")
    return {getattr(key, "name", key): _shape(item) for key, item in value.items()}


def test_chains_are_those_that_are_run() -> None:
    # tests/transforms/test_docs.py runs them, and the function among them; tests/spark/test_notebook.py the page on PySpark.
    text = (DOCS / "expressions.md").read_text("utf-8")
    run = re.findall(r"^```\n(transforms=.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert [block.text for block in BLOCKS if kind_of(block) == "chain"] == run
    assert [block.page for block in BLOCKS if kind_of(block) == "python" and block.page != "pyspark.md"] == ["expressions.md"]


def test_the_scrape_config_asks_workers() -> None:
    (block,) = [block for block in blocks("metrics.md") if kind_of(block) == "yaml"]
    (job,) = yaml.safe_load(block.text)["scrape_configs"]
    assert all(re.fullmatch(r"[\w-]+:8083", target) for static in job["static_configs"] for target in static["targets"])


def test_the_line_of_the_audit_log_is_as_the_code_says() -> None:
    lines = [block.text.strip() for block in blocks("operating.md") if kind_of(block) == "shown"]
    (shown,) = [line for line in lines if "request=" in line]
    (written,) = re.findall(r"`(2026-.*status=204)`", audit.line.__doc__ or "")
    assert re.findall(r"(\w+)=", shown) == re.findall(r"(\w+)=", written)


def test_extras_that_are_installed_exist() -> None:
    setup = configparser.ConfigParser()
    setup.read(DOCS.parent / "setup.cfg")
    shown = re.findall(r"kconnect\[(\w+)\]", "".join((DOCS / page).read_text("utf-8") for page in PAGES))
    assert shown and set(shown) <= set(setup["options.extras_require"])


# --- the mechanism itself ---


@pytest.mark.parametrize(
    ("shown", "said", "agreed"),
    [
        ("NAME   STATE\nlines  RUNNING", "NAME  STATE\nlines RUNNING\n", True),
        ("NAME   STATE\nlines  RUNNING", "NAME  STATE\nlines FAILED\n", False),
        ("lines  vm:8083", "lines  127.0.0.1:31234", True),
        ("first\n…\nlast", "first\na\nb\nlast", True),
        ("first\n…\nlast", "first\na\nb", False),
        ("took … s", "took 12 s", True),
        ("one", "one\ntwo", False),
    ],
)
def test_what_agrees(shown: str, said: str, agreed: bool) -> None:
    assert agrees(shown, said) is agreed


def test_a_block_is_typed_command_by_command() -> None:
    text = "cat > a <<'END'\nkconnect get\nEND\ncurl -d '{\n}' x   # it's a word\n# words only\nkconnect \\\n  get\n"
    assert [step.command.split("\n")[0] for step in steps(Block("sh", None, text, "a.md", 1, ""))] == [
        "cat > a <<'END'",
        "curl -d '{",
        "kconnect \\",
    ]
