"""The access log's line, and that a request can't forge one."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Scope

from kconnect.errors import ConnectError
from kconnect.rest import access_log

from .conftest import Http


def scope(**other: Any) -> Scope:
    return {
        "type": "http",
        "method": "GET",
        "raw_path": b"/connectors",
        "query_string": b"",
        "http_version": "1.1",
        "client": ("10.0.0.7", 5000),
        "headers": [],
        **other,
    }


def test_line() -> None:
    request = scope(query_string=b"expand=info", headers=[(b"user-agent", b"curl/8"), (b"referer", b"http://x/")])
    assert access_log.line(request, 200, 31, 4, 1_700_000_000.9) == (
        '10.0.0.7 - - [14/Nov/2023:22:13:20 +0000] "GET /connectors?expand=info HTTP/1.1" 200 31 "http://x/" "curl/8" 4'
    )


def test_line_of_a_client_that_says_nothing() -> None:
    line = access_log.line(scope(client=None), 404, 0, 0, 0.0)
    assert line == '- - - [01/Jan/1970:00:00:00 +0000] "GET /connectors HTTP/1.1" 404 0 "-" "-" 0'


def test_ipv4_client_on_a_dual_stack_socket() -> None:
    assert access_log.line(scope(client=("::ffff:10.0.0.7", 1)), 200, 0, 0, 0.0).startswith("10.0.0.7 - - ")


def test_quotes_and_control_characters_are_escaped() -> None:
    request = scope(raw_path=b'/"x', headers=[(b"user-agent", b'a" 200\n\x1b\\')])
    line = access_log.line(request, 400, 0, 0, 0.0)
    assert r'"GET /\"x HTTP/1.1"' in line
    assert r'"a\" 200\x0a\x1b\\"' in line


def test_one_line_a_request_to_logger_and_file(http: Http, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "access.log"
    path.write_text("from before\n")
    caplog.set_level(logging.INFO, "kconnect.rest.access")
    with access_log.open_file(path) as file:
        logged = Http(access_log.AccessLog(http.app, file))
        size = len(logged("GET", "/connectors").content)
        logged("GET", "/nope")
        lines = path.read_text().splitlines()  # while the file is open: nothing is held back
    assert lines[0] == "from before"
    expected = rf'127\.0\.0\.1 - - \[.*\] "GET /connectors HTTP/1\.1" 200 {size} "-" "python-httpx/.*" \d+'
    assert re.fullmatch(expected, lines[1])
    assert ' "GET /nope HTTP/1.1" 404 ' in lines[2]
    assert [record.getMessage() for record in caplog.records if record.name == "kconnect.rest.access"] == lines[1:]


def test_full_disk_does_not_stop_requests(http: Http, caplog: pytest.LogCaptureFixture) -> None:
    with access_log.open_file("/dev/full") as file:
        logged = Http(access_log.AccessLog(http.app, file))
        assert [logged("GET", "/connectors").status_code for _ in range(2)] == [200, 200]
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1


def test_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"Cannot write the access log to '.*': No such file.*'access\.log\.file'"):
        access_log.open_file(tmp_path / "missing" / "access.log")
