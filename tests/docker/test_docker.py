"""
The image and the compose file: all that can be known of them without an engine.

The names that they use are looked up where they come from: settings in kconnect's own table, Spark's options in Spark's
classes, Kafka's in Kafka's. The last two tests, for nights, take the image's steps in an empty folder, and run there what
compose.yml runs.
"""

from __future__ import annotations

import base64
import importlib.metadata
import itertools
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pyspark
import pytest
import yaml
from packaging.specifiers import SpecifierSet

from kconnect.cli.main import cli
from kconnect.core.settings.worker import WorkerSettings, host_range
from kconnect.java import properties
from kconnect.jvm import jars, java
from kconnect.local.broker import free_port
from kconnect.rest.app import RestSettings
from kconnect.rest.client import ConnectClient, RestError
from kconnect.spark import sizes
from tests.docker import image
from tests.support import wait_until

COMPOSE = image.ROOT / "docker" / "compose.yml"
FILE = yaml.safe_load(COMPOSE.read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
WORKER_FILE = properties.load((image.ROOT / "docker" / "worker.properties").read_text("utf-8"))
SPARK = ("spark-master", "spark-worker")
WORKERS = sorted(name for name in SERVICES if name.startswith("connect-"))
BROKERS = sorted(name for name in SERVICES if name.startswith("kafka-"))

_PORT_OPTIONS = ("--port", "--webui-port")
_ADDRESS = re.compile(r"(?<![\w.-])([a-z][a-z0-9-]*):(\d{2,5})(?!\d)")


def environment(service: str) -> dict[str, str]:
    return {name: str(value) for name, value in SERVICES[service].get("environment", {}).items()}


def settings(worker: str) -> WorkerSettings:
    return WorkerSettings.from_properties(WORKER_FILE, environment(worker))


def texts(service: str) -> list[str]:
    """Everything in a service's command, variables and health check that may hold an address."""
    return [*SERVICES[service].get("command", []), *environment(service).values(), *health(service)]


def health(service: str) -> list[str]:
    own = SERVICES[service].get("healthcheck", {}).get("test")
    return own or json.loads(image.only("HEALTHCHECK").text.split(" CMD ", 1)[1])


def listening(service: str) -> set[int]:
    """The ports that the service's own configuration makes it listen on."""
    if service in WORKERS:
        urls = settings(service).listeners
    elif service in SPARK:
        command = SERVICES[service]["command"]
        urls = [f":{value}" for option, value in itertools.pairwise(command) if option in _PORT_OPTIONS]
    else:
        urls = environment(service)["KAFKA_LISTENERS"].split(",")
    return {int(url.rsplit(":", 1)[1]) for url in urls}


def literals(classes: Iterable[Path], names: set[str]) -> set[str]:
    """Those of `names` that are a string constant of some class in these jars: whole, as the class file has them."""
    wanted = {len(name).to_bytes(2, "big") + name.encode(): name for name in names}
    found = set()
    for jar in classes:
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.endswith(".class"):
                    content = archive.read(entry)
                    found |= {name for constant, name in wanted.items() if constant in content}
    return found


def bytes_of(text: str) -> int:
    return int(text[:-1]) * {"m": 2**20, "g": 2**30}[text[-1]]


# --- the image ---


def test_the_engine_gets_what_the_image_is_made_of_and_nothing_else() -> None:
    for step in image.instructions():
        if step.name == "COPY":
            for source in step.words[:-1]:
                assert image.copied(source), f"{source} is not there, or not sent"
    assert image.is_sent("kconnect/core/settings/worker.py")
    for kept in (".git/config", ".venv/pyvenv.cfg", "tests/support.py", "docker/compose.yml", ".kconnect/data/x"):
        assert not image.is_sent(kept), kept
    assert not image.is_sent("kconnect/core/__pycache__/worker.cpython-311.pyc")


def test_python_and_java_are_such_as_kconnect_needs() -> None:
    packages = " ".join(step.text for step in image.instructions() if step.name == "RUN" and "apt-get" in step.words)
    found = re.search(r" openjdk-(\d+)-jre-headless ", packages)
    assert found and int(found[1]) >= java.OLDEST
    python = re.match(r"python:(\d+\.\d+)-", image.only("FROM").text)
    assert python and python[1] in SpecifierSet(importlib.metadata.metadata("kconnect")["Requires-Python"])


def test_it_does_not_run_as_root() -> None:
    user = image.only("USER").text
    made = [step.words for step in image.instructions() if step.name == "RUN" and step.words[0] == "useradd"]
    assert int(user) > 0
    assert [words[words.index("--uid") + 1] for words in made] == [user]
    after = [step.name for step in image.instructions()]
    assert not {"RUN", "COPY"} & set(after[after.index("USER") :]), "a step after USER"


def test_what_it_starts_is_there() -> None:
    program, verb, file = image.only("CMD").words
    assert importlib.metadata.entry_points(group="console_scripts", name=program)
    assert verb in cli.list_commands(click.Context(cli))
    assert ["docker/worker.properties", file] in [step.words for step in image.instructions() if step.name == "COPY"]
    installed = [word for step in image.instructions() if "apt-get" in step.text for word in step.text.split()]
    assert image.only("ENTRYPOINT").words[0] in installed


def test_its_health_check_waits_longer_than_health_itself() -> None:
    options, _ = image.only("HEALTHCHECK").text.split(" CMD ", 1)
    limit = re.search(r"--timeout=(\d+)s", options)
    inside = re.search(r"timeout=(\d+)", health(WORKERS[0])[-1])
    assert limit and inside
    assert RestSettings("http://localhost:8083/").health_timeout < int(inside[1]) < int(limit[1])


def test_its_port_is_the_listeners() -> None:
    assert {int(image.only("EXPOSE").text)} == listening(WORKERS[0])
    assert f"'localhost', {image.only('EXPOSE').text}, " in health(WORKERS[0])[-1]


# --- compose.yml ---


def test_its_services() -> None:
    assert list(SERVICES) == [*BROKERS, *SPARK, *WORKERS]
    assert len(WORKERS) == len(BROKERS) == 3
    assert {SERVICES[name]["image"] for name in BROKERS} == {f"apache/kafka:{jars.KAFKA_VERSION}"}
    ours = {name: service for name, service in SERVICES.items() if name not in BROKERS}
    # Hosts are sent to the executors as references to kconnect's own functions.
    assert {service["image"] for service in ours.values()} == {"kconnect:local"}
    # Two builds of one name that run at a time fail: "already exists".
    assert [name for name, service in ours.items() if "build" in service] == ["spark-master"]
    assert {service["pull_policy"] for service in ours.values()} == {"never"}
    build = SERVICES["spark-master"]["build"]
    context = (COMPOSE.parent / build["context"]).resolve()
    assert (context, context / build["dockerfile"]) == (image.ROOT, image.DOCKERFILE)


def test_who_waits_for_whom() -> None:
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}, f"{name} waits for {other}"
            assert other in SERVICES
            # The image's own health check is a kconnect worker's.
            assert "healthcheck" in SERVICES[other]
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert used == set(FILE["volumes"])


