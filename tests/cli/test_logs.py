"""`kconnect logs`: whose lines are whose, in the three forms that workers write."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from kconnect.cli import main as cli
from kconnect.cli.connectors import log_pages
from kconnect.cli.connectors.logs import moment
from kconnect.errors import TABLE, ForbiddenError, UnavailableError
from kconnect.local.broker import free_port
from kconnect.processes import line_forms
from kconnect.processes.log_lines import Wanted
from kconnect.rest.app import RestSettings
from tests.cli.calls import call, serving
from tests.rest.herder import MemoryHerder

# As workers wrote them, but shorter: kconnect, the same with log.format=json, Kafka Connect 4.3.1 with Kafka's own file.
KCONNECT = """\
2026-11-22 03:37:14.058 INFO    kconnect.host.main Host 1 of worker 127.0.0.1:18923 starts
2026-11-22 03:44:46.764 INFO    kconnect.connectors.file_source [orders|task-0] Reading /etc/services from position 0
2026-11-22 03:44:47.090 ERROR   kconnect.units.unit [orders|task-1] Failed: ConnectError: no
Traceback (most recent call last):
  File "x.py", line 1, in run
kconnect.errors.ConnectError: no
2026-11-22 03:44:47.095 WARNING kconnect.units.unit [orders] The connector is slow
2026-11-22 03:44:47.100 INFO    kconnect.units.unit [orders-eu|task-0] Started
2026-11-22 03:44:47.214 INFO    kconnect.audit user=- request="POST /connectors" connector="orders" status=201
"""
JSON = """\
{"timestamp": "2026-11-22T03:44:46.764000Z", "level": "info", "message": "Reading", "connector": "orders", "task": 0}
{"timestamp": "2026-11-22T03:44:47.090000Z", "level": "error", "message": "Failed", "connector": "orders", "task": 1}
{"timestamp": "2026-11-22T03:44:47.100000Z", "level": "info", "logger": "a", "message": "About orders"}
"""
CONNECT = """\
[2026-11-22 03:44:46,764] INFO Kafka version: 4.3.1 (org.apache.kafka.common.utils.AppInfoParser:124)
[2026-11-22 03:44:46,800] INFO [orders|worker] Creating connector orders of type x (org.apache.kafka.connect.runtime.Worker:312)
[2026-11-22 03:44:46,900] INFO [orders|task-0] Source task finished initialization (o.a.k.c.r.AbstractWorkerSourceTask:280)
[2026-11-22 03:44:46,950] INFO [orders|task-1|offsets] Committing offsets (org.apache.kafka.connect.runtime.X:133)
[2026-11-22 03:44:47,000] ERROR [orders|task-1] WorkerSourceTask{id=orders-1} Task threw (o.a.k.c.r.WorkerTask:212)
org.apache.kafka.connect.errors.ConnectException: no
\tat org.apache.kafka.connect.file.FileStreamSourceTask.poll(FileStreamSourceTask.java:90)
"""


@pytest.fixture(params=[KCONNECT, JSON, CONNECT], ids=["kconnect", "json", "connect"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "worker.log"
    path.write_text(request.param, "utf-8")
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[str], str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["logs", *map(str, arguments)])
    written = capsys.readouterr()
    return int(str(ended.value.code)), written.out.splitlines(), written.err


def test_a_connector_has_its_own_lines_and_those_of_its_tasks(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, _ = shown(capsys, "orders", "--file", log)
    whole = log.read_text("utf-8").splitlines()
    mine = [line for line in whole if "[orders|" in line or "[orders]" in line or '"connector": "orders"' in line]
    traces = [line for line in whole if not line.startswith(("2026", "[2026", "{"))]
    assert status == 0
    assert lines == [line for line in whole if line in mine + traces]
    assert len(mine) >= 2


def test_a_task_has_its_lines_with_their_traces(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, lines, _ = shown(capsys, "orders/1", "--file", log, "--level", "error")
    assert len(lines) == {"2": 4, "{": 1, "[": 3}[log.read_text()[0]]
    assert shown(capsys, "orders", "--task", "1", "--file", log, "--level", "ERROR")[1] == lines


def test_the_last_entries_with_their_traces(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    every = shown(capsys, "orders/1", "--file", log)[1]
    last = shown(capsys, "orders/1", "--file", log, "--tail", "1")[1]
    assert last == shown(capsys, "orders/1", "--file", log, "--level", "error")[1]
    assert shown(capsys, "orders/1", "--file", log, "--tail", "100")[1] == every
    assert shown(capsys, "orders/1", "--file", log, "--tail", "0")[1] == []


def test_mentions_are_whole_names_only(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without = shown(capsys, "orders", "--file", log)[1]
    more = [line for line in shown(capsys, "orders", "--file", log, "--mentions")[1] if line not in without]
    assert more == [line for line in log.read_text().splitlines() if 'connector="orders"' in line or "About orders" in line]
    assert not line_forms.mentions("orders-eu started", "orders")
    assert not line_forms.mentions("my.orders started", "orders")
    assert line_forms.mentions("Stopping orders-12.", "orders")
    assert line_forms.mentions("of orders.", "orders")


def test_since_and_level(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "orders", "--file", log, "--since", "2126-01-01")[1] == []
    assert shown(capsys, "orders", "--file", log, "--since", "2026-11-20")[1] == shown(capsys, "orders", "--file", log)[1]
    since = "2026-11-22T03:44:47Z" if log.read_text().startswith("{") else "2026-11-22T03:44:47"
    later = shown(capsys, "orders", "--file", log, "--since", since)[1]
    assert later[0] in shown(capsys, "orders/1", "--file", log, "--level", "error")[1]


def test_times_are_read() -> None:
    now = datetime.now().astimezone()
    assert abs(moment("10m") - (now - timedelta(minutes=10))) < timedelta(minutes=1)
    assert moment("2026-01-31T12:00:00Z").timestamp() == 1769860800
    for wrong in ("ten minutes", "10", "10w", "99999999999d", "0001-01-01T00:00+23:00"):
        with pytest.raises(click.UsageError, match="give 90s"):
            moment(wrong)


def test_nothing_found_says_why(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, lines, words = shown(capsys, "nobody", "--file", log)
    assert (status, lines) == (0, [])
    assert "No line has the context of nobody; the log has those of orders" in words
    bare = tmp_path / "bare.log"
    bare.write_text("03:44:46.764 [main] ERROR o.a.k.X - no\n")
    assert "%X{connector.context}" in shown(capsys, "orders", "--file", bare)[2]
    (tmp_path / "empty").touch()
    assert "The log is empty." in shown(capsys, "orders", "--file", tmp_path / "empty")[2]


def test_wrong_use(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "--task", "1", "--file", log)[0] == 2
    assert shown(capsys, "orders/1", "--task", "2", "--file", log)[0] == 2
    assert shown(capsys, "orders", "--file", tmp_path / "gone")[0] == 2
    assert shown(capsys, "orders/²", "--file", log)[0] == 0
    assert shown(capsys, "orders", "-f", "--file", log, "--file", log)[0] == 2


@pytest.mark.process
def test_a_pipe_is_read_as_it_comes() -> None:
    command = [sys.executable, "-m", "kconnect", "logs", "orders"]
    done = subprocess.run(command, input=KCONNECT, text=True, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 6


def test_a_pipe_may_have_bytes_of_any_encoding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = KCONNECT.splitlines(keepends=True)[1:3]
    written = first.encode() + b"caf\xe9\n" + second.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written), encoding="utf-8"))
    assert shown(capsys, "orders")[:2] == (0, [first.rstrip(), "caf\ufffd", second.rstrip()])


LISTENS = """
import http.server, sys, threading
class Older(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)
    def log_message(self, *_): pass
