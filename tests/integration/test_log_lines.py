"""Lines of logs on their way through their topic: in order, within limits, without secrets; and what others have written."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka as ck
import pytest
import structlog

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import NotFoundError
from kconnect.kafka import clients, log_topic
from kconnect.kafka.log_topic import Line
from kconnect.processes import log_lines, logs, shipping
from kconnect.processes.log_lines import Wanted
from tests.integration import units
from tests.support import wait_until

LIMIT_S = 120.0


@pytest.fixture
def settings(bootstrap: str, unique: Callable[[str], str]) -> WorkerSettings:
    topic = unique("shipped")
    texts = {
        **{"bootstrap.servers": bootstrap, "group.id": topic, "config.storage.topic": topic},
        **{"offset.storage.topic": f"{topic}-o", "status.storage.topic": f"{topic}-s", "log.storage.replication.factor": "1"},
        **dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.json.JsonConverter"),
        "rest.advertised.host.name": "node-1",
    }
    return WorkerSettings.from_properties(texts, {})


@pytest.fixture
def shipped(settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """A logger whose lines go to the topic, beside what pytest has them do."""
    monkeypatch.setattr(logs, "_secrets", set())
    logger = logging.getLogger("kconnect.demo")
    monkeypatch.setattr(logger, "level", logging.INFO)
    handler = shipping.Shipping(settings, "host-7", creates=True)
    logger.addHandler(handler)
    yield logger
    logger.removeHandler(handler)
    handler.close()


def found(settings: WorkerSettings, **wanted: Any) -> list[dict[str, Any]]:
    try:
        lines: list[dict[str, Any]] = log_lines.read(settings, Wanted(**wanted))["lines"]
    except NotFoundError:
        return []
    return lines


def texts(settings: WorkerSettings, **wanted: Any) -> list[str]:
    return [line["text"] for line in found(settings, **wanted)]


def test_lines_are_found_by_what_they_are_about(settings: WorkerSettings, shipped: logging.Logger) -> None:
    logs.hide_secrets({"a.password": "canary-4"})
    shipped.info("Of nobody, about orders-0: %s", "canary-4")
    for connector, task in (("orders", None), ("orders", 1), ("orders-eu", 1)):
        logs.bind(connector, task)
        shipped.warning("Of %s", connector)
    try:
        raise ValueError('it has a "canary-4"')
    except ValueError:
        shipped.exception("Failed\x1b[2J")
    structlog.contextvars.clear_contextvars()
    wait_until(lambda: len(texts(settings)) == 5, LIMIT_S)
    assert texts(settings, connector="orders") == ["Of orders"] * 2
    assert texts(settings, connector="orders", task=1) == ["Of orders"]
    hidden = "Of nobody, about orders-0: [hidden]"
    assert texts(settings, connector="orders", mentions=True)[0] == hidden
    assert texts(settings, connector="orders", task=0, mentions=True) == [hidden]
    [failure] = found(settings, level="ERROR")
    assert failure["text"].startswith("Failed\\u001b[2J\nTraceback (most recent call last):\n")
    assert failure["text"].endswith('ValueError: it has a "[hidden]"')
    place = {name: failure[name] for name in ("worker", "process", "logger", "connector", "task")}
    assert place == {
        **{"worker": "node-1:8083", "process": "host-7", "logger": "kconnect.demo"},
        **{"connector": "orders-eu", "task": 1},
    }
    assert found(settings, worker="node-2:8083") == []


def test_pages_follow_each_other(settings: WorkerSettings, shipped: logging.Logger) -> None:
    before = int(time.time() * 1000)
    for number in range(25):
        shipped.info("%d", number)
    wait_until(lambda: len(texts(settings)) == 25, LIMIT_S)
    seen: list[int] = []
    after, pages = None, 0
    while True:
        page = log_lines.read(settings, Wanted(since_ms=before, after=after, limit=10))
        seen, after, pages = seen + [int(line["text"]) for line in page["lines"]], page["next"], pages + 1
        if not page["more"]:
            break
    assert (seen, pages) == (list(range(25)), 3)
    assert log_lines.read(settings, Wanted(after=after)) == {"lines": [], "next": after, "more": False}
    shipped.info("25")
    wait_until(lambda: texts(settings, after=after) == ["25"], LIMIT_S)
    # A place of a topic that was there before this one.
    assert texts(settings, after=10**9) == []
    assert texts(settings, since_ms=int(time.time() * 1000) + 60_000) == []


def test_who_logs_too_much_loses_lines_and_nobody_else_does(
    settings: WorkerSettings, shipped: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "_BURST", 50_000)
    monkeypatch.setattr(shipped.handlers[-1], "_allowance", shipping._Allowance())
    for number in range(400):
        shipped.info("%04d %s", number, "x" * 1000)

    def goes_on() -> bool:
        shipped.info("and on")
        return "and on" in texts(settings)

    wait_until(goes_on, LIMIT_S)
    kept = [text for text in texts(settings) if text.endswith("xxx")]
    gaps = [text.split(maxsplit=1) for text in texts(settings, level="WARN")]
    assert 10 < len(kept) < 400 and kept[0].startswith("0000")
    # Those of "and on" that came too early count, too.
    assert sum(int(count) for count, _ in gaps) >= 400 - len(kept) > 0
    assert {rest.split(":")[0] for _, rest in gaps} == {"lines before this one are in this process's own log only"}


def test_a_process_that_was_forked_leaves_it_alone(settings: WorkerSettings, shipped: logging.Logger) -> None:
    child = os.fork()
    if not child:
        shipped.info("child")
        os._exit(0)
    os.waitpid(child, 0)
    shipped.info("parent")
    wait_until(lambda: texts(settings), LIMIT_S)
    assert texts(settings) == ["parent"]


def test_what_others_have_written_there(settings: WorkerSettings, shipped: logging.Logger, bootstrap: str) -> None:
    shipped.info("first")
    wait_until(lambda: texts(settings), LIMIT_S)
    good = b'{"worker":"w","process":"p","level":"INFO","logger":"l","text":"%s"%s}'
    forged = [
        *(b"", b"x", b"[]", b"{}", b'{"text": 1}', b"\xff", good % (b"t", b',"task":"0"'), good % (b"t", b',"connector":[1]')),
        (good % (b"t", b"")).replace(b"INFO", b"LOUD"),
        good % (rb"\u001b[31mred", b',"connector":"\\u202e"'),
        good % (b"x" * 200_000, b""),
        good % (rb"said\n2026-11-30 07:18:14.000 INFO  w/p kconnect.audit user=admin", b',"connector":"a\\nb"'),
        *(good % (b"task", b',"task":%s' % number) for number in (b"true", b"-5", b"1.0")),
    ]
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for value in forged:
        producer.produce(settings.log_storage_topic, value)
    producer.produce(settings.log_storage_topic, None, b"a tombstone")
    producer.produce(settings.log_storage_topic, good % (b"long ago", b""), timestamp=1)
    assert producer.flush(LIMIT_S) == 0
    shipped.info("last")
    wait_until(lambda: "last" in texts(settings), LIMIT_S)
    lines = {line["text"][:20]: line for line in found(settings)}
    assert set(lines) == {"first", "\\u001b[31mred", "x" * 20, "said\n  2026-11-30 07", "long ago", "last"}
    assert lines["said\n  2026-11-30 07"]["connector"] == "a\\nb"
    assert lines["\\u001b[31mred"]["connector"] == "\\u202e"
    assert len(lines["x" * 20]["text"]) == 64 << 10


def test_the_newest_lines_are_behind_all_that_a_page_has_no_room_for(
    settings: WorkerSettings, shipped: logging.Logger, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes a process log much must not have the last lines of others left out in silence."""
    monkeypatch.setattr(log_lines, "_MOST_BYTES", 100_000)
    shipped.info("first")
    wait_until(lambda: texts(settings), LIMIT_S)
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    long = b'{"worker":"w","process":"p","level":"INFO","logger":"l","text":"%s"}' % (b"y" * 30_000)
    for _ in range(10):
        producer.produce(settings.log_storage_topic, long)
    assert producer.flush(LIMIT_S) == 0
    shipped.info("the last line")
    seen: list[str] = []

    def read_on() -> bool:
        after, more = 0, True
        seen.clear()
        while more:
            page = log_lines.read(settings, Wanted(after=after))
            assert page["next"] > after and sum(len(line["text"]) for line in page["lines"]) < 150_000
            seen.extend(line["text"] for line in page["lines"])
            after, more = page["next"], page["more"]
        return "the last line" in seen

    wait_until(read_on, LIMIT_S)
    assert [text[0] for text in seen] == ["f", *"y" * 10, "t"]