def test_every_address_is_somebodys() -> None:
    seen = set()
    for name in SERVICES:
        for text in texts(name):
            for host, port in _ADDRESS.findall(text):
                owner = name if host == "localhost" else host
                assert owner in SERVICES, f"{name}: {host} is no service"
                assert int(port) in listening(owner), f"{name}: nothing listens on {host}:{port}"
                seen.add((owner, int(port)))
        for port in re.findall(r"'localhost', (\d+)", " ".join(health(name))):
            assert int(port) in listening(name)
    inside = {(broker, port) for broker in BROKERS for port in (19092, 29093)}
    assert seen == inside | {("kafka-1", 9092), ("kafka-2", 9093), ("kafka-3", 9094), ("spark-master", 7077)}


def test_published_ports() -> None:
    published = {}
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            address, outside, inside = port.split(":")
            assert address == "127.0.0.1", f"{name}: nobody here asks who is calling"
            assert int(inside) in listening(name)
            assert outside not in published
            published[outside] = name
    # What Kafka says of itself to those outside must be what is published.
    for port, broker in zip(("9092", "9093", "9094"), BROKERS):
        assert published[port] == broker
        assert f"OUTSIDE://localhost:{port}" in environment(broker)["KAFKA_ADVERTISED_LISTENERS"].split(",")
    page = (image.ROOT / "docs" / "getting-started.md").read_text("utf-8")
    assert "docker compose -f docker/compose.yml up" in page
    assert not [port for port in published if port not in page]