with http.server.HTTPServer(("127.0.0.1", 0), Older) as server:
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    server.shutdown()
"""


@pytest.mark.process
@pytest.mark.parametrize("to_a_file", [True, False])
def test_of_a_worker_that_keeps_no_lines_it_is_the_log_on_this_machine(to_a_file: bool, tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    path.write_text(KCONNECT, "utf-8")
    with (
        path.open("a") as errors,
        subprocess.Popen(
            [sys.executable, "-c", LISTENS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors if to_a_file else subprocess.PIPE,
            text=True,
        ) as worker,
    ):
        assert worker.stdin is not None and worker.stdout is not None
        url = f"http://localhost:{int(worker.stdout.readline())}"
        command = [sys.executable, "-m", "kconnect", "logs", "orders", "--url", url]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True, capture_output=True, check=False, timeout=120)
        worker.stdin.close()
    if to_a_file:
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 6)
    else:
        assert done.returncode == 2
        assert f"the worker's process {worker.pid} writes it to a terminal or a pipe. Give --file FILE" in done.stderr


def test_a_worker_of_another_machine_that_does_not_answer_is_the_reason() -> None:
    done = call("logs", "orders", "--url", "http://nowhere.invalid:8083", typed=True)
    assert done.status == TABLE[UnavailableError].exit and "http://nowhere.invalid:8083" in done.err


def test_a_worker_that_does_not_run_here_has_no_other_user() -> None:
    done = call("logs", "orders", "--url", f"http://localhost:{free_port()}", typed=True)
    assert done.status == 2 and "nothing listens there, so no worker runs. Give --file FILE" in done.err


class Keeper:
    """Lines that a worker keeps, as `log_lines.read` answers."""

    def __init__(self) -> None:
        self.lines = [
            {
                **{"timestamp": f"2026-11-22T03:44:{number:02}.000+00:00", "level": "INFO", "logger": "kconnect.x"},
                **{"worker": "node-1:8083", "process": "host-0", "connector": "orders", "task": 0, "text": f"number {number}"},
            }
            for number in range(5)
        ]
        self.asked: list[Wanted] = []
        self.comes: list[dict[str, Any] | Exception] = []

    def read(self, wanted: Wanted) -> dict[str, Any]:
        self.asked.append(wanted)
        start = wanted.after or 0
        if start >= len(self.lines):
            new = self.comes.pop() if self.comes else ForbiddenError("Your role has gone")
            if isinstance(new, Exception):
                raise new
            self.lines.append(new)
        end = min(start + 2, len(self.lines))
        return {"lines": self.lines[start:end], "next": end, "more": end < len(self.lines)}


def asked(keeper: Keeper, *arguments: str) -> tuple[list[str], str]:
    with serving(MemoryHerder(), RestSettings("http://worker-1:8083/", read_logs=keeper.read)) as url:
        done = call("logs", *arguments, "--url", url, typed=True)
    return done.out.splitlines(), done.err


def test_lines_that_workers_keep_come_from_all_machines() -> None:
    keeper = Keeper()
    keeper.lines[1]["text"] = "Failed\nTraceback"
    keeper.lines[2] |= {"connector": None, "task": None}
    lines, _ = asked(keeper, "orders/0", "--level", "warn", "--since", "10m", "--mentions")
    assert len(lines) == 6 and lines[2] == "Traceback"
    assert lines[0].endswith(" INFO  node-1:8083/host-0 kconnect.x [orders|task-0] number 0")
    assert lines[3].endswith(" INFO  node-1:8083/host-0 kconnect.x number 2")
    assert [wanted.after for wanted in keeper.asked] == [None, 2, 4]
    first = keeper.asked[0]
    assert (first.connector, first.task, first.level, first.mentions) == ("orders", 0, "WARN", True)
    assert first.since_ms is not None and abs(first.since_ms / 1000 + 600 - time.time()) < 60
    assert asked(Keeper(), "--tail", "2")[0] == asked(Keeper())[0][-2:]


def test_new_lines_are_shown_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_pages, "_PAUSE_S", 0.0)
    keeper = Keeper()
    keeper.comes = [{**keeper.lines[0], "text": "new"}]
    lines, said = asked(keeper, "orders", "-f", "--tail", "1")
    assert [line.rpartition("] ")[2] for line in lines] == ["number 4", "new"]
    assert "Your role has gone" in said


def test_a_worker_that_starts_anew_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever follows wants to see what happens in a restart; the place in the lines is the topic's, not the worker's."""
    monkeypatch.setattr(log_pages, "_PAUSE_S", 0.0)
    keeper = Keeper()
    news = [{**keeper.lines[0], "text": text} for text in ("new", "newer")]
    ends = UnavailableError("The worker ends")
    keeper.comes = [news[1], ends, ends, news[0]]
    lines, said = asked(keeper, "orders", "-f", "--tail", "1")
    assert [line.rpartition("] ")[2] for line in lines] == ["number 4", "new", "newer"]
    assert said.count("The worker ends Waiting for the worker") == 1
    keeper = Keeper()
    keeper.lines, keeper.comes = [], [ends]
    assert "Waiting" not in asked(keeper, "orders", "-f")[1], "nobody waits for one that was never there"


