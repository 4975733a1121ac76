"""One connector: its tasks, charts, offsets and dead letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from tests.integration.console.rig import LIMIT_S, Cluster, Watched, row, serious
from tests.integration.dead_sink import Sink
from tests.support import wait_until


def test_why_a_task_failed_and_its_restart(watched: Watched, cluster: Cluster, unique: Callable[[str], str]) -> None:
    name, folder = unique("console"), cluster.directory / unique("later")
    cluster.client.create(name, {"connector.class": "FileStreamSink", "file": f"{folder}/out", "topics": "console-lines"})
    page = watched.log_in()
    expect(row(page, name)).to_contain_text("1 failed")
    expect(row(page, name)).to_contain_text("which can't be written")
    page.get_by_label("State", exact=True).select_option("FAILED")
    row(page, name).get_by_role("link").click()
    # Its own host may still wait for Spark when its task has failed on another one: then there are two reasons to be shown.
    expect(page.locator(".trace")).to_have_count(1)
    trace = page.locator("details pre")
    expect(trace).to_be_hidden()
    page.locator(".trace summary").click()
    expect(trace).to_contain_text("Traceback")
    folder.mkdir()
    page.get_by_role("button", name="Restart task 0").click()
    expect(page.get_by_role("group", name="Tasks")).to_contain_text("RUNNING")
    expect(page.locator(".trace")).to_have_count(0)
    cluster.client.delete(name)


@pytest.mark.long
def test_charts_of_the_last_hour_say_what_they_show(watched: Watched, cluster: Cluster, connector: str) -> None:
    page = watched.log_in(view=f"connectors/{connector}")
    rate = page.get_by_role("img", name=re.compile(r"^Records a second: in now \d.*; out now \d"))
    expect(rate).to_be_visible()
    expect(rate.locator("canvas")).to_have_count(1)
    # A source has no lag.
    assert page.get_by_role("img", name=re.compile("^Lag")).count() == 0


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


@pytest.fixture
def sink(cluster: Cluster, broker: Broker, unique: Callable[[str], str], tmp_path: Path) -> Iterator[Sink]:
    made = Sink(cluster.client, broker.bootstrap_servers, unique("console"), tmp_path)
    made.start()
    yield made
    made.delete()


@pytest.mark.long
def test_a_sink_is_moved_after_it_was_said_what_that_means(watched: Watched, cluster: Cluster, sink: Sink) -> None:
    def offsets() -> dict[int, int]:
        found = cluster.client.offsets(sink.name)
        return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in found}

    wait_until(lambda: offsets() == {0: 3, 1: 2}, LIMIT_S)
    page = watched.log_in(view=f"connectors/{sink.name}/offsets")
    page.get_by_text("Move it").click()
    page.get_by_role("button", name="What it means").click()
    means = page.get_by_role("group", name="What it means")
    # All records are of an hour ago, and the first a moment before.
    expect(means.get_by_role("row")).to_have_count(3)
    page.get_by_label("Where to").select_option("back")
    page.get_by_label("Records in each partition").fill("1")
    page.get_by_role("button", name="What it means").click()
    expect(page.get_by_text("At most 2 records come again.")).to_be_visible()
    assert serious(page) == []
    page.get_by_role("button", name="Move it").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{sink.topic}/0: 3 → 2")
    lines = len(sink.lines())
    dialog.get_by_role("button", name="Move").click()
    expect(page.get_by_text("The offsets for this connector have been altered successfully")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("RUNNING")
    # k4 is no JSON, k3 neither: what came again are letters again.
    wait_until(lambda: offsets() == {0: 3, 1: 2}, LIMIT_S)
    wait_until(lambda: sum(end for _, end in sink.ends(sink.queue)) == 5, LIMIT_S)
    assert len(sink.lines()) == lines


@pytest.mark.long
def test_dead_letters_are_read_tried_and_replayed(watched: Watched, sink: Sink) -> None:
    page = watched.log_in(view=f"connectors/{sink.name}/letters")
    expect(page.get_by_text(f"3 letters in {sink.queue}")).to_be_visible()
    letters = page.get_by_role("group", name="Dead letters")
    page.get_by_label("Letters with this text").fill("bad-a")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"1 letters in {sink.queue}")).to_be_visible()
    page.reload()
    expect(page.get_by_text(f"1 letters in {sink.queue}")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Show letter")).click()
    facts = letters.get_by_role("group", name=re.compile("^Letter"))
    expect(facts).to_contain_text("VALUE_CONVERTER org.apache.kafka.connect.json.JsonConverter")
    expect(facts).to_contain_text("bad-a")
    expect(facts.get_by_role("row").filter(has_text="Header trace")).to_contain_text("t1")
    page.get_by_text("Stack trace").click()
    expect(page.locator(".trace pre")).to_contain_text("Traceback")
    page.get_by_label("Choose all letters that are listed").check()
    page.get_by_role("button", name="Through the chain").click()
    expect(page.get_by_text("0 of 1 would pass.")).to_be_visible()
    expect(page.get_by_text("It stays: still fails at VALUE_CONVERTER")).to_be_visible()
    sink.mend()
    page.get_by_role("button", name="Through the chain").click()
    expect(page.get_by_text("1 of 1 would pass.")).to_be_visible()
    expect(page.get_by_text(f"It passes, and would go to {sink.topic}-1.")).to_be_visible()
    assert serious(page) == []
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text(f" → {sink.topic}-1")
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.get_by_text("1 replayed.")).to_be_visible()
    wait_until(lambda: b"bad-a" in sink.lines(), LIMIT_S)
    page.get_by_role("button", name="Read again").click()
    expect(letters.get_by_text("replayed", exact=True)).to_be_visible()
    # Once more is not done by mistake.
    page.get_by_role("button", name="Replay", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Replay").click()
    expect(page.get_by_text("It stays: it has been replayed already")).to_be_visible()


def test_who_may_only_read_sees_no_records(watched: Watched, sink: Sink) -> None:
    page = watched.log_in("eve", f"connectors/{sink.name}/letters")
    expect(page.get_by_role("link", name="Offsets")).to_be_visible()
    expect(page.get_by_role("link", name="Dead letters")).to_have_count(0)
    path = f"/kconnect/connectors/{sink.name}/dead-letters"
    assert page.evaluate("path => fetch(path).then(answer => answer.status)", path) == 403


@pytest.mark.long
def test_who_may_operate_sees_them_and_replays_none(watched: Watched, sink: Sink) -> None:
    page = watched.log_in("bob", f"connectors/{sink.name}/letters")
    expect(page.get_by_text(f"3 letters in {sink.queue}")).to_be_visible()
    expect(page.get_by_role("button", name="Replay")).to_have_count(0)
    expect(page.get_by_role("checkbox")).to_have_count(0)


def test_what_happened_and_what_to_do(watched: Watched, cluster: Cluster, unique: Callable[[str], str]) -> None:
    name = unique("console")
    config = {
        "connector.class": "FileStreamSink",
        "file": "/no/such/folder/out",
        "topics": "console-lines",
        "some.password": "old",
    }
    cluster.client.create(name, config)
    wait_until(lambda: _states(cluster, name) == ["FAILED"], LIMIT_S)
    cluster.client.patch_config(name, {"some.password": "canary-new-30c1", "label.team": "shop"})
    page = watched.log_in("eve", f"connectors/{name}")
    advice = page.get_by_role("note", name="What to do")
    expect(advice).to_contain_text("A file is missing or may not be opened")
    expect(advice.locator("code")).to_have_text(f"kconnect restart {name} --failed")
    page.get_by_text("What happened").click()
    past = page.get_by_role("group", name="What happened")
    expect(past.get_by_role("row").filter(has_text="FAILED on").first).to_contain_text("task 0")
    expect(past).to_contain_text("label.team=shop added")
    assert "canary-new" not in page.content()
    page.goto(f"{cluster.url}console#/connectors?q=team%3Dshop")
    expect(row(page, name)).to_contain_text("team=shop")
    expect(page.get_by_text(re.compile(r"^1 (of \d+ )?connectors"))).to_be_visible()
    cluster.client.delete(name)


def _states(cluster: Cluster, name: str) -> list[str]:
    try:
        return [task["state"] for task in cluster.client.status(name)["tasks"]]
    except RestError:
        # Nothing was said of it yet.
        return []
