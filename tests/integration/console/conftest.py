"""
The web console in a real Chromium, against two workers that ask for a login.

Each test has a page of its own. At its end, nothing may have failed in it that the test did not expect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from kconnect.local.broker import Broker
from tests.integration.console.rig import Cluster, Watched
from tests.rig.systems.browser import opened
from tests.support import starts


@pytest.fixture(scope="package")
@starts("integration")
def cluster(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("console"), broker.bootstrap_servers)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="package")
def chrome(chromium: Path) -> Iterator[Browser]:
    with opened(chromium) as found:
        yield found


@pytest.fixture
def watched(chrome: Browser, cluster: Cluster) -> Iterator[Watched]:
    context = chrome.new_context(viewport={"width": 1280, "height": 720})
    made = Watched(context.new_page(), cluster.url)
    yield made
    context.close()
    assert made.wrong == []


@pytest.fixture
def connector(cluster: Cluster, unique: Callable[[str], str]) -> Iterator[str]:
    name = unique("console")
    cluster.source(name)
    yield name
    if name in cluster.client.connectors():
        cluster.client.delete(name)
