"""Attacks by whoever may write to the directory in which a worker or a command is started: none of it must ever be run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyspark
import pytest
from pyspark.find_spark_home import _find_spark_home

from kconnect import interpreter
from kconnect.connectors.spark.application import PYTHON, Application, SparkFault
from kconnect.core.settings.worker import WorkerSettings
from kconnect.local.broker import Broker
from kconnect.local.guard import Guard
from kconnect.plugins.child import Child
from kconnect.plugins.pip import Pip, PipError
from kconnect.spark import home
from kconnect.testing.processes import WorkerProcess
from kconnect.worker.errands import Errands
from tests.attacks import search_paths
from tests.conftest import QUICK
from tests.support import wait_until

MARK = """
import os
with open({mark!r}, "a") as file:
    file.write(__file__ + " " + str(os.getpid()) + "\\n")
"""
NAMES = ("kconnect/__init__.py", "pip/__init__.py", "profile.py", "json.py", "logging.py", "orjson.py", "pyspark/__init__.py")
OTHER_PYTHONS = sorted(Path.home().glob(".pyenv/versions/3.1[0-9]*/bin/python"))

pytestmark = pytest.mark.process


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "mark"


@pytest.fixture
def evil(tmp_path: Path, mark: Path) -> Path:
    """A folder with modules that leave a mark if they are run."""
    folder = tmp_path / "evil"
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(MARK.format(mark=str(mark)))
    return folder


@pytest.fixture
def here(evil: Path) -> Iterator[Path]:
    """Be in that folder."""
    before = Path.cwd()
    os.chdir(evil)
    yield evil
    os.chdir(before)


def test_the_control_a_module_by_python_s_own_rule(here: Path, mark: Path) -> None:
    """The control: `python -m` runs what is in the current directory."""
    subprocess.run([sys.executable, "-m", "kconnect.local.guard"], capture_output=True)
    assert mark.exists()


@pytest.mark.parametrize("python", [None, sys.executable, *map(str, OTHER_PYTHONS)])
def test_no_python_runs_what_is_in_the_current_directory(here: Path, mark: Path, python: str | None) -> None:
    """Whoever may write to the current directory leaves modules there; a module that is run must not import them."""
    (here / "evil_alone.py").write_text("")
    done = subprocess.run(interpreter.command("json.tool", "--help", python=python), capture_output=True, text=True)
    assert "usage" in done.stdout
    absent = subprocess.run(interpreter.command("evil_alone", python=python), capture_output=True, text=True)
    assert "evil_alone" in absent.stderr
    assert absent.returncode == 1
    code = "import sys, json; print(json.dumps(sys.path))"
    done = subprocess.run(interpreter.evaluate(code, python or sys.executable), capture_output=True, text=True)
    assert str(here) not in done.stdout
    assert '""' not in done.stdout
    assert not mark.exists()


def test_what_the_operator_names_counts(here: Path, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: folders of PYTHONPATH are the operator's own choice."""
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "chosen_module.py").write_text("print('chosen')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "chosen"))
    for python in (None, sys.executable):
        command = interpreter.command("chosen_module", python=python)
        assert subprocess.run(command, capture_output=True, text=True).stdout == "chosen\n"
    assert not mark.exists()


@pytest.mark.parametrize("given", ["{empty}:{chosen}", "{chosen}:", "{chosen}::{chosen}", ":"])
def test_an_empty_element_of_the_path_names_no_directory(here: Path, mark: Path, tmp_path: Path, given: str) -> None:
    """Whoever may write to the current directory, where the operator's PYTHONPATH has an empty element, must run nothing."""
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "chosen_module.py").write_text("print('chosen')")
    environment = {**os.environ, "PYTHONPATH": given.format(empty="", chosen=tmp_path / "chosen")}
    (here / "chosen_late.py").write_text((here / "profile.py").read_text())
    subprocess.run([sys.executable, "-P", "-c", "import chosen_late"], env=environment, capture_output=True)
    assert mark.exists(), "the control: by Python's own rule it is found there"
    mark.unlink()
    path = [*environment["PYTHONPATH"].split(os.pathsep), *sys.path]
    interpreter.forget_empty(environment, path := [place or str(here) for place in path])
    assert str(here) not in path
    done = subprocess.run(interpreter.command("chosen_late"), env=environment, capture_output=True, text=True)
    assert "chosen_late" in done.stderr
    if "chosen" in given:
        done = subprocess.run(interpreter.command("chosen_module"), env=environment, capture_output=True, text=True)
        assert done.stdout == "chosen\n"
    assert not mark.exists()


