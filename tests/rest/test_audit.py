"""The audit log: which requests are in it, and that what they hold can't forge a line."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from kconnect.errors import ConflictError, ConnectError
from kconnect.rest import audit
from kconnect.rest.app import RestSettings, build, build_admin

from .conftest import ADVERTISED, FILE_SOURCE, Http
from .herder import MemoryHerder

BODY = {"name": "x", "config": FILE_SOURCE}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def audited(herder: MemoryHerder, path: Path) -> Http:
    return Http(build(herder, RestSettings(ADVERTISED, audit_file=audit.open_file(str(path)))))


def lines(path: Path) -> list[str]:
    """Without their times."""
    return [line.partition(" ")[2] for line in path.read_text().splitlines()]


def scope(**other: Any) -> dict[str, Any]:
    return {
        "type": "http",
        "method": "PUT",
        "raw_path": b"/connectors/x/stop",
        "query_string": b"",
        "client": ("10.0.0.7", 5000),
        **other,
    }


def test_line() -> None:
    notes = {"user": "ann", "role": "operate", "connector": "x"}
    assert audit.line(scope(state={"kconnect": notes}), 204, 1_700_000_000.0625) == (
        '2023-11-14T22:13:20.062Z user=ann role=operate from=10.0.0.7 request="PUT /connectors/x/stop" connector="x" status=204'
    )


def test_line_of_somebody_unknown() -> None:
    assert audit.line(scope(client=None), 401, 0.0) == (
        '1970-01-01T00:00:00.000Z user=- role=- from=- request="PUT /connectors/x/stop" connector=- status=401'
    )


def test_what_may_change_something_is_written_down(audited: Http, path: Path) -> None:
    audited("POST", "/connectors", json=BODY)
    audited("PUT", "/connectors/x/pause")
    audited("POST", "/connectors/x/restart?includeTasks=true")
    audited("PUT", "/admin/loggers/some.logger", json={"level": "INFO"})
    audited("DELETE", "/connectors/x")
    audited("DELETE", "/connectors/x")
    audited("PUT", "/connectors/a%20b/stop/")
    start = "user=- role=- from=127.0.0.1"
    assert lines(path) == [
        f'{start} request="POST /connectors" connector="x" status=201',
        f'{start} request="PUT /connectors/x/pause" connector="x" status=202',
        f'{start} request="POST /connectors/x/restart?includeTasks=true" connector="x" status=202',
        f'{start} request="PUT /admin/loggers/some.logger" connector=- status=200',
        f'{start} request="DELETE /connectors/x" connector="x" status=204',
        f'{start} request="DELETE /connectors/x" connector="x" status=404',
        f'{start} request="PUT /connectors/a%20b/stop/" connector="a b" status=404',
    ]


def test_what_can_t_change_anything_is_not(audited: Http, path: Path) -> None:
    for method in ("GET", "HEAD", "OPTIONS"):
        for where in ("/", "/connectors", "/connectors/x", "/connectors/x/restart", "/health", "/nope"):
            audited(method, where)
    audited("PUT", "/connector-plugins/FileStreamSource/config/validate", json=FILE_SOURCE)
    audited("PUT", "/connectors")
    audited("DELETE", "/nope")
    assert lines(path) == []
    audited("PUT", "/connectors/x/pause")
    assert len(lines(path)) == 1, "the control"


def test_looks_at_lines_of_logs_are_written_down(herder: MemoryHerder, path: Path) -> None:
    """They may quote records. Who follows asks all the time: an answer without lines shows nothing."""
    answers = [{"lines": [{}], "next": 1, "more": False}, {"lines": [], "next": 1, "more": False}]
    api = Http(
        build(
            herder,
            RestSettings(ADVERTISED, audit_file=audit.open_file(str(path)), read_logs=lambda wanted: answers.pop(0)),
        )
    )
    assert api("GET", "/kconnect/logs?connector=x").status_code == 200
    assert api("GET", "/kconnect/logs?connector=x&after=1").status_code == 200
    assert api("GET", "/kconnect/logs?task=0").status_code == 400
    assert not answers
    seen = [line.partition("request=")[2] for line in lines(path)]
    assert seen == [
        '"GET /kconnect/logs?connector=x" connector="x" status=200',
        '"GET /kconnect/logs?task=0" connector=- status=400',
    ]


def test_what_fails_is_written_down_with_its_status(audited: Http, herder: MemoryHerder, path: Path) -> None:
    herder.fail_next = ConflictError("not now")
    audited("PUT", "/connectors/x/pause")
    herder.fail_next = RuntimeError("broken")
    audited("PUT", "/connectors/x/pause")
    audited("POST", "/connectors", content=b"{", headers={"Content-Type": "application/json"})
    audited("POST", "/connectors", content=b"{}", headers={"Content-Type": "text/plain"})
    audited("PUT", "/connectors/x/pause", headers={"Accept": "text/html"})
    assert [line.rpartition(" ")[2] for line in lines(path)] == [f"status={status}" for status in (409, 500, 400, 415, 406)]


def test_a_request_can_t_forge_a_line(audited: Http, path: Path) -> None:
    forged = 'x"\n2026-01-01T00:00:00.000Z user=ann status=204\r\u2028\x1b[2J\x7f'
    audited("POST", "/connectors", json={"name": forged, "config": FILE_SOURCE})
    audited("PUT", "/connectors/x%22%0a%0d%1b%e2%80%a8/pause?a=%22%0aforward=true")
    text = path.read_text()
    assert text.count("\n") == len(text.splitlines()) == 2
    assert text.isascii()
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    first, second = lines(path)
    assert r'connector="x\"\n2026' in first
    assert "forwarded=true" not in second


def test_a_long_name_does_not_make_a_long_line(audited: Http, path: Path) -> None:
    audited("PUT", f"/connectors/{'a' * 20_000}/pause")
    [line] = lines(path)
    assert len(line) < 2500
    assert 'aaa/pause" connector="aaa' in line and 'aaa..." status=404' in line


def test_a_long_name_hides_nothing_of_what_was_done(audited: Http, path: Path) -> None:
    """Each of its signs takes 12 in a path: what is cut off at the end would be what was done to it."""
    name = "%F0%9F%94%A5" * 300
    audited("PUT", f"/connectors/{name}/stop?a={'a' * 20_000}")
    [line] = lines(path)
    assert "/stop?a=aaa" in line and 'aaa..."' in line
    assert len(line) < 6000


def test_bodies_are_not_written_down(audited: Http, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kconnect")
    audited("POST", "/connectors", json={"name": "x", "config": {**FILE_SOURCE, "password": "canary-31c8"}})
    audited("PATCH", "/connectors/x/config", json={"password": "canary-31c8"})
    assert len(lines(path)) == 2
    assert "canary-31c8" not in path.read_text() + caplog.text


def test_lines_go_to_the_logger_too(http: Http, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kconnect.audit")
    http("PUT", "/connectors/100%25/pause")
    [record] = [record for record in caplog.records if record.name == "kconnect.audit"]
    assert record.getMessage().endswith('request="PUT /connectors/100%25/pause" connector="100%" status=404')


def test_whoever_turns_the_logger_off_leaves_a_line(herder: MemoryHerder, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kconnect.audit")
    admin = Http(build_admin(herder, RestSettings(ADVERTISED)))
    for _ in range(2):
        assert admin("PUT", "/admin/loggers/kconnect.audit", json={"level": "ERROR"}).status_code == 200
    found = [record.getMessage() for record in caplog.records if record.name == "kconnect.audit"]
    assert len(found) == 1
    assert 'request="PUT /admin/loggers/kconnect.audit"' in found[0]


def test_a_full_disk_does_not_stop_requests(herder: MemoryHerder, caplog: pytest.LogCaptureFixture) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, audit_file=audit.open_file("/dev/full"))))
    assert [http("PUT", "/connectors/x/pause").status_code for _ in range(2)] == [404, 404]
    [error] = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert error.startswith("Can't write to the audit log file")


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"Cannot write the audit log to '.*': No such file.*'audit\.log\.file'"):
        audit.open_file(str(tmp_path / "missing" / "audit.log"))