def test_a_page_takes_no_longer_than_it_may(settings: WorkerSettings, shipped: logging.Logger, bootstrap: str) -> None:
    """Lines that take long, each of them: what is behind them has the next page."""
    shipped.info("first")
    wait_until(lambda: texts(settings), LIMIT_S)
    producer = ck.Producer({"bootstrap.servers": bootstrap})
    for _ in range(100):
        producer.produce(settings.log_storage_topic, b"x")
    assert producer.flush(LIMIT_S) == 0
    taken = 0

    def slow(line: Line) -> bool:
        nonlocal taken
        taken += 1
        time.sleep(0.1)
        return True

    client = clients.reader(settings, "log-lines")
    page = log_topic.read(client, settings.log_storage_topic, None, 0, slow, 5000, 0.5)
    assert 0 < taken < 50 and (page.next, page.more) == (taken, True)


def test_without_a_topic_it_says_so(settings: WorkerSettings, bootstrap: str) -> None:
    with pytest.raises(NotFoundError, match=f"no topic {settings.log_storage_topic}"):
        log_lines.read(settings, Wanted())
    without = WorkerSettings.from_properties({**settings.raw, "log.storage.topic": ""}, {})
    with pytest.raises(NotFoundError, match=r"`log\.storage\.topic` is empty"):
        log_lines.read(without, Wanted())
    handlers = logging.getLogger().handlers[:]
    shipping.begin(without, "worker")
    assert logging.getLogger().handlers == handlers
    units.create(bootstrap, settings.log_storage_topic)
    assert texts(settings) == []
