"""
The bytes of the metrics topic: the reports of hosts about their units, for every worker to read.

`host/metrics.py` writes the records, `worker/metrics.py` reads them. By them `/metrics` and what REST shows are made, and a
few tasks change workers in an hour (`herder/weighing.py`). A record that can't be used, or that has a newer format, is
skipped. The records hold names, classes, states, numbers and the texts of
plugins' failures, with secrets hidden. They never hold a setting's value. Read next: `families.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from kconnect.core.metrics.published import Published
from kconnect.core.state.records import UnitId
from kconnect.core.task.meters import About, Values

FORMAT = 1
_LONGEST_UNREAD_S = 1e9
_MOST_CPU_S = 1e12
AGAIN_S = 300.0
"""After so long what has not changed is said again, for workers that have come since: the topic keeps it not much longer."""


@dataclass(frozen=True)
class UnitReport:
    """
    The numbers of a unit, by the attributes of `table.py`, as a host last saw them. `incarnation` is the host's: what an
    earlier life of it said does not count any more.
    """

    worker: str
    host: int
    incarnation: str
    unit: UnitId
    about: About = field(default_factory=About)
    values: Values = field(default_factory=dict)
    retrying: str = ""
    """Why a call that the task makes again failed last."""
    published: tuple[Published, ...] = ()
    """What its plugins publish themselves."""


@dataclass(frozen=True)
class HostReport:
    """
    The units that a host has started in its life, see `Starts`, and the resources that its process uses. `worker_incarnation`
    is the life of the worker it belongs to.
    """

    worker: str
    host: int
    incarnation: str
    worker_incarnation: str
    connectors: Starts
    tasks: Starts
    usage: Usage | None = None
    published: tuple[Published, ...] = ()
    """What plugins publish themselves of which no unit is known."""


@dataclass(frozen=True)
class Beat:
    """A host lives, and has not read the log to its end for `unread_s` seconds. See `cluster/silence.py`."""

    worker: str
    host: int
    incarnation: str
    unread_s: float


@dataclass(frozen=True)
class Usage:
    """The resources of a host's process: resident memory and its limit, in bytes, and the CPU time of its life, in seconds."""

    memory: int
    memory_max: int | None
    cpu: float


@dataclass(frozen=True)
class Starts:
    attempts: int = 0
    succeeded: int = 0
    failed: int = 0

    def __add__(self, other: Starts) -> Starts:
        return Starts(self.attempts + other.attempts, self.succeeded + other.succeeded, self.failed + other.failed)


Report = UnitReport | HostReport


def encode(report: Report | Beat) -> tuple[bytes, bytes]:
    """Key and value."""
    where = {"format": FORMAT, "worker": report.worker, "host": report.host, "incarnation": report.incarnation}
    body: dict[str, Any]
    if isinstance(report, Beat):
        # Releases without it skip what has neither `starts` nor a unit.
        return f"beat-{report.worker}-{report.host}".encode(), orjson.dumps({**where, "unread_s": round(report.unread_s, 1)})
    if isinstance(report, HostReport):
        body = {
            "worker_incarnation": report.worker_incarnation,
            "starts": [_pack(report.connectors), _pack(report.tasks)],
        }
        if report.usage is not None:
            body["usage"] = [report.usage.memory, report.usage.memory_max, report.usage.cpu]
        key = f"host-{report.worker}-{report.host}"
    else:
        about = report.about
        body = {
            "unit": list(report.unit),
            "about": [about.texts, about.transforms, about.predicates],
            "values": report.values,
            "retrying": report.retrying,
        }
        key = f"unit-{report.worker}-{report.unit}"
    if report.published:
        body["published"] = [list(published) for published in report.published]
    return key.encode(), orjson.dumps({**where, **body})


def decode(value: bytes | None) -> Report | Beat | None:
    """Decode a report. Return None if it can't be used."""
    try:
        body = orjson.loads(value or b"")
        if body["format"] > FORMAT:
            return None
        where = (str(body["worker"]), int(body["host"]), str(body["incarnation"]))
        if "unread_s" in body:
            unread_s = float(body["unread_s"])
            return Beat(*where, unread_s) if 0 <= unread_s < _LONGEST_UNREAD_S else None
        if "starts" in body:
            connectors, tasks = (Starts(*(int(count) for count in counts)) for counts in body["starts"])
            life, usage = str(body["worker_incarnation"]), _usage(body.get("usage"))
            return HostReport(*where, life, connectors, tasks, usage, _published(body.get("published", ())))
        name, task = body["unit"]
        texts, transforms, predicates = body["about"]
        about = About(_texts(texts), _classes(transforms), _classes(predicates))
        unit, values = UnitId(str(name), int(task)), _numbers(body["values"])
        published = _published(body.get("published", ()))
        return UnitReport(*where, unit, about, values, str(body.get("retrying", "")), published)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _pack(starts: Starts) -> list[int]:
    return [starts.attempts, starts.succeeded, starts.failed]


def _usage(given: Any) -> Usage | None:
    if given is None:
        return None
    memory, most, cpu = given
    if not 0 <= (seconds := float(cpu)) < _MOST_CPU_S:
        raise ValueError("no process has taken so much")
    return Usage(int(memory), None if most is None else int(most), seconds)


def _texts(given: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in given.items()}


def _classes(given: Any) -> dict[str, tuple[str, str]]:
    """Hosts of earlier releases gave no versions."""
    pairs = {str(alias): (described, "") if isinstance(described, str) else described for alias, described in given.items()}
    return {alias: (str(class_name), str(version)) for alias, (class_name, version) in pairs.items()}


def _published(given: Iterable[Any]) -> tuple[Published, ...]:
    return tuple(
        Published(str(prefix), tuple((str(label), str(text)) for label, text in labels), _numbers(values))
        for prefix, labels, values in given
    )


def _numbers(given: Any) -> Values:
    return {str(name): None if number is None else float(number) for name, number in given.items()}
