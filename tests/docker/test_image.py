"""
The image as buildah builds it from the Dockerfile, and a worker in a container of it. As root on Debian, and by night: it takes
ten minutes. `test_docker.py` has what can be said of the Dockerfile without an engine.

No registry is to be had where the tests run, so what stands in for `python:3.11-slim-bookworm` is Debian 12 with its own Python
3.11, made by debootstrap. Containers run without namespaces of their own: as chroots, on this machine's network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from kconnect.errors import ConnectError
from kconnect.local.broker import Broker, free_port
from kconnect.rest.client import ConnectClient
from tests.docker import image
from tests.integration.transfer import read_topic
from tests.rig.systems import debian
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(3600)]

PROGRAMS = ("buildah", "debootstrap")
COMMIT = "0123456789ab"
MIRROR = "http://deb.debian.org/debian"
PYTHON = "python3,python3-pip,python3-venv,ca-certificates"
SHARED_BY = {"BUILDAH_ISOLATION": "chroot", "STORAGE_DRIVER": "vfs"}
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


class Buildah:
    """Images and containers of a folder of their own."""

    def __init__(self, directory: Path) -> None:
        self._words = ["buildah", "--root", str(directory / "store"), "--runroot", str(directory / "run")]
        self._environment = {**os.environ, **SHARED_BY}

    def __call__(self, *words: str) -> str:
        done = subprocess.run([*self._words, *words], env=self._environment, capture_output=True, text=True, timeout=3000)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    def start(self, log: Path, *words: str) -> subprocess.Popen[bytes]:
        with open(log, "wb") as output:
            return subprocess.Popen([*self._words, *words], env=self._environment, stdout=output, stderr=output)


def base(root: Path) -> None:
    """Make what the Dockerfile begins with, but for its registry."""
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PYTHON}", "bookworm", str(root), MIRROR],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-1000:]
    for name in ("python", "pip"):
        if not (root / "usr/bin" / name).exists():
            (root / "usr/bin" / name).symlink_to(f"{name}3")
    # Debian keeps pip out of its own folders; the image that stands for it has a Python of its own.
    for mark in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        mark.unlink()
    # This machine may reach the package index by a proxy with a certificate of its own.
    shutil.copy(f"/{CERTIFICATES}", root / CERTIFICATES)


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    if any(shutil.which(program) is None for program in PROGRAMS):
        if not debian.can_install():
            pytest.skip("buildah or debootstrap are not here, and this user may not install them: the image was not built")
        debian.install(*PROGRAMS)
    if os.geteuid() != 0:
        pytest.skip("only root makes a root folder of Debian: the image was not built")
    directory = tmp_path_factory.mktemp("buildah")
    try:
        made = Buildah(directory)
        root = directory / "debian"
        base(root)
        file = directory / "Dockerfile"
        file.write_text(
            'FROM scratch\nCOPY debian/ /\nENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nCMD ["python3"]\n'
        )
        name = f"docker.io/library/{image.only('FROM').text}"
        made("bud", "--layers=false", "--ignorefile", os.devnull, "--file", str(file), "--tag", name, str(directory))
        shutil.rmtree(root)
        yield made
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def container(buildah: Buildah) -> str:
    docker = image.DOCKERFILE.parent
    ignored = ("--ignorefile", str(docker / "Dockerfile.dockerignore"))
    # In Docker's own format: OCI's has no health check.
    words = (
        "bud",
        "--pull-never",
        "--layers=false",
        "--format",
        "docker",
        *ignored,
        "--build-arg",
        f"KCONNECT_COMMIT={COMMIT}",
    )
    buildah(*words, "--file", str(image.DOCKERFILE), "--tag", "kconnect:tried", str(image.ROOT))
    return buildah("from", "--pull-never", "kconnect:tried").strip()


def test_it_is_what_the_dockerfile_says(buildah: Buildah, container: str) -> None:
    config = json.loads(buildah("inspect", "--type", "image", "kconnect:tried"))["Docker"]["config"]
    assert config["User"] == image.only("USER").text
    assert config["Entrypoint"] == image.only("ENTRYPOINT").words
    assert config["Healthcheck"]["Test"][0] == "CMD"
    assert f"KCONNECT_COMMIT={COMMIT}" in config["Env"]

    def run(*command: str) -> str:
        return buildah("run", container, "--", *command)

    assert run("id", "--user").strip() == config["User"]
    assert f"kconnect-{run('python', '-c', 'import kconnect; print(kconnect.__version__)').strip()}-{COMMIT}" in run(
        "kconnect", "version"
    )
    # What it is made of is not in it, and what it runs can't be changed by who runs it.
    found = run(
        "sh",
        "-c",
        "ls -d /src/tests /src/.git /src/docs 2>/dev/null; find / -xdev -name kconnect -type d -writable 2>/dev/null; true",
    )
    assert found.split() == ["/home/kconnect"]


def test_a_worker_in_it_moves_lines_and_ends_in_order(
    buildah: Buildah, container: str, broker: Broker, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name, port = unique("image"), free_port()
    folder = tmp_path / "lines"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    (folder / "in").write_text("one\ntwo\n")
    settings = {
        "BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "GROUP_ID": name,
        "LISTENERS": f"http://127.0.0.1:{port}",
        **{f"{topic}_STORAGE_TOPIC": f"{name}-{topic.lower()}" for topic in ("CONFIG", "OFFSET", "STATUS")},
        **{f"{topic}_STORAGE_REPLICATION_FACTOR": "1" for topic in ("CONFIG", "OFFSET", "STATUS")},
        "VALUE_CONVERTER": "org.apache.kafka.connect.storage.StringConverter",
    }
    variables = [word for key, value in settings.items() for word in ("--env", f"CONNECT_{key}={value}")]
    command = [*image.only("ENTRYPOINT").words, *image.only("CMD").words]
    log = tmp_path / "log"
    running = buildah.start(log, "run", "--volume", f"{folder}:/lines:rw", *variables, container, "--", *command)
    try:

        def is_ready() -> bool:
            assert running.poll() is None, log.read_text()[-3000:]
            try:
                return httpx.get(f"http://127.0.0.1:{port}/ready", timeout=15, trust_env=False).status_code == 200
            except httpx.TransportError:
                return False

        wait_until(is_ready, 400, "the worker is not ready")
        client = ConnectClient(f"http://127.0.0.1:{port}/")
        client.create(name, {"connector.class": "FileStreamSource", "file": "/lines/in", "topic": name})

        def lines() -> list[bytes]:
            try:
                return read_topic(broker.bootstrap_servers, name)
            except (KeyError, ConnectError):
                return []

        wait_until(lambda: lines() == [b"one", b"two"], 240, "the lines did not arrive")
        (first,) = [each for each in psutil.Process(running.pid).children(recursive=True) if each.name() == "tini"]
        first.terminate()
        assert running.wait(240) in (0, 143), log.read_text()[-3000:]
        assert not psutil.pid_exists(first.pid)
    finally:
        for each in [*psutil.Process(running.pid).children(recursive=True)] if running.poll() is None else []:
            each.kill()
        running.kill()
        running.wait()
