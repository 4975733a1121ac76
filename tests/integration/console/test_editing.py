"""A config is edited, made, pasted, and tried before it is submitted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests.integration.console.rig import Cluster, Watched, serious, write


@pytest.mark.long
def test_a_config_is_edited_with_a_mistake_first(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="JSON", exact=True).click()
    field, submit = page.get_by_label("Config as JSON"), page.get_by_role("button", name="Submit")
    expect(page.get_by_text("The worker takes this config.")).to_be_visible()
    expect(submit).to_be_disabled()
    config = json.loads(field.inner_text())
    write(field, '{"tasks.max": ')
    expect(page.get_by_text("This is no JSON")).to_be_visible()
    write(field, json.dumps({**config, "batch.size": "many"}))
    expect(page.locator("#findings")).to_contain_text("Invalid value many for configuration batch.size")
    expect(submit).to_be_disabled()
    write(field, json.dumps({**config, "batch.size": 77}))
    expect(page.get_by_role("group", name="What changes")).to_contain_text("77")
    expect(page.get_by_text("The connector restarts, and all its tasks (1).")).to_be_visible()
    expect(submit).to_be_enabled()
    page.reload()
    # Nothing of it is lost.
    expect(page.get_by_label("Config as JSON")).to_contain_text('"batch.size": 77')
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
    expect(page.get_by_label("Config as JSON")).to_contain_text('"batch.size": "55"')
    field = page.get_by_label("Config as JSON")
    write(field, field.inner_text().replace('"55"', '"56"'))
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
    write(page.get_by_label("Config as JSON"), json.dumps({"name": name, "config": config}))
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
    write(field, json.dumps({**json.loads(field.inner_text()), **chain}))
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


@pytest.mark.long
def test_a_config_as_yaml_and_what_is_offered_while_one_types(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="YAML", exact=True).click()
    field = page.get_by_label("Config as YAML")
    expect(field).to_contain_text("topic: console-lines")
    given = field.inner_text()
    write(field, f"{given}\nbatch.size: 'many")
    expect(page.locator("#findings")).to_contain_text("This is no YAML")
    # It is not lost by looking at another side.
    page.get_by_role("button", name="Form", exact=True).click()
    expect(page.locator("#findings")).to_contain_text("Mend the YAML first")
    page.reload()
    expect(field).to_contain_text("batch.size: 'many")
    expect(page.locator("#findings")).to_contain_text("This is no YAML")
    write(field, f"{given}\nbatch.size: many")
    expect(page.locator("#findings")).to_contain_text("Invalid value many for configuration batch.size")
    # At its line, too.
    page.locator(".cm-lint-marker-error").hover()
    expect(page.locator(".cm-tooltip-lint")).to_contain_text("Invalid value many")
    assert serious(page) == []
    write(field, f"{given}\n# a thousand\nbatch.size: 1000\nsome.number: 1e3")
    page.get_by_role("button", name="JSON", exact=True).click()
    as_json = page.get_by_label("Config as JSON")
    expect(as_json).to_contain_text('"batch.size": "1000"')
    assert json.loads(as_json.inner_text())["some.number"] == "1e3"
    page.get_by_role("button", name="YAML", exact=True).click()
    expect(field).to_contain_text("batch.size: '1000'")
    field.press("Control+End")
    field.press_sequentially("tasks.m")
    page.get_by_role("option", name="tasks.max", exact=True).click()
    expect(field).to_contain_text("tasks.max")
    field.press_sequentially(": 1")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    config = cluster.client.get_config(connector)
    assert (config["batch.size"], config["some.number"], config["tasks.max"]) == ("1000", "1e3", "1")


@pytest.mark.long
def test_a_connector_is_made_of_an_example(watched: Watched, cluster: Cluster) -> None:
    page = watched.log_in(view="create")
    page.get_by_label("Search plugins").fill("postgresql once")
    page.get_by_role("button", name="Begin with: Orders go into PostgreSQL").click()
    expect(page.get_by_label("Name of the connector")).to_have_value("orders-to-shop")
    page.get_by_role("button", name="YAML", exact=True).click()
    expect(page.get_by_label("Config as YAML")).to_contain_text("offsets.table: kconnect_offsets")
    # The worker has looked whether the database is there, and the secrets.
    expect(page.locator("#findings")).to_contain_text("wrong:")
    expect(page.get_by_role("button", name="Create", exact=True)).to_be_disabled()


@pytest.mark.long
def test_two_who_edit_one_config_undo_nothing_of_each_other(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}/config")
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="JSON", exact=True).click()
    field, submit = page.get_by_label("Config as JSON"), page.get_by_role("button", name="Submit")
    config = json.loads(field.inner_text())
    write(field, json.dumps({**config, "batch.size": "91", "tasks.max": "2"}))
    expect(submit).to_be_enabled()
    # Somebody else changes one that is changed here, and one that is not.
    cluster.client.patch_config(connector, {"batch.size": "17", "errors.tolerance": "all"})
    page.reload()
    # What the draft changes is told by what it was begun with.
    changes = page.get_by_role("group", name="What changes")
    expect(changes).to_contain_text("batch.size")
    expect(changes).not_to_contain_text("errors.tolerance")
    expect(submit).to_be_enabled()
    submit.click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("batch.size")
    expect(asked).not_to_contain_text("tasks.max")
    asked.get_by_role("button", name="Cancel").click()
    expect(page.locator("#findings")).to_contain_text("Nothing was submitted")
    assert cluster.client.get_config(connector)["batch.size"] == "17"
    submit.click()
    asked.get_by_role("button", name="Submit mine").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    found = cluster.client.get_config(connector)
    assert (found["batch.size"], found["tasks.max"], found["errors.tolerance"]) == ("91", "2", "all")
    assert page.evaluate("Object.keys(sessionStorage)") == ["kconnect.side"]


@pytest.mark.long
def test_a_draft_of_what_somebody_deleted_is_kept_and_makes_nothing(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}/config?edit")
    page.get_by_role("button", name="JSON", exact=True).click()
    field, submit = page.get_by_label("Config as JSON"), page.get_by_role("button", name="Submit")
    write(field, json.dumps({**json.loads(field.inner_text()), "batch.size": "93"}))
    expect(submit).to_be_enabled()
    cluster.client.delete(connector)
    expect(page.get_by_text("There is no connector of this name (any more).")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Config as JSON")).to_contain_text('"batch.size": "93"')
    expect(page.get_by_text("There is no connector of this name (any more).")).to_be_visible()
    expect(submit).to_be_enabled()
    submit.click()
    expect(page.locator("#findings")).to_contain_text(f"Connector {connector} not found")
    assert connector not in cluster.client.connectors()


@pytest.mark.long
def test_lines_stay_lines_in_a_form(watched: Watched, cluster: Cluster, connector: str) -> None:
    cluster.client.patch_config(connector, {"my.query": "select 1\n  from t"})
    page = watched.log_in(view=f"connectors/{connector}/config?edit")
    query = page.get_by_label(re.compile(r"my\.query"))
    expect(query).to_have_value("select 1\n  from t")
    query.press("End")
    query.press_sequentially(" x")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    found = cluster.client.get_config(connector)["my.query"] or ""
    assert "\n" in found and found.replace(" x", "") == "select 1\n  from t"


@pytest.mark.long
def test_what_is_pasted_stays_as_it_was(watched: Watched, cluster: Cluster, connector: str) -> None:
    cluster.client.patch_config(connector, {"my.query": "old", "my.id": "1"})
    page = watched.log_in(view=f"connectors/{connector}/config?edit")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    query = page.get_by_label(re.compile(r"my\.query"))
    query.press("ControlOrMeta+a")
    # In one line, all behind the dashes would be a comment.
    page.evaluate("navigator.clipboard.writeText('select 1 -- one\\n  from t')")
    query.press("ControlOrMeta+v")
    expect(query).to_have_value("select 1 -- one\n  from t")
    page.get_by_role("button", name="JSON", exact=True).click()
    field = page.get_by_label("Config as JSON")
    expect(field).to_contain_text("select 1 -- one\\n  from t")
    # Of more bits than JavaScript's numbers have, and with a zero that these have not.
    write(field, field.inner_text().replace('"my.id": "1"', '"my.id": 9007199254740993, "my.rate": 1.50'))
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    config = cluster.client.get_config(connector)
    assert (config["my.query"], config["my.id"], config["my.rate"]) == ("select 1 -- one\n  from t", "9007199254740993", "1.50")


def test_a_proxy_that_rewrites_tags_keeps_nobody_waiting(watched: Watched, cluster: Cluster, connector: str) -> None:
    """As one does that compresses answers: an unknown tag is refused again and again."""
    page = watched.log_in(view=f"connectors/{connector}/config")
    requests: list[str] = []

    def proxied(route: Route) -> None:
        requests.append(route.request.method)
        answer = route.fetch()
        route.fulfill(response=answer, headers={**answer.headers, "etag": '"of a proxy"'})

    page.route(f"**/connectors/{connector}/config", proxied)
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="JSON", exact=True).click()
    field = page.get_by_label("Config as JSON")
    expect(page.get_by_text("The worker takes this config.")).to_be_visible()
    write(field, json.dumps({**json.loads(field.inner_text()), "batch.size": "77"}))
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#findings")).to_contain_text("Somebody else has changed the config")
    assert requests == ["GET", "GET", "PATCH", "GET", "PATCH"]
