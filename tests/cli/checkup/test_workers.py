"""What `kconnect doctor` says of workers, of answers as they are given over HTTP."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import click
import pytest

from kconnect.cli.checkup import workers
from kconnect.cli.connection import Target
from kconnect.cli.findings import ERROR, OK, SKIPPED, WARNING, Finding

Answers = Callable[[str], tuple[int, Any]]


@contextmanager
def worker(answers: Answers, ahead_s: float = 0.0, dated: bool = True, host: str = "127.0.0.1") -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answers(self.path.partition("?")[0])
            content = json.dumps(body).encode()
            self.send_response_only(status)
            if dated:
                self.send_header("Date", formatdate(time.time() + ahead_s, usegmt=True))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer((host, 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def answers(
    version: str = "1.0",
    kafka: str = "abc",
    urls: Callable[[], list[str | None]] | None = None,
    health: str = "healthy",
    statuses: dict[str, Any] | None = None,
    stuck: int = 0,
    commit: str = "x",
) -> Answers:
    def answer(path: str) -> tuple[int, Any]:
        if path == "/":
            return 200, {"version": version, "commit": commit, "kafka_cluster_id": kafka}
        if path == "/health":
            return (200 if health == "healthy" else 503), {"status": health, "message": "because"}
        if path == "/connectors":
            return 200, statuses or {}
        if path == "/cluster" and urls is not None:
            known = [{"worker_id": f"w{n}", "url": url, "hosts": [{"stuck": stuck}]} for n, url in enumerate(urls())]
            return 200, {"leader": "w0", "workers": known}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    return answer


def of(found: list[Finding], check: str) -> list[Finding]:
    return [each for each in found if each.check == check]


def test_a_worker_that_is_well() -> None:
    urls: list[str | None] = []
    with worker(answers(urls=lambda: urls)) as url:
        urls.append(f"{url}/")
        found = list(workers.check(Target(url), True))
    assert {each.severity for each in found} == {OK}
    assert [each.message for each in found] == ["Healthy, version 1.0", "1 worker, led by w0"]


def test_a_password_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KCONNECT_PASSWORD", raising=False)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    prompts: list[str] = []

    def prompt(text: str, **options: Any) -> str:
        prompts.append(text)
        return "secret"

    monkeypatch.setattr(click, "prompt", prompt)
    urls: list[str | None] = []
    with worker(answers(urls=lambda: urls)) as one, worker(answers()) as other:
        urls += [one, other]
        target = Target(one, "ann")
        target.log_in()
        assert prompts == ["Password of ann"]
        found = list(workers.check(target, True))
    assert {each.location for each in of(found, "worker")} == {f"Worker {one}", f"Worker {other}"}
    assert len(prompts) == 1


def test_a_worker_that_must_not_be_told_who_asks_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def asks(path: str) -> tuple[int, Any]:
        return 401, {"error_code": 401, "message": "Who are you?"}

    monkeypatch.setenv("KCONNECT_TOKEN", "t")
    urls: list[str | None] = []
    with worker(answers(urls=lambda: urls)) as one, worker(asks, host="127.0.0.2") as other:
        urls += [one, other]
        found = of(list(workers.check(Target(one), True)), "worker")
    assert [each.severity for each in found] == [OK, SKIPPED]
    assert f"Give that worker an https listener, or use it directly with --url {other}" in found[1].message


def test_no_worker() -> None:
    (named,) = workers.check(Target("http://127.0.0.1:1"), True)
    assert named.severity == ERROR and "No worker answers" in named.message
    (unnamed,) = workers.check(Target("http://127.0.0.1:1"), False)
    assert unnamed.severity == SKIPPED and "--url" in unnamed.remedy


def test_a_worker_of_kafka_connect() -> None:
    with worker(answers(version="4.3.1")) as url:
        found = list(workers.check(Target(url), True))
    assert {each.severity for each in found} == {OK}
    assert "has no /cluster; the other workers are not known" in found[0].message


def test_workers_of_two_versions_that_keep_one_connect_s_api() -> None:
    urls: list[str | None] = []
    ours = [answers("4.3.1", urls=lambda: urls, commit=f"kconnect-{version}") for version in ("0.1.0-c0ffee", "0.2.0")]
    with worker(ours[0]) as one, worker(ours[1]) as other:
        urls += [one, other]
        found = list(workers.check(Target(one), True))
    assert of(found, "worker")[0].message == "Healthy, version 4.3.1 (kconnect-0.1.0-c0ffee)"
    assert [each.severity for each in of(found, "versions")] == [WARNING]


def test_workers_that_differ() -> None:
    urls: list[str | None] = []
    with worker(answers(urls=lambda: urls)) as one, worker(answers("1.1", "xyz", health="unhealthy"), ahead_s=90) as other:
        urls += [one, other, "http://127.0.0.1:1", None]
        found = list(workers.check(Target(one), True))
    versions = of(found, "versions")
    assert [each.severity for each in versions] == [WARNING, ERROR]
    assert "1.0, 1.1" in versions[0].message and "abc, xyz" in versions[1].message
    ahead, apart = of(found, "clock")
    assert (ahead.severity, ahead.location) == (WARNING, f"Worker {other}") and "ahead of this machine's" in ahead.message
    assert apart.severity == ERROR and f"The clock of {other} is " in apart.message and f"that of {one}" in apart.message
    unwell = [each for each in of(found, "worker") if each.severity == ERROR]
    assert [each.message for each in unwell][:1] == ["It is unhealthy: because"]
    assert "No worker answers at http://127.0.0.1:1" in unwell[1].message


def test_clocks_that_differ_by_less_than_signatures_allow() -> None:
    urls: list[str | None] = []
    with worker(answers(urls=lambda: urls)) as one, worker(answers(), ahead_s=-20) as other:
        urls += [one, other]
        found = of(list(workers.check(Target(one), True)), "clock")
    assert [each.severity for each in found] == [WARNING, WARNING]
    assert "behind this machine's" in found[0].message


def test_a_worker_without_a_clock() -> None:
    with worker(answers(), dated=False) as url:
        (found,) = of(list(workers.check(Target(url), True)), "clock")
    assert found.severity == SKIPPED


def test_what_has_failed_and_what_is_stuck() -> None:
    def status(state: str) -> dict[str, Any]:
        return {"status": {"connector": {"state": "RUNNING"}, "tasks": [{"state": state}]}}

    urls: list[str | None] = []
    statuses = {"good": status("RUNNING"), "bad": status("FAILED")}
    with worker(answers(urls=lambda: urls, statuses=statuses, stuck=2)) as url:
        urls.append(url)
        found = list(workers.check(Target(url), True))
    (failed,) = of(found, "connectors")
    assert (failed.severity, failed.remedy) == (WARNING, "kconnect describe connector bad")
    assert "1 connector of 2 failed" in failed.message
    assert any("has 2 that do not stop" in each.message for each in of(found, "cluster"))
