"""
The linters and formatters of what is not Python: Biome for the console, Palantir's for Java, and the warnings of javac.

`.venv/bin/python -m tests.rig.formatters` prints what they find, and with `--fix` puts the format right. Called by
`scripts/lint` and `tests/test_lint.py`. Biome is a program that npm has, without Node; what Java needs comes from Maven. Both
are fetched once, into kconnect's cache. Who has no such machine, or no JDK, is told what was left out. Read next:
`scripts/biome.json`.
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import click

from kconnect.jvm import jars, java

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "kconnect" / "console"
_OTHERS = ("codemirror", "jsyaml", "uplot", "examples")
"""What others have written, and what is made of the documentation."""
_BIOME = "2.6.8"
_BIOMES = {("Linux", "x86_64"): ("linux-x64", "e9fc491ffec6ba4024549b7c797937cd4f01855b4fe66a78220efe83b95be7f1")}
"""By system and machine: the package, and its checksum."""
_PALANTIR = "2.103.0"
_EXPORTS = [
    f"--add-exports=jdk.compiler/com.sun.tools.javac.{part}=ALL-UNNAMED"
    for part in ("api", "code", "file", "parser", "tree", "util")
]
_QUIET = ("rawtypes", "unchecked", "cast", "serial", "removal", "deprecation", "processing", "options")
"""Of the shim, which is compiled by a compiler without generics, and of what Java 17 has in no other way."""


def biome() -> Path | None:
    """Return the program; None for a machine for which nobody has looked up its checksum, or that has no network."""
    found = _BIOMES.get((platform.system(), platform.machine()))
    if found is None:
        click.echo(f"Left out: Biome, on {platform.system()} {platform.machine()}")
        return None
    name, checksum = found
    program = jars.cache_dir() / "biome" / f"{_BIOME}-{name}"
    if not program.exists():
        url = f"https://registry.npmjs.org/@biomejs/cli-{name}/-/cli-{name}-{_BIOME}.tgz"
        try:
            with urllib.request.urlopen(url, timeout=120) as answer:
                packed = answer.read()
        except OSError as error:
            if os.environ.get("CI"):
                raise
            click.echo(f"Left out: Biome, which is not to be had ({error})")
            return None
        if hashlib.sha256(packed).hexdigest() != checksum:
            raise SystemExit(f"{url} is not what it was")
        program.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            content = archive.extractfile("package/biome")
            assert content is not None
            part = program.with_suffix(f".{os.getpid()}")
            part.write_bytes(content.read())
        part.chmod(0o700)
        part.rename(program)
    return program


def of_console() -> list[Path]:
    files = sorted((*CONSOLE.glob("*.js"), *CONSOLE.glob("*.css")))
    return [file for file in files if not file.name.startswith(_OTHERS)]


def of_java() -> list[Path]:
    return sorted(file for room in ("kconnect", "tests") for file in (ROOT / room).rglob("*.java"))


def console(fix: bool) -> Iterator[str]:
    """Yield what Biome finds."""
    program = biome()
    if program is None:
        return
    changes = ["--write"] if fix else []
    yield from _findings(program, "check", *changes, f"--config-path={ROOT / 'scripts'}", *of_console())


def java_format(fix: bool) -> Iterator[str]:
    """Yield what Palantir's formatter would change."""
    folder = jars.resolve(f"palantir-java-format-{_PALANTIR}", [f"com.palantir.javaformat:palantir-java-format:{_PALANTIR}"])
    changes = ["--replace"] if fix else ["--dry-run", "--set-exit-if-changed"]
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *_EXPORTS, "-cp", jars.class_path(folder)]
    main = "com.palantir.javaformat.java.Main"
    yield from _findings(java.checked(), *options, main, "--palantir", *changes, *of_java())


def java_warnings() -> Iterator[str]:
    """Yield what javac warns of."""
    compiler = Path(java.checked()).resolve().with_name("javac")
    if not compiler.exists():
        click.echo("Left out: the warnings of javac, as there is a JRE only")
        return
    there = os.pathsep.join(jars.class_path(folder) for folder in (jars.connect(), jars.kafka()))
    quiet = ",".join(f"-{name}" for name in _QUIET)
    options = [f"-Xlint:all,{quiet}", "-Werror", "-proc:none", "-XDignore.symbol.file=true", "-cp", there]
    with tempfile.TemporaryDirectory() as made:
        yield from _findings(compiler, *options, "-d", made, *of_java())


def _findings(*command: object) -> Iterator[str]:
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        yield done.stdout + done.stderr


def main(arguments: list[str]) -> int:
    fix = "--fix" in arguments
    findings = [*console(fix), *java_format(fix), *java_warnings()]
    click.echo("\n".join(findings), nl=False)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
