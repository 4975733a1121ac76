"""
Which Java plugins there are in a directory or jar of `plugin.path`: found by Connect's own scanners, once, and then kept.

`found` is called by `plugins/scan.py`, in the worker, its hosts and commands. What a scan has found is kept in the cache under
a name that is made of the path, size and time of each file, so that one process of many pays for it: it is a JVM in a process
of its own (`python -m kconnect.jvm.scan`), for a worker never loads a plugin; only that one imports JPype. Read next:
`machine.py`.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import signal
import struct
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from kconnect import interpreter
from kconnect.errors import ConnectError
from kconnect.jvm import jars, java, lock

DISCOVERY = "hybrid_warn"
"""Connect's default of `plugin.discovery`."""

_FORMAT = 3
_KINDS = {
    "SOURCE": "connector",
    "SINK": "connector",
    "CONVERTER": "converter",
    "HEADER_CONVERTER": "header_converter",
    "TRANSFORMATION": "transformation",
    "PREDICATE": "predicate",
    "CONFIGPROVIDER": "config_provider",
    "CONNECTOR_CLIENT_CONFIG_OVERRIDE_POLICY": "override_policy",
}
"""Of Java's kinds those that are known here: extensions of REST are not."""
_RESULTS = (
    "sourceConnectors",
    "sinkConnectors",
    "converters",
    "headerConverters",
    "transformations",
    "predicates",
    "configProviders",
    "connectorClientConfigPolicies",
)
"""Where Connect's scanners have them."""
_ARCHIVES = (".jar", ".zip")
_BROKEN = (
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    # Encrypted, or (NotImplementedError) packed in a way that is not known here.
    RuntimeError,
    # Of offsets and dates that are none.
    ValueError,
    OverflowError,
    struct.error,
)
"""What a jar raises that is none, or is damaged."""
_LONGEST_MANIFESTS = 2**20
"""Bytes of an archive's ServiceLoader manifests: a few names of classes. What is packed may become any number."""
_LAST_BYTES = 2**16
"""Of what a scan says: plugins' code may say any amount."""
_LIMIT_S = 300
"""For one location. Thousands of classes take a minute on a busy machine."""


class JavaPlugin(NamedTuple):
    """A class that a location has; `kind` as in `plugins/registry.py`, `type` of a connector is source or sink."""

    kind: str
    class_name: str
    version: str
    type: str = ""


class Scanned(NamedTuple):
    """
    The plugins of one location, and what Connect's scanners complained of. `unlisted` are the classes without a ServiceLoader
    manifest, which are not found with `service_load`: of them `hybrid_warn` warns.
    """

    plugins: list[JavaPlugin]
    problems: list[str]
    unlisted: Sequence[str] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Scanned:
        """Read it from JSON."""
        return cls([JavaPlugin(*row) for row in stored["plugins"]], stored["problems"], stored["unlisted"])


class _Unscanned(Scanned):
    """The result for a location that could not be scanned this time."""


def is_java(place: Path) -> bool:
    """Whether a child of `plugin.path` is for Java: an archive, or a directory with some and no Python package's metadata."""
    if place.is_file():
        return place.suffix.lower() == ".jar"
    with suppress(OSError):
        names = os.listdir(place)
        if any(name.endswith((".dist-info", ".egg-info")) for name in names):
            return False
        return next(_archives(place), None) is not None
    return False


def found(places: Sequence[Path], discovery: str = DISCOVERY) -> list[Scanned]:
    """
    Return the plugins of each of these places, in their order. Raise ConnectError if they can't be scanned: no Java, no jars of
    Connect.
    """
    cached = [_known(place, discovery) or _unusable(place) for place in places]
    missing = [place for place, scanned in zip(places, cached) if scanned is None]
    if not missing:
        return [scanned for scanned in cached if scanned is not None]
    cache = jars.cache_dir()
    with suppress(OSError), lock.hold(cache / "plugins.lock"):
        # Whoever held the lock before may have looked at the very same.
        missing = [place for place in missing if _known(place, discovery) is None]
        fresh = dict(zip(missing, _scan(missing, discovery)))
        for place, scanned in fresh.items():
            _keep(place, discovery, scanned)
        return [fresh[place] if place in fresh else _known(place, discovery) or Scanned([], []) for place in places]
    # Where nothing can be kept.
    fresh = dict(zip(missing, _scan(missing, discovery)))
    return [scanned or fresh[place] for place, scanned in zip(places, cached)]


