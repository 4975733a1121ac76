"""The rig's plugin in Java, compiled once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rig import java_plugin as rig
from tests.support import starts


@pytest.fixture(scope="session")
@starts("process")
def java_plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's directory."""
    return rig.write_plugin(tmp_path_factory.mktemp("plugins"))
