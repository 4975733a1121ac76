"""
What Java logs, as lines of our log: a class of a plugin, compiled here and loaded as plugins are, in a JVM of its own process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.jvm.talking import PLAIN, SCRIPT, TALKER
from tests.support import starts

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]


class Line(NamedTuple):
    logger: str
    level: str
    message: str
    unit: tuple[str | None, int | None]
    trace: str


Parts = dict[str, list[Line]]


@pytest.fixture(scope="module")
@starts("process")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory of `plugin.path` with the class."""
    directory = tmp_path_factory.mktemp("plugins") / "talker"
    directory.mkdir()
    source = directory.parent / "Talker.java"
    source.write_text(TALKER)
    subprocess.run([sys.executable, "-m", "kconnect.jvm.shim", str(directory / "talker.jar"), str(source)], check=True)
    yield directory


@pytest.fixture(scope="module")
@starts("process")
def parts(plugin: Path) -> Parts:
    """What the script has logged, by its parts. All that it writes is lines of the log: slf4j has nothing to complain of."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(plugin)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == ""
    found: Parts = {}
    here: list[Line] = []
    for text in done.stderr.splitlines():
        row: dict[str, Any] = json.loads(text)
        unit = (row.get("connector"), row.get("task"))
        line = Line(row["logger"], row["level"], row["message"], unit, row.get("exception", ""))
        if line.logger == "part":
            here = found[line.message] = []
        else:
            here.append(line)
    return found


def brief(lines: list[Line]) -> list[tuple[str, str]]:
    return [(line.level, line.message) for line in lines]


@pytest.mark.long
def test_names_and_levels(parts: Parts) -> None:
    assert brief(parts["talk"]) == [("info", "as much as this"), ("warning", "a warning"), ("error", "an error")]
    assert {line.logger for line in parts["talk"]} == {"org.example.Talker"}
    assert {line.unit for line in parts["talk"]} == {(None, None)}


def test_a_trace_stands_below_its_line(parts: Parts) -> None:
    (line,) = parts["fail"]
    assert (line.level, line.message) == ("error", "It broke at noon")
    assert line.trace.startswith("java.lang.IllegalStateException: outer\n\tat org.example.Talker.fail(Talker.java:")
    assert "\nCaused by: java.io.IOException: inner cause\n" in line.trace


def test_java_util_logging(parts: Parts) -> None:
    assert brief(parts["jul"]) == [("info", "of Java"), ("warning", "thrown"), ("error", "severe")]
    assert {line.logger for line in parts["jul"]} == {"org.example.jul.Talker"}
    assert parts["jul"][1].trace.startswith("java.lang.IllegalStateException: by jul\n\tat org.example.Talker.jul")


def test_dumps_of_configs_are_not_shown(parts: Parts) -> None:
    assert parts["quiet"] == []


def test_a_level_that_was_set_before_java_began(parts: Parts) -> None:
    assert brief(parts["early"]) == [("debug", "caught")]


def test_lines_of_threads_that_a_units_thread_has_started(parts: Parts) -> None:
    assert [(line.message, line.unit) for line in parts["units"]] == [
        ("of the task", ("src", 0)),
        ("of the connector", ("snk", None)),
        ("of nobody", (None, None)),
        ("still of nobody", (None, None)),
    ]


def test_secrets_are_hidden(parts: Parts) -> None:
    (line,) = parts["secrets"]
    assert "inner with ${file:/f:k}" in line.trace


def test_levels_change_while_java_runs(parts: Parts) -> None:
    found: dict[str, list[str]] = {}
    now: list[str] = []
    for line in parts["levels"]:
        if line.logger == "changed":
            found[line.message], now = now, []
        elif line.logger != "kconnect.processes.logs":
            now.append(line.message)
    slf4j = ["a trace", "a detail", "as much as this", "a warning", "an error"]
    jul = ["finer", "fine", "config", "of Java", "thrown", "severe"]
    assert found == {
        "org.example TRACE": slf4j + jul,
        "org.example.Talker ERROR": slf4j[4:] + jul,
        "org WARN": slf4j[3:] + jul[4:],
        # What was said while the root was OFF, "changed" included, would stand here.
        "root INFO": slf4j[2:] + jul[3:],
    }


def test_kafkas_names_mean_its_own_classes_too(parts: Parts) -> None:
    debug = [line.message.split() for line in parts["kafka"] if line.logger == "of_kafka"]
    task, json_, isolation = "connect.file.FileStreamSourceTask", "connect.json.X", "connect.runtime.isolation.Y"
    mirror = "connect.mirror.M"
    all_of_it = [task, json_, mirror, isolation]
    assert debug == [[mirror], [], [task], [task, json_], all_of_it, all_of_it[1:], []]
    # Once somebody has set their level, those that were quiet speak.
    (dump,) = [line for line in parts["kafka"] if line.message.startswith("JsonConverterConfig values:")]
    assert dump.logger == "org.apache.kafka.common.config.AbstractConfig"
    assert [line.message for line in parts["kafka"] if line.logger == "listed"] == ["org.apache.kafka.connect.mirror"]


def test_a_flood_is_counted_and_leaves_room_for_others(parts: Parts) -> None:
    lines = parts["flood"]
    missing = [line for line in lines if line.logger == "kconnect.jvm.logs"]
    assert missing, "so many lines can't all have been written"
    assert {(line.level, line.unit) for line in missing} == {("warning", ("loud", 0))}
    loud = [line.message for line in lines if line.logger == "org.example.Talker" and line.unit == ("loud", 0)]
    assert loud and len(loud) + sum(int(line.message.split()[0]) for line in missing) == 200_000
    # The unit's lines share its room: one thread may have filled it before the other began, and for as long as that logged.
    for name in ("one", "two"):
        numbers = [int(message.split()[1]) for message in loud if message.startswith(name)]
        assert numbers == sorted(set(numbers))
    assert [line.message for line in lines if line.unit == ("calm", 0)] == [f"calm {at}" for at in range(200)]
    assert [line.message for line in lines if line.unit == (None, None)] == ["behind"]


def test_of_lines_that_are_not_wanted_not_even_the_text_is_made(parts: Parts) -> None:
    asked = [line.message for line in parts["unwanted"] if line.logger == "asked"]
    assert asked == ["1"], "for the one line that is wanted"
    assert [line.message for line in parts["unwanted"] if line.logger == "org.example.Talker"] == ["and part"]


def test_what_is_too_long_is_cut_between_words(parts: Parts) -> None:
    long, other = (line.message for line in parts["long"])
    assert long.startswith("words words ") and long.endswith("words… (120000 characters)")
    assert 60_000 < len(long) < 70_000
    assert other == "\U0001f600 \0"


def test_where_no_logging_is_set_up_warnings_go_to_standard_error(plugin: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN, str(plugin)], capture_output=True, text=True, check=True)
    # The sandbox takes any other thread for one that a plugin has left.
    assert done.stdout == "MainThread\n"
    assert done.stderr.splitlines()[:3] == ["a warning", "an error", "It broke at noon"]
    assert "Caused by: java.io.IOException: inner cause" in done.stderr
    assert "as much as this" not in done.stderr and "SLF4J" not in done.stderr
