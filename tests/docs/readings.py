"""
Which pages somebody types, in which order, and what each page presupposes: a connector, a file, records in a topic.

`test_typing.py` types them, and looks whether each command of each page is in a reading, or in `left_out.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import pytest

from tests.docs import cheat_sheet, left_out
from tests.docs.pages import Block, blocks
from tests.docs.scene import FILE_SINK, FILE_SOURCE, JSON, RESTORED, Scene
from tests.docs.steps import Step, kind_of, steps
from tests.rig.systems import kafkas_tools

Preparation = Callable[[Scene], None]


class Part(NamedTuple):
    """The blocks of a page below some headings; None: all."""

    page: str
    headings: tuple[str, ...] | None = None

    def has(self, heading: str) -> bool:
        return self.headings is None or heading in self.headings


class Reading(NamedTuple):
    """Parts that are read one after the other. `before` has what the reader does first where a command begins so."""

    name: str
    parts: tuple[Part, ...]
    prepare: Preparation
    before: Mapping[str, Preparation] = {}
    marks: tuple[pytest.MarkDecorator, ...] = ()

    def preparation(self, step: Step) -> Preparation:
        """Return what the reader does before he types a command."""
        command = step.command.removeprefix(".venv/bin/")
        begin = max((begin for begin in self.before if command.startswith(begin)), key=len, default=None)
        return _nothing if begin is None else self.before[begin]


def _nothing(scene: Scene) -> None:
    """Everything is there."""


# --- README and getting-started ---


def _introduction(scene: Scene) -> None:
    # Paused before it has tasks, as the page shows it.
    scene.create("audit", FILE_SOURCE, state="PAUSED", file=str(scene.file("audit.txt")), topic="audit")
    scene.create("lines", FILE_SOURCE, file="/etc/services", topic="lines")
    scene.create("lines-archive", FILE_SINK, file="/mnt/archive/lines.txt", topics="lines")
    scene.create("lines-copy", FILE_SINK, file=str(scene.home / "lines.txt"), topics="lines")
    scene.client.wait_for("audit", "PAUSED")
    states = {"lines": ["RUNNING"], "lines-archive": ["FAILED"], "lines-copy": ["RUNNING"]}
    scene.wait(lambda: {name: [task["state"] for task in scene.client.status(name)["tasks"]] for name in states} == states)


def _first_hour(scene: Scene) -> None:
    (scene.home / "worker.properties").unlink()


# --- operating ---


def _some_orders(scene: Scene) -> None:
    scene.file("plugins/none")
    scene.create("orders-source", FILE_SOURCE, file=str(scene.file("orders.txt", "1\n2\n")), topic="orders")
    scene.client.wait_for("orders-source", "RUNNING", tasks=1)


def _empty_cluster(scene: Scene) -> None:
    """A backup goes to topics that are empty, and to a group without workers."""
    text = re.sub(r"(?m)^(group\.id|\w+\.storage\.topic)=(.*)$", rf"\1={RESTORED}\2", scene.worker_file.read_text("utf-8"))
    (scene.home / "worker.properties").write_text(text, "utf-8")


# --- connectors ---


def _chain(scene: Scene) -> None:
    scene.create("lines", FILE_SOURCE, file="/etc/services", topic="lines")
    scene.write("orders", {"id": 7, "card": "4111 1111"}, "no json", {"id": 8, "card": "4222 2222"})
    sink = {"topics": "orders", "file": str(scene.home / "copy.txt"), **JSON, "value.converter.schemas.infer": "true"}
    scene.create("orders-sink", FILE_SINK, **sink, **_letters("orders-dead"))
    scene.file("changes.yaml", "transforms.mask.fields: id\n")
    scene.client.wait_for("orders-sink", "RUNNING", tasks=1)
    scene.wait(lambda: scene.count("orders-dead") >= 1)


def _running_chain(scene: Scene) -> None:
    """`orders` has the chain of the page's connector.json, and a class that is installed."""
    chain = json.loads((scene.home / "connector.json").read_text("utf-8"))["config"]
    del chain["connector.class"]
    scene.create(
        "orders", FILE_SOURCE, file=str(scene.file("none.txt")), topic="orders", **{k: str(v) for k, v in chain.items()}
    )


def _deleted_lines(scene: Scene) -> None:
    scene.client.delete("lines")


