"""
Shared by all tests: one broker and one worker with Spark for the whole run, and the marks that they bring along.

Who uses a fixture that starts something has its mark, `integration` or `process`; who starts something himself says so with
the mark. A test without a mark that starts a process fails: plain `pytest -m "not integration and not process"` computes only.
"""

from __future__ import annotations

import gc
import itertools
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.integration import harmful, versioned
from tests.kip import scripted
from tests.rig.systems import browser, collector, prometheus
from tests.rig.systems import go_tools as programs
from tests.rig.systems.connect import ConnectProcess
from tests.rig.systems.hadoop import Hadoop
from tests.rig.systems.opensearch import OpenSearch
from tests.rig.systems.postgres_programs import find, find_or_install
from tests.scheduling import EndingLoadFileScheduling
from tests.support import EXPLORE, marks_of_fixtures, starts

if TYPE_CHECKING:
    # It needs Python 3.11.
    from tests.rig.systems.kubernetes import ApiServer

# How long an example takes says something about the machine only.
hypothesis.settings.register_profile("kconnect", deadline=None, derandomize=not EXPLORE)
hypothesis.settings.load_profile("kconnect")

# Whoever runs the tests may have contexts of their own; nobody reads or writes a file there.
os.environ["KCONNECT_CONFIG"] = "/proc/no-contexts/config.yaml"

# Workers import nothing from the current directory, and the rig's plugins import the rig.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH"))))

# Tests run it for a minute or so, which is too short for Java's second compiler to pay.
ConnectProcess.java_options = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_MARKS = ("integration", "process", "lint")
"""With one of these a test may start processes."""

_LONGEST = (
    *("test_chaos", "test_machines", "test_kip_891", "test_a_connector", "test_plugin_faults", "test_cdc_moves"),
    "test_java_parity",
    "test_java_plugin_faults",
    *("test_cdc_kills", "test_java_reload", "test_compat", "test_standalone", "test_cdc", "test_parity", "test_kip_618"),
    *("test_pyspark", "test_restarts", "test_notebook", "test_opentelemetry"),
    *("test_kip_618_offsets", "test_kip_875", "test_remade_topics", "test_typing"),
)
"""
Files of tests with a broker that take a minute or so, the longest first; but those that kill and wait for what starts anew, and
those that start a database and JVMs, not all at once.
"""

_STARTS = frozenset(f"{module}.{name}" for module, names in (
    ("os", ("exec", "fork", "forkpty", "posix_spawn", "spawn", "system")), ("subprocess", ("Popen",))
) for name in names)  # fmt: skip
_WITH_BROKERS = tuple(f"tests/{name}/" for name in ("attacks", "docker", "docs", "integration", "kip", "parity", "spark"))
"""Where tests with a broker are, as `scripts/test` has it: to collect all others takes half a minute."""
_started: list[str] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    # Called for whatever the interpreter tells of, thousands of times a second.
    if event in _STARTS:
        _started.append(f"{event}({arguments[0]!r})" if arguments else event)


sys.addaudithook(_watch)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in marks_of_fixtures(item):
            item.add_marker(mark)
        if item.get_closest_marker("integration") is not None and not item.nodeid.startswith(_WITH_BROKERS):
            raise pytest.UsageError(f"{item.nodeid} has a broker: scripts/test looks for such tests in {_WITH_BROKERS} only")
    # Quick ones first: who broke something wants to know soon. Of those with a broker, several files run at a time: none that
    # takes long is to be the last.
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    if item.get_closest_marker("integration") is None:
        return 0
    return 1 + (_LONGEST.index(item.path.stem) if item.path.stem in _LONGEST else len(_LONGEST))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup() -> Iterator[None]:
    _started.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fixtures are set up by now, so what they started counts too."""
    result = yield
    if _started and not any(map(item.get_closest_marker, _MARKS)):
        needed = "the mark `process` is missing, or `integration` if that is a broker"
        pytest.fail(f"A process was started, {_started[0]}: {needed}", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Half characters, which names of files may have, can't be sent between the processes of pytest-xdist."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> EndingLoadFileScheduling | None:
    return EndingLoadFileScheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """How a process of pytest-xdist ended that nobody had told to: a signal's number says who may have sent it."""
    if error:
        try:
            status = node.gateway._io.popen.wait(30)
        except subprocess.TimeoutExpired:
            status = "none, it still runs: its pipe was closed"
        sys.stderr.write(f"\n{node.gateway.id} ended, exit status {status}\n")


