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

from tests.support import starts

pytestmark = pytest.mark.process

TALKER = """
package org.example;

import java.util.logging.Level;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

public class Talker {
    static final Logger LOG = LoggerFactory.getLogger(Talker.class);
    static final java.util.logging.Logger JUL = java.util.logging.Logger.getLogger("org.example.jul.Talker");

    public static void talk() {
        LOG.trace("a trace");
        LOG.debug("a detail");
        LOG.info("as {} as {}", "much", "this");
        LOG.warn("a warning", "not for the text");
        LOG.error("an error");
    }

    public static void jul() {
        JUL.finer("finer");
        JUL.fine("fine");
        JUL.config("config");
        JUL.log(Level.INFO, "of {0}", "Java");
        JUL.log(Level.WARNING, "thrown", new IllegalStateException("by jul"));
        JUL.severe("severe");
    }

    public static void fail(String text) {
        Throwable cause = new java.io.IOException("inner " + text);
        LOG.error("It broke at {}", "noon", new IllegalStateException("outer", cause));
    }

    /** From a thread that is started by a thread that the caller starts. */
    public static void fromAfar(final String text) throws InterruptedException {
        finish(new Thread() {
            public void run() {
                finish(new Thread() {
                    public void run() {
                        LOG.info(text);
                    }
                });
            }
        });
    }

    public static Thread flood(final String name, final int lines) {
        Thread thread = new Thread() {
            public void run() {
                for (int at = 0; at < lines; at++) {
                    locked(name + " " + at);
                }
            }
        };
        thread.start();
        return thread;
    }

    /** A lock that is held while a line is logged, and waited for by who comes from Python. */
    public static synchronized void locked(String text) {
        LOG.info(text);
    }

    public static void unwanted(int lines) {
        for (int at = 0; at < lines; at++) {
            LOG.debug("line {}", Integer.valueOf(at));
        }
    }

    static void finish(Thread thread) {
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new RuntimeException(error);
        }
    }
}
"""

SCRIPT = """
import logging, os, sys, threading, time
from kconnect.core.state.records import LoggerLevel
from kconnect.jvm import logs as java
from kconnect.jvm import machine
from kconnect.processes import levels, logs

logs.configure("json")
loggers = levels.PythonLoggers()
# Before there is a JVM.
logs.set_level(loggers, LoggerLevel("org.example.early", "DEBUG"))
loader = machine.source(sys.argv[1]).loader()

import jpype

talker = jpype.JClass(jpype.JClass("java.lang.Class").forName("org.example.Talker", True, loader))
logger = jpype.JClass("org.slf4j.LoggerFactory").getLogger

def part(name):
    java.flush(60)
    logging.getLogger("part").warning(name)

def unit(connector, task, work):
    def run():
        logs.bind(connector, task)
        with machine.loader_of(loader):
            pass
        work()
    thread = threading.Thread(target=run)
    thread.start()
    return thread

def dump():
    config = jpype.JClass("java.util.HashMap")()
    config.put("converter.type", "value")
    jpype.JClass("org.apache.kafka.connect.json.JsonConverter")().configure(config)

part("talk")
talker.talk()
part("fail")
talker.fail("cause")
part("jul")
talker.jul()
part("quiet")
dump()
part("early")
logger("org.example.early.Bird").debug("caught")
logger("org.example.Worm").debug("not caught")

part("units")
unit("src", 0, lambda: talker.fromAfar("of the task")).join()
unit("snk", None, lambda: talker.fromAfar("of the connector")).join()
talker.fromAfar("of nobody")
# The thread that asks for what is left is a unit's: that is nothing to the lines.
talker.fromAfar("still of nobody")
unit("src", 1, lambda: java.flush(60)).join()

part("secrets")
logs.cover({"s3cret-9": "${file:/f:k}"})
talker.fail("with s3cret-9")

part("levels")
def change(name, level):
    logs.set_level(loggers, LoggerLevel(name, level))
    talker.talk()
    talker.jul()
    java.flush(60)
    logging.getLogger("changed").warning(name + " " + level)
change("org.example", "TRACE")
change("org.example.Talker", "ERROR")
change("org", "WARN")
change("root", "OFF")
change("root", "INFO")

part("kafka")
def of_kafka(name, level):
    logs.set_level(loggers, LoggerLevel(name, level))
    enabled = {each: bool(logger("org.apache.kafka." + each).isDebugEnabled()) for each in
        ("connect.file.FileStreamSourceTask", "connect.json.X", "connect.runtime.isolation.Y", "common.Z")}
    logging.getLogger("of_kafka").warning(" ".join(each for each, on in enabled.items() if on))
of_kafka("org.apache.kafka.connect.file", "DEBUG")
of_kafka("org.apache.kafka.connect.json", "DEBUG")
of_kafka("org.apache.kafka.connect", "DEBUG")
of_kafka("org.apache.kafka.connect.file", "INFO")
of_kafka("org.apache.kafka", "INFO")
dump()
java.flush(60)
logging.getLogger("listed").warning(" ".join(name for name in loggers.levels() if "apache" in name))

part("flood")
def wait(name, lines):
    talker.flood(name, lines).join()
loud = [unit("loud", 0, lambda name=name: wait(name, 100_000)) for name in ("one", "two")]
time.sleep(0.2)
def say():
    for at in range(200):
        talker.locked(f"calm {at}")
unit("calm", 0, say).join()
for each in loud:
    each.join()
talker.locked("behind")

part("unwanted")
begun = time.monotonic()
talker.unwanted(10_000_000)
logging.getLogger("took").warning(str(time.monotonic() - begun))
part("long")
talker.locked("words " * 20_000)
talker.locked("\\U0001f600 \\0")
java.flush(60)
part("end")
# As hosts and scans end: threads of Java's may be within the interpreter.
os._exit(0)
"""

