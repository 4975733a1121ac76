"""The worker's log, as it is written."""

from __future__ import annotations

import io
import json
import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from kconnect.core.state.records import LoggerLevel
from kconnect.errors import ConnectError
from kconnect.processes import logs, traces
from kconnect.processes.covered import Covered
from kconnect.processes.levels import PythonLoggers


@pytest.fixture(autouse=True)
def logging_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    chatty = {name: logging.getLogger(name).level for name in logs._CHATTY}
    monkeypatch.setattr(logs, "_secrets", set())
    monkeypatch.setattr(logs, "_covered", Covered())
    yield
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in chatty.items():
        logging.getLogger(name).setLevel(before)
    logging.captureWarnings(False)
    structlog.reset_defaults()


def lines(format: str, write: Callable[[], Any], level: str = "INFO") -> list[str]:
    stream = io.StringIO()
    logs.configure(format, level, stream)
    write()
    return stream.getvalue().splitlines()


log = logging.getLogger("kconnect.demo")


def test_text_for_people() -> None:
    (line,) = lines("text", lambda: log.warning("It is %s", "late"))
    assert line[4] == line[7] == "-"
    assert line.endswith(" WARNING kconnect.demo It is late")


@pytest.mark.parametrize("format", ["text", "json"])
def test_what_a_terminal_would_obey_is_shown_instead(format: str) -> None:
    said = "\x1b[31mred\x1b[0m \x9b2J \u202eback\tthere\rover é\x7f"

    def write() -> None:
        try:
            raise ValueError(said)
        except ValueError:
            log.exception("It failed: %s", said)

    written = "\n".join(lines(format, write))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", written)
    assert written.count("\\u001b[31mred\\u001b[0m \\u009b2J \\u202eback") == 2
    if format == "json":
        assert json.loads(written)["message"] == f"It failed: {said}"


JAVA = """java.lang.IllegalStateException: no
\tat a.B.start(B.java:7)
Caused by: java.net.ConnectException: refused
\tat a.B.open(B.java:9)"""


@pytest.mark.parametrize("format", ["text", "json"])
@pytest.mark.parametrize("wrapped", [False, True], ids=["thrown", "a cause"])
def test_what_java_threw_is_logged_with_java_s_trace_and_causes_as_a_status_has_it(format: str, wrapped: bool) -> None:
    thrown = ConnectError("no")
    thrown.java_trace = JAVA  # type: ignore[attr-defined]
    error = ConnectError("the transform cast failed") if wrapped else thrown
    error.__cause__ = thrown if wrapped else None

    def write() -> None:
        try:
            raise error
        except ConnectError as raised:
            log.error("Failed: %s", raised, exc_info=raised)

    def write_implicitly() -> None:
        try:
            raise error
        except ConnectError:
            log.exception("Failed")

    for case in (write, write_implicitly):
        written = lines(format, case)
        trace = json.loads(written[0])["exception"] if format == "json" else "\n".join(written[1:])
        assert trace == traces.frames(error) == ("Caused by: " if wrapped else "") + JAVA


def test_a_json_object_a_line() -> None:
    def write() -> None:
        try:
            raise ValueError("bad")
        except ValueError:
            log.exception("It failed\nbadly")

    (line,) = lines("json", write)
    written = json.loads(line)
    assert (written["message"], written["level"], written["logger"]) == ("It failed\nbadly", "error", "kconnect.demo")
    assert written["timestamp"].endswith("Z")
    assert "ValueError: bad" in written["exception"]


def test_lines_carry_connector_and_task_of_their_thread() -> None:
    def unit() -> None:
        logs.bind("orders", 3)
        log.info("polls")
        logs.bind("orders")
        log.info("starts")
        structlog.contextvars.clear_contextvars()
        log.info("nobody's")

    def write() -> None:
        thread = threading.Thread(target=unit)
        thread.start()
        thread.join()
        log.info("the worker's")

    task, connector, nobody, worker = lines("text", write)
    assert "kconnect.demo [orders|task-3] polls" in task
    assert "kconnect.demo [orders] starts" in connector
    assert nobody.endswith("kconnect.demo nobody's")
    assert worker.endswith("kconnect.demo the worker's")
    written = json.loads(lines("json", write)[0])
    assert (written["connector"], written["task"]) == ("orders", 3)


