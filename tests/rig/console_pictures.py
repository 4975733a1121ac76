"""
Pictures of the console for docs/console.md: `.venv/bin/python -m tests.rig.console_pictures` makes them anew.

Two workers, some connectors, one of which has failed; each view in light, dark, and as narrow as a telephone. Look at them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems.browser import find_or_install, opened

PLACE = Path(__file__).parents[2] / "docs" / "console"
VIEWS = {
    "connectors": "connectors",
    "tasks": "connectors/orders-to-nowhere/overview",
    "config": "connectors/orders-0/config",
    "offsets": "connectors/orders-0/offsets",
    "cluster": "cluster",
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 640}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 640}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 720}, "color_scheme": "light"},
}
_LIMIT_MS = 120_000


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    expect.set_options(timeout=_LIMIT_MS)
    with tempfile.TemporaryDirectory(prefix="kconnect-pictures-") as folder:
        directory = Path(folder)
        broker = Broker(directory / "broker").start()
        workers = [WorkerProcess(directory, broker.bootstrap_servers, "shop") for _ in range(2)]
        try:
            for worker in workers:
                worker.start()
            _connectors(workers[0], directory)
            with opened(find_or_install()) as browser:
                for look, options in LOOKS.items():
                    page = browser.new_page(**options)
                    for name, view in VIEWS.items():
                        page.goto(f"{workers[0].url}console#/{view}")
                        _wait(page, name)
                        page.screenshot(path=PLACE / f"{name}-{look}.png")
        finally:
            for worker in workers:
                worker.stop()
            broker.stop()


def _connectors(worker: WorkerProcess, directory: Path) -> None:
    file = directory / "orders.txt"
    file.write_text("".join(f"order {number}\n" for number in range(20_000)))
    source = {"connector.class": "FileStreamSource", "file": str(file), "topic": "orders"}
    for number in range(6):
        worker.client.create(f"orders-{number}", source)
    sink = {"connector.class": "FileStreamSink", "topics": "orders", "tasks.max": "2"}
    worker.client.create("orders-to-archive", {**sink, "file": str(directory / "archive.txt")})
    worker.client.create("orders-to-nowhere", {**sink, "file": "/var/lib/no-such-folder/orders.txt"})
    worker.client.wait_for("orders-to-archive", "RUNNING", tasks=2, timeout=120)
    worker.client.pause("orders-4")
    worker.client.stop("orders-5")


def _wait(page: Page, name: str) -> None:
    expect(page.get_by_text("Asking the worker")).to_have_count(0)
    expect(page.get_by_role("table").first).to_be_visible()
    if name == "connectors":
        row = page.get_by_role("row").filter(has_text="orders-to-archive")
        # Once hosts have reported what has moved.
        expect(row).to_contain_text("ago")
    if name == "tasks":
        page.locator("summary").first.click()


if __name__ == "__main__":
    main()
