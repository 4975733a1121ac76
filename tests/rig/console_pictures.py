"""
Pictures of the console for docs/console.md: `.venv/bin/python -m tests.rig.console_pictures` makes them anew.

Two workers that ask for a login, some connectors, one of which has failed, and one with dead letters; each view in light, dark,
and as narrow as a telephone. Look at them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
from playwright.sync_api import Page, expect

from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient, basic
from kconnect.testing.processes import WorkerProcess
from tests.rest.test_credentials import quick
from tests.rig.systems.browser import find_or_install, opened

PLACE = Path(__file__).parents[2] / "docs" / "console"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 640}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 640}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 720}, "color_scheme": "light"},
}
_LIMIT_MS = 120_000
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_PASSWORD = "of the pictures"


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    expect.set_options(timeout=_LIMIT_MS)
    with tempfile.TemporaryDirectory(prefix="kconnect-pictures-") as folder:
        directory = Path(folder)
        users = directory / "users"
        users.write_text(quick("ann", "admin", _PASSWORD))
        users.chmod(0o600)
        broker = Broker(directory / "broker").start()
        properties = {"rest.authentication.file": str(users), "offset.flush.interval.ms": "1000"}
        workers = [WorkerProcess(directory, broker.bootstrap_servers, "shop", properties=properties) for _ in range(2)]
        try:
            for worker in workers:
                worker.client = ConnectClient(worker.url, authorization=basic("ann", _PASSWORD))
                worker.start()
            _connectors(workers[0], broker.bootstrap_servers, directory)
            with opened(find_or_install()) as browser:
                for look, options in LOOKS.items():
                    _pictures(browser.new_page(**options), f"{workers[0].url}console", look)
        finally:
            for worker in workers:
                worker.stop()
            broker.stop()


def _connectors(worker: WorkerProcess, bootstrap: str, directory: Path) -> None:
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for number in range(20_000):
        bad = number % 4000 == 7
        value = f"order {number}, by telephone" if bad else f'{{"id": {number}, "customer": "C{number % 97}", "price": 4.5}}'
        producer.produce("orders", value, f"C{number % 97}", headers=[("channel", b"phone" if bad else b"web")])
        producer.poll(0)
    producer.flush(60)
    file = directory / "orders.txt"
    file.write_text("".join(f"order {number}\n" for number in range(20_000)))
    source = {"connector.class": "FileStreamSource", "file": str(file), "topic": "lines", "label.team": "shop"}
    for number in range(6):
        worker.client.create(f"orders-{number}", source)
    sink = {"connector.class": "FileStreamSink", "topics": "orders", "tasks.max": "2", "value.converter": _JSON}
    sink["value.converter.schemas.enable"] = "false"
    chain = {
        "transforms": "mark",
        "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.mark.static.field": "by",
        "transforms.mark.static.value": "archive",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "orders-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    worker.client.create("orders-to-archive", {**sink, **chain, "file": str(directory / "archive.txt")})
    worker.client.create("orders-to-nowhere", {**sink, "file": "/var/lib/no-such-folder/orders.txt"})
    worker.client.wait_for("orders-to-archive", "RUNNING", tasks=2, timeout=120)
    worker.client.pause("orders-4")
    worker.client.stop("orders-5")


def _edit(page: Page) -> None:
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="YAML", exact=True).click()
    field = page.get_by_label("Config as YAML")
    field.press("Control+End")
    field.press_sequentially("tasks.max.enforce: perhaps")
    expect(page.locator("#findings")).to_contain_text("is wrong")


def _preview(page: Page) -> None:
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Form", exact=True).click()
    page.get_by_text("Try it on records").click()
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("region", name="Record 1")).to_be_visible()
    page.get_by_text("Try it on records").scroll_into_view_if_needed()
    page.locator(".preview").evaluate("each => each.scrollIntoView()")


def _offsets(page: Page) -> None:
    page.get_by_text("Move it").click()
    page.get_by_role("button", name="What it means").click()
    expect(page.get_by_role("group", name="What it means")).to_be_visible()


def _letters(page: Page) -> None:
    page.get_by_role("button", name="Show letter").first.click()


def _moved(page: Page) -> None:
    # Once hosts have reported what has moved.
    expect(page.get_by_role("row").filter(has_text="orders-to-archive")).to_contain_text("ago")


def _cluster(page: Page) -> None:
    page.get_by_role("button", name="Check them").click()
    expect(page.get_by_role("group", name="Internal topics")).to_be_visible()


def _nothing(page: Page) -> None:
    pass


VIEWS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "connectors": ("connectors", _moved),
    "tasks": ("connectors/orders-to-nowhere/overview", lambda page: page.locator(".trace summary").first.click()),
    "config": ("connectors/orders-to-archive/config", _nothing),
    "edit": ("connectors/orders-to-archive/config", _edit),
    "preview": ("connectors/orders-to-archive/config", _preview),
    "offsets": ("connectors/orders-to-archive/offsets", _offsets),
    "topics": ("connectors/orders-to-archive/topics", _nothing),
    "letters": ("connectors/orders-to-archive/letters", _letters),
    "create": ("create", _nothing),
    "cluster": ("cluster", _cluster),
    "plugins": ("plugins", _nothing),
    "loggers": ("loggers", _nothing),
    "audit": ("audit", _nothing),
}


def _pictures(page: Page, url: str, look: str) -> None:
    page.set_default_timeout(_LIMIT_MS)
    page.goto(url)
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.screenshot(path=PLACE / f"login-{look}.png")
    page.get_by_label("User", exact=True).fill("ann")
    page.get_by_label("Password", exact=True).fill(_PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("ann (admin)")).to_be_visible()
    for name, (view, step) in VIEWS.items():
        # What was being edited comes back otherwise.
        page.evaluate("sessionStorage.clear()")
        page.goto("about:blank")
        page.goto(f"{url}#/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("Asking the worker")).to_have_count(0)
        step(page)
        page.screenshot(path=PLACE / f"{name}-{look}.png")


if __name__ == "__main__":
    main()
