"""The list of connectors, the cluster, and what holds for every view."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from kconnect import __version__
from tests.integration.console.rig import LIMIT_S, PASSWORDS, VIEWS, Cluster, Watched, row, serious
from tests.support import wait_until


@pytest.mark.long
def test_what_changes_is_seen_at_once_and_many_are_changed_together(
    watched: Watched, cluster: Cluster, connector: str, unique: Callable[[str], str]
) -> None:
    page = watched.log_in()
    more = [unique(f"console-more-{number}") for number in range(3)]
    for name in more:
        cluster.source(name)
    for name in more:
        expect(row(page, name)).to_contain_text("RUNNING")
    page.get_by_label("Search connectors").fill("console-more")
    expect(row(page, connector)).to_have_count(0)
    page.get_by_label("Choose all that are listed").check()
    page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem")).to_have_text(sorted(more))
    dialog.get_by_role("button", name="Pause").click()
    for name in more:
        expect(row(page, name)).to_contain_text("PAUSED")
    expect(page.get_by_role("status").filter(has_text="Pausing 3 connectors: done.")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Cancel").click()
    assert set(more) <= set(cluster.client.connectors())
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    for name in more:
        expect(row(page, name)).to_have_count(0)
    wait_until(lambda: not set(more) & set(cluster.client.connectors()), LIMIT_S)
    assert connector in cluster.client.connectors()


@pytest.mark.long
def test_of_many_only_those_are_drawn_that_can_be_seen(watched: Watched, cluster: Cluster) -> None:
    count = 300
    config = {"connector.class": "FileStreamSource", "topic": "console-lines"}
    for number in range(count):
        cluster.client.create(f"many-{number:03d}", config, initial_state="STOPPED")
    page = watched.log_in(view="connectors?q=many-")
    expect(page.get_by_text(re.compile(f"^{count} (of|connectors)"))).to_be_visible()
    names = page.locator(".rows tbody a")
    expect(names.first).to_have_text("many-000")
    assert 10 < names.count() < 100
    page.locator(".window").evaluate("element => element.scrollTop = element.scrollHeight")
    expect(names.last).to_have_text(f"many-{count - 1}")
    assert 10 < names.count() < 100
    page.get_by_label("Choose all that are listed").check()
    expect(page.get_by_text(f"{count} chosen")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name=f"Delete these {count} connectors?")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text(f"Deleting {count} connectors: done.")).to_be_visible()
    wait_until(lambda: not any(name.startswith("many-") for name in cluster.client.connectors()), LIMIT_S)
    expect(names).to_have_count(0)


@pytest.mark.long
def test_a_place_comes_back(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in()
    page.get_by_label("Search connectors").fill(connector)
    page.get_by_label("Type").select_option("source")
    page.get_by_role("columnheader", name="Name").get_by_role("button").click()
    expect(page).to_have_url(f"{watched.url}console#/connectors?q={connector}&type=source&turned=")
    page.reload()
    expect(page.get_by_label("Search connectors")).to_have_value(connector)
    expect(page.get_by_role("columnheader", name="Name")).to_have_attribute("aria-sort", "descending")
    expect(row(page, connector)).to_be_visible()
    page.get_by_label("Type").select_option("sink")
    expect(row(page, connector)).to_have_count(0)


def test_the_cluster_its_plugins_and_its_loggers(watched: Watched, cluster: Cluster, connector: str) -> None:
    cluster.client.delete(connector)
    page = watched.log_in(view="cluster")
    workers = page.get_by_role("group", name="Workers")
    expect(workers.get_by_role("row")).to_have_count(3)
    expect(workers).to_contain_text("(leader)")
    expect(workers).to_contain_text("(this one)")
    expect(workers.get_by_role("cell", name=__version__)).to_have_count(2)
    hosts = page.get_by_role("group", name="Task hosts")
    expect(hosts.get_by_role("row").nth(1)).to_contain_text(re.compile(r"\d MiB.*%"))
    page.get_by_role("button", name="Check them").click()
    expect(page.get_by_role("group", name="Internal topics").get_by_role("row")).to_have_count(5)
    expect(page.get_by_role("group", name="What is found")).to_contain_text("gone, remain: nothing ever removes them")
    page.get_by_role("link", name="Plugins").click()
    installed = page.get_by_role("group", name="Plugins").get_by_role("row").filter(has_text="FileStreamSource")
    expect(installed).to_contain_text("installed")
    page.get_by_role("link", name="Loggers").click()
    page.get_by_label("Another logger").fill("kconnect.console.trial")
    page.get_by_role("button", name="DEBUG here").click()
    line = page.get_by_role("row").filter(has_text="kconnect.console.trial")
    expect(line.get_by_role("combobox")).to_have_value("DEBUG")
    line.get_by_role("combobox").select_option("WARN")
    line.get_by_role("button", name="Set everywhere").click()
    expect(page.get_by_text("kconnect.console.trial is at WARN on all workers.")).to_be_visible()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [pytest.param(*each, marks=pytest.mark.long) for each in [("dark", 390), ("light", 1280), ("dark", 1280), ("light", 390)]],
)
def test_everybody_can_read_it(chrome: Browser, cluster: Cluster, connector: str, scheme: Any, width: int) -> None:
    context = chrome.new_context(viewport={"width": width, "height": 720}, color_scheme=scheme)
    watched = Watched(context.new_page(), cluster.url)
    page = watched.go()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    found = {"login": serious(page)}
    watched.log_in()
    for view in (
        *VIEWS,
        *(f"connectors/{connector}/{tab}" for tab in ("overview", "config", "offsets", "topics", "letters")),
        "create",
        "nowhere",
    ):
        page.goto(f"{cluster.url}console#/{view}")
        expect(page.get_by_text("Asking the worker")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        found[view] = serious(page)
        # Nothing is wider than the page but what can be scrolled by itself.
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    page.goto(f"{cluster.url}console#/connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_text("The worker takes this config.")).to_be_visible()
    found["edit"] = serious(page)
    page.get_by_text("Try it on records").click()
    page.get_by_label("Records as JSON").fill('[{"topic": "other", "value": "a"}]')
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("comes out")).to_be_visible()
    found["preview"] = serious(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found["dialog"] = serious(page)
    context.close()
    assert {view: problems for view, problems in found.items() if problems} == {}
    assert watched.wrong == []


def test_a_keyboard_is_enough(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in()
    expect(row(page, connector)).to_be_visible()
    page.keyboard.press("Tab")
    page.get_by_label("Search connectors").focus()
    page.keyboard.type(connector)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Choose {connector}":
            break
    page.keyboard.press("Space")
    expect(page.get_by_text("1 chosen")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=connector, exact=True)).to_be_visible()


def test_a_worker_that_dies_while_one_watches(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in()
    expect(row(page, connector)).to_contain_text("RUNNING")
    cluster.workers[0].kill()
    expect(page.locator("#trouble")).to_contain_text("The worker does not answer.")
    expect(row(page, connector)).to_be_visible()
    cluster.workers[0].start()
    # Its sessions have ended with it.
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.get_by_label("User", exact=True).fill("ann")
    page.get_by_label("Password", exact=True).fill(PASSWORDS["ann"])
    page.get_by_role("button", name="Log in").click()
    expect(row(page, connector)).to_contain_text("RUNNING")
    expect(page.locator("#trouble")).to_have_count(0)


@pytest.mark.long
def test_who_did_what(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in()
    cluster.client.pause(connector)
    page.get_by_role("link", name="Audit").click()
    lines = page.get_by_label("Audit lines")
    expect(lines).to_contain_text(f'request="PUT /connectors/{connector}/pause" connector="{connector}" status=202')
    page.get_by_label("Search the lines").fill("console/login")
    expect(lines).to_contain_text('user=ann role=admin from=127.0.0.1 request="POST /console/login" connector=- status=204')
    expect(lines).not_to_contain_text("/pause")
    assert PASSWORDS["ann"] not in page.content()
