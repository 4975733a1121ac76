"""What a process that crashes leaves for the next one, with real processes and real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kconnect.core.state.assignment_records import Blame
from kconnect.core.state.records import UnitId
from kconnect.host import blackbox
from kconnect.jvm import java
from tests.rig.plugin_faults import java as faults
from tests.support import starts

pytestmark = pytest.mark.process

_PROCESS = """
import os, threading, time, types
import plugin
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.records import TargetState
from kconnect.host import blackbox
from kconnect.units import owners
from kconnect.units.starts import StartTurns
from kconnect.units.unit import Unit

blackbox._DUMP_S, blackbox._LIMIT_S = 0.3, 3.0
box = blackbox.open_box("i-1")
owners.follow(box.note)
host = types.SimpleNamespace(status=lambda *args: None, starts=StartTurns())

class Runs(Unit):
    what = None
    def run(self):
        self.what()

def unit(name, what):
    made = Runs(UnitSpec(name, 0, {}, {}, 41, 2), host, TargetState.STARTED)
    made.what = what
    made.start()
    return made

unit("gone", int).join(60)
unit("good", threading.Event().wait)
bad = lambda what: unit("bad", what)
"""


def run(directory: Path, script: str, is_sure: bool = True) -> tuple[int, dict[UnitId, Blame]]:
    """How a process that does this ends, and whom what it leaves blames, for sure or not."""
    (directory / "plugin.py").write_text(
        "import ctypes, os, threading, time\n"
        "def crash():\n    ctypes.string_at(0)\n"
        "def abort():\n    os.abort()\n"
        "def start():\n    threading.Thread(target=ctypes.string_at, args=(0,)).start()\n    time.sleep(60)\n"
        "def hold():\n    ctypes.PyDLL(None).sleep(60)\n"
        "def nap():\n    time.sleep(60)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", _PROCESS + script],
        env={**os.environ, "PYTHONPATH": str(directory), "TMPDIR": str(directory)},
        timeout=270,
        check=False,
        capture_output=True,
    )
    blames, sure = blackbox.Found("i-1").blames()
    assert sure == is_sure
    return ended.returncode, blames


_IN_JAVA = """
from kconnect.host.java_threads import JavaThreads
from kconnect.jvm import errors, loading, machine, options
from kconnect.processes import logs

options.wanted = options.Options(64 << 20, report=box.java_report)
faults = loading.find("faulty.Faults", PLACE)
threads = JavaThreads(box)

def java(kind):
    def strike():
        logs.bind("bad", 0)
        with errors.calling(faults.getClassLoader()):
            import jpype
            jpype.JClass(faults).at("here", ["here", kind])
    return bad(strike)
"""


def run_java(directory: Path, plugin: Path, script: str) -> tuple[int, dict[UnitId, Blame], bool]:
    ended = subprocess.run(
        [sys.executable, "-c", _PROCESS.replace("import plugin", f"PLACE = {str(plugin)!r}") + _IN_JAVA + script],
        env={**os.environ, "TMPDIR": str(directory)},
        timeout=240,
        check=False,
        capture_output=True,
    )
    return ended.returncode, *blackbox.Found("i-1").blames()


@pytest.fixture(scope="module")
@starts("process")
def java_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("plugins")
    faults.write_plugins(directory)
    return directory / faults.NAME


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_crash_is_the_unit_s_whose_thread_it_was(tmp_path: Path) -> None:
    status, blames = run(tmp_path, "bad(plugin.crash).join(60)")
    assert status == -signal.SIGSEGV
    [(unit, blame)] = blames.items()
    assert (unit, blame.config_offset, blame.run) == (UnitId("bad", 0), 41, 2)
    assert blame.reason.startswith("SIGSEGV: the code of this task has ended its host's process")
    assert 'plugin.py", line 3 in crash' in blame.reason
    assert "kconnect" not in blame.reason, "how our own code came to call it helps nobody"
    assert blackbox.Found("i-1").blames() == ({}, True), "it is told once"


def test_an_abort_is_told_as_such(tmp_path: Path) -> None:
    status, blames = run(tmp_path, "bad(plugin.abort).join(60)")
    assert status == -signal.SIGABRT
    assert blames[UnitId("bad", 0)].reason.startswith("SIGABRT")


def test_a_crash_in_a_thread_that_the_unit_has_started_is_the_unit_s(tmp_path: Path) -> None:
    _, blames = run(tmp_path, "bad(plugin.start).join(60)")
    assert blames.keys() == {UnitId("bad", 0)}


def test_it_is_found_among_more_threads_than_the_interpreter_shows(tmp_path: Path) -> None:
    script = """
go = threading.Event()
first = bad(lambda: (go.wait(240), plugin.crash()))
for number in range(150):
    unit(f"good-{number}", threading.Event().wait)
