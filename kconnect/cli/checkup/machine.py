"""
What kconnect needs of the machine it runs on: Java, Spark, Python, its libraries, room and files.

A part of `kconnect doctor`. Nothing is started but `java -version` and the executors' Python, and nothing is written but an
empty file where Spark writes, for a moment. Read next: `listening.py`, which looks at a worker's ports.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import kconnect
from kconnect import interpreter
from kconnect.cli.checkup import run
from kconnect.cli.findings import ERROR, OK, SKIPPED, WARNING, Finding
from kconnect.errors import ConnectError
from kconnect.jvm import jars, java

PLACE = "This machine"

_OLDEST, _NEWEST = (3, 10), (3, 13)
_GB = 1 << 30
_FILES = 1024
_FEW_FILES = 256
_LOCAL_S = 20.0
"""For a program of this machine, which may be busy."""


def check_java() -> Iterator[Finding]:
    try:
        program = java.find()
        version = java.version(program)
    except ConnectError as error:
        yield Finding(ERROR, "java", PLACE, str(error))
        return
    if version < java.OLDEST:
        remedy = f"install Java {java.OLDEST} or newer, and put it first on the PATH or set JAVA_HOME"
        message = f"{program} is Java {version}, and Spark and Kafka need {java.OLDEST} or newer"
        yield Finding(ERROR, "java", PLACE, message, remedy)
    else:
        yield Finding(OK, "java", PLACE, f"Java {version}: {program}")


def check_spark(settings: Mapping[str, str]) -> Iterator[Finding]:
    """`settings` are a worker file's, if there is one."""
    from kconnect.worker import build

    spec = importlib.util.find_spec("pyspark")
    home = Path(spec.submodule_search_locations[0]) if spec is not None and spec.submodule_search_locations else None
    if home is None and build.package() != "kconnect":
        message = "PySpark is not there: kconnect-client is installed, which runs no worker"
        yield Finding(SKIPPED, "spark", PLACE, message, "for a worker on this machine: pip install kconnect")
        return
    if home is None:
        yield Finding(ERROR, "spark", PLACE, "PySpark is not installed", "install kconnect with its dependencies")
        return
    version = metadata.version("pyspark")
    if not list(home.glob("jars/spark-core_*.jar")):
        remedy = "reinstall it: pip install --force-reinstall pyspark"
        yield Finding(ERROR, "spark", PLACE, f"PySpark {version} in {home} is without its jars", remedy)
    elif elsewhere := os.environ.get("SPARK_HOME"):
        yield from _other_spark(Path(elsewhere), version)
    else:
        yield Finding(OK, "spark", PLACE, f"Spark {version}, of PySpark")
    packages = settings.get("spark.jars.packages")
    if packages:
        message = f"spark.jars.packages={packages}: Spark fetches these with Ivy whenever a worker starts"
        yield Finding(SKIPPED, "spark", PLACE, message, "check that they are in ~/.ivy2.5.2, or that Maven can be reached")
    if jars.kafka_is_there():
        yield Finding(OK, "jars", PLACE, f"The jars of Kafka {jars.KAFKA_VERSION} for a local broker are in {jars.cache_dir()}")
    else:
        message = f"The jars of Kafka {jars.KAFKA_VERSION} are not in {jars.cache_dir()}; only a local broker needs them"
        yield Finding(SKIPPED, "jars", PLACE, message, "`kconnect broker start` fetches them")


def _other_spark(home: Path, pyspark_version: str) -> Iterator[Finding]:
    remedy = "unset SPARK_HOME, so that PySpark runs its own Spark"
    core = next(iter(sorted(home.glob("jars/spark-core_*.jar"))), None)
    if core is None:
        message = f"SPARK_HOME is {home}, which has no Spark (no jars/spark-core_*.jar)"
        yield Finding(ERROR, "spark", PLACE, message, remedy)
        return
    version = core.stem.rpartition("-")[2]
    same = version.split(".")[:2] == pyspark_version.split(".")[:2]
    message = f"SPARK_HOME is {home}, Spark {version}; PySpark is {pyspark_version}"
    yield Finding(OK if same else ERROR, "spark", PLACE, message, "" if same else remedy)


def check_python(settings: Mapping[str, str]) -> Iterator[Finding]:
    """This Python, which runs workers and drivers, and the one that `spark.pyspark.python` gives the executors."""
    running = sys.version_info[:2]
    text = ".".join(map(str, sys.version_info[:3]))
    if _OLDEST <= running <= _NEWEST:
        yield Finding(OK, "python", PLACE, f"Python {text}: {sys.executable}")
    else:
        allowed = f"{_text(_OLDEST)} to {_text(_NEWEST)}"
        yield Finding(
            ERROR,
            "python",
            PLACE,
            f"Python {text} runs kconnect, which needs Python {allowed}",
            f"use Python {allowed}",
        )
    yield from _libraries()
    program_set = settings.get("spark.pyspark.python")
    local = settings.get("spark.master", "local").startswith("local")
    if program_set and (local or shutil.which(program_set)):
        yield from _executors_python(program_set, running)
    elif not local:
        program = program_set or sys.executable
        message = f"Can't check from here whether {program} is on the machines of {settings['spark.master']}"
        yield Finding(
            SKIPPED,
            "python",
            PLACE,
            message,
            f"check that each has it, and that it is Python {_text(running)} with kconnect",
        )