def _letters(queue: str) -> dict[str, str]:
    return {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


# --- the cheat sheet ---


def _orders_sink(scene: Scene) -> None:
    """A sink `orders` with three tasks, as most rows have it, files of it, and one record that it can't read."""
    if "orders" not in scene.client.connectors():
        scene.write("topic", {"id": 1}, "no json", {"id": 2})
        scene.write("orders", {"id": 1})
        config = {"topics": "topic", "tasks.max": "3", "file": str(scene.home / "copy.txt"), **JSON, **_letters("dead")}
        scene.create("orders", FILE_SINK, **config)
        config["connector.class"] = FILE_SINK
        scene.file("orders.json", json.dumps(config))
        scene.file("orders.yaml", json.dumps({"name": "orders", "config": config}))
        scene.file("connectors/orders.yaml", json.dumps({"name": "orders", "config": config}))
        scene.file(
            "cases.yaml",
            'config: orders.json\ncases: [{name: a, in: {topic: a, value_text: "1"}, expect: {out: {topic: a}}}]\n',
        )
        scene.client.wait_for("orders", "RUNNING", tasks=3)
        scene.wait(lambda: scene.count("dead") >= 1)


def _several(scene: Scene) -> None:
    scene.create("orders-eu", FILE_SOURCE, file=str(scene.file("none.txt")), topic="orders")


def _resumed(scene: Scene) -> None:
    _orders_sink(scene)
    scene.client.resume("orders")


def _one_task(scene: Scene) -> None:
    _resumed(scene)
    scene.client.patch_config("orders", {"tasks.max": "1"})
    scene.wait(lambda: len(scene.client.tasks("orders")) == 1)
    scene.client.wait_for("orders", "RUNNING", tasks=1)


def _log(scene: Scene) -> None:
    scene.file("worker.log", scene.worker.log.read_text("utf-8"))


def _habits(scene: Scene) -> None:
    _orders_sink(scene)
    _log(scene)


def _stopped(scene: Scene) -> None:
    scene.stop("orders")


def _kafkas_tools(scene: Scene) -> None:
    _orders_sink(scene)
    kafkas_tools.write(scene.home / "bin")


READINGS = (
    Reading("introduction", (Part("../README.md", ("kconnect",)),), _introduction),
    Reading(
        "first-hour",
        (
            Part("../README.md", ("A first connector",)),
            Part("getting-started.md", None),
        ),
        _first_hour,
    ),
    Reading(
        "operating",
        (Part("operating.md", ("A cluster", "The internal topics", "Plugins", "Metrics")),),
        _some_orders,
        {"kconnect topics restore": _empty_cluster},
    ),
    Reading("sizing", (Part("sizing.md", ("Measure your own",)),), _some_orders),
    Reading(
        "connectors",
        (Part("connectors.md"),),
        _chain,
        {"kconnect preview --against": _running_chain, "curl -X POST localhost:8083/connectors ": _deleted_lines},
        marks=(pytest.mark.long,),
    ),
    Reading("java-connectors", (Part("java-connectors.md", ("Logs",)),), _nothing),
    Reading(
        "cheat-sheet",
        (Part(cheat_sheet.PAGE),),
        _orders_sink,
        {
            "kconnect pause": _several,
            "kconnect wait": _resumed,
            "kconnect logs": _log,
            "kconnect offsets get orders": _one_task,
            "kconnect topics restore": _empty_cluster,
        },
        marks=(pytest.mark.long,),
    ),
    Reading(
        "so-far",
        (Part(cheat_sheet.SO_FAR),),
        _habits,
        {"$C/connectors/orders/offsets": _one_task, "$C/connectors/orders/offsets -X DELETE": _stopped},
    ),
    Reading("kafkas-tools", (Part(cheat_sheet.KAFKAS_TOOLS),), _kafkas_tools, marks=(pytest.mark.long,)),
)

USERS = Reading("users", (Part("operating.md", ("Who may do what",)),), _nothing)
MOVING = Reading(
    "moving", (Part("operating.md", ("Connector by connector", "The whole cluster, on its own topics")),), _nothing
)
JAVA = Reading(
    "java", (Part("operating.md", ("Java plugins",)), Part("java-connectors.md", ("Install", "A first example"))), _nothing
)
"""These three have a worker of their own, and take long."""


def _section(page: str, name: str, *headings: str) -> Reading:
    return Reading(name, (Part(page, headings),), _nothing)


DISASTERS = {
    reading.name: reading
    for reading in (
        _section("disaster.md", "beforehand", "Beforehand"),
        _section("disaster.md", "deleted", "A connector was deleted"),
        _section("disaster.md", "reset", "A connector and its offsets were deleted"),
        _section("disaster.md", "config-alive", "The config topic, while workers run"),
        _section("disaster.md", "config-dead", "The config topic, while no worker runs"),
        _section("disaster.md", "offset-dead", "The offset topic, while no worker runs"),
        _section("disaster.md", "others", "The other topics, while workers run"),
        _section("disaster.md", "sink", "The offsets of a sink"),
        _section("disaster.md", "cluster", "The whole Kafka cluster"),
        _section("disaster.md", "planned", "Planned"),
    )
}
"""`test_disaster.py` loses what each is about before it types it."""

BEFORE_UPGRADE = _section("upgrade.md", "before", "Before")
RESTART = _section("upgrade.md", "restart", "The workers, one by one")
AFTER_UPGRADE = _section("upgrade.md", "afterwards", "Afterwards")
UPGRADE = (BEFORE_UPGRADE, RESTART, AFTER_UPGRADE)
"""`test_upgrade.py` has two workers for them."""


def steps_of(reading: Reading) -> Iterator[Step]:
    """Yield what is typed in a reading, in order."""
    for page, headings in reading.parts:
        if page in (cheat_sheet.SO_FAR, cheat_sheet.KAFKAS_TOOLS):
            yield from cheat_sheet.commands(page)
            continue
        part = [block for block in blocks(page) if headings is None or block.heading in headings]
        found = [step for block, after in pairwise([*part, None]) for step in _typed(block, after)]
        if page == cheat_sheet.PAGE:
            found += cheat_sheet.commands(page)
        yield from (step for step in found if left_out.reason(page, step.command) is None)


def _typed(block: Block | None, after: Block | None) -> Iterator[Step]:
    if block is not None and kind_of(block) == "commands":
        yield from steps(block, after if after is not None and kind_of(after) == "shown" else None)