def test_no_line_that_is_kept_says_so() -> None:
    keeper = Keeper()
    keeper.lines = []
    keeper.read = lambda wanted: {"lines": [], "next": 0, "more": False}  # type: ignore[method-assign]
    lines, said = asked(keeper, "orders")
    assert lines == [] and "No line of orders that matches" in said and "--mentions" in said


@pytest.mark.process
def test_follows_a_file_that_is_rotated(tmp_path: Path) -> None:
    path, told = tmp_path / "worker.log", tmp_path / "told"
    line = "2026-11-22 03:44:46.764 INFO    kconnect.x [orders|task-0] number "
    path.write_text(line + "1\n" + line + "2\n", "utf-8")
    command = [sys.executable, "-u", "-m", "kconnect", "logs", "orders", "-f", "--tail", "1", "--file", str(path)]
    with told.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:

        def waits_for(*numbers: int) -> None:
            end = time.monotonic() + 120
            while told.read_text() != "".join(f"{line}{number}\n" for number in numbers):
                assert time.monotonic() < end, told.read_text()
                time.sleep(0.05)

        waits_for(2)
        with path.open("a") as log:
            log.write(line + "3\n")
        waits_for(2, 3)
        os.rename(path, tmp_path / "worker.log.1")
        path.write_text(line + "4\n", "utf-8")
        waits_for(2, 3, 4)
    finally:
        process.terminate()
        process.wait()
