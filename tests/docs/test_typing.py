"""
Somebody types what pages show, in their order, in an empty home: each command succeeds, and prints what the page says.

`readings.py` has the pages and what each presupposes, `left_out.py` what is not typed, and why. `test_plugins.py` follows the
pages for authors of plugins, and `test_blocks.py` looks at the files that pages show.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.docs.readings import READINGS, Reading, steps_of
from tests.docs.scene import Scene
from tests.docs.steps import agrees


@pytest.fixture
def scene(worker: WorkerProcess, bootstrap: str, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(worker, bootstrap, tmp_path / "home")
    yield made
    made.close()


needs_programs = pytest.mark.skipif(
    shutil.which("curl") is None or not Path("/etc/services").exists(), reason="there is no curl or /etc/services"
)


@needs_programs
@pytest.mark.parametrize("reading", [pytest.param(each, id=each.name, marks=each.marks) for each in READINGS])
def test_each_command_of_a_page_succeeds(reading: Reading, scene: Scene) -> None:
    reading.prepare(scene)
    typed = 0
    for step in steps_of(reading):
        reading.preparation(step)(scene)
        said = scene.type(step)
        assert step.shown is None or agrees(step.shown, said), (
            f"{step.place}: {step.command}\nprints\n{said}\nnot\n{step.shown}"
        )
        typed += 1
    assert typed