def _libraries() -> Iterator[Finding]:
    from packaging.requirements import Requirement

    from kconnect.worker import build

    wrong = []
    package = build.package()
    for line in metadata.requires(package) or ():
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            installed = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{requirement.name} is not installed")
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            wrong.append(f"{requirement.name} is {installed}, and {requirement.specifier} is needed")
    if wrong:
        yield Finding(ERROR, "libraries", PLACE, "; ".join(wrong), f"install {package} with its dependencies")
    else:
        installed = ", ".join(f"{name} {metadata.version(name)}" for name in (package, "confluent-kafka"))
        yield Finding(OK, "libraries", PLACE, f"{installed}, and everything else that {package} needs")


def _executors_python(program: str, expected: tuple[int, int]) -> Iterator[Finding]:
    code = "import sys, kconnect, pyspark; print(*sys.version_info[:2], kconnect.__version__, pyspark.__version__)"
    setting = f"spark.pyspark.python={program}"
    try:
        process = subprocess.run(
            interpreter.evaluate(code, program), capture_output=True, text=True, timeout=_LOCAL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(ERROR, "python", PLACE, f"{setting} can't be run ({error})", "name a Python that has kconnect")
        return
    if process.returncode != 0:
        last_line = (process.stderr.strip().splitlines() or [f"status {process.returncode}"])[-1]
        yield Finding(
            ERROR, "python", PLACE, f"{setting} can't import kconnect ({last_line})", "install kconnect for that Python"
        )
        return
    major, minor, version, spark = process.stdout.split()
    ours = (kconnect.__version__, metadata.version("pyspark"))
    if (int(major), int(minor)) != expected:
        message = (
            f"{setting} is Python {major}.{minor}, and the driver's is {_text(expected)}: Spark refuses to run tasks like that"
        )
        yield Finding(ERROR, "python", PLACE, message, "use the same Python for both")
    elif (version, spark) != ours:
        message = f"{setting} has kconnect {version} and PySpark {spark}, the driver {ours[0]} and {ours[1]}"
        yield Finding(WARNING, "python", PLACE, message, "install the same versions for both")
    else:
        yield Finding(OK, "python", PLACE, f"{setting} is Python {major}.{minor} with kconnect {version}")


def check_room(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Check the place of Spark's files: SPARK_LOCAL_DIRS, else spark.local.dir, else the place for temporary files."""
    directories = os.environ.get("SPARK_LOCAL_DIRS") or settings.get("spark.local.dir")
    setting = "SPARK_LOCAL_DIRS" if os.environ.get("SPARK_LOCAL_DIRS") else "spark.local.dir"
    for directory in dict.fromkeys(part.strip() for part in (directories or tempfile.gettempdir()).split(",") if part.strip()):
        yield _room(Path(directory), setting)


def _room(directory: Path, setting: str) -> Finding:
    remedy = f"free some space, or name another place with {setting}"
    if not directory.is_dir():
        message = f"Spark's directory {directory} does not exist"
        return Finding(ERROR, "disk", PLACE, message, f"create it, or name another place with {setting}")
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix="kconnect-doctor-"):
            pass
    except OSError as error:
        message = f"Spark can't write into {directory} ({error.strerror})"
        return Finding(ERROR, "disk", PLACE, message, remedy)
    state = os.statvfs(directory)
    free = state.f_bavail * state.f_frsize
    message = f"{free / _GB:.1f} GB are free in {directory}, where Spark writes"
    if free < _GB // 8:
        return Finding(ERROR, "disk", PLACE, f"Only {message}", remedy)
    if free < _GB:
        return Finding(WARNING, "disk", PLACE, f"Only {message}", remedy)
    if state.f_files and state.f_favail < 10_000:
        message = f"Only {state.f_favail} more files fit into {directory}, where Spark writes"
        return Finding(WARNING, "disk", PLACE, message, remedy)
    return Finding(OK, "disk", PLACE, message)


def check_files() -> Iterator[Finding]:
    """Check how many files a process may open: a task host has some for each broker and each of its tasks' clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _FILES:
        many = "any number of" if soft == resource.RLIM_INFINITY else str(soft)
        yield Finding(OK, "files", PLACE, f"A process may open {many} files")
        return
    most = "more" if hard == resource.RLIM_INFINITY else f"up to {hard}"
    message = f"A process may open only {soft} files, and the clients of each task need some for each broker"
    remedy = f"raise it for workers, with `ulimit -n` ({most}) or LimitNOFILE= of systemd"
    yield Finding(ERROR if soft < _FEW_FILES else WARNING, "files", PLACE, message, remedy)


def check_master(settings: Mapping[str, str]) -> Iterator[Finding]:
    from kconnect.cli.checkup import reaching
    from kconnect.spark import masters

    master = settings.get("spark.master", "local")
    place = f"Spark {master}"
    if master.startswith("yarn"):
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            message = "spark.master is yarn, but neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"
            yield Finding(ERROR, "master", place, message, "set one of them to the directory that has yarn-site.xml")
        return
    problems = [reaching.problem(host, port, run.LIMIT_S) for host, port in masters.places(settings)]
    if not problems:
        return
    if all(problem is not None for problem in problems):
        texts = "; ".join(problem for problem in problems if problem is not None)
        yield Finding(ERROR, "master", place, texts, "start Spark's master, or correct spark.master in the worker file")
    else:
        # A master that stands by is no problem while another one leads.
        texts = "; ".join(problem for problem in problems if problem is not None)
        yield Finding(OK if not texts else WARNING, "master", place, texts or "A connection is accepted")


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
