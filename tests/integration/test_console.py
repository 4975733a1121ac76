"""
The web console in a real Chromium, against two workers that ask for a login.

Each test has a page of its own. At its end, nothing may have failed in it that the test did not expect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, Response, expect

from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient, basic
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.rest.test_credentials import quick
from tests.rig.systems.browser import opened
from tests.support import starts, wait_until

PASSWORDS = {"ann": "ann-canary-5b1f", "bob": "bob-canary-77c0", "eve": "eve-canary-09de"}
ROLES = {"ann": "admin", "bob": "operate", "eve": "read"}
VIEWS = ("connectors", "cluster", "plugins", "loggers")
LIMIT_S = 120.0
LIMIT_MS = LIMIT_S * 1000
expect.set_options(timeout=LIMIT_MS)


class Cluster:
    """Two workers of which everybody must say who is calling."""

    def __init__(self, directory: Path, bootstrap: str) -> None:
        users = directory / "users"
        users.write_text("".join(quick(name, ROLES[name], PASSWORDS[name]) for name in ROLES))
        users.chmod(0o600)
        properties = {**QUICK, "rest.authentication.file": str(users), "metrics.report.interval.ms": "500"}
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


@pytest.fixture(scope="module")
@starts("integration")
def cluster(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("console"), broker.bootstrap_servers)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def chrome(chromium: Path) -> Iterator[Browser]:
    with opened(chromium) as found:
        yield found


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


def row(page: Page, name: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_a_login_lasts_and_ends(watched: Watched, connector: str) -> None:
    page = watched.page
    page.goto(watched.url)
    expect(page).to_have_url(f"{watched.url}console")
    page.get_by_label("User", exact=True).fill("ann")
    page.get_by_label("Password", exact=True).fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("is wrong")
    page.get_by_label("Password", exact=True).fill(PASSWORDS["ann"])
    page.get_by_role("button", name="Log in").click()
    expect(row(page, connector)).to_contain_text("RUNNING")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert kept == '[{},{},""]'
    page.reload()
    expect(row(page, connector)).to_contain_text("RUNNING")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.context.cookies() == []


@pytest.mark.parametrize(
    ("name", "offered", "refused"),
    [
        ("ann", {"Pause", "Resume", "Stop", "Restart", "Delete"}, 0),
        ("bob", {"Pause", "Resume", "Stop", "Restart"}, 403),
        ("eve", set(), 403),
    ],
)
def test_a_role_is_offered_what_it_may_do(watched: Watched, connector: str, name: str, offered: set[str], refused: int) -> None:
    page = watched.log_in(name)
    expect(row(page, connector)).to_be_visible()
    assert {each.inner_text() for each in page.locator(".tools .actions button").all()} == offered
    page.goto(f"{watched.url}console#/connectors/{connector}/config")
    expect(page.get_by_text("connector.class")).to_be_visible()
    assert page.get_by_role("button", name="Edit").count() == (name == "ann")
    if refused:
        # Whoever asks all the same.
        path = f"/connectors/{connector}"
        assert page.evaluate("path => fetch(path, {method: 'DELETE'}).then(answer => answer.status)", path) == refused


def test_a_page_of_another_worker_does_nothing_in_the_users_name(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in()
    other = page.context.new_page()
    # To a browser it is the same site: only the port is another.
    other.goto(f"{cluster.workers[1].url}health")
    with other.expect_response(lambda answer: answer.url.startswith(watched.url)) as heard:
        address = f"{watched.url}connectors/{connector}/restart"
        other.evaluate("url => fetch(url, {method: 'POST', mode: 'no-cors', credentials: 'include'})", address)
    # Without a cookie it would be 401.
    assert heard.value.status == 403
    # The control: the worker's own page may.
    own = f"fetch('/connectors/{connector}/restart', {{method: 'POST'}}).then(answer => answer.status)"
    assert page.evaluate(own) == 204


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


HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "\"'><script>alert(1)</script>",
    "a/b?c=d&e#f %2f",
    "javascript:alert(1)",
    "\u202eابجد &lt;b&gt;",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_values_are_texts(watched: Watched, cluster: Cluster, name: str) -> None:
    cluster.source(name, some_setting="</textarea><script>alert(1)</script>")
    try:
        page = watched.log_in()
        row(page, name).get_by_role("link").click()
        expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
        expect(page.get_by_role("table")).to_contain_text("RUNNING")
        page.get_by_role("link", name="Config").click()
        expect(page.get_by_role("main")).to_contain_text("</textarea><script>alert(1)</script>")
        page.get_by_role("button", name="Edit").click()
        expect(page.get_by_label(re.compile("some.setting"))).to_have_value(re.compile("</textarea><script>"))
        page.get_by_role("button", name="JSON", exact=True).click()
        expect(page.get_by_label("Config as JSON")).to_have_value(re.compile("</textarea><script>"))
        for tab in ("Offsets", "Topics"):
            page.get_by_role("link", name=tab, exact=True).click()
        expect(page.get_by_role("main")).to_contain_text("console-lines")
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="Connectors")).to_be_visible()
        wait_until(lambda: name not in cluster.client.connectors(), LIMIT_S)
    finally:
        if name in cluster.client.connectors():
            cluster.client.delete(name)


def test_why_a_task_failed_and_its_restart(watched: Watched, cluster: Cluster, unique: Callable[[str], str]) -> None:
    name, folder = unique("console"), cluster.directory / unique("later")
    cluster.client.create(name, {"connector.class": "FileStreamSink", "file": f"{folder}/out", "topics": "console-lines"})
    page = watched.log_in()
    expect(row(page, name)).to_contain_text("1 failed")
    expect(row(page, name)).to_contain_text("which can't be written")
    page.get_by_label("State", exact=True).select_option("FAILED")
    row(page, name).get_by_role("link").click()
    trace = page.locator("details pre")
    expect(trace).to_be_hidden()
    page.locator("summary").click()
    expect(trace).to_contain_text("Traceback")
    folder.mkdir()
    page.get_by_role("button", name="Restart task 0").click()
    expect(page.get_by_role("table")).to_contain_text("RUNNING")
    expect(page.locator("summary")).to_have_count(0)
    cluster.client.delete(name)


def test_charts_of_the_last_hour_say_what_they_show(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}")
    rate = page.get_by_role("img", name=re.compile(r"^Records a second: in now \d.*; out now \d"))
    expect(rate).to_be_visible()
    expect(rate.locator("canvas")).to_have_count(1)
    # A source has no lag.
    assert page.get_by_role("img", name=re.compile("^Lag")).count() == 0


def test_a_config_is_edited_with_a_mistake_first(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="JSON", exact=True).click()
    field, submit = page.get_by_label("Config as JSON"), page.get_by_role("button", name="Submit")
    expect(page.get_by_text("The worker takes this config.")).to_be_visible()
    expect(submit).to_be_disabled()
    config = json.loads(field.input_value())
    field.fill('{"tasks.max": ')
    expect(page.get_by_text("This is no JSON")).to_be_visible()
    field.fill(json.dumps({**config, "batch.size": "many"}))
    expect(page.locator("#findings")).to_contain_text("Invalid value many for configuration batch.size")
    expect(submit).to_be_disabled()
    field.fill(json.dumps({**config, "batch.size": 77}))
    expect(page.get_by_role("group", name="What changes")).to_contain_text("77")
    expect(submit).to_be_enabled()
    page.reload()
    # Nothing of it is lost.
    expect(page.get_by_label("Config as JSON")).to_have_value(re.compile('"batch.size": 77'))
    assert "batch.size" not in cluster.client.get_config(connector)
    submit.click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("77")
    assert cluster.client.get_config(connector)["batch.size"] == "77"
    assert page.evaluate("Object.keys(sessionStorage)") == ["kconnect.side"]


def test_a_form_says_what_is_wrong_where_it_is(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    batch, topic = page.get_by_label(re.compile(r"batch\.size")), page.get_by_label(re.compile("^topic needed"))
    expect(topic).to_have_value("console-lines")
    expect(batch).to_be_hidden()
    page.get_by_label("Find a setting").fill("batch.size")
    batch.fill("many")
    wrong = page.locator(".field").filter(has=batch)
    expect(wrong).to_contain_text("Invalid value many for configuration batch.size")
    expect(batch).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    page.get_by_label("Find a setting").fill("")
    # What is wrong is shown in any case.
    expect(batch).to_be_visible()
    batch.fill("55")
    expect(batch).to_have_attribute("aria-invalid", "false")
    # Both ways.
    page.get_by_role("button", name="JSON", exact=True).click()
    expect(page.get_by_label("Config as JSON")).to_have_value(re.compile('"batch.size": "55"'))
    field = page.get_by_label("Config as JSON")
    field.fill(field.input_value().replace('"55"', '"56"'))
    page.get_by_role("button", name="Form", exact=True).click()
    expect(batch).to_have_value("56")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    assert cluster.client.get_config(connector)["batch.size"] == "56"


def test_a_connector_is_made(watched: Watched, cluster: Cluster, unique: Callable[[str], str]) -> None:
    name = unique("made <i>here</i>")
    page = watched.log_in()
    page.get_by_role("link", name="New connector").click()
    page.get_by_label("Search plugins").fill("filestreamsource")
    page.get_by_role("button", name="FileStreamSource", exact=True).click()
    expect(page.get_by_text('Missing required configuration "topic"').first).to_be_visible()
    create = page.get_by_role("button", name="Create", exact=True)
    expect(create).to_be_disabled()
    page.get_by_label("Name of the connector").fill(name)
    page.get_by_label(re.compile("^topic needed")).fill("console-lines")
    page.get_by_label(re.compile("^file")).fill(str(cluster.directory / "in.txt"))
    expect(create).to_be_enabled()
    page.reload()
    expect(page.get_by_label("Name of the connector")).to_have_value(name)
    page.get_by_label("Create it").select_option("stopped")
    create.click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("STOPPED")
    config = cluster.client.get_config(name)
    assert (config["topic"], config["name"]) == ("console-lines", name)
    assert page.evaluate("Object.keys(sessionStorage)") == ["kconnect.side"]
    cluster.client.delete(name)


def test_a_config_is_pasted(watched: Watched, cluster: Cluster, unique: Callable[[str], str]) -> None:
    name = unique("pasted")
    page = watched.log_in(view="create")
    page.get_by_role("button", name="Paste a config").click()
    page.get_by_role("button", name="JSON", exact=True).click()
    config = {"connector.class": "FileStreamSource", "topic": "console-lines", "batch.size": 7}
    page.get_by_label("Config as JSON").fill(json.dumps({"name": name, "config": config}))
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()
    assert cluster.client.get_config(name)["batch.size"] == "7"
    cluster.client.delete(name)


def test_a_chain_is_tried_before_it_is_submitted(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="JSON", exact=True).click()
    field = page.get_by_label("Config as JSON")
    chain = {
        "transforms": "wrap,mark",
        "transforms.wrap.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.wrap.field": "text",
        "transforms.mark.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.mark.static.field": "<b>by</b>",
        "transforms.mark.static.value": "<i>console</i>",
        "transforms.mark.predicate": "mine",
        "predicates": "mine",
        "predicates.mine.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.mine.pattern": "console-.*",
    }
    field.fill(json.dumps({**json.loads(field.input_value()), **chain}))
    page.get_by_text("Try it on records").click()
    expect(page.locator("#preview-topic")).to_have_value("console-lines")
    page.get_by_role("button", name="Try it").click()
    first = page.get_by_role("region", name="Record 1")
    expect(first.get_by_text("comes out")).to_be_visible()
    expect(first.get_by_role("group", name="What wrap changes")).to_contain_text("value.text")
    expect(first.get_by_text("mark (if mine: true)")).to_be_visible()
    expect(first.get_by_role("group", name="What mark changes")).to_contain_text('value.<b>by</b>"<i>console</i>"')
    page.get_by_label("Records as JSON").fill('[{"topic": "other", "value": "a"}, {"topic": "console-x", "value": null}]')
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("mark (if mine: false) is not applied.")).to_be_visible()
    expect(page.get_by_role("region", name="Record 2").get_by_text("mark (if mine: true)")).to_be_visible()
    page.get_by_label("Records as JSON").fill("{")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("The records are no JSON")).to_be_visible()
    assert "transforms" not in cluster.client.get_config(connector)


def test_secrets_are_not_shown(watched: Watched, cluster: Cluster, connector: str) -> None:
    secret = "canary-console-41ff"
    config = {**cluster.client.get_config(connector), "consumer.override.sasl.password": secret, "some.secret": secret}
    cluster.client.put_config(connector, config)
    page = watched.log_in(view=f"connectors/{connector}/config")
    expect(page.get_by_text("some.secret")).to_be_visible()
    expect(page.get_by_text("settings have their defaults")).to_be_visible()
    assert secret not in page.content()


def test_offsets_are_altered_and_reset(watched: Watched, cluster: Cluster, connector: str) -> None:
    wait_until(lambda: cluster.client.offsets(connector), LIMIT_S)
    page = watched.log_in(view=f"connectors/{connector}/offsets")
    expect(page.get_by_role("table")).to_contain_text('"position":7')
    page.get_by_role("button", name="Reset all", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(page.get_by_text("must be in the STOPPED state")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.locator(".facts")).to_contain_text("STOPPED")
    page.get_by_role("button", name="Alter", exact=True).click()
    field = page.get_by_label("Offsets as JSON")
    field.fill(field.input_value().replace('"position": 7', '"position": 2'))
    page.get_by_role("button", name="Alter", exact=True).click()
    expect(page.get_by_role("table")).to_contain_text('"position":2')
    page.get_by_role("button", name="Reset all", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(page.get_by_text("No offsets are committed.")).to_be_visible()
    assert cluster.client.offsets(connector) == []
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".facts")).to_contain_text("RUNNING")


def test_the_cluster_its_plugins_and_its_loggers(watched: Watched, cluster: Cluster) -> None:
    page = watched.log_in(view="cluster")
    workers = page.get_by_role("group", name="Workers")
    expect(workers.get_by_role("row")).to_have_count(3)
    expect(workers).to_contain_text("(leader)")
    expect(workers).to_contain_text("(this one)")
    hosts = page.get_by_role("group", name="Task hosts")
    expect(hosts.get_by_role("row").nth(1)).to_contain_text(re.compile(r"\d MiB.*%"))
    page.get_by_role("link", name="Plugins").click()
    expect(page.get_by_role("group", name="Plugins")).to_contain_text("FileStreamSource")
    page.get_by_role("link", name="Loggers").click()
    page.get_by_label("Another logger").fill("kconnect.console.trial")
    page.get_by_role("button", name="DEBUG here").click()
    line = page.get_by_role("row").filter(has_text="kconnect.console.trial")
    expect(line.get_by_role("combobox")).to_have_value("DEBUG")
    line.get_by_role("combobox").select_option("WARN")
    line.get_by_role("button", name="Set everywhere").click()
    expect(page.get_by_text("kconnect.console.trial is at WARN on all workers.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_everybody_can_read_it(chrome: Browser, cluster: Cluster, connector: str, scheme: Any, width: int) -> None:
    context = chrome.new_context(viewport={"width": width, "height": 720}, color_scheme=scheme)
    watched = Watched(context.new_page(), cluster.url)
    page = watched.go()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    found = {"login": _serious(page)}
    watched.log_in()
    for view in (
        *VIEWS,
        *(f"connectors/{connector}/{tab}" for tab in ("overview", "config", "offsets", "topics")),
        "create",
        "nowhere",
    ):
        page.goto(f"{cluster.url}console#/{view}")
        expect(page.get_by_text("Asking the worker")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        found[view] = _serious(page)
        # Nothing is wider than the page but what can be scrolled by itself.
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    page.goto(f"{cluster.url}console#/connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_text("The worker takes this config.")).to_be_visible()
    found["edit"] = _serious(page)
    page.get_by_text("Try it on records").click()
    page.get_by_label("Records as JSON").fill('[{"topic": "other", "value": "a"}]')
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("comes out")).to_be_visible()
    found["preview"] = _serious(page)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    found["dialog"] = _serious(page)
    context.close()
    assert {view: problems for view, problems in found.items() if problems} == {}
    assert watched.wrong == []


def _serious(page: Page) -> list[str]:
    """What axe finds, with some of the elements."""
    found = [each for each in Axe().run(page).response["violations"] if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {[node['html'] for node in each['nodes']][:3]}" for each in found]


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