@pytest.mark.parametrize("worker", WORKERS)
def test_settings_of_a_worker(worker: str) -> None:
    found = settings(worker)
    assert found.unknown_keys == []
    names = {"CONNECT_" + name.upper().replace(".", "_") for name in found.raw}
    assert set(environment(worker)) <= names, "a variable that is no setting"
    assert found.advertised_url == f"http://{worker}:8083/"
    assert found.spark["spark.driver.host"] == worker
    assert found.spark["spark.master"] == "spark://spark-master:7077"
    # Hosts in spark-worker's executors use it too.
    inside = [f"INSIDE://{address}" for address in found.bootstrap_servers.split(",")]
    assert inside == [environment(broker)["KAFKA_ADVERTISED_LISTENERS"].split(",")[0] for broker in BROKERS]
    copies = [found.config_storage_replication_factor, found.offset_storage_replication_factor]
    assert {*copies, found.status_storage_replication_factor, found.assignment_storage_replication_factor} == {3}


def test_workers_differ_in_their_names_only() -> None:
    same = [{key: text for key, text in settings(worker).raw.items() if text != worker} for worker in WORKERS]
    assert same[0] == same[1] == same[2]


def test_every_worker_has_its_slots_and_one_more_can_start() -> None:
    applications = [settings(worker) for worker in WORKERS]
    cores = [int(found.spark["spark.cores.max"]) for found in applications]
    memory = [bytes_of(found.spark["spark.executor.memory"]) for found in applications]
    most = [sizes.hosts(host_range(found.task_hosts), found.spark).most for found in applications]
    assert all(hosts <= slots for hosts, slots in zip(most, cores))
    offered = environment("spark-worker")
    assert sum(cores) + max(cores) <= int(offered["SPARK_WORKER_CORES"])
    assert sum(memory) + max(memory) <= bytes_of(offered["SPARK_WORKER_MEMORY"])


def test_spark_knows_every_name_that_is_spark_s() -> None:
    package = Path(pyspark.__file__).parent
    classes = [jar for part in ("core", "launcher") for jar in package.glob(f"jars/spark-{part}_*.jar")]
    mains = {name: SERVICES[name]["command"][1] for name in SPARK}
    with zipfile.ZipFile(next(package.glob("jars/spark-core_*.jar"))) as core:
        assert {f"{main.replace('.', '/')}.class" for main in mains.values()} <= set(core.namelist())
    words = [word for name in SPARK for word in SERVICES[name]["command"][2:] if word.startswith("--")]
    variables = environment("spark-worker")
    options = [option.removeprefix("-D").split("=")[0] for option in variables["SPARK_WORKER_OPTS"].split()]
    names = {*words, *variables, *options, *(key for worker in WORKERS for key in settings(worker).spark)}
    assert literals(classes, names | {"spark.core.max"}) == names
    # The program comes with the pip package, as a script beside Python.
    assert {SERVICES[name]["command"][0] for name in SPARK} == {"spark-class"}
    assert (package / "bin" / "spark-class").exists()


def broker_settings(name: str) -> dict[str, str]:
    """What the image makes of a broker's variables: those that its start script reads are no settings."""
    own = {key: text for key, text in environment(name).items() if key not in ("CLUSTER_ID", "KAFKA_HEAP_OPTS")}
    return {key.removeprefix("KAFKA_").lower().replace("_", "."): text for key, text in own.items()}


def test_three_brokers_are_one_cluster_that_does_without_any_of_them() -> None:
    found = [broker_settings(name) for name in BROKERS]
    same = [{key: text for key, text in each.items() if "listeners" not in key and key != "node.id"} for each in found]
    assert same[0] == same[1] == same[2]
    voters = ",".join(f"{each['node.id']}@{name}:29093" for name, each in zip(BROKERS, found))
    assert same[0]["controller.quorum.voters"] == voters
    assert {text for key, text in same[0].items() if key.endswith("replication.factor")} == {"3"}
    assert same[0]["min.insync.replicas"] == same[0]["transaction.state.log.min.isr"] == "2"
    (cluster_id,) = {environment(name)["CLUSTER_ID"] for name in BROKERS}
    assert len(base64.urlsafe_b64decode(f"{cluster_id}==")) == 16, "Kafka's ids are UUIDs"


