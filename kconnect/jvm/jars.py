"""
Java libraries from Maven Central, fetched once and kept: Kafka's broker, and Connect itself, for Java plugins.

`resolve` runs the Ivy that PySpark ships, so that nothing but Java is needed. Called by `local/broker.py`, `machine.py`,
`scripts/setup.py` (through `python -m kconnect.jvm.jars`) and the parity tests. The cache is `~/.cache/kconnect`
(`XDG_CACHE_HOME` or `KCONNECT_CACHE` move it): `jars/<name>/*.jar`, complete exactly when `jars/<name>/.done` is there.
`KCONNECT_MAVEN` names another repository than Maven Central, for those who have a mirror.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from kconnect import CONNECT_VERSION
from kconnect.errors import ConnectError
from kconnect.jvm import checksums, java, lock, repository
from kconnect.own_places import cache_dir as cache_dir

KAFKA_VERSION = CONNECT_VERSION

# Writes to stderr without any configuration. 1.7 is the line that Kafka's slf4j-api belongs to.
_LOGGING = "org.slf4j:slf4j-simple:1.7.36"
# Other bindings: two on one class path only warn, but which one wins is chance.
_UNWANTED = (
    ("org.slf4j", "slf4j-log4j12"),
    ("org.slf4j", "slf4j-reload4j"),
    ("org.apache.logging.log4j", "log4j-slf4j-impl"),
    ("org.apache.logging.log4j", "log4j-slf4j2-impl"),
)
# What Maven calls the packaging of ordinary jars, as some projects have it.
_TYPES = ("jar", "bundle", "orbit", "hk2-jar", "eclipse-plugin")

Progress = Callable[[int, int, str], None]
"""Called with (artefacts done, artefacts in all or 0 while unknown, what happens)."""


def kafka(version: str = KAFKA_VERSION, progress: Progress | None = None) -> Path:
    """The directory with the jars of a Kafka broker."""
    return resolve(f"kafka-{version}", _kafka_coordinates(version), progress)


def _kafka_coordinates(version: str) -> list[str]:
    return [f"org.apache.kafka:kafka_2.13:{version}", _LOGGING]


def kafka_is_there(version: str = KAFKA_VERSION) -> bool:
    """Whether `kafka` would fetch nothing."""
    return is_complete(cache_dir() / "jars" / f"kafka-{version}", _kafka_coordinates(version))


def connect(version: str = KAFKA_VERSION, progress: Progress | None = None) -> Path:
    """The directory with the jars of a Kafka Connect worker, its file connectors, transforms and JSON converter."""
    parts = ("connect-runtime", "connect-file", "connect-json", "connect-transforms")
    coordinates = [f"org.apache.kafka:{part}:{version}" for part in parts]
    if int(version.split(".")[0]) < 4:
        # Its resource for loggers is made of log4j's classes, which come with the binding that is left out.
        coordinates.append("ch.qos.reload4j:reload4j:1.2.25")
    return resolve(f"connect-{version}", [*coordinates, _LOGGING], progress)


def class_path(directory: Path) -> str:
    return f"{directory}{os.sep}*"


def is_complete(directory: Path, coordinates: Sequence[str]) -> bool:
    """Whether these artefacts were fetched wholly, and none of their jars was lost or cut off since."""
    try:
        record = json.loads((directory / ".done").read_text("utf-8"))
        return record["coordinates"] == list(coordinates) and all(
            (directory / name).stat().st_size == size for name, size in record["jars"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def resolve(
    name: str,
    coordinates: Sequence[str],
    progress: Progress | None = None,
    cache: Path | None = None,
    without: Sequence[tuple[str, str]] = (),
) -> Path:
    """
    Fetch artefacts (`group:artefact:version`) and all that they need; gives the directory of their jars. Left out are those in
    `without` (group and artefact), and what only they need.

    Answers at once when they are there. Any number of processes may call it together: one fetches, the others wait.
    What an interrupted call had fetched is not fetched again.

    Raises:
        ConnectError: no Java, no network, or no such artefact.
    """
    cache = cache_dir() if cache is None else cache
    directory = cache / "jars" / name
    if is_complete(directory, coordinates):
        return directory
    program = java.checked()
    try:
        with lock.hold(cache / f"{name}.lock"):
            if not is_complete(directory, coordinates):
                _fetch(program, cache, name, directory, coordinates, progress or _silent, without)
    except OSError as error:
        raise ConnectError(f"The cache {cache} can't be used ({error}): set KCONNECT_CACHE to a directory of yours") from error
    return directory


def _fetch(
    program: str,
    cache: Path,
    name: str,
    directory: Path,
    coordinates: Sequence[str],
    progress: Progress,
    without: Sequence[tuple[str, str]],
) -> None:
    # Ivy's own cache survives an interruption, so the next call goes on where this one stopped.
    work = cache / "ivy" / name
    fresh = work / "jars"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    (work / "settings.xml").write_text(_settings(work / "cache"), "utf-8")
    (work / "ivy.xml").write_text(_module(name, coordinates, without), "utf-8")
    log_file = cache / f"{name}.log"
    log_file.unlink(missing_ok=True)
    attempts = 3
    for attempt in range(1, attempts + 1):
        if _ivy(program, work, fresh, log_file, progress):
            break
        text = log_file.read_text("utf-8", "replace")
        if attempt == attempts or _unknown_host(text):
            raise ConnectError(_failure(name, text, log_file))
        time.sleep(attempt)
    _verify(work / "cache")
    jars = {jar.name: jar.stat().st_size for jar in sorted(fresh.glob("*.jar"))}
    if not jars:
        raise ConnectError(f"Ivy fetched no jar for {name}; details are in {log_file}")
    (fresh / ".done").write_text(json.dumps({"coordinates": list(coordinates), "jars": jars}), "utf-8")
    directory.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(directory, ignore_errors=True)
    # A rename is all or nothing: nobody sees half a directory.
    fresh.rename(directory)
    shutil.rmtree(work, ignore_errors=True)
    log_file.unlink(missing_ok=True)


def _ivy(program: str, work: Path, target: Path, log_file: Path, progress: Progress) -> bool:
    command = [
        program,
        "-XX:TieredStopAtLevel=1",
        *_proxies(os.environ),
        "-cp",
        str(of_pyspark("ivy")),
        "org.apache.ivy.Main",
        "-settings",
        str(work / "settings.xml"),
        "-ivy",
        str(work / "ivy.xml"),
        "-retrieve",
        f"{target}/[artifact]-[revision](-[classifier]).[ext]",
        "-types",
        *_TYPES,
    ]
    artefact_count = fetched_count = 0
    progress(0, 0, "finding what is needed")
    with log_file.open("a", encoding="utf-8") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert child.stdout is not None
        try:
            for raw in child.stdout:
                line = raw.decode("utf-8", "replace")
                log.write(line)
                if match := re.match(r"\s+found (\S+)#(\S+) in", line):
                    artefact_count += 1
                    progress(0, 0, match.group(2).replace(";", " "))
                elif match := re.match(r"\s+\[SUCCESSFUL \] (\S+)#(\S+?)!", line):
                    fetched_count += 1
                    progress(fetched_count, artefact_count, match.group(2).replace(";", " "))
            return child.wait() == 0
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()


def _verify(ivy_cache: Path) -> None:
    """
    Compare what came over plain http with checksums, where Ivy takes a file without one as it is.

    Raises:
        ConnectError: a jar has no checksum, or another content
    """
    if not checksums.is_plain(repository.root()):
        return
    for jar in sorted(ivy_cache.glob("*/*/*/*.jar")):
        group, module = jar.parts[-4], jar.parts[-3]
        revisions = [file.stem.removeprefix("ivy-") for file in jar.parents[1].glob("ivy-*.xml")]
        revision = next(version for version in sorted(revisions, key=len, reverse=True) if f"-{version}" in jar.stem)
        name = f"{group.replace('.', '/')}/{module}/{revision}/{jar.name}"
        checksums.verify(jar, name, f"{repository.shown()}{name}", repository.small_file)


def of_pyspark(name: str) -> Path:
    """Return one of the jars that PySpark brings: janino, ivy."""
    # Importing pyspark takes half a second; its place is enough.
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for jar in sorted(Path(place, "jars").glob(f"{name}-[0-9]*.jar")):
            return jar
    raise ConnectError("PySpark's jars were not found: install kconnect with its dependencies (scripts/setup does)")


def _proxies(environ: Mapping[str, str]) -> list[str]:
    """Java does not read the variables that pip and curl read."""
    options = []
    for scheme in ("http", "https"):
        value = environ.get(f"{scheme}_proxy") or environ.get(f"{scheme.upper()}_PROXY")
        if value:
            proxy = urlsplit(value if "//" in value else f"//{value}")
            if proxy.hostname:
                options += [f"-D{scheme}.proxyHost={proxy.hostname}", f"-D{scheme}.proxyPort={proxy.port or 80}"]
    return options


def _settings(ivy_cache: Path) -> str:
    root = repository.root().rstrip("/") + "/"
    return f"""<ivysettings>
  <settings defaultResolver="central"/>
  <caches defaultCacheDir={quoteattr(str(ivy_cache))}/>
  <resolvers><ibiblio name="central" m2compatible="true" root={quoteattr(root)}/></resolvers>
