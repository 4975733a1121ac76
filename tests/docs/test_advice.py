"""
Each sentence of advice in the list (`tests/docs/advice.py`) appears in a test, from its cause.

By night, the tests that provoke advice run once more, and what ran is looked at: a sentence that none of them had said is one
that nobody has ever seen.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import coverage
import pytest

from tests.docs.advice import ROOT, listed

PROVOKED_BY = (
    *("tests/cli", "tests/core/describe", "tests/core/herder", "tests/core/settings"),
    *(
        "tests/internal_topics",
        "tests/kafka",
        "tests/plugins/test_doctor.py",
        "tests/plugins/test_examination.py",
        "tests/preview",
    ),
    *("tests/rest", "tests/scenarios/test_remade_topics.py", "tests/integration/test_cli_doctor.py"),
    *("tests/integration/test_log.py", "tests/integration/test_cli_dlq.py", "tests/kip/test_doctor_rights.py"),
)


def test_the_list_has_all_kinds() -> None:
    paths = {each.path.rpartition("/")[0] for each in listed()}
    assert {"cli/checkup", "core/describe", "core/herder", "internal_topics", "plugins", "worker"} <= paths


@pytest.mark.long
@pytest.mark.integration
@pytest.mark.timeout(3600)
def test_each_sentence_appears_from_its_cause(tmp_path: Path) -> None:
    settings, data = tmp_path / "coverage.ini", tmp_path / "coverage"
    settings.write_text(f"[run]\nsource = {ROOT}\ndata_file = {data}\nparallel = true\npatch = subprocess\n")
    measured = [sys.executable, "-m", "coverage"]
    tests = [*measured, "run", f"--rcfile={settings}", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    there = [path for path in PROVOKED_BY if (ROOT.parent / path).exists()]
    assert len(there) == len(PROVOKED_BY), set(PROVOKED_BY) - set(there)
    done = subprocess.run([*tests, *there], cwd=ROOT.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    subprocess.run([*measured, "combine", f"--rcfile={settings}"], cwd=ROOT.parent, check=True, capture_output=True)
    ran = coverage.Coverage(data_file=str(data), config_file=False)
    ran.load()
    missing = {path: set(ran.analysis2(str(ROOT / path))[3]) for path in {each.path for each in listed()}}
    unseen = [f"{each.path}:{each.line}  {each.text}" for each in listed() if each.line in missing[each.path]]
    assert unseen == []
