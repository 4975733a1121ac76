"""The cases of the golden files, for `pytest.mark.parametrize`. What they say is checked by `tests/rig/golden`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.rig.golden import run

HERE = Path(__file__).parent


def load(file: str) -> list[dict[str, Any]]:
    return [case for _, case in run.cases(HERE / file)]


def as_params(cases: list[dict[str, Any]]) -> list[Any]:
    """Cases with their own ids."""
    return [pytest.param(case, id=case["id"]) for case in cases]
