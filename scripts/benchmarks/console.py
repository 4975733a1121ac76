"""
The web console over many connectors, in a real Chromium: when there is something to see, whether scrolling shows gaps, and what
open consoles take of the worker.

Most connectors are stopped, so that nothing else goes on; twenty move records, so that rows change. The times are the browser's
own, with nothing in its cache; first paint counts from the request for the page.
"""

from __future__ import annotations

import time

import psutil
from playwright.sync_api import Browser, Page
from rest import fill

from kconnect.rest import console
from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.systems.browser import find_or_install, opened

BUSY = 20
OPEN = (0, 1, 10)
SEEN = """
new MutationObserver((_, observer) => {
  if (document.querySelector(".rows tbody a")) { window.seenAt = performance.now(); observer.disconnect(); }
}).observe(document, {childList: true, subtree: true});
"""
SCROLL = """
async () => {
  const list = document.querySelector(".window"), box = list.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame);
  let gaps = 0, looks = 0;
  for (let top = 0; top < list.scrollHeight; top += 700) {
    list.scrollTop = top;
    await frame(); await frame();
    for (const share of [0.2, 0.5, 0.95]) {
      const row = document.elementFromPoint(box.left + 120, box.top + box.height * share)?.closest("tr");
      looks += 1;
      if (!row || row.classList.contains("space")) gaps += 1;
    }
  }
  return [gaps, looks];
}
"""


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--connectors", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="of looking at the worker with open consoles")
    options = parser.parse_args()
    found = results.Results("console", options.json)
    weight = sum(len(file.packed) for file in console.files().values())
    found.add("all files", results.KCONNECT, "weight, packed", "KiB", weight / 1024)
    with stage.opened("console") as on, opened(find_or_install()) as browser:
        worker = on.worker()
        busy(worker)
        fill(worker, options.connectors - BUSY, "STOPPED", on.directory)
        workload = f"{options.connectors} connectors"
        looks = [load(browser, worker) for _ in range(options.rounds)]
        found.add(workload, results.KCONNECT, "first paint", "ms", *(paint for paint, _ in looks))
        found.add(workload, results.KCONNECT, "connectors shown", "ms", *(shown for _, shown in looks))
        page = browser.new_page()
        see(page, worker)
        gaps, looked = page.evaluate(SCROLL)
        page.close()
        found.add(workload, results.KCONNECT, f"gaps while scrolling, of {looked} looks", "", gaps)
        for number in OPEN:
            pages = [browser.new_page() for _ in range(number)]
            for each in pages:
                see(each, worker)
            cpu = taken(worker, options.seconds)
            found.add(workload, results.KCONNECT, f"the worker's CPU with {number} open", "% of a core", cpu)
            for each in pages:
                each.close()
    found.show()


def busy(worker: WorkerProcess) -> None:
    for number in range(BUSY):
        config = {"connector.class": "DatagenSource", "quickstart": "orders", "kafka.topic": "orders", "max.interval": "100"}
        worker.client.create(f"busy-{number}", config)
    for number in range(BUSY):
        worker.client.wait_for(f"busy-{number}", "RUNNING", tasks=1, timeout=180)


def load(browser: Browser, worker: WorkerProcess) -> tuple[float, float]:
    """Milliseconds until the first paint, and until connectors are there."""
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(SEEN)
    see(page, worker)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    shown = page.evaluate("window.seenAt")
    context.close()
    return paint, shown


def see(page: Page, worker: WorkerProcess) -> None:
    page.goto(f"{worker.url}console")
    page.wait_for_selector(".rows tbody a")


def taken(worker: WorkerProcess, seconds: float) -> float:
    process = psutil.Process(worker.pid)
    before, began = sum(process.cpu_times()[:2]), time.monotonic()
    time.sleep(seconds)
    used: float = sum(process.cpu_times()[:2]) - before
    return 100 * used / (time.monotonic() - began)


if __name__ == "__main__":
    main()
