"""The documentation page: it stands alone, all its links lead somewhere, and it tells of every operation."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from kconnect.rest import openapi
from kconnect.rest import page as page_module
from kconnect.rest.app import RestSettings, build, build_admin

from .conftest import ADVERTISED, Http
from .herder import MemoryHerder

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9"}
VOID = {"meta", "link", "input", "wbr"}


class Page(HTMLParser):
    """What a browser would make of it, and a failure where the tags don't fit together."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.handlers: list[str] = []
        self.inline: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href" and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "href", "srcset", "action", "data"):
                self.loaded.append(value or "")
            elif name.startswith("on") or name == "style":
                self.handlers.append(name)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("style", "script"):
            self.inline[self._open[-1]] = data


@pytest.fixture
def page(http: Http) -> Page:
    return Page(http("GET", "/docs", headers=BROWSER).text)


def test_it_is_made_once(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    """All other requests wait while it is made: whoever may read may ask for it as often as they like."""
    made = [(http("GET", "/docs", headers=BROWSER).text, http("GET", "/openapi.json").json())]
    for module, name in ((page_module, "render"), (openapi, "document")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("It was there already"))
    made.append((http("GET", "/docs", headers=BROWSER).text, http("GET", "/openapi.json").json()))
    assert made[0] == made[1]


def test_it_is_for_browsers(http: Http) -> None:
    response = http("GET", "/docs", headers=BROWSER)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert http("GET", "/docs", headers={"accept": "application/json"}).status_code == 406
    assert http("GET", "/connectors", headers={"accept": "text/html"}).status_code == 406


def test_it_loads_nothing(http: Http, page: Page) -> None:
    assert page.loaded == ["data:,"]
    assert page.handlers == []
    assert not re.search(r"url\(|@import", page.inline["style"])
    assert not re.search(r"fetch|XMLHttpRequest|import\b", page.inline["script"])


def test_its_policy_allows_its_own_style_and_script_only(http: Http, page: Page) -> None:
    policy = http("GET", "/docs").headers["content-security-policy"]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.inline[kind].encode()).digest()).decode()
        assert allowed[f"{kind}-src"] == f"'sha256-{digest}'"
    assert allowed["default-src"] == "'none'"


def test_every_link_leads_somewhere(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link == "openapi.json" or link.removeprefix("#") in page.ids


def test_it_tells_of_every_operation(http: Http, herder: MemoryHerder, page: Page) -> None:
    document = http("GET", "/openapi.json").json()
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["operationId"] in page.ids
    admin = Http(build_admin(herder, RestSettings(ADVERTISED)))
    ids = Page(admin("GET", "/docs").text).ids
    assert "setLogger" in ids and "createConnector" not in ids and "shape-ConnectorInfo" not in ids


def test_curl_lines_name_this_worker(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings("http://localhost:0/")))
    text = http("GET", "/docs").text
    assert "curl http://localhost:8083/connectors/lines/status" in text
    assert "curl -X PUT http://localhost:8083/connectors/lines/pause" in text
