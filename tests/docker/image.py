"""
The Dockerfile without an engine: its instructions, what the engine would be sent, and its steps in an empty folder.

`test_docker.py` uses it. Only what our Dockerfile has is understood; anything else is an error, so that it gets looked at.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = ROOT / "docker" / "Dockerfile"

_KNOWN = {"FROM", "RUN", "ARG", "ENV", "WORKDIR", "COPY", "USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
_NEEDS_ENGINE = {"apt-get", "useradd"}
"""Programs that would change this machine: the packages and the user that they make are checked by name only."""


@dataclass(frozen=True)
class Instruction:
    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """Of the exec form, which is JSON, or of one without quotes."""
        return json.loads(self.text) if self.text.startswith("[") else self.text.split()


def can_mount() -> bool:
    """Whether this user can make mount namespaces: root can, but in most containers."""
    return (
        shutil.which("unshare") is not None
        and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
    )


def instructions() -> list[Instruction]:
    # A comment line ends no continuation.
    lines = [line for line in DOCKERFILE.read_text("utf-8").splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found = []
    for whole in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        name, _, text = whole.partition(" ")
        if name not in _KNOWN:
            raise ValueError(f"{DOCKERFILE}: {name} is not understood: {whole}")
        found.append(Instruction(name, text.strip()))
    return found


def only(name: str) -> Instruction:
    (found,) = [each for each in instructions() if each.name == name]
    return found


def is_sent(path: str) -> bool:
    """Whether the engine gets this file of the repository: the last pattern that fits it or a folder of it decides."""
    ignored = False
    for line in DOCKERFILE.with_name("Dockerfile.dockerignore").read_text("utf-8").splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        wanted = re.escape(pattern.lstrip("!")).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
        if re.fullmatch(f"{wanted}(/.*)?", path):
            ignored = not pattern.startswith("!")
    return not ignored


def copied(source: str) -> list[str]:
    """The files that a COPY of `source` takes."""
    start = ROOT / source
    files = [start] if start.is_file() else sorted(path for path in start.rglob("*") if path.is_file())
    return [name for name in (path.relative_to(ROOT).as_posix() for path in files) if is_sent(name)]


@dataclass
class Image:
    """What the steps left: files below `root`, where a virtual environment stands for the image's own Python."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"

    @property
    def bin(self) -> Path:
        return self.root / "usr" / "local" / "bin"

    def path(self, inside: str) -> Path:
        return self.root / inside.lstrip("/")

    def variables(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("CONNECT_", "SPARK_", "PYTHON"))}
        return {**own, **self.environment, "PATH": f"{self.bin}:{os.environ['PATH']}", **(more or {})}


def build(root: Path, timeout: float = 900) -> Image:
    """Take the Dockerfile's steps in `root`, which must be empty."""
    image = Image(root)
    arguments: dict[str, str] = {}
    venv.create(root / "usr" / "local", with_pip=True)
    for step in instructions():
        match step.name:
            case "ARG":
                # Its default, as nobody gives another one.
                name, _, value = step.text.partition("=")
                arguments[f"${name}"] = value
            case "ENV":
                words = (word.split("=", 1) for word in shlex.split(step.text))
                image.environment.update((name, arguments.get(value, value)) for name, value in words)
                # An image must not keep 400 MB of downloads; a machine that runs this test again is glad of them.
                image.environment.pop("PIP_NO_CACHE_DIR", None)
            case "WORKDIR":
                image.workdir = step.text
                image.path(step.text).mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = step.words
                for source in sources:
                    _copy(image, source, target)
            case "RUN" if step.words[0] not in _NEEDS_ENGINE:
                _run(image, step.text, timeout)
    return image


def _copy(image: Image, source: str, target: str) -> None:
    files = copied(source)
    if not files:
        raise FileNotFoundError(f"COPY {source}: there is no such file, or the engine isn't sent it")
    place = image.path(target if target.startswith("/") else os.path.join(image.workdir, target))
    for name in files:
        # A folder's content goes into the target; so does a file if the target ends with a slash.
        inside = os.path.relpath(name, source) if (ROOT / source).is_dir() else os.path.basename(name)
        to = place if (ROOT / source).is_file() and not target.endswith("/") else place / inside
        to.parent.mkdir(parents=True, exist_ok=True)
        # With its time, as the engine copies: build tools go by it.
        shutil.copy2(ROOT / name, to)


def _run(image: Image, command: str, timeout: float) -> None:
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=image.path(image.workdir),
        env=image.variables(),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    if done.returncode != 0:
        raise RuntimeError(f"RUN {command} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
