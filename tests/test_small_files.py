"""What a config names as a certificate or a key, and is no small file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kconnect import small_files
from kconnect.connectors.backfill.mariadb import history_client, sessions
from kconnect.connectors.backfill.mariadb import settings as mariadb
from kconnect.connectors.http import service
from kconnect.connectors.http import settings as http
from kconnect.errors import ConfigError, ConnectError


def test_a_file_is_read_whatever_leads_to_it(tmp_path: Path) -> None:
    file, link = tmp_path / "a.pem", tmp_path / "link"
    file.write_bytes(b"x" * 3_000_000)
    link.symlink_to(file)
    assert small_files.read(str(link)) == file.read_bytes()
    assert small_files.read(str(tmp_path), folders=True) == b""


@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "/dev/null", "/dev/tty", "folder", "large"])
def test_what_is_none_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "it"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(small_files.MOST_BYTES + 1)
    else:
        path = Path(kind)
    with pytest.raises(OSError):
        small_files.read(str(path))


def test_a_setting_is_named_and_what_is_not_there_is_the_client_s_to_say(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for name in small_files.OF_CLIENTS:
        with pytest.raises(
            ConfigError, match=rf"configuration reporter\.{name}: The file can't be read: It is no file, but a pipe"
        ):
            small_files.require({name: str(fifo)}, "reporter.")
    small_files.require({"ssl.ca.location": str(tmp_path / "missing"), "https.ca.location": "probe"})
    small_files.require({"ssl.ca.location": str(tmp_path), "ssl.ca.pem": "x"})
    with pytest.raises(ConfigError, match="no path"):
        small_files.require({"ssl.ca.location": "a\0b"})


_CODE = """
import sys
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError, ConnectError
from kconnect.kafka import clients
from tests.kafka.test_clients import WORKER
name, path = sys.argv[1:]
more = {"ssl.truststore.type": "PEM"} if name == "ssl.truststore.location" else {}
given = {"security.protocol": "SSL", name: path, **more}
try:
    clients.admin(WorkerSettings.from_properties(WORKER, {}), "c", {f"admin.override.{n}": v for n, v in given.items()})
except ConfigError as error:
    print(error)
"""


@pytest.mark.process
@pytest.mark.parametrize("name", ["ssl.ca.location", "ssl.crl.location", "ssl.truststore.location"])
def test_no_client_waits_for_a_pipe_with_all_of_its_process(name: str, tmp_path: Path) -> None:
    """A FIFO as a certificate stopped the whole worker for good: librdkafka opens it while all other threads wait."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = subprocess.run(
        [sys.executable, "-c", _CODE, name, str(fifo)], capture_output=True, text=True, timeout=60, check=True, cwd=Path.cwd()
    )
    assert name in done.stdout
    assert "It is no file, but a pipe" in done.stdout


def test_no_connector_waits_for_a_pipe_as_its_certificate(tmp_path: Path) -> None:
    """As soon as it waits, its thread is the pipe's: nobody can stop the task."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reasons = []
    for make, config in (
        (service._tls, {http.CA: str(fifo), http.CERTIFICATE: "", http.KEY: ""}),
        (service._tls, {http.CA: "", http.CERTIFICATE: str(fifo), http.KEY: ""}),
        (lambda config: sessions._context("verify-ca", config["authority"]), {"authority": str(fifo)}),
        (
            lambda config: history_client.client_settings("h:1", config),
            {
                f"{mariadb.HISTORY_CLIENT}ssl.truststore.type": "PEM",
                f"{mariadb.HISTORY_CLIENT}ssl.truststore.location": str(fifo),
            },
        ),
    ):
        with pytest.raises(ConnectError) as refused:
            make(config)
        reasons.append(str(refused.value))
    assert all("It is no file, but a pipe" in reason for reason in reasons), reasons
