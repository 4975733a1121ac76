"""
What `scripts/setup` does once it has found a Python: the virtual environment, the package, Kafka's jars.

Standard library only, as nothing is installed yet. What is there already is kept: a stamp holds a hash of what the
environment was made from, and an interrupted run is simply done again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

# How many lines of each step's output tell of progress, roughly: for the bar.
PACKAGES = 96
PACKAGES_LIGHT = 40
JARS = 92
_LIGHT = "light"


def main(root: Path, *options: str) -> None:
    if options not in ((), ("--browser",), ("--kubernetes",), ("--opentelemetry",), ("--light",)):
        fail(
            f"unknown option {' '.join(options)}; there are --browser, which installs Chromium for tests of the console, "
            "--kubernetes, which builds helm, kubeconform and an API server for tests of Kubernetes, --opentelemetry, which "
            "builds a collector for a test of telemetry, and --light, which leaves out what only tests and some connectors need"
        )
    is_light = options == ("--light",)
    require_java()
    log = root / ".kconnect" / "setup.log"
    log.parent.mkdir(exist_ok=True)
    with open(log.with_name("setup.lock"), "w") as lock:
        # What this one starts holds the lock too: after a kill -9, pip would still write while the next run clears away.
        os.set_inheritable(lock.fileno(), True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another setup is running here: waiting for it", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        environment = root / ".venv"
        stamp = environment / ".kconnect-setup"
        wanted = fingerprint(root)
        is_there = stamp.read_text() if stamp.exists() else ""
        # All of it will do for a part of it.
        enough = (wanted, f"{wanted} {_LIGHT}") if is_light else (wanted,)
        if not (is_there in enough and runs(environment / "bin" / "kconnect")):
            install(root, environment, log, is_light)
            stamp.write_text(enough[-1])
        fetch_kafka(environment / "bin" / "python", log)
        if not is_light:
            # It takes longer than all that the demo saves by it.
            prepare_spark(environment / "bin" / "python", log)
        if options == ("--browser",):
            find_tool("Looking for Chromium", "browser", environment / "bin" / "python", root, log)
        if options == ("--kubernetes",):
            find_tool("Building tools of Kubernetes", "go_tools", environment / "bin" / "python", root, log)
        if options == ("--opentelemetry",):
            find_tool("Building a collector", "collector", environment / "bin" / "python", root, log)


def fingerprint(root: Path) -> str:
    parts = [(root / name).read_bytes() for name in ("setup.cfg", "pyproject.toml")]
    return hashlib.sha256(b"\0".join([*parts, str(root).encode(), own_version().encode()])).hexdigest()


def own_version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def runs(program: Path) -> bool:
    return program.exists() and subprocess.run([program, "--version"], capture_output=True).returncode == 0


def require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True)
    except OSError:
        fail(
            f"JAVA_HOME is {home}, but there is no {program}: point it at a Java 17, or unset it."
            if home
            else "Java was not found. Install Java 17 (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME."
        )
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if found is None or int(found[1]) < 17:
        version = found[1] if found else "of an unknown version"
        fail(f"{program} is Java {version}, but 17 or newer is needed. Install it, or set JAVA_HOME to one.")


def install(root: Path, environment: Path, log: Path, is_light: bool) -> None:
    python = environment / "bin" / "python"
    if environment.is_symlink():
        fail(f"{environment} is a link to {os.path.realpath(environment)}, which this would clear: remove the link.")
    # Killed in the middle of it, pip leaves packages that look whole.
    unfinished = environment / ".kconnect-installing"
    if unfinished.exists() or version_of(python) != own_version() or not has_pip(python) or has_moved(environment):
        with Step("Making .venv", 0) as step:
            # Not by the environment's own Python, which this clears.
            maker = getattr(sys, "_base_executable", None) or sys.executable
            status, _ = run([maker, "-m", "venv", "--clear", str(environment)], log, step)
            if status != 0:
                fail(f"The virtual environment {environment} can't be made. Details are in {log}")
    unfinished.touch()
    with Step("Installing packages", PACKAGES_LIGHT if is_light else PACKAGES) as step:
        options = ["--disable-pip-version-check", "--progress-bar", "off", "--retries", "2"]
        command = [str(python), "-m", "pip", "install", *options, "-e", str(root) if is_light else f"{root}[test]"]
        status, text = run(command, log, step)
        unfinished.unlink()
        if status != 0:
            fail(f"Packages can't be installed: {why(text)} Details are in {log}")


def why(text: str) -> str:
    """What to do about the trouble that pip had."""
    if "No space left on device" in text:
        return "the disk is full. Make room (kconnect needs 1 GB, and its tests 1 GB more), and run this again."
    signs = "NewConnectionError|Connection broken|ConnectTimeout|ReadTimeout|ProxyError|NameResolution|SSLError|Failed to estab"
    if re.search(signs, text):
        return "PyPI can't be reached from here. Connect to the network (or set https_proxy), and run this again."
    errors = re.findall(r"^\s*(?:ERROR|error): (.+)$", text, re.MULTILINE)
    return f"{errors[-1]}." if errors else "pip failed."


def version_of(python: Path) -> str | None:
    command = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return None


def has_pip(python: Path) -> bool:
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0


def has_moved(environment: Path) -> bool:
    """Whether it was copied here from elsewhere: its programs name the Python of the place where they were made."""
    try:
        return str(environment) not in (environment / "bin" / "pip").read_text()[:1000]
    except OSError:
        return True


def find_tool(title: str, module: str, python: Path, root: Path, log: Path) -> None:
    with Step(title, 0) as step:
        status, text = run(["env", f"PYTHONPATH={root}", str(python), "-m", f"tests.rig.systems.{module}"], log, step)
        if status != 0:
            fail((text.strip().splitlines() or [f"That failed; details are in {log}"])[-1])


def fetch_kafka(python: Path, log: Path) -> None:
    quick = "from kconnect.jvm import jars; import sys; sys.exit(0 if jars.kafka_is_there() else 1)"
    if subprocess.run([python, "-c", quick], cwd="/").returncode == 0:
        return
    with Step("Fetching Kafka", JARS) as step:
        status, text = run([str(python), "-m", "kconnect.jvm.jars", "kafka"], log, step)
        if status != 0:
            # Its last line says what happened and what to do.
            fail((text.strip().splitlines() or [f"Kafka could not be fetched; details are in {log}"])[-1])


def prepare_spark(python: Path, log: Path) -> None:
    """Without the archive of classes everything works, only later."""
    quick = "from kconnect.spark import class_archive; import sys; sys.exit(0 if class_archive.is_there() else 1)"
    if subprocess.run([python, "-c", quick], cwd="/").returncode == 0:
        return
    with Step("Preparing Spark", 0) as step:
        status, _ = run([str(python), "-m", "kconnect.spark.archive"], log, step)
    if status != 0:
        print(f"Spark's class archive can't be made, so each worker starts 2 s later. Details are in {log}", file=sys.stderr)


def run(command: list[str], log: Path, step: Step) -> tuple[int, str]:
    """Exit status and output, which goes to the log too."""
    lines = []
    with log.open("a") as file:
        file.write(f"\n$ {' '.join(command)}\n")
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/", close_fds=False
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                file.write(line)
                file.flush()
                lines.append(line)
                step.saw(line)
            return process.wait(), "".join(lines)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


class Step:
    """A progress bar on a terminal, plain lines elsewhere."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total, self._count, self._now = title, total, 0, ""
        self._began = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Step:
        if not self._terminal:
            print(f"{self._title} ...", file=sys.stderr, flush=True)
        self._ticker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over.set()
        self._ticker.join()
        took = f"{time.monotonic() - self._began:.0f} s"
        if self._terminal:
            # Whatever comes next stands on its own line.
            print("\r\033[K" + (f"{self._title:<20} done in {took}\n" if kind is None else ""), end="", file=sys.stderr)
        elif kind is None:
            print(f"{self._title}: done in {took}", file=sys.stderr)

    def saw(self, line: str) -> None:
        if told := re.match(r"\d+ \d+ (.*)", line):
            self._count, self._now = min(self._count + 1, self._total - 1), told[1]
        elif begun := re.match(r"\s*(Collecting|Requirement already satisfied:|Downloading|Building|Installing)\s(\S*)", line):
            if begun[1][0] in "CR":
                self._count = min(self._count + 1, self._total - 1)
            self._now = f"{begun[1].split()[0].lower()} {begun[2].rsplit('/', 1)[-1]}"

    def _tick(self) -> None:
        # By time and not by line: the largest download is one line for a minute.
        while self._terminal and not self._over.wait(0.2):
            filled = 24 * self._count // (self._total or 1)
            bar = f"[{'#' * filled}{'-' * (24 - filled)}] " if self._total else ""
            text = f"{self._title:<20} {bar}{time.monotonic() - self._began:>4.0f} s  {self._now}"
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\033[K{text[:width]}", end="", file=sys.stderr, flush=True)


def fail(sentence: str) -> NoReturn:
    # Raised, so that a bar that is being drawn is taken away first.
    raise SystemExit(f"setup: {sentence}")


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), *sys.argv[2:])
    except KeyboardInterrupt:
        print("setup: interrupted; run it again, and it goes on", file=sys.stderr)
        sys.exit(130)
