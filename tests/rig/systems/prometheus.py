"""
A Prometheus on this machine, for trying rules and dashboards: Debian's programs, with data that are thrown away.

Used by the tests of `docs/alerts.yml` and of the dashboard.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock
from kconnect.local.broker import free_port
from tests.rig.systems import debian
from tests.support import wait_until

NEEDED = ("prometheus", "promtool")


def find() -> Path | None:
    """Return the folder that has both programs."""
    program = shutil.which(NEEDED[0])
    folder = None if program is None else Path(program).parent
    return folder if folder is not None and (folder / NEEDED[1]).exists() else None


def find_or_install(install: bool = False) -> Path:
    """Return what `find` does. Raise ConnectError, which says what to install, if there are no programs."""
    if find() is None and install and debian.can_install():
        with lock.hold(jars.cache_dir() / "prometheus.lock"):
            if find() is None:
                debian.install("prometheus")
    folder = find()
    if folder is None:
        raise ConnectError("Prometheus was not found: install it, on Debian with `apt-get install prometheus`")
    return folder


class Prometheus:
    """A server from `start` to `stop`. It scrapes `targets` each second, as the job `kconnect`, and evaluates `rules`."""

    def __init__(self, programs: Path, directory: Path, targets: Sequence[str], rules: Path) -> None:
        self._program, self._directory = programs / "prometheus", directory
        self._address = f"127.0.0.1:{free_port()}"
        self._process: subprocess.Popen[bytes] | None = None
        self._config = directory / "prometheus.yml"
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "kconnect", "static_configs": [{"targets": list(targets)}]}],
        }
        directory.mkdir(parents=True, exist_ok=True)
        self._config.write_text(yaml.safe_dump(config), "utf-8")

    def start(self) -> Prometheus:
        command = [
            str(self._program),
            f"--config.file={self._config}",
            f"--storage.tsdb.path={self._directory / 'data'}",
            f"--web.listen-address={self._address}",
        ]
        log = self._directory / "prometheus.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        wait_until(self._answers, 60, f"Prometheus was not ready ({log})")
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series of an expression now. Raise OSError if Prometheus refuses it."""
        return self._get("query", query=expression)["data"]["result"]

    def _get(self, path: str, **parameters: str) -> dict[str, Any]:
        url = f"http://{self._address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "Prometheus has ended"
        try:
            with urllib.request.urlopen(f"http://{self._address}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False
