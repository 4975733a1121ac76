"""Attacks by web pages on a worker without a login, against a real HTTP server, and in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from kconnect.core.settings.worker import WorkerSettings
from kconnect.processes.levels import PythonLoggers
from kconnect.worker.rest import Rest
from tests.rest.herder import MemoryHerder
from tests.rig.systems.browser import opened
from tests.support import starts
from tests.worker.test_access import MINIMAL

EVIL = "evil.example"
CONFIG = {"connector.class": "FileStreamSource", "file": "/etc/passwd", "topic": "t"}
REBOUND = {"Origin": f"http://{EVIL}", "Sec-Fetch-Site": "same-origin", "User-Agent": "Mozilla/5.0"}
"""What a browser sends for a page whose name stands for the worker's address by now."""

Serve = Callable[..., int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start REST with some worker settings, and return its port."""
    started: list[Rest] = []

    def start(**changed: str) -> int:
        texts = {
            **MINIMAL,
            "listeners": "http://127.0.0.1:0",
            **{name.replace("_", "."): text for name, text in changed.items()},
        }
        started.append(Rest(WorkerSettings.from_properties(texts, {})))
        started[-1].open()
        started[-1].start(MemoryHerder(), PythonLoggers())
        return started[-1].port

    yield start
    for rest in started:
        rest.stop()


@pytest.mark.parametrize(("allowed", "expected"), [(EVIL, (201, 200, 204, 200)), ("", (403, 403, 403, 403))])
def test_a_rebound_name_drives_nothing(serve: Serve, allowed: str, expected: tuple[int, ...]) -> None:
    """A page without rights, whose name was rebound to the worker, creates and reads a connector, and must get 403."""
    url = f"http://127.0.0.1:{serve(rest_hosts_allowed=allowed)}"
    headers = {**REBOUND, "Host": EVIL}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as page:
        done = (
            page.put("/connectors/x/config", json=CONFIG).status_code,
            # Where pages read, they send no Origin.
            page.get("/connectors/x/config", headers={"User-Agent": "curl/8", "Accept-Language": "en"}).status_code,
            page.post("/connectors/x/restart").status_code,
            page.get("/admin/loggers").status_code,
        )
    assert done[0] == expected[0]
    assert done[3] == expected[3]
    if not allowed:
        assert done == expected
        assert httpx.get(f"{url}/connectors", headers={"Host": EVIL}, timeout=60).json() == [], "a program is served"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "proxy.example"])
def test_the_worker_s_own_pages_go_on(serve: Serve, name: str) -> None:
    """The control of the attack above: the console's own pages, under a name of the worker's or a proxy's, may do it."""
    port = serve(rest_hosts_allowed="proxy.example")
    own = {
        "Origin": f"http://{name}:{port}",
        "Host": f"{name}:{port}",
        "Sec-Fetch-Site": "same-origin",
        "User-Agent": "Mozilla/5.0",
    }
    answer = httpx.put(f"http://127.0.0.1:{port}/connectors/x/config", json=CONFIG, headers=own, timeout=60)
    assert answer.status_code == 201


@pytest.fixture(scope="module")
@starts("process")
def rebound(chromium: Path) -> Iterator[Browser]:
    """Start a browser in which the attacker's name stands for this machine."""
    # Chromium blocks some of this by itself, as other browsers do not.
    open_network = "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"
    with opened(chromium, f"--host-resolver-rules=MAP {EVIL} 127.0.0.1", open_network) as browser:
        yield browser


@pytest.mark.parametrize("allowed", [EVIL, ""])
def test_a_rebound_page_in_chromium_drives_nothing(serve: Serve, rebound: Browser, allowed: str) -> None:
    """A page of evil.example, rebound in a real browser, sends a PUT and reads configs, and must be refused."""
    port = serve(rest_hosts_allowed=allowed)
    context = rebound.new_context()
    try:
        page = context.new_page()
        # The attacker's own server answered this before the name was rebound.
        page.route("**/attack.html", lambda route: route.fulfill(body="<p>attack", content_type="text/html"))
        page.goto(f"http://{EVIL}:{port}/attack.html")
        put = """config => fetch("/connectors/x/config", {
            method: "PUT", headers: {"Content-Type": "application/json"}, body: JSON.stringify(config)
        }).then(answer => answer.status)"""
        get = """() => fetch("/connectors", {headers: {"User-Agent": "curl/8.5"}}).then(answer => answer.status)"""
        statuses = page.evaluate(put, CONFIG), page.evaluate(get)
    finally:
        context.close()
    assert statuses == ((201, 200) if allowed else (403, 403))
    names = httpx.get(f"http://127.0.0.1:{port}/connectors", timeout=60).json()
    assert names == (["x"] if allowed else [])