def _unusable(place: Path) -> Scanned | None:
    """Return what can be told without a JVM: files that are no archives, or are for a newer Java than the one here."""
    problems = []
    for file in [str(place)] if place.is_file() else [entry.path for entry in _archives(place)]:
        try:
            with zipfile.ZipFile(file) as archive:
                needed = max((_java_of(archive, name) for name in _listed(archive)), default=0)
        except _BROKEN as error:
            problems.append(f"{file} can't be read ({error}): download it again")
            continue
        if needed > java.OLDEST and needed > (own_version := java.version(java.find())):
            problems.append(
                f"{file} is made for Java {needed}, and this is Java {own_version}: install that Java, or an older version"
            )
    return Scanned([], problems) if problems else None


def _listed(archive: zipfile.ZipFile) -> Iterator[str]:
    """The files of the classes that its ServiceLoader manifests name. BadZipFile if these are too long."""
    left = _LONGEST_MANIFESTS
    for name in archive.namelist():
        if name.startswith("META-INF/services/org.apache.kafka."):
            with archive.open(name) as file:
                text = file.read(left + 1)
            left -= len(text)
            if left < 0:
                raise zipfile.BadZipFile(f"{name[:200]!r}, with others of its kind, has more than {_LONGEST_MANIFESTS} bytes")
            for line in text.decode("utf-8", "replace").splitlines():
                if line := line.partition("#")[0].strip():
                    yield f"{line.replace('.', '/')}.class"


def _java_of(archive: zipfile.ZipFile, name: str) -> int:
    """The Java that a class is made for; 0 if it is not in there."""
    try:
        with archive.open(name) as file:
            return int.from_bytes(file.read(8)[6:], "big") - 44
    except KeyError:
        return 0


def _archives(place: Path, above: frozenset[tuple[int, int]] = frozenset()) -> Iterator[os.DirEntry[str]]:
    """
    Yield a plugin's archives as Connect walks its directory. A link to itself is an archive that can't be read, if it is called
    like one.
    """
    status = os.stat(place)
    within = above | {(status.st_dev, status.st_ino)}
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda child: child.name):
            try:
                is_directory = entry.is_dir()
            except OSError:
                is_directory = False
            if not is_directory:
                if entry.name.lower().endswith(_ARCHIVES):
                    yield entry
            elif ((target := entry.stat()).st_dev, target.st_ino) not in within:
                yield from _archives(Path(entry.path), within)


def stamp(place: Path, discovery: str = DISCOVERY) -> str:
    """Return a digest of all files there: another one where one of them is another. Empty if they can't be read."""
    digest = hashlib.sha256(f"{_FORMAT} {jars.KAFKA_VERSION} {discovery.lower()} {place}".encode())
    with suppress(OSError):
        files: Iterable[str | os.DirEntry[str]] = [str(place)] if place.is_file() else _archives(place)
        for file in files:
            status = os.stat(file)
            digest.update(f"\n{os.fspath(file)} {status.st_size} {status.st_mtime_ns}".encode())
        return digest.hexdigest()[:24]
    return ""


def _file(place: Path, discovery: str) -> Path:
    return jars.cache_dir() / "plugins" / f"{stamp(place, discovery)}.json"


def _known(place: Path, discovery: str) -> Scanned | None:
    with suppress(OSError, ValueError, TypeError, KeyError):
        return Scanned.of(json.loads(_file(place, discovery).read_text("utf-8")))
    return None


def _keep(place: Path, discovery: str, scanned: Scanned) -> None:
    if isinstance(scanned, _Unscanned):
        return
    with suppress(OSError):
        file = _file(place, discovery)
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(scanned._asdict()), "utf-8")
        aside.replace(file)


def _scan(places: Sequence[Path], discovery: str) -> list[Scanned]:
    results: list[Scanned] = []
    while len(results) < len(places):
        results += _scan_some(places[len(results) :], discovery)
    return results


