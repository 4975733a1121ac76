"""What the tests of `kconnect doctor`'s parts share."""

from __future__ import annotations

import pytest

from kconnect.cli.checkup import machine
from tests.integration.doctored import be_patient


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)
    monkeypatch.setattr(machine, "_LOCAL_S", 120.0)
