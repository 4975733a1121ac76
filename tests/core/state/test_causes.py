"""The first cause of a trace, of both languages."""

from __future__ import annotations

import traceback

import pytest

from kconnect.core.state import causes
from kconnect.core.state.causes import Cause

# As Kafka Connect 4.3.1 writes it, with most frames left out.
JAVA = """\
org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler
\tat org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator.execAndHandleError(RetryWithToleranceOperator.java:260)
\tat java.base/java.lang.Thread.run(Thread.java:840)
\tSuppressed: java.lang.IllegalStateException: closing
\t\tat a.B.c(B.java:1)
\tCaused by: java.io.IOException: of the suppressed one
\t\t... 2 more
Caused by: org.apache.kafka.connect.errors.DataException: Converting failed,
in two lines
\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:334)
\t... 13 more
Caused by: com.fasterxml.jackson.core.JsonParseException: Unrecognized token 'x'
 at [Source: REDACTED; line: 1, column: 2]
\tat com.fasterxml.jackson.core.JsonParser._constructError(JsonParser.java:2584)
\t... 17 more
"""


def test_the_last_cause_of_a_java_trace() -> None:
    assert causes.of(JAVA) == Cause(
        "JsonParseException: Unrecognized token 'x' at [Source: REDACTED; line: 1, column: 2]",
        "ConnectException: Tolerance exceeded in error handler",
    )
    assert causes.of("java.lang.NullPointerException\n\tat a.B.c(B.java:1)\n") == Cause("NullPointerException")


def test_a_java_message_of_several_lines_is_one_line() -> None:
    without = JAVA.partition("Caused by: com.")[0]
    found = causes.of(without)
    assert found is not None and found.first == "DataException: Converting failed, in two lines"


def trace_of(raises: object) -> str:
    assert callable(raises)
    try:
        raises()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return "".join(traceback.format_exception(error))
    raise AssertionError("nothing was raised")


EMPTY: dict[str, str] = {}


def chained() -> None:
    try:
        try:
            EMPTY["key"]
        except KeyError as error:
            raise ValueError("two\n\nlines") from error
    except ValueError:
        raise OSError(2, "gone")  # noqa: B904 - the other sentence between tracebacks


def hidden() -> None:
    try:
        EMPTY["key"]
    except KeyError:
        raise ValueError("the only one") from None


def test_the_beginning_of_a_python_chain() -> None:
    assert causes.of(trace_of(chained)) == Cause("KeyError: 'key'", "FileNotFoundError: [Errno 2] gone")
    assert causes.of(trace_of(hidden)) == Cause("ValueError: the only one")


def test_kconnects_own_words_before_a_trace_do_not_hide_it() -> None:
    assert causes.of("ConnectError: it failed at lines-0@0\n" + trace_of(hidden)) == Cause("ValueError: the only one")


def test_the_plugins_file_and_line_stay_with_the_first_cause() -> None:
    found = causes.of("ConnectError: it failed at lines-0@0 (orders/sink.py:41)\n" + trace_of(hidden))
    assert found == Cause("ValueError: the only one (orders/sink.py:41)")
    lone = causes.of("ValueError: the only one (orders/sink.py:41)\n" + trace_of(hidden))
    assert lone == Cause("ValueError: the only one (orders/sink.py:41)")


def test_of_a_group_the_first_that_it_holds() -> None:
    text = """\
  + Exception Group Traceback (most recent call last):
  |   File "x.py", line 1, in <module>
  | ExceptionGroup: many (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "x.py", line 2, in a
    | ValueError: a
    +---------------- 2 ----------------
    | TypeError: b
    +------------------------------------
"""
    assert causes.of(text) == Cause("ValueError: a", "ExceptionGroup: many (2 sub-exceptions)")


@pytest.mark.parametrize("trace", [None, "", " \n "])
def test_without_a_trace_there_is_none(trace: str | None) -> None:
    assert causes.of(trace) is None


def test_words_without_frames_are_their_first_line() -> None:
    assert causes.of("The host's process crashed (SIGSEGV)\nsome stack\n") == Cause("The host's process crashed (SIGSEGV)")


def test_long_texts_are_cut() -> None:
    found = causes.of("java.lang.X: " + "long " * 400 + "\n\tat a.B.c(B.java:1)")
    assert found is not None and len(found.first) == 400 and found.first.endswith("…")
