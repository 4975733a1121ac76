"""
The unit of systemd: systemd-analyze takes it, and finds little that it lets a process do; its command runs with its settings,
moves records, and ends in its time.

There is no systemd here that would run it: `unit.py` says which of its settings a process can have without.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.java import properties
from kconnect.jvm import jars, lock
from kconnect.local.broker import Broker, free_port
from kconnect.rest.client import ConnectClient
from tests.docker import image, unit
from tests.rig.systems import debian
from tests.support import starts, wait_until

MOST_EXPOSURE = 20
"""In tenths, of `systemd-analyze security`; a service without any hardening has 96. Versions of systemd differ a little."""

TEXT = unit.UNIT.read_text("utf-8")
PAGE = image.ROOT / "docs" / "systemd.md"


@pytest.fixture(scope="module")
@starts("process")
def analyze() -> str:
    """The program. CI=true installs it, or fails; others who have none leave these tests out."""
    if os.environ.get("CI") == "true" and not shutil.which("systemd-analyze"):
        with lock.hold(jars.cache_dir() / "systemd.lock"):
            debian.install("systemd")
    program = shutil.which("systemd-analyze")
    if program is None and os.environ.get("CI") != "true":
        pytest.skip("systemd-analyze is not installed here: the unit of systemd was not tried")
    assert program is not None
    return program


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)


def here(folder: Path, text: str = TEXT) -> Path:
    """Return the unit with a program that this machine has: systemd-analyze looks for it."""
    path = folder / "kconnect.service"
    path.write_text(text.replace("/opt/kconnect/bin", str(Path(sys.prefix) / "bin")), "utf-8")
    return path


def test_systemd_takes_it(analyze: str, tmp_path: Path) -> None:
    done = run(analyze, "verify", here(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("wrong", ["ProtectSystemm=yes", "SystemCallFilter=@no-such-group", "TimeoutStopSec=soon"])
def test_what_systemd_does_not_take_is_found(analyze: str, tmp_path: Path, wrong: str) -> None:
    assert run(analyze, "verify", here(tmp_path, TEXT.replace("[Install]", f"{wrong}\n[Install]"))).stderr != ""


def security(analyze: str, path: Path) -> int:
    return run(analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSURE}", path).returncode


def test_it_lets_a_process_do_little(analyze: str, tmp_path: Path) -> None:
    assert security(analyze, here(tmp_path)) == 0
    hardening = TEXT.index("NoNewPrivileges=")
    assert security(analyze, here(tmp_path, TEXT[:hardening] + TEXT[TEXT.index("[Install]") :])) != 0


def test_the_page_says_where_everything_is() -> None:
    given, page = unit.settings(), PAGE.read_text("utf-8")
    program, _, worker_file = given["ExecStart"][0].split()
    kinds = {"State": "/var/lib", "Cache": "/var/cache", "Logs": "/var/log"}
    places = [f"{place}/{given[f'{kind}Directory'][0]}" for kind, place in kinds.items()]
    environment = given["EnvironmentFile"][0].removeprefix("-")
    for path in (program.removesuffix("/bin/kconnect"), worker_file, environment, *places):
        assert f"`{path}`" in page, path
    assert given["WorkingDirectory"] == [places[0]]
    assert f"--home-dir {places[0]}" in page and f"{given['User'][0]}\n" in page
    assert f"{MOST_EXPOSURE / 10:.1f}" in page
    # What the unit allows to be changed by the page's drop-ins is there to be changed.
    shown = set(re.findall(r"^(\w+)=", "\n".join(re.findall(r"^```ini\n(.*?)^```$", page, re.M | re.S)), re.MULTILINE))
    assert {"ReadWritePaths", "MemoryMax"} <= shown


def test_it_is_given_the_time_that_a_container_is_given_at_least() -> None:
    grace = re.search(r"stop_grace_period: (\d+)s\n\nx-connect-environment", (image.ROOT / "docker/compose.yml").read_text())
    assert grace and int(unit.settings()["TimeoutStopSec"][0]) >= int(grace[1])
    (most,) = re.findall(r"and (\d+) s if everything hangs", PAGE.read_text("utf-8"))
    assert int(grace[1]) > int(most), "a worker that takes all its time is killed at its end"


# --- the unit's command ---


@pytest.fixture
def service(analyze: str, broker: Broker, tmp_path: Path) -> Iterator[tuple[unit.Service, ConnectClient]]:
    if not image.can_mount():
        pytest.skip("No mount namespaces can be made here, which needs root: the unit's command was not run with its settings")
    url = f"http://127.0.0.1:{free_port()}"
    worker_file = properties.load((image.ROOT / "docker" / "worker.properties").read_text("utf-8"))
    topics = {name: f"systemd-{name.split('.')[0]}" for name in worker_file if name.endswith(".storage.topic")}
    replicas = {name.replace(".topic", ".replication.factor"): "1" for name in topics}
    text = {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}
    own = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "systemd", "listeners": url, **topics, **replicas}
    whole = {**worker_file, **own, **text, "value.converter": text["key.converter"]}
    started = unit.Service(tmp_path, "".join(f"{name}={value}\n" for name, value in whole.items()))
    try:
        with ConnectClient(url) as client:
            yield started, client
    finally:
        started.end()


@pytest.mark.long
@pytest.mark.integration
def test_its_command_runs_with_its_settings(service: tuple[unit.Service, ConnectClient]) -> None:
    process, client = service
    news: list[str] = []
    while not news or not news[-1].startswith("READY=1"):
        news.append(process.news())
    assert news[0].startswith("STATUS=") and len(news) > 1, "it says what it waits for"
    client.create("in", {"connector.class": "FileStreamSource", "file": "/etc/services", "topic": "systemd-lines"})
    sink = {"connector.class": "FileStreamSink", "topics": "systemd-lines"}
    client.create("out", {**sink, "file": "/var/lib/kconnect/out"})
    client.create("elsewhere", {**sink, "file": "/srv/out"})
    out = process.root / "var/lib/kconnect/out"
    lines = Path("/etc/services").read_bytes()
    wait_until(lambda: out.exists() and out.read_bytes() == lines, 240, f"no lines; {process.log}")
    client.wait_for("elsewhere", "FAILED", tasks=1)
    assert "Read-only file system" in client.status("elsewhere")["tasks"][0]["trace"]
    assert out.stat().st_mode & 0o777 == 0o640
    alive = process.left()
    assert {"java", "python"} <= {re.sub(r"[\d.]+$", "", each.name()) for each in alive}
    for each in alive:
        # Hosts, Spark and the sandbox too: no rights, no way to any, and few system calls.
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{each.pid}/status").read_text().splitlines())
        assert (status["CapEff"].strip("0"), status["CapBnd"].strip("0")) == ("", "")
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    process.process.send_signal(signal.SIGTERM)
    assert process.stop() == 0, "a second signal changes nothing"
    assert process.news(10) == "STOPPING=1"
    wait_until(lambda: not process.left(), 30, "processes are left")
    # Nothing that the system refused: the files that are read-only are the connector's.
    assert "Operation not permitted" not in process.log.read_text("utf-8", "replace")