</ivysettings>
"""


def _module(name: str, coordinates: Sequence[str], without: Sequence[tuple[str, str]]) -> str:
    rows = []
    for coordinate in coordinates:
        parts = coordinate.split(":")
        if len(parts) != 3:
            raise ConnectError(f"{coordinate!r} is not a Maven coordinate: write group:artefact:version")
        group, artefact, revision = map(quoteattr, parts)
        conf = '"default->runtime(*),master(*)"'
        rows.append(f"    <dependency org={group} name={artefact} rev={revision} conf={conf}/>")
    rows += [f'    <exclude org="{group}" module="{artefact}"/>' for group, artefact in (*_UNWANTED, *without)]
    return f"""<ivy-module version="2.0">
  <info organisation="kconnect" module={quoteattr(name)}/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{chr(10).join(rows)}
  </dependencies>
</ivy-module>
"""


def _unknown_host(text: str) -> bool:
    """Without any network another try only takes the user's time."""
    signs = r"UnknownHostException|Network is unreachable|unknown host|Host \S+ not found"
    return re.search(signs, text, re.IGNORECASE) is not None


def _failure(name: str, text: str, log_file: Path) -> str:
    repository = os.environ.get("KCONNECT_MAVEN") or "Maven Central"
    network = ("Exception: ", "ConnectException", "timed out", "Connection refused", "Server access error", "SSL")
    if _unknown_host(text) or any(sign in text for sign in network):
        return (
            f"The jars of {name} could not be fetched: {repository} can't be reached from here. "
            f"Connect to the network and run this again; details are in {log_file}"
        )
    missing = re.findall(r":: (\S+#\S+): not found", text)
    if missing:
        names = sorted({re.sub("[#;]", ":", artefact) for artefact in missing})
        return f"{repository} has no {', '.join(names)}; details are in {log_file}"
    return f"The jars of {name} could not be fetched; details are in {log_file}"


def _silent(done: int, total: int, text: str) -> None:
    pass


def _report(done: int, total: int, text: str) -> None:
    sys.stdout.write(f"{done} {total} {text}\n")
    sys.stdout.flush()


def main(names: Sequence[str]) -> int:
    """`python -m kconnect.jvm.jars kafka`: fetch, with a line `done total text` a step, for programs to read."""
    fetchers = {"kafka": kafka, "connect": connect}
    try:
        for name in names:
            kind, _, version = name.partition("=")
            fetchers[kind](version or KAFKA_VERSION, _report)
    except ConnectError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