def spark_beside(folder: Path, mark: Path) -> None:
    """Make a folder look like a Spark, whose program leaves a mark."""
    (folder / "jars").mkdir()
    program = folder / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho $0 >> {mark}\nexit 1\n")
    program.chmod(0o755)


@pytest.mark.long
def test_no_spark_is_run_that_lies_beside_the_current_directory(
    here: Path, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write to the directory above the current one leaves a `spark-submit` there; it must not be run."""
    monkeypatch.delenv("SPARK_HOME", raising=False)
    spark_beside(tmp_path, mark)
    assert _find_spark_home() == str(tmp_path), "the control: PySpark would run it"
    environment = dict(os.environ)
    home.name_it(environment)
    assert environment["SPARK_HOME"] == str(Path(pyspark.__file__).parent)
    code = "from kconnect.spark import session, output; session.settings = lambda *_: {'spark.master': 'none://'}; "
    code += "session.start({}, '', 1, output.Output())"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=120)
    assert "Spark did not start" in done.stderr
    assert not mark.exists()


def test_the_operator_s_spark_counts(tmp_path: Path) -> None:
    """The control: what `SPARK_HOME` names is the operator's own choice."""
    environment = {"SPARK_HOME": str(tmp_path)}
    home.name_it(environment)
    assert environment == {"SPARK_HOME": str(tmp_path)}


ICEBERG = """
import os, sys
{first}
from pyiceberg import catalog
print(catalog._ENV_CONFIG.get_catalog_config("prod"))
"""


@pytest.mark.parametrize("empty_home", [False, True])
def test_no_lake_is_what_the_current_directory_says(here: Path, tmp_path: Path, empty_home: bool) -> None:
    """Whoever may write to the current directory leaves pyiceberg's file there; it must say nothing of any catalog."""
    (here / ".pyiceberg.yaml").write_text("catalog:\n  prod:\n    uri: http://evil.example\n")
    (tmp_path / "home").mkdir()
    if empty_home:
        # What was not in the operator's file is not taken from another one.
        (tmp_path / "home" / ".pyiceberg.yaml").write_text("catalog:\n  other:\n    uri: http://ours.example\n")
    environment = {**os.environ, "HOME": str(tmp_path / "home")}

    def says(first: str) -> str:
        command = [sys.executable, "-P", "-c", ICEBERG.format(first=first)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    if not empty_home:
        assert "evil.example" in says(""), "the control: pyiceberg would believe it"
    assert says("from kconnect.connectors.iceberg import catalogs") == "None\n"
    (tmp_path / "home" / ".pyiceberg.yaml").write_text("catalog:\n  prod:\n    uri: http://ours.example\n")
    assert "ours.example" in says("from kconnect.connectors.iceberg import catalogs"), "the operator's own file counts"


def settings() -> WorkerSettings:
    names = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
    converters = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")
    return WorkerSettings.from_properties({**dict.fromkeys(names, "x"), **converters, "bootstrap.servers": "127.0.0.1:1"}, {})


def sandbox() -> None:
    child = Child((), {"memory": None})
    try:
        child.ask({"nothing": True}, time.monotonic() + 60)
    except Exception as error:  # noqa: BLE001 - whatever it makes of that, it has imported all it needs
        assert "Timeout" not in type(error).__name__
    finally:
        child.kill()


def preview() -> None:
    config = {"connector.class": "FileStreamSink", "topics": "t"}
    assert '"payload": "v"' in Errands(settings()).preview(config, [{"topic": "t", "value": "v"}], {})


def guard() -> None:
    Guard(os.getpid(), "no such mark").release()


def pip() -> None:
    with pytest.raises(PipError):
        Pip(["--no-index"]).resolve("no-such-package-anywhere")


@pytest.mark.parametrize("start", [sandbox, preview, guard, pip])
def test_no_child_runs_what_is_in_the_current_directory(here: Path, mark: Path, start: Callable[[], None]) -> None:
    """Whoever may write to the current directory leaves modules there; a child of any kind must not import them."""
    start()
    assert not mark.exists(), mark.read_text()


def test_no_child_is_started_in_another_way() -> None:
    """Whoever adds a child that Python would look for in the current directory; the way of all others must be taken."""
    package = Path(interpreter.__file__).parent
    for file in package.rglob("*.py"):
        if file.name != "interpreter.py":
            assert not re.search(r"\[[\w.]+, \"-[mc]\"", file.read_text("utf-8")), file


class InFolder(WorkerProcess):
    """A worker that is started in a folder."""

    def _command(self) -> list[str]:
        return ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(self.directory / "evil"), *super()._command()]


@pytest.mark.long
@pytest.mark.integration
def test_no_process_of_a_worker_runs_what_is_in_its_directory(broker: Broker, tmp_path: Path, evil: Path, mark: Path) -> None:
    """Whoever may write to the worker's directory leaves modules there; driver, daemon, hosts and sandbox must not run them."""
    spark_beside(tmp_path, mark)
    worker = InFolder(tmp_path, broker.bootstrap_servers, "children", properties=QUICK)
    try:
        worker.start()
        (tmp_path / "in.txt").write_text("line\n")
        config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": "children-lines"}
        worker.client.create("children", config)
        wait_until(lambda: worker.client.status("children")["connector"]["state"] == "RUNNING")
        assert not mark.exists(), mark.read_text()
        places = {
            place for process in psutil.Process(worker.pid).children(recursive=True) for place in search_paths.of(process)
        }
        assert any("jars" in place.parts for place in places)
        assert not [place for place in places if search_paths.is_open(place)]
    finally:
        worker.stop()
    assert not mark.exists(), mark.read_text()


def test_the_control_places_that_others_may_make(tmp_path: Path) -> None:
    assert search_paths.is_open(Path("/tmp/kconnect-no-such-folder"))
    assert search_paths.is_open(Path("/tmp/kconnect-no-such-folder/jars/a.jar"))
    assert search_paths.is_open(Path("conf"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert search_paths.is_open(tmp_path / "open" / "a")
    assert not search_paths.is_open(tmp_path / "own")


LAKE = """#!/bin/sh
echo "$PYTHONPATH" > {told}
echo "$TMPDIR" >> {told}
(
    for turn in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.2
        test -e "$PYTHONPATH/kconnect/__init__.py" && test -d "$TMPDIR" || echo gone >> {told}
    done
    echo end >> {told}
) > /dev/null 2>&1 &
"""


def test_what_a_lake_s_processes_look_for_code_in_is_there_until_they_have_ended(tmp_path: Path) -> None:
    """Whoever makes a folder in /tmp anew that Spark's JVM still has in its class path has his classes loaded into it."""
    told, python = tmp_path / "told", tmp_path / "python"
    python.write_text(LAKE.format(told=told))
    python.chmod(0o755)
    application = Application({PYTHON: str(python)})
    with pytest.raises(SparkFault, match="has ended"):
        # As a JVM does, one of its processes ends behind the first one.
        application.ask({"do": "look"}).result(60)
    wait_until(lambda: told.exists() and "end\n" in told.read_text())
    modules, aside, *rest = told.read_text().splitlines()
    assert rest == ["end"]
    wait_until(lambda: not Path(modules).parent.exists())
    assert Path(aside).parent == Path(modules).parent, "what is put aside, such as a folder of the class path, is in there, too"