def _scan_some(places: Sequence[Path], discovery: str) -> list[Scanned]:
    """
    Scan places in one process. Return the results of all, or of those up to one whose code has ended the process or held it up.
    """
    jars.connect()
    order = json.dumps({"places": [str(place) for place in places], "discovery": discovery.upper(), "limit_s": _LIMIT_S})
    status, answered, output = _talk(interpreter.command("kconnect.jvm.scan"), order)
    try:
        _, *answers = [json.loads(line) for line in answered.splitlines()]
        results = [Scanned.of(answer) for answer in answers]
    except (ValueError, TypeError, KeyError):
        output_lines = (output or answered).strip().splitlines() or [f"exit status {status}"]
        raise ConnectError(f"Java plugins can't be looked at: {output_lines[-1]}") from None
    if len(results) < len(places):
        how = f"status {status}" if status >= 0 else signal.Signals(-status).name
        what = f"took more than {_LIMIT_S} s" if how == "SIGALRM" else f"ended its process ({how})"
        results.append(_Unscanned([], [f"its classes can't be looked at: code of theirs {what}"]))
    return results


def _talk(command: Sequence[str], order: str) -> tuple[int, str, str]:
    """Run a program. Return its status, what it answers, and the last of what it says besides."""
    last_output = bytearray()

    def listen(pipe: IO[bytes]) -> None:
        while piece := os.read(pipe.fileno(), _LAST_BYTES):
            last_output.extend(piece)
            del last_output[:-_LAST_BYTES]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        listener = threading.Thread(target=listen, args=(process.stderr,), name="scan-output", daemon=True)
        listener.start()
        with suppress(BrokenPipeError):
            process.stdin.write(order.encode())
            process.stdin.close()
        answered = process.stdout.read()
        status = process.wait()
        listener.join()
    return status, answered.decode("utf-8", "replace"), last_output.decode("utf-8", "replace")


def main() -> None:
    """
    Scan in a process of its own: the order comes as JSON on standard input. The answer is a line once there is a JVM, and then
    one for each location.
    """
    from kconnect.jvm import logs, machine

    order = json.loads(sys.stdin.read())
    # Whatever a plugin prints must not be read as the answer.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    machine.start()
    print("{}", file=out, flush=True)
    for place in order["places"]:
        # What hangs in Java lets no handler run: the signal is to end the process.
        signal.alarm(order["limit_s"])
        print(json.dumps(_scanned(place, order["discovery"])._asdict()), file=out, flush=True)
    logs.flush(1)
    # What a plugin's class has started is nothing to wait for.
    os._exit(0)


def _scanned(place: str, discovery: str) -> Scanned:
    import jpype

    from kconnect.jvm import machine

    isolation = jpype.JPackage("org.apache.kafka.connect.runtime.isolation")
    mode = isolation.PluginDiscoveryMode.valueOf(discovery)
    problems: list[str] = []
    source = machine.source(place)
    sources = jpype.java.util.Collections.singleton(source)
    listed: set[JavaPlugin] = set()
    if mode.serviceLoad():
        listed = set(_rows(isolation.ServiceLoaderScanner().discoverPlugins(sources)))
    walked: set[JavaPlugin] = set()
    if mode.reflectivelyScan():
        walked = set(_rows(isolation.ReflectionScanner().discoverPlugins(sources)))
    unlisted = sorted({plugin.class_name for plugin in walked - listed}) if mode.serviceLoad() else []
    if unlisted and discovery == "HYBRID_FAIL":
        listed = walked = set()
        problems.append(f"plugin.discovery is hybrid_fail, and these have no ServiceLoader manifest: {', '.join(unlisted)}")
    return Scanned(sorted(listed | walked), problems, unlisted)


def _rows(result: Any) -> Iterator[JavaPlugin]:
    for name in _RESULTS:
        for plugin in getattr(result, name)():
            kind = str(plugin.type().name())
            shown = kind.lower() if kind in ("SOURCE", "SINK") else ""
            yield JavaPlugin(_KINDS[kind], str(plugin.className()), str(plugin.version()), shown)


if __name__ == "__main__":
    main()
