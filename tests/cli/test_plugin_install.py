"""
`kconnect plugin install`, `doctor` and `remove`, with real wheels and pip itself, but no network.

The plugin `flat` comes in two versions, which need different versions of `flatlib`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect import __version__
from kconnect.cli import main as cli
from kconnect.core.state.records import TargetState
from kconnect.plugins import installation
from tests.cli.calls import serving
from tests.rest.herder import MemoryHerder
from tests.rig.systems.plugin_packages import PluginPackage
from tests.support import wait_until

pytestmark = pytest.mark.process

TRANSFORM = """
import flatlib
from kconnect.api import ConfigDef, Transformation

class Flat(Transformation):
    def configure(self, configs): ...
    def apply(self, record): return record
    def config(self): return ConfigDef()
"""
GROUPS = {"kconnect.transforms": {"Flat": "flat:Flat"}}


def flat(version: str, *requires: str, code: str = TRANSFORM) -> PluginPackage:
    return PluginPackage("flat", version, {"flat.py": code}, GROUPS, requires)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheels")
    for version, needs in (("1.0", "flatlib<2"), ("2.0", "flatlib>=2")):
        flat(version, needs, "kconnect", "orjson").wheel(directory)
    for version in ("1.5", "2.5"):
        PluginPackage("flatlib", version, {"flatlib.py": f"release = '{version}'\n"}).wheel(directory)
    PluginPackage("future", "1", {"future.py": ""}, GROUPS, ("kconnect>=99",)).wheel(directory)
    return directory


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONNECT_PLUGIN_PATH", "KCONNECT_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "plugins"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["plugin", *map(str, arguments)])
    return int(str(ended.value.code))


def install(wheels: Path, path: Path, *arguments: object) -> int:
    return run("install", "-p", path, "--no-index", "--find-links", wheels, *arguments)


def children(path: Path) -> list[str]:
    return sorted(child.name for child in path.iterdir()) if path.exists() else []


@pytest.mark.long
def test_versions_beside_each_other_and_away_again(wheels: Path, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install(wheels, path, "flat<2", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"Would install flat 1.0 in {path / 'flat-1.0'}",
        "  packages  flat 1.0, flatlib 1.5",
    ]
    assert children(path) == []

    assert install(wheels, path, "flat<2") == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        f"Installed flat 1.0 in {path / 'flat-1.0'}",
        "  transformation  flat.Flat 1.0",
        "  brings flatlib 1.5",
        "Workers read plugin.path when they start: `kconnect plugin reload` makes running workers read it again.",
    ]
    assert said.err == ""

    assert install(wheels, path, wheels / "flat-2.0-py3-none-any.whl") == 0
    said = capsys.readouterr()
    assert "  brings flatlib 2.5 (flat-1.0 has 1.5; each keeps its own)" in said.out.splitlines()
    assert "  configs that name no version of flat.Flat will get 2.0, not 1.0" in said.out.splitlines()
    assert children(path) == ["flat-1.0", "flat-2.0"]
    # What kconnect has and will do is not there once more.
    assert sorted(file.name for file in (path / "flat-2.0").iterdir() if file.suffix != "") == [
        "flat-2.0.dist-info",
        "flat.py",
        "flatlib-2.5.dist-info",
        "flatlib.py",
    ]
    made = path / "flat-2.0" / "flat.py"
    os.utime(made, (0, 0))
    assert install(wheels, path, "flat") == 0
    assert capsys.readouterr().out == f"{path / 'flat-2.0'} has flat 2.0 already (--force installs it again)\n"
    assert made.stat().st_mtime == 0

    assert run("doctor", "-p", path) == 0
    assert capsys.readouterr().out == f"No problems in {path}\n"

    assert run("remove", "flat", "-p", path, "--yes") == 2
    assert "Several versions of flat are installed: 1.0, 2.0" in capsys.readouterr().err
    assert run("remove", "flat", "3.0", "-p", path, "--yes") == 4
    assert "There is no version 3.0 of flat; installed: 1.0, 2.0" in capsys.readouterr().err
    assert run("remove", "flat", "1.0", "-p", path, "--yes") == 0
    assert children(path) == ["flat-2.0"]
    assert run("remove", "flat", "-p", path, "--yes") == 0
    assert children(path) == []


@pytest.mark.long
def test_a_version_once_more_and_older_ones_away(wheels: Path, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("0.9", "1.0", "9"):
        flat(version).install(path)
    assert install(wheels, path, "flat==1.0", "--upgrade", "--force") == 0
    assert f"Removed {path / 'flat-0.9'}" in capsys.readouterr().out
    assert children(path) == ["flat-1.0", "flat-9"]
    assert (path / "flat-1.0" / "flatlib.py").exists()


@pytest.mark.parametrize(
    ("package", "status", "words"),
    [
        (flat("3.0", code="import nothing_here\n"), 1, "flat.Flat (flat:Flat in {target}) can't be imported: ModuleNotFound"),
        (PluginPackage("flat", "3.0", {"flat.py": ""}), 6, "flat 3.0 is not a plugin: its package has no entry points for "),
    ],
    ids=["no import", "no entry points"],
)
def test_what_does_not_work_is_not_installed(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], package: PluginPackage, status: int, words: str
) -> None:
    wheel = package.wheel(tmp_path)
    assert install(tmp_path, path, wheel) == status
    said = capsys.readouterr()
    assert words.format(target=path / "flat-3.0") in said.err
    assert said.out == ""
    assert children(path) == []


@pytest.mark.long
def test_unless_one_insists(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = flat("3.0", code="import nothing_here\n").wheel(tmp_path)
    assert install(tmp_path, path, wheel, "--no-check") == 0
    assert children(path) == ["flat-3.0"]
    assert run("doctor", "-p", path, "-o", "json") == 1
    found = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    (problem,) = found["problems"]
    assert found["errors"] == 1
    assert (problem["severity"], problem["check"], problem["location"]) == ("error", "class", str(path / "flat-3.0"))
    assert "No module named 'nothing_here'" in problem["message"]


@pytest.mark.long
def test_what_can_t_be_had_says_what_to_do(
    wheels: Path, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flatt").mkdir()
    for name in ("a-file", "a-file.json"):
        (tmp_path / name).touch()
    for arguments, status, words in (
        (["flatt"], 1, "No matching distribution found for flatt (-v shows its whole output); for the local directory"),
        (["flat>2"], 1, "Could not find a version that satisfies the requirement flat>2 (from versions: 1.0, 2.0)"),
        (["./flatt"], 1, "is not installable. Neither 'setup.py' nor 'pyproject.toml' found."),
        (["future"], 1, f"kconnect {__version__} is installed here, and a plugin can't bring its own"),
        (["./nothing"], 6, "./nothing does not exist"),
        (["./a-file"], 6, "./a-file: this is neither a wheel (.whl) nor a source distribution (.tar.gz) nor a directory"),
        # PyPI has names like these, which anybody may take.
        (["a-file.json"], 6, "a-file.json: this is neither a wheel (.whl)"),
        (["orders.yaml"], 6, "orders.yaml does not exist"),
        (["--", "-r"], 6, "'-r' is not a requirement: write a package as acme or 'acme>=1.2', a wheel, or ./directory"),
        (["flat", "--python", "/no/python"], 6, "--python /no/python: No such file or directory; name a Python executable"),
    ):
        assert install(wheels, path, *arguments) == status, arguments
        said = capsys.readouterr()
        assert said.err.startswith("kconnect: ")
        assert words in said.err
        assert said.out == ""
    assert children(path) == []
    assert run("install", "flat") == 2
    assert "Give the directory to install into: -p DIR, -w WORKER-FILE, or CONNECT_PLUGIN_PATH" in capsys.readouterr().err
    assert install(wheels, tmp_path / "a-file", "flat") == 6
    assert "is not a directory. plugin.path names directories" in capsys.readouterr().err


@pytest.mark.long
def test_another_python_does_it_itself(wheels: Path, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert install(wheels, path, "flat<2", "--python", sys.executable, "--dry-run") == 0
    assert capfd.readouterr().out.startswith(f"Would install flat 1.0 in {path / 'flat-1.0'}\n")


@pytest.mark.long
@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL], ids=["Ctrl-C", "kill -9"]
)
def test_an_interrupted_installation_leaves_no_half_plugin(path: Path, tmp_path: Path, how: signal.Signals) -> None:
    flag = tmp_path / "being-imported"
    code = f"import pathlib, time\npathlib.Path({str(flag)!r}).touch()\nwhile True: time.sleep(1)\n"
    wheel = flat("1.0", code=code).wheel(tmp_path)
    started = subprocess.Popen([sys.executable, "-c", _LISTENING, "install", wheel, "-p", path], start_new_session=True)
    try:
        wait_until(flag.exists)
        started.send_signal(how)
        assert started.wait(120) == (130 if how is signal.SIGINT else -signal.SIGKILL)
    finally:
        started.kill()
    left = children(path)
    if how is signal.SIGINT:
        assert left == []
        return
    # Nothing that a worker looks at, and the next one clears it away.
    assert [name[:12] for name in left] == [".installing-"]
    assert installation.installed(path) == []
    assert [each.name for each in installation.unfinished(path)] == left
    installation.clear(path)
    assert children(path) == []


@pytest.mark.long
def test_a_plugin_that_another_has_brought_along_is_the_other_s(tmp_path: Path, path: Path) -> None:
    """Neither a newer version of it nor the same once more takes the other away."""
    wheels, code = tmp_path / "wheels", TRANSFORM.replace("import flatlib", "")
    for version in ("1.0", "2.0"):
        PluginPackage("bolts", version, {"bolts.py": code}, {"kconnect.transforms": {"Bolts": "bolts:Flat"}}).wheel(wheels)
        rack = {"kconnect.transforms": {"Rack": "rack:Flat"}}
        PluginPackage("rack", version, {"rack.py": code}, rack, ("bolts",)).wheel(wheels)
    (wheels / "bolts-2.0-py3-none-any.whl").rename(tmp_path / "bolts-2.0-py3-none-any.whl")
    assert install(wheels, path, "rack<2") == 0
    assert sorted(name for name, _ in installation.distributions(path / "rack-1.0")) == ["bolts", "rack"]
    assert install(wheels, path, "bolts==1.0") == 0
    assert children(path) == ["rack-1.0"]
    assert install(wheels, path, "bolts==1.0", "--force") == 0
    assert children(path) == ["bolts-1.0", "rack-1.0"]
    assert install(wheels, path, tmp_path / "bolts-2.0-py3-none-any.whl", "--upgrade") == 0
    assert children(path) == ["bolts-2.0", "rack-1.0"]
    # Its own newer version does, whatever else is in it.
    assert install(wheels, path, "rack", "--upgrade") == 0
    assert children(path) == ["bolts-2.0", "rack-2.0"]


_LISTENING = """
import signal, sys
from kconnect.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # What a shell starts behind its back has it ignored.
main(["plugin", *sys.argv[1:]])
"""


@pytest.fixture
def herder() -> MemoryHerder:
    return MemoryHerder()


@pytest.fixture
def url(herder: MemoryHerder) -> Iterator[str]:
    with serving(herder) as url:
        yield url


def test_what_a_connector_uses_is_not_removed(
    herder: MemoryHerder, url: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("1.0", "2.0"):
        flat(version).install(path)
    base = {"connector.class": "FileStreamSource", "transforms": "f", "transforms.f.type": "flat.Flat"}
    herder.targets = dict.fromkeys(("newest", "older"), TargetState.STOPPED)
    herder.configs["newest"] = {"name": "newest", **base}
    herder.configs["older"] = {"name": "older", **base, "transforms.f.plugin.version": "1.0"}
    for version, user in (("1.0", "older"), ("2.0", "newest")):
        assert run("remove", "flat", version, "-p", path, "--yes", "--url", url) == 5
        assert f"{path / f'flat-{version}'} is used by {user}: give" in capsys.readouterr().err
    del herder.configs["older"]
    assert run("remove", "flat", "1.0", "-p", path, "--yes", "--url", url) == 0
    assert children(path) == ["flat-2.0"]


def test_what_a_connector_inherits_from_the_worker_is_not_removed(
    herder: MemoryHerder, url: str, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in ("1.0", "2.0"):
        PluginPackage("paper", version, {}, {"kconnect.converters": {"Paper": "paper:PaperConverter"}}).install(path)
    file = tmp_path / "worker.properties"
    own = "value.converter=Paper\nvalue.converter.plugin.version=1.0\n"
    file.write_text(f"bootstrap.servers=b:9092\ngroup.id=g\nplugin.path={path}\n{own}")
    herder.targets = {"heir": TargetState.STOPPED}
    herder.configs["heir"] = {"name": "heir", "connector.class": "FileStreamSource"}
    assert run("remove", "paper", "1.0", "-w", file, "--yes", "--url", url) == 5
    assert f"{path / 'paper-1.0'} is used by heir: give" in capsys.readouterr().err
    assert run("remove", "paper", "2.0", "-w", file, "--yes", "--url", url) == 0
    assert children(path) == ["paper-1.0"]


def test_a_converter_from_beside_its_connector_leaves_newer_ones_free(herder: MemoryHerder, url: str, path: Path) -> None:
    paper = {"kconnect.converters": {"Paper": "paper:PaperConverter"}}
    PluginPackage("paper", "2.0", {}, paper).install(path)
    PluginPackage("own", "0.5", {}, {**paper, "kconnect.connectors": {"Own": "own:Own"}}).install(path)
    herder.targets = {"c": TargetState.STOPPED}
    herder.configs["c"] = {"name": "c", "connector.class": "Own", "value.converter": "Paper"}
    assert run("remove", "paper", "-p", path, "--yes", "--url", url) == 0


def test_it_asks_before_it_removes(path: Path) -> None:
    flat("1.0").install(path)
    command = [sys.executable, "-m", "kconnect", "plugin", "remove", "flat", "-p", path]
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 2
    assert b"There is no terminal to ask on: give --yes to confirm." in done.stderr
    assert children(path) == ["flat-1.0"]
