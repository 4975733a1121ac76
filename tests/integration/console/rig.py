"""Two workers that ask for a login, and a browser's page before them: for the tests beside this."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Dialog, Locator, Page, Request, Response, expect

from kconnect.rest.client import ConnectClient, basic
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rest.test_credentials import quick

PASSWORDS = {"ann": "ann-canary-5b1f", "bob": "bob-canary-77c0", "eve": "eve-canary-09de"}
ROLES = {"ann": "admin", "bob": "operate", "eve": "read"}
VIEWS = ("connectors", "cluster", "plugins", "loggers", "audit")
LIMIT_S = 240.0
LIMIT_MS = LIMIT_S * 1000
expect.set_options(timeout=LIMIT_MS)


class Cluster:
    """Two workers of which everybody must say who is calling."""

    def __init__(self, directory: Path, bootstrap: str) -> None:
        users = directory / "users"
        users.write_text("".join(quick(name, ROLES[name], PASSWORDS[name]) for name in ROLES))
        users.chmod(0o600)
        properties = {**QUICK, "rest.authentication.file": str(users), "metrics.report.interval.ms": "500"}
        properties["offset.flush.interval.ms"] = "1000"
        self.workers = [WorkerProcess(directory, bootstrap, "console", properties=properties) for _ in range(2)]
        self.directory = directory
        for worker in self.workers:
            worker.client = ConnectClient(worker.url, authorization=basic("ann", PASSWORDS["ann"]))

    @property
    def url(self) -> str:
        return self.workers[0].url

    @property
    def client(self) -> ConnectClient:
        return self.workers[0].client

    def start(self) -> None:
        for worker in self.workers:
            worker.start(wait=False)
        for worker in self.workers:
            worker.wait_healthy()

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()

    def source(self, name: str, **more: str) -> None:
        file = self.directory / "in.txt"
        file.write_text("a line\n")
        config = {"connector.class": "FileStreamSource", "file": str(file), "topic": "console-lines", **more}
        self.client.create(name, {key.replace("_", "."): value for key, value in config.items()})
        self.client.wait_for(name, "RUNNING", tasks=1, timeout=LIMIT_S)


class Watched:
    """A page, and what went wrong in it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.wrong: list[str] = []
        self.refused: list[int] = []
        page.set_default_timeout(LIMIT_MS)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", self._asked)
        page.on("request", self._requested)
        page.on("response", self._answered)
        page.on("console", self._said)

    def _said(self, message: ConsoleMessage) -> None:
        # Of what is refused the answers' statuses tell.
        if message.type == "error" and "Failed to load" not in message.text:
            self.wrong.append(message.text)

    def _asked(self, dialog: Dialog) -> None:
        self.wrong.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.wrong.append(request.url)

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.refused.append(response.status)

    def go(self, view: str = "connectors") -> Page:
        self.page.goto(f"{self.url}console#/{view}")
        return self.page

    def log_in(self, name: str = "ann", view: str = "connectors") -> Page:
        page = self.go(view)
        page.get_by_label("User", exact=True).fill(name)
        page.get_by_label("Password", exact=True).fill(PASSWORDS[name])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text(f"{name} ({ROLES[name]})")).to_be_visible()
        self.refused.clear()
        return page


def row(page: Page, name: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def write(field: Locator, text: str) -> None:
    """Into the editor of a config: what stood there goes by the editor's own commands, as it would by hand."""
    field.press("ControlOrMeta+a")
    field.press("Delete")
    field.page.keyboard.insert_text(text)


def serious(page: Page) -> list[str]:
    """What axe finds, with some of the elements."""
    found = [each for each in Axe().run(page).response["violations"] if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {[node['html'] for node in each['nodes']][:3]}" for each in found]