PLAIN = """
import os, sys, threading
from kconnect.jvm import logs as java
from kconnect.jvm import machine

class Told:
    def __init__(self):
        self.all = threading.Event()
    def write(self, text):
        sys.__stderr__.write(text)
        if "Caused by" in text:
            self.all.set()
    def flush(self):
        sys.__stderr__.flush()

sys.stderr = told = Told()
loader = machine.source(sys.argv[1]).loader()
import jpype

talker = jpype.JClass(jpype.JClass("java.lang.Class").forName("org.example.Talker", True, loader))
talker.talk()
talker.fail("cause")
told.all.wait(60)
java.flush(60)
print(*(each.name for each in threading.enumerate()), flush=True)
os._exit(0)
"""


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
    assert debug == [[task], [task, json_], [task, json_, isolation], [json_, isolation], []]
    # Once somebody has set their level, those that were quiet speak.
    (dump,) = [line for line in parts["kafka"] if line.message.startswith("JsonConverterConfig values:")]
    assert dump.logger == "org.apache.kafka.common.config.AbstractConfig"
    assert [line.message for line in parts["kafka"] if line.logger == "listed"] == [""]


def test_a_flood_is_counted_and_leaves_room_for_others(parts: Parts) -> None:
    lines = parts["flood"]
    missing = [line for line in lines if line.logger == "kconnect.jvm.logs"]
    assert missing, "so many lines can't all have been written"
    assert {(line.level, line.unit) for line in missing} == {("warning", ("loud", 0))}
    loud = [line.message for line in lines if line.logger == "org.example.Talker" and line.unit == ("loud", 0)]
    assert len(loud) + sum(int(line.message.split()[0]) for line in missing) == 200_000
    for name in ("one", "two"):
        numbers = [int(message.split()[1]) for message in loud if message.startswith(name)]
        assert numbers == sorted(set(numbers)) != []
    assert [line.message for line in lines if line.unit == ("calm", 0)] == [f"calm {at}" for at in range(200)]
    assert [line.message for line in lines if line.unit == (None, None)] == ["behind"]


def test_lines_that_are_not_wanted_cost_nothing(parts: Parts) -> None:
    """Ten million: to ask Python each time takes more than half a minute, and even to make the texts takes seconds."""
    (took,) = parts["unwanted"]
    assert float(took.message) < 20


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