def test_libraries_warnings_and_structlog_look_alike() -> None:
    def write() -> None:
        logging.getLogger("uvicorn.error").info("not of interest")
        logging.getLogger("uvicorn.error").warning("of interest")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("pyspark warns", stacklevel=1)
        structlog.get_logger("a.plugin").info("seen", rows=3)

    uvicorn, warning, *_, plugin = lines("text", write)
    assert uvicorn.endswith("WARNING uvicorn.error of interest")
    assert "py.warnings" in warning
    assert "pyspark warns" in warning
    assert plugin.endswith("INFO    a.plugin seen rows=3")


def test_levels_by_logger() -> None:
    def write() -> None:
        log.debug("not shown")
        log.setLevel(5)
        log.log(5, "shown")
        log.setLevel(logging.NOTSET)

    (line,) = lines("text", write)
    assert line.endswith("TRACE   kconnect.demo shown")


def test_what_a_record_says_is_no_line_of_the_log() -> None:
    """Who may write a record has an error quote it, with a line that looks as if the worker had said it."""
    forged = "2026-11-26 18:00:00.000 ERROR   kconnect.worker Disk full"

    def write() -> None:
        try:
            raise ValueError(f"bad: x\n{forged}")
        except ValueError:
            log.exception("bad: x\n%s", forged.replace(" ", "T", 1))

    found = lines("text", write)
    assert len(found) > 3
    assert [line for line in found if line.startswith("20")] == found[:1]
    assert f"  {forged}" in found


@pytest.mark.parametrize("format", ["text", "json"])
def test_secrets_are_blotted_out_wherever_they_are(format: str) -> None:
    canary, quoted = "canary-5f1d", "pass\"word\\9's"

    def write() -> None:
        logs.hide_secrets({"db.password": canary, "name": "orders", "ssl.key.password": "no", "sasl.jaas.config": quoted})
        log.info("login with %s", canary)
        log.info("login with %s", {"deep": [quoted]})
        structlog.get_logger("x").info("y", value={"a": canary})
        try:
            raise ValueError(f"refused: {canary} {quoted}")
        except ValueError:
            log.exception("orders failed, no?")

    text = "\n".join(lines(format, write))
    assert canary not in text
    assert "pass" not in text
    assert "word" not in text
    assert "[hidden]" in text
    assert "orders failed, no?" in text


def test_one_secret_may_be_part_of_another() -> None:
    def write() -> None:
        logs.hide_secrets({"password": "abcd", "other.password": "abcdefgh"})
        log.info("it is abcdefgh!")

    assert lines("text", write)[0].endswith("it is [hidden]!")


def test_a_level_for_the_whole_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("org.example.whole")
    monkeypatch.setattr(logger, "level", logging.NOTSET)

    def change() -> None:
        for level in ("debug", "loud"):
            logs.set_level(PythonLoggers(), LoggerLevel("org.example.whole", level))

    said = lines("text", change)
    assert logger.level == logging.DEBUG
    assert "INFO" in said[0]
    assert "The cluster's log level of org.example.whole is now DEBUG" in said[0]
    assert "Ignoring the log level 'loud'" in said[1]


def test_a_level_of_kafkas_own_java_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Java plugins run, their loggers follow Python's of the same names; who asks for levels sees ours only."""
    name, loggers = "org.apache.kafka.raft", PythonLoggers()
    logger = logging.getLogger(name)
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    said = lines("text", lambda: logs.set_level(loggers, LoggerLevel(name, "DEBUG")))
    assert logger.level == logging.DEBUG
    assert f"The cluster's log level of '{name}' has an effect on Java plugins only" in said[0]
    assert name not in loggers.levels()


def test_a_header_that_quotes_a_secret_shows_its_reference() -> None:
    logs.cover({"s3cret-1": "${file:/f:k}"})
    logs.cover({"other-one": "${file:/f:l}"})
    # The base64 of `user:s3cret-1`.
    assert logs.hide("Authorization: Basic dXNlcjpzM2NyZXQtMQ==") == "Authorization: Basic dXNlcj${file:/f:k}=="