def pytest_collection_finish() -> None:
    # Seven thousand tests and their cases live until the end: searching them for garbage took a tenth of the pure tests' time.
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down what failed, and whether it has processes: `scripts/again.py` gives such a test a second chance."""
    if report.failed and (path := os.environ.get("KCONNECT_TEST_FAILURES")):
        # Whose process was killed has no keywords, and "???" for a phase.
        processes = report.when == "???" or "integration" in report.keywords or "process" in report.keywords
        with open(path, "a") as file:
            file.write(json.dumps([report.nodeid, processes]) + "\n")


@pytest.fixture(scope="session")
@starts("integration")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker on a free port, for the whole run. A test that kills it starts it again."""
    # Tests write records of 1970, which brokers delete within a minute or five.
    started = Broker(tmp_path_factory.mktemp("broker"), properties={"log.retention.ms": "-1"})
    started.start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
@starts("process")
def postgres_programs() -> Path:
    """Where PostgreSQL's programs are. CI=true installs them, or fails; others who have none leave these tests out."""
    if os.environ.get("CI") == "true":
        return find_or_install(install=True)
    return find() or pytest.skip("PostgreSQL is not installed here: what needs a database was left out")


@pytest.fixture(scope="session")
@starts("process")
def chromium() -> Path:
    """The browser's program. CI=true installs one, or fails; others who have none leave these tests out."""
    if os.environ.get("CI") == "true":
        return browser.find_or_install(install=True)
    return browser.find() or pytest.skip("Chromium is not installed here (scripts/setup --browser): the console was not tried")


@pytest.fixture(scope="session")
@starts("process")
def prometheus_programs() -> Path:
    """The folder of Prometheus' programs. CI=true installs them, or fails; others who have none leave these tests out."""
    if os.environ.get("CI") == "true":
        return prometheus.find_or_install(install=True)
    return prometheus.find() or pytest.skip("Prometheus is not installed here: alerts and the dashboard were not tried with it")


@pytest.fixture(scope="session")
@starts("process")
def go_tools() -> dict[str, Path]:
    """Where helm and kubeconform are. CI=true builds them, or fails; others who have none leave these tests out."""
    if os.environ.get("CI") == "true":
        return {name: programs.find_or_build(name, build=True) for name in programs.OF_THE_CHART}
    found = {name: path for name in programs.OF_THE_CHART if (path := programs.find(name)) is not None}
    if len(found) < len(programs.OF_THE_CHART):
        pytest.skip("helm or kubeconform are not here (scripts/setup --kubernetes): the chart was not tried")
    return found