def test_containers_can_write_to_tmp_only() -> None:
    for name in (*SPARK, *WORKERS):
        service = SERVICES[name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
        (place,) = service["tmpfs"]
        path, options = place.split(":")
        # Docker's own default is noexec, and the JVM loads libraries from there.
        assert path == "/tmp" and {"exec", "mode=1777"} <= set(options.split(","))
        assert not [word for word in texts(name) if word.startswith("/") and not word.startswith(("/tmp/", "/etc/"))]
    cache = dict(word.split("=") for step in image.instructions() if step.name == "ENV" for word in step.words)[
        "KCONNECT_CACHE"
    ]
    assert cache.startswith("/tmp/")


@pytest.mark.integration
def test_kafka_knows_every_setting_of_the_broker() -> None:
    names = {name for broker in BROKERS for name in broker_settings(broker)}
    assert literals(sorted(jars.kafka().rglob("kafka*.jar")), names | {"node.ids"}) == names


# --- by hand, in an empty folder ---


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[image.Image]:
    root = tmp_path_factory.mktemp("image")
    yield image.build(root)
    # Pytest would keep the 600 MB of each of the last three runs.
    shutil.rmtree(root)


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_steps_of_the_image_install_kconnect(built: image.Image) -> None:
    def run(*command: str) -> str:
        done = subprocess.run(
            command, env=built.variables(), cwd=built.path(built.workdir), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "worker" in run(str(built.bin / "kconnect"), "--help")
    where = Path(run(str(built.bin / "python"), "-c", "import kconnect; print(kconnect.__path__[0])").strip())
    assert built.bin.parent in where.parents
    # Types of the console's JavaScript are for those who change it.
    names = [name for name in image.copied("kconnect") if not name.endswith((".d.ts", "/jsconfig.json"))]
    sources = {Path(name).relative_to("kconnect"): image.ROOT / name for name in names}
    installed = {path.relative_to(where) for path in where.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert installed == set(sources)
    assert not [name for name, path in sources.items() if (where / name).read_bytes() != path.read_bytes()]


_READ_ONLY = """
set -e
mount --bind /tmp /tmp
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
mount -o remount,ro,bind /
shift
exec "$@"
"""
"""What runs a command that can write to /tmp only, and not to the image in it: in a mount namespace, so for nobody else."""


class BrokerContainer:
    """A broker of compose.yml as a process of this machine; `here` has the free port for each port of each broker."""

    def __init__(self, name: str, here: dict[tuple[str, str], int], directory: Path) -> None:
        self.address = f"127.0.0.1:{here[name, '19092']}"

        def translate(text: str) -> str:
            for (broker, port), free in here.items():
                own = r"|localhost|(?<=://)" if broker == name else ""
                text = re.sub(rf"(?<![\w-])(?:{broker}{own}):{port}(?!\d)", f"127.0.0.1:{free}", text)
            return text

        found = {key: translate(text) for key, text in broker_settings(name).items()}
        file = directory / f"{name}.properties"
        found["log.dirs"] = str(directory / name)
        file.write_text("".join(f"{key}={text}\n" for key, text in found.items()), "utf-8")
        variables = environment(name)
        start = [java.checked(), *variables["KAFKA_HEAP_OPTS"].split(), "-cp", jars.class_path(jars.kafka())]
        form = ["kafka.tools.StorageTool", "format", "-t", variables["CLUSTER_ID"], "-c", str(file)]
        done = subprocess.run([*start, *form], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
        with (directory / f"{name}.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*start, "kafka.Kafka", str(file)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(120)

    def kill(self) -> None:
        """The last of three never ends in order: it waits for the others."""
        self._process.kill()
        self._process.wait(60)


class Container:
    """A service of compose.yml as a process of this machine, with addresses that are free here."""

    def __init__(self, built: image.Image, service: str, here: dict[str, str], directory: Path) -> None:
        self._image, self._service, self._here = built, service, here
        self._variables = {name: self.translate(text) for name, text in environment(service).items()}
        if service in WORKERS:
            # Of the worker file, which compose.yml doesn't override.
            self._variables["CONNECT_LISTENERS"] = self.translate(WORKER_FILE["listeners"])
        self.log = directory / f"{service}.log"
        command = SERVICES[service].get("command") or image.only("CMD").words
        # Where that can't be had it runs without.
        read_only = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _READ_ONLY, "sh", str(built.root)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*(read_only if image.can_mount() else []), *(self._place(word) for word in command)],
                env=built.variables(self._variables),
                cwd=built.path(built.workdir),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def translate(self, text: str) -> str:
        for inside, outside in self._here.items():
            text = re.sub(rf"(?<![\w-]){re.escape(inside)}(?![\w-])", outside, text)
        return text

    def _place(self, word: str) -> str:
        """A program or file of the image where it is here."""
        for place in (self._image.bin / word, self._image.path(word)):
            if place.is_file():
                return str(place)
        return self.translate(word)

    def is_healthy(self) -> bool:
        assert self._process.poll() is None, f"{self._service} ended: {self.log.read_text('utf-8', 'replace')[-3000:]}"
        command = [self._place(word) for word in health(self._service) if word != "CMD"]
        try:
            return subprocess.run(command, env=self._image.variables(), capture_output=True, timeout=60).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def stop(self) -> int:
        self._process.terminate()
        try:
            return self._process.wait(240)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(10)


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[dict[str, BrokerContainer]]:
    here = {(name, str(port)): free_port() for name in BROKERS for port in sorted(listening(name))}
    running: dict[str, BrokerContainer] = {}
    try:
        for name in BROKERS:
            running[name] = BrokerContainer(name, here, tmp_path)
        yield running
    finally:
        for each in running.values():
            each.kill()


@pytest.fixture
def cluster(built: image.Image, brokers: dict[str, BrokerContainer], tmp_path: Path) -> Iterator[dict[str, Container]]:
    """Spark and one worker: what compose.yml starts, less two workers that are as the first."""
    ports = {str(port) for service in (*SPARK, WORKERS[0]) for port in listening(service)}
    here = {
        **{f"{name}:19092": each.address for name, each in brokers.items()},
        **{port: str(free_port()) for port in sorted(ports)},
        **dict.fromkeys((*SPARK, WORKERS[0]), "127.0.0.1"),
        "/tmp/spark": str(tmp_path / "spark"),
    }
    running: dict[str, Container] = {}
    try:
        for service in (*SPARK, WORKERS[0]):
            running[service] = started = Container(built, service, here, tmp_path)
            wait_until(started.is_healthy, 240, f"{service} is not healthy")
        yield running
    finally:
        for each in reversed(running.values()):
            each.stop()


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_what_the_compose_file_starts_moves_lines_also_without_one_of_the_brokers(
    cluster: dict[str, Container], brokers: dict[str, BrokerContainer], tmp_path: Path
) -> None:
    worker = cluster[WORKERS[0]]
    client = ConnectClient(worker.translate("http://127.0.0.1:8083/"))
    plain = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    lines, out = tmp_path / "in", tmp_path / "out"
    lines.write_text("a line\n")
    client.create("in", {"connector.class": "FileStreamSource", "file": str(lines), "topic": "docker", **plain})
    client.create("out", {"connector.class": "FileStreamSink", "file": str(out), "topics": "docker", **plain})
    wait_until(lambda: out.exists() and out.read_text() == "a line\n", 300, f"no line; {worker.log}")
    # An executor's directory in the Spark worker's: it was Spark's worker that ran the hosts.
    assert list((tmp_path / "spark").glob("app-*/0/stderr"))
    if image.can_mount():
        client.create("elsewhere", {"connector.class": "FileStreamSink", "file": "/srv/out", "topics": "docker", **plain})
        client.wait_for("elsewhere", "FAILED", tasks=1)
        assert "Read-only file system" in client.status("elsewhere")["tasks"][0]["trace"]
    brokers.pop(BROKERS[1]).stop()
    with lines.open("a") as more:
        more.write("another\n")
    wait_until(lambda: out.read_text() == "a line\nanother\n", 300, f"no second line; {worker.log}")
    assert worker.stop() == 0
    with pytest.raises(RestError):
        client.health()
