"""
What `scripts/setup` does once it has found a Python: the virtual environment, the package, Kafka's jars.

Standard library only, as nothing is installed yet. What is there already is kept: a stamp holds a hash of what the
environment was made from, and an interrupted run is simply done again.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

PACKAGES = 55
"""How many packages the environment holds, roughly: for the bar."""


def main() -> None:
    root = Path(sys.argv[1])
    require_java()
    environment = root / ".venv"
    python = environment / "bin" / "python"
    log = root / ".kconnect" / "setup.log"
    log.parent.mkdir(exist_ok=True)
    stamp = environment / ".kconnect-setup"
    wanted = fingerprint(root)
    if not (stamp.exists() and stamp.read_text() == wanted and runs(environment / "bin" / "kconnect")):
        install(root, environment, python, log)
        stamp.write_text(wanted)
    fetch_kafka(python, log)


def fingerprint(root: Path) -> str:
    parts = [(root / name).read_bytes() for name in ("setup.cfg", "pyproject.toml")]
    return hashlib.sha256(b"\0".join([*parts, str(root).encode(), sys.version.encode()])).hexdigest()


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


def install(root: Path, environment: Path, python: Path, log: Path) -> None:
    # A half-made environment may have Python but no pip; one made by another Python must go.
    if not (python.exists() and subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0):
        step = Step("Making the virtual environment .venv", 1)
        run([sys.executable, "-m", "venv", "--clear", str(environment)], log, step, "The virtual environment can't be made")
        step.done()
    elif version_of(python) != f"{sys.version_info[0]}.{sys.version_info[1]}":
        run([sys.executable, "-m", "venv", "--clear", str(environment)], log, None, "The virtual environment can't be made")
    step = Step("Installing packages", PACKAGES)
    run(
        [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", "-e", f"{root}[test]"],
        log,
        step,
        "Packages can't be installed: is there a way to PyPI from here (proxy, network)? Then run it again",
    )
    step.done()


def version_of(python: Path) -> str:
    command = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def fetch_kafka(python: Path, log: Path) -> None:
    quick = "from kconnect.local import jars; import sys; sys.exit(0 if jars.kafka_is_there() else 1)"
    if subprocess.run([python, "-c", quick], cwd="/").returncode == 0:
        return
    step = Step("Fetching Kafka", 46)
    code = (
        "from kconnect.local import jars; from kconnect.api.errors import ConnectError; import sys\n"
        "try: jars.kafka(progress=lambda done, total, what: print(f'progress {done} {total}', flush=True))\n"
        "except ConnectError as error: sys.exit(f'kconnect: {error}')"
    )
    run([str(python), "-c", code], log, step, "Kafka can't be fetched from Maven Central (proxy, network?). Then run it again")
    step.done()


def run(command: list[str], log: Path, step: Step | None, problem: str) -> None:
    with log.open("a") as file:
        file.write(f"\n$ {' '.join(command)}\n")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/")
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            file.flush()
            if step is not None:
                step.saw(line)
    if process.wait() != 0:
        if step is not None:
            step.broken()
        fail(f"{problem}. Details are in {log}")


class Step:
    """A progress bar on a terminal, a line elsewhere."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total, self._count = title, total, 0
        self._began = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._show()

    def saw(self, line: str) -> None:
        told = re.match(r"progress (\d+) (\d+)", line)
        if told:
            self._count, self._total = int(told[1]), int(told[2]) or self._total
        elif re.match(r"Collecting |Requirement already satisfied", line.strip()):
            self._count = min(self._count + 1, self._total - 1)
        self._show()

    def done(self) -> None:
        self._count = self._total
        self._show()
        took = f"{time.monotonic() - self._began:.0f} s"
        print(f" {took}" if self._terminal else f"{self._title}: done in {took}", file=sys.stderr)

    def broken(self) -> None:
        if self._terminal:
            print(file=sys.stderr)

    def _show(self) -> None:
        if self._terminal:
            filled = 30 * self._count // self._total
            bar = "#" * filled + "-" * (30 - filled)
            print(f"\r{self._title:<36} [{bar}] {self._count}/{self._total}", end="", file=sys.stderr, flush=True)


def fail(sentence: str) -> None:
    print(f"setup: {sentence}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
