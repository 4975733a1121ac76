"""
OpenTelemetry's own collector, of which only what a test needs is built: it takes OTLP over HTTP, and sends it on in the same
way.

`scripts/setup --opentelemetry` runs this module: Go builds the collector, by the collector's builder and from the module proxy,
into kconnect's cache. With two cores that takes five minutes, once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock
from kconnect.local.broker import free_port
from tests.support import wait_until

_VERSION, _STABLE = "v0.165.0", "v1.71.0"
"""Of one release: of parts that are not declared stable, and of those that are."""
_MANIFEST = f"""
dist:
  name: otelcol
  output_path: {{folder}}
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver {_VERSION}
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter {_VERSION}
providers:
  # Its main program does not start without this one.
  - gomod: go.opentelemetry.io/collector/confmap/provider/envprovider {_STABLE}
  - gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider {_STABLE}
"""
_CONFIG = """
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{port}
exporters:
  otlphttp:
    endpoint: {target}
    encoding: proto
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces: &all {{receivers: [otlp], exporters: [otlphttp]}}
    metrics: *all
    logs: *all
"""
_BUILD_S, _UP_S = 1800.0, 60.0


def find() -> Path | None:
    built = _folder() / f"otelcol-{_VERSION}"
    return built if built.exists() else None


def find_or_build() -> Path:
    """Return the program, which is built if there is none. Raise ConnectError if that can't be done."""
    with lock.hold(jars.cache_dir() / "go.lock"):
        if (found := find()) is not None:
            return found
        if shutil.which("go") is None:
            raise ConnectError("OpenTelemetry's collector can't be built: install Go 1.26 or newer")
        with tempfile.TemporaryDirectory() as directory:
            manifest = Path(directory) / "builder.yaml"
            manifest.write_text(_MANIFEST.format(folder=Path(directory) / "out"))
            command = ["go", "run", f"go.opentelemetry.io/collector/cmd/builder@{_VERSION}", "--config", str(manifest)]
            environment = {**os.environ, "GOFLAGS": "-buildvcs=false"}
            done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=directory, timeout=_BUILD_S)
            if done.returncode != 0:
                raise ConnectError(
                    f"`{' '.join(command)}` failed: {(done.stderr.strip() or 'no reason given').splitlines()[-1]}"
                )
            _folder().mkdir(parents=True, exist_ok=True)
            built = _folder() / f"otelcol-{_VERSION}"
            shutil.move(Path(directory) / "out" / "otelcol", built.with_suffix(".new"))
            built.with_suffix(".new").rename(built)
    return built


class Collector:
    """A collector on a free port, which sends all on to `target`."""

    def __init__(self, program: Path, directory: Path, target: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.log = directory / "collector.log"
        self._program, self._config = program, directory / "collector.yaml"
        self._config.write_text(_CONFIG.format(port=port, target=target))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Collector:
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen([self._program, "--config", f"file:{self._config}"], stdout=log, stderr=log)
        try:
            wait_until(self._is_up, _UP_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)

    def _is_up(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise ConnectError(f"The collector has ended: {self.log.read_text()[-2000:]}")
        try:
            return httpx.post(f"{self.url}/v1/logs", json={}, timeout=5).status_code == 200
        except httpx.HTTPError:
            return False


def _folder() -> Path:
    return jars.cache_dir() / "go" / "bin"


if __name__ == "__main__":
    try:
        find_or_build()
    except ConnectError as error:
        sys.exit(str(error))
