"""Every case of every golden file: ours do what Connect 4.3.1's own classes did. So does `scripts/golden tests/golden`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden import envelopes
from tests.rig.golden import run

FILES = run.files(envelopes.HERE)


def test_every_format_has_cases() -> None:
    assert {path.stem for path in FILES} == run.FORMATS.keys()


@pytest.mark.parametrize(
    ("name", "case"), [pytest.param(path.stem, case, id=f"{path.stem}-{id}") for path in FILES for id, case in run.cases(path)]
)
def test_case(name: str, case: dict[str, Any]) -> None:
    failure = run.check(name, case)
    assert failure is None, str(failure)