@pytest.fixture(scope="session")
@starts("process")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """An API server for custom resources. CI=true builds it, or fails; others who have none leave these tests out."""
    # kopf has it, which there is for Python 3.11 and newer.
    pytest.importorskip("aiohttp")
    from tests.rig.systems import kubernetes

    found = kubernetes.find_or_build() if os.environ.get("CI") == "true" else kubernetes.find()
    if found is None:
        pytest.skip("an API server of Kubernetes or etcd is not here (scripts/setup --kubernetes): the operator was not tried")
    server = kubernetes.ApiServer(found, tmp_path_factory.mktemp("kubernetes"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
@starts("process")
def collector_program() -> Path:
    """OpenTelemetry's collector. CI=true builds it, or fails; others who have none leave these tests out."""
    if os.environ.get("CI") == "true":
        return collector.find_or_build()
    return collector.find() or pytest.skip("a collector is not here (scripts/setup --opentelemetry): none was sent to")


@pytest.fixture(scope="session")
@starts("process")
def hadoop() -> Iterator[Hadoop]:
    """HDFS for all tests of a process; each has folders of its own."""
    made = Hadoop()
    try:
        yield made.start()
    finally:
        made.stop()


@pytest.fixture(scope="session")
@starts("process")
def opensearch() -> Iterator[OpenSearch]:
    """A node for all tests of a process; each has indexes of its own."""
    server = OpenSearch()
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Commands and worker files configure the process's logging; what they write to ends with their test, and so do levels."""
    handlers, level = list(logging.root.handlers), logging.root.level
    levels = {name: logger.level for name, logger in _loggers()}
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    for name, logger in _loggers():
        if logger.level != levels.get(name, logging.NOTSET):
            logger.setLevel(levels.get(name, logging.NOTSET))


def _loggers() -> list[tuple[str, logging.Logger]]:
    found = list(logging.root.manager.loggerDict.items())
    return [(name, logger) for name, logger in found if isinstance(logger, logging.Logger)]


_names = itertools.count(1)

QUICK = {
    "spark.hadoop.canary.secret": "canary-spark-5d2e",
    "session.timeout.ms": "4000",
    "heartbeat.interval.ms": "1000",
    "offset.flush.interval.ms": "500",
    "metrics.report.interval.ms": "500",
}
"""So that what waits for a dead process need not wait long."""


@pytest.fixture(scope="session")
@starts("integration")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """One worker for the whole run; each test deletes the connectors that it made."""
    directory = tmp_path_factory.mktemp("worker")
    secrets = directory / "secrets"
    secrets.mkdir()
    (secrets / "worker").write_text("spark=canary-worker-91c3\n")
    os.environ["KCONNECT_TEST_CANARY"] = "canary-env-6d0b"
    plugins = versioned.write_plugins(scripted.write_plugin(directory / "plugins"))
    harmful.write_plugin(plugins)
    providers = {
        "config.providers": "file,env",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(secrets),
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "config.providers.env.param.allowlist.pattern": "KCONNECT_TEST_.*",
        "spark.hadoop.canary.plain": f"${{file:{secrets}/worker:spark}}",
        "plugin.path": str(plugins),
    }
    # Nobody kills it, and who starves for 3 s of a session of 4 s loses touch: its units begin anew, and tests count.
    patient = {"session.timeout.ms": "20000"}
    properties = {**QUICK, **patient, **providers}
    started = WorkerProcess(directory, broker.bootstrap_servers, "shared", properties=properties)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.fixture(scope="session")
@starts("integration")
def peer(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectProcess]:
    """
    One worker of Apache Kafka Connect 4.3.1 on the same broker, for the whole run, with topics of its own and Kafka's file
    connectors; each test deletes the connectors that it made.
    """
    properties = {
        "offset.flush.interval.ms": QUICK["offset.flush.interval.ms"],
        # Whoever is late here leaves offsets unstored, and lines come again.
        "offset.flush.timeout.ms": "60000",
        "task.shutdown.graceful.timeout.ms": "60000",
    }
    started = ConnectProcess(tmp_path_factory.mktemp("peer"), broker.bootstrap_servers, "peer", properties=properties)
    try:
        started.start(wait=False)
        started.wait_healthy(240)
        yield started
    finally:
        started.stop()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Makes names that no other test of this run has."""
    number = next(_names)
    return lambda name: f"{name}-{number}"


@pytest.fixture(scope="module")
@starts("integration")
def bootstrap(request: pytest.FixtureRequest) -> str:
    given = os.environ.get("KCONNECT_TEST_BROKER")
    return given or request.getfixturevalue("broker").bootstrap_servers


@pytest.fixture
def topic() -> str:
    return f"units-{os.getpid()}-{time.time_ns()}-{next(_names)}"
