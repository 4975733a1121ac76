"""What tests of the command line share: each runs against a kconnect worker and against a worker of Apache Kafka Connect."""

from __future__ import annotations

import pytest

from tests.support import starts


@pytest.fixture(scope="session", params=["kconnect", "connect"])
@starts("integration")
def cluster_url(request: pytest.FixtureRequest) -> str:
    """The URL of `worker`, and then that of `peer`; each starts once."""
    found: str = request.getfixturevalue({"kconnect": "worker", "connect": "peer"}[request.param]).url
    return found
