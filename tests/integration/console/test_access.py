"""Who may do what, and that names, values and secrets do no harm."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.integration.console.rig import LIMIT_S, PASSWORDS, Cluster, Watched, row, write
from tests.support import wait_until

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "\"'><script>alert(1)</script>",
    "a/b?c=d&e#f %2f",
    "javascript:alert(1)",
    "\u202eابجد &lt;b&gt;",
)


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
    expect(page.get_by_text("connector.class").first).to_be_visible()
    assert page.get_by_role("button", name="Edit").count() == (name == "ann")
    assert page.get_by_role("link", name="Audit").count() == (name == "ann")
    expect(page.get_by_role("group", name="Its plugins")).to_contain_text("FileStreamSource")
    if refused:
        # Whoever asks all the same.
        path = f"/connectors/{connector}"
        assert page.evaluate("path => fetch(path, {method: 'DELETE'}).then(answer => answer.status)", path) == refused


@pytest.mark.long
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


@pytest.mark.parametrize("name", [HOSTILE[0], *(pytest.param(name, marks=pytest.mark.long) for name in HOSTILE[1:])])
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
        expect(page.get_by_label("Config as JSON")).to_contain_text("</textarea><script>")
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


def test_secrets_are_not_shown(watched: Watched, cluster: Cluster, connector: str) -> None:
    secret = "canary-console-41ff"
    config = {**cluster.client.get_config(connector), "consumer.override.sasl.password": secret, "some.secret": secret}
    cluster.client.put_config(connector, config)
    page = watched.log_in(view=f"connectors/{connector}/config")
    expect(page.get_by_text("some.secret")).to_be_visible()
    expect(page.get_by_text("settings have their defaults")).to_be_visible()
    assert secret not in page.content()


TYPED = "canary-typed-77aa"


def type_a_secret(watched: Watched, page: Page) -> None:
    """Begin a config with a password in it, which a reload brings back: the control."""
    page.goto(f"{watched.url}console#/create")
    page.get_by_role("button", name="Paste a config").click()
    page.get_by_role("button", name="JSON", exact=True).click()
    write(page.get_by_role("textbox", name="Config as JSON"), f'{{"name": "x", "connection.password": "{TYPED}"}}')
    wait_until(lambda: TYPED in page.evaluate("JSON.stringify({...sessionStorage})"), LIMIT_S)
    page.reload()
    expect(page.get_by_text(TYPED).first).to_be_visible()


@pytest.mark.long
def test_a_logout_leaves_nothing_that_was_typed_in_any_window(watched: Watched) -> None:
    page = watched.log_in()
    other = page.context.new_page()
    for each in (page, other):
        type_a_secret(watched, each)
    third = page.context.new_page()
    type_a_secret(watched, third)
    # Somewhere else, from where the browser's history leads back.
    third.goto(f"{watched.url}health")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    third.go_back()
    for each in (other, third):
        expect(each.get_by_role("heading", name="Log in")).to_be_visible()
    for each in (page, other, third):
        assert TYPED not in each.content()
    watched.refused.clear()
    for each in (page, other):
        assert each.evaluate("JSON.stringify({...sessionStorage})") == "{}"
    # The same user's, too.
    third.get_by_label("User", exact=True).fill("ann")
    third.get_by_label("Password", exact=True).fill(PASSWORDS["ann"])
    third.get_by_role("button", name="Log in").click()
    expect(third.get_by_role("button", name="Paste a config")).to_be_visible()
    assert TYPED not in third.content() + third.evaluate("JSON.stringify({...sessionStorage})")


@pytest.mark.long
def test_nobody_gets_another_user_s_draft(watched: Watched) -> None:
    page = watched.log_in()
    type_a_secret(watched, page)
    # The session ends without a logout: as after a restart of the worker, when the draft is to come back.
    page.context.clear_cookies()
    page.reload()
    page.get_by_label("User", exact=True).fill("ann")
    page.get_by_label("Password", exact=True).fill(PASSWORDS["ann"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text(TYPED).first).to_be_visible()
    page.context.clear_cookies()
    page.reload()
    page.get_by_label("User", exact=True).fill("eve")
    page.get_by_label("Password", exact=True).fill(PASSWORDS["eve"])
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("eve (read)")).to_be_visible()
    wait_until(lambda: TYPED not in page.evaluate("JSON.stringify({...sessionStorage})"), LIMIT_S)
    assert TYPED not in page.content()