go.set()
first.join(240)
"""
    assert run(tmp_path, script)[1].keys() == {UnitId("bad", 0)}


def test_for_a_crash_of_anybody_else_no_unit_is_blamed(tmp_path: Path) -> None:
    status, blames = run(tmp_path, "plugin.crash()")
    assert (status, blames) == (-signal.SIGSEGV, {})
    status, blames = run(tmp_path, "bad(lambda: os.kill(os.getpid(), 9)).join(60)")
    assert (status, blames) == (-signal.SIGKILL, {})


def test_a_process_that_ends_itself_can_say_for_whom(tmp_path: Path) -> None:
    script = "made = unit('bad', plugin.nap); box.attribute_fault(made.spec, 'it took 9 MiB\\n\u00e9'); os.kill(os.getpid(), 9)"
    status, blames = run(tmp_path, script)
    assert status == -signal.SIGKILL
    assert blames == {UnitId("bad", 0): (41, 2, "it took 9 MiB\n\u00e9")}


def test_a_process_that_ends_itself_can_name_several_of_whom_it_knows_nothing(tmp_path: Path) -> None:
    script = (
        "made = [unit(name, plugin.nap) for name in ('one', 'other')];"
        "[box.attribute_fault(each.spec, 'it took 9 MiB', is_sure=False) for each in made]; os.kill(os.getpid(), 9)"
    )
    status, blames = run(tmp_path, script, is_sure=False)
    assert status == -signal.SIGKILL
    assert blames.keys() == {UnitId("one", 0), UnitId("other", 0)}
    # Whom it knows of counts alone.
    script = script.replace("os.kill", "box.attribute_fault(made[1].spec, 'it took 9 MiB'); os.kill")
    assert run(tmp_path, script)[1].keys() == {UnitId("other", 0)}


def test_a_process_that_ends_in_order_leaves_nothing(tmp_path: Path) -> None:
    status, blames = run(tmp_path, "box.alive(); box.close(); os._exit(0)")
    assert (status, blames) == (0, {})
    [directory] = tmp_path.glob("kconnect-hosts-*")
    assert os.stat(directory).st_mode & 0o777 == 0o700
    assert list(directory.iterdir()) == []


def test_who_holds_the_interpreter_s_lock_for_too_long_is_blamed_for_the_end_of_the_process(tmp_path: Path) -> None:
    status, blames = run(tmp_path, "unit('naps', plugin.nap); box.alive(); bad(plugin.hold).join(60)")
    assert status == -signal.SIGALRM
    assert blames.keys() == {UnitId("bad", 0)}
    assert "let nothing else run" in blames[UnitId("bad", 0)].reason


def test_a_process_that_was_suspended_blames_nobody(tmp_path: Path) -> None:
    """One dump is written when it wakes up, and then the timer ends it: nobody is to be seen to have held anything."""
    # Only once it is suspended: whoever is woken up before sleeps for ever.
    asleep = "until grep -q '^State:.T' /proc/$0/status; do sleep 0.1; done"
    wakes = f"""import subprocess; subprocess.Popen(["sh", "-c", "{asleep}; sleep 4; kill -CONT $0", str(os.getpid())])\n"""
    script = f"{wakes}bad(lambda: [plugin.nap() for _ in range(9)]); box.alive(); os.kill(os.getpid(), 19)\ntime.sleep(60)"
    status, blames = run(tmp_path, script)
    assert status == -signal.SIGALRM
    assert blames == {}


def test_a_directory_that_others_can_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another user of the machine makes the folder before this one does: hosts had none then, and a crash was nobody's."""
    monkeypatch.setenv("KCONNECT_CACHE", str(tmp_path / "cache"))
    (tmp_path / f"kconnect-hosts-{os.getuid()}").mkdir(0o777)
    (tmp_path / f"kconnect-hosts-{os.getuid()}").chmod(0o777)
    box = blackbox.open_box("i-1")
    assert box is not None
    box.close()
    assert (tmp_path / "cache" / "hosts").stat().st_mode & 0o777 == 0o700
    assert caplog.text == ""
    (tmp_path / "cache" / "hosts").chmod(0o777)
    assert blackbox.open_box("i-1") is None
    assert caplog.text.count("other users may write to") == 2


def test_files_that_nobody_has_asked_for_are_swept_away(tmp_path: Path) -> None:
    directory = tmp_path / f"kconnect-hosts-{os.getuid()}"
    directory.mkdir(0o700)
    for name, age in (("old", 3 * 86_400), ("new", 60)):
        (directory / name).touch()
        now = (directory / name).stat().st_mtime
        os.utime(directory / name, (now - age, now - age))
    run(tmp_path, "box.close(); os._exit(0)")
    assert [file.name for file in directory.iterdir()] == ["new"]


def test_a_crash_in_java_is_the_unit_s_and_tells_where_in_java(tmp_path: Path, java_plugin: Path) -> None:
    status, blames, is_sure = run_java(tmp_path, java_plugin, "java('crash').join(200)")
    assert (status, is_sure) == (-signal.SIGABRT, True)
    [(unit, blame)] = blames.items()
    assert (unit, blame.config_offset, blame.run) == (UnitId("bad", 0), 41, 2)
    assert blame.reason.startswith("SIGSEGV: the code of this task has ended its host's process")
    assert "faulty.Faults.crash()" in blame.reason


@pytest.mark.long
@pytest.mark.skipif(java.version(java.find()) >= 24, reason="then Java's threads are nobody's")
def test_a_crash_in_a_thread_that_java_has_started_is_the_unit_s(tmp_path: Path, java_plugin: Path) -> None:
    script = "made = java('crash in a thread')\nwhile made.alive: threads.look([made]); time.sleep(0.2)"
    status, blames, is_sure = run_java(tmp_path, java_plugin, script)
    assert (status, is_sure) == (-signal.SIGABRT, True)
    assert blames.keys() == {UnitId("bad", 0)}
    assert "faulty.Faults" in blames[UnitId("bad", 0)].reason


@pytest.mark.long
def test_who_finds_the_heap_full_is_named_but_not_for_sure(tmp_path: Path, java_plugin: Path) -> None:
    status, blames, is_sure = run_java(tmp_path, java_plugin, "java('heap').join(200)")
    assert (status, is_sure) == (-signal.SIGABRT, False)
    assert blames[UnitId("bad", 0)].reason.startswith("java.lang.OutOfMemoryError: Java heap space: the code of this task")
    [directory] = tmp_path.glob("kconnect-hosts-*")
    assert list(directory.iterdir()) == [], "what is found is taken away"
