"""
The short form of `scripts/chaos --machines`: three brokers, Spark and three workers; one broker and one worker are killed.

It needs what `tests/rig/machines` says; where that is missing it says so and is left out. The seed is always the same. What the
faults cost is printed and not judged: that depends on the machine. What may never happen fails the run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import machines
from tests.rig.machines import ADDRESSES
from tests.rig.machines.cluster import Rig, life_line
from tests.rig.machines.programs import FABRIC, compiled
from tests.support import seed, wait_until

ROOT = Path(__file__).parents[2]
FAULTS = ("kill9_broker", "kill9_worker_short")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(machines.lacking() is not None, reason=str(machines.lacking())),
]


def test_nothing_is_lost_or_run_twice_when_a_broker_and_a_worker_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.rig.chaos", "--machines", "--seed", str(seed("KCONNECT_CHAOS_SEED"))]
    # A process of its own: it enters the network of the rig.
    done = subprocess.run(
        [*command, "--directory", str(tmp_path), "--fault", *FAULTS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(done.stdout)  # noqa: T201 - what the faults cost, for who asks pytest for it
    assert done.returncode == 0, f"everything is in {tmp_path}:\n{done.stdout}\n{done.stderr}"
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert [row["fault"] for row in rows] == ["control", *FAULTS]
    assert not _processes(tmp_path)


def test_machines_have_names_processes_and_folders_of_their_own_and_all_end_with_the_life_line(tmp_path: Path) -> None:
    line, held = life_line()
    try:
        rig = Rig(tmp_path, line)
        rig.hosts.write_files()
        rig.switch.start(compiled(FABRIC), line)
        for name in ("b1", "k1"):
            rig.hosts.boot(name)
        assert rig.hosts.run("b1", ["hostname"]) == "b1\n"
        assert rig.hosts.run("b1", ["sh", "-c", "getent hosts k1 | cut -d' ' -f1"]).strip() == ADDRESSES["k1"]
        # What runs there is a copy of the code: nobody who edits the checkout changes it.
        where = [sys.executable, "-c", "import kconnect; print(kconnect.__file__)"]
        assert rig.hosts.run("k1", where).startswith(str(tmp_path))
        rig.hosts.run("b1", ["touch", "/tmp/own"])
        assert "own" not in rig.hosts.run("k1", ["ls", "/tmp"])
        rig.hosts.start("k1", [sys.executable, "-m", "http.server", "8000", "--bind", "k1"], "server")
        ask = [sys.executable, "-c", "import urllib.request as u; print(u.urlopen('http://k1:8000/', timeout=2).status)"]
        wait_until(lambda: _answers(rig, ask), 60)
        assert not rig.hosts.processes("b1", "http.server")
        rig.switch.part(["b1"], ["k1"])
        assert not _answers(rig, ask)
        rig.switch.heal()
        wait_until(lambda: _answers(rig, ask), 60)
        rig.hosts.crash("k1")
        assert not rig.hosts.is_up("k1")
        rig.hosts.boot("k1")
        assert not rig.hosts.processes("k1", "http.server")
    finally:
        os.close(held)
    wait_until(lambda: not _processes(tmp_path), 60)
    assert not rig.hosts.is_up("b1")
    os.close(line)


def _answers(rig: Rig, ask: list[str]) -> bool:
    done = subprocess.run(rig.hosts.words("b1", ask), capture_output=True, text=True, check=False)
    return done.stdout.strip() == "200"


def _processes(directory: Path) -> list[str]:
    """Return the processes whose command lines name the rig's directory."""
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listing.stdout.splitlines() if str(directory) in line and "pytest" not in line]
