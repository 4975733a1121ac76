"""
What to do about what was found: a sentence or two for each thing that is wrong, with the command to type.

Called by `cli/describe/connector_report.py` and `core/herder/advising.py`. Pure: the same findings give the same advice. Where
nothing is wrong there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from shlex import quote
from typing import Any

_NO_PLUGIN = re.compile(
    r"Failed to find any class|is not a known plugin|ClassNotFoundException|NoClassDefFoundError|ModuleNotFoundError"
    r"|No module named|could not be found for configuration"
)
_BAD_DATA = re.compile(
    r"DataException|DataError|SerializationException|Json\w*Exception|JSONDecodeError|Unknown magic byte|SchemaParse"
    r"|Tolerance exceeded"
)
_FAILED_AT = re.compile(r" failed at ([\w.-]+)-(\d+)@(\d+)")
"""Of a sink's record, as `core/task/errors.py` writes it."""
_NO_RIGHT = re.compile(r"AuthorizationException|not authorized|AUTHORIZATION_FAILED", re.IGNORECASE)
_NO_LOGIN = re.compile(
    r"SaslAuthentication|AuthenticationException|Access denied for user|password authentication failed", re.IGNORECASE
)
_NO_FILE = re.compile(r"NoSuchFileException|FileNotFoundE|AccessDeniedException|PermissionError|No such file")
_STUCK = ("the Spark driver ended", "the host has ended", "no core of Spark is free", "takes no connections")
"""What `core/herder/waiting.py` says of a host that does not come by itself."""


def of(report: Mapping[str, Any]) -> list[str]:
    """
    `report` as `Look.connector` makes it: name, type, state, error, retrying, tasks, numbers, lag, topics, moving and errors.
    Nothing is said of what is not known.
    """
    return list(dict.fromkeys(_all(report)))


def _all(report: Mapping[str, Any]) -> Iterator[str]:
    name, state = quote(report["name"]), report["state"]
    failed = [task for task in report["tasks"] if task["state"] == "FAILED"]
    for unit in [report, *report["tasks"]]:
        if unit["error"] is not None and unit["state"] == "FAILED":
            yield from _remedies(unit["error"], name, _records(report, unit["error"]))
    if state == "FAILED":
        yield f"The connector failed: fix the cause, then `kconnect restart {name}{' --failed' if failed else ''}`"
    elif failed:
        tasks = "Its task" if len(report["tasks"]) == 1 else f"{len(failed)} of {len(report['tasks'])} tasks"
        yield f"{tasks} failed: fix the cause, then `kconnect restart {name} --failed`"
    if state == "PAUSED":
        yield f"It is paused, and moves nothing: `kconnect resume {name}`"
    if state == "STOPPED":
        yield (
            f"It is stopped: `kconnect offsets get {name}` shows its offsets, which may be changed now, and `kconnect resume "
            f"{name}` starts it"
        )
    if state is None:
        yield "No worker has reported its state yet: ask again in a moment. If that does not help, look at the workers' logs."
    yield from _waiting(report)
    if any(task["retrying"] is not None for task in report["tasks"]):
        yield f"Its tasks are retrying, and will not fail: fix the cause; `kconnect logs {name}` shows more"
    if report["retrying"] is not None:
        yield (
            "It asks its connector for task configs again and again, and fails if it gets none within five minutes: fix the "
            f"cause; `kconnect logs {name}` shows more"
        )
    elif state == "RUNNING" and not report["tasks"]:
        yield (
            "It runs and has no tasks: perhaps it found nothing to do, or no worker has asked it for tasks yet. `kconnect logs "
            f"{name}` may show why."
        )
    yield from _numbers(report, name, bool(failed))


def _waiting(report: Mapping[str, Any]) -> Iterator[str]:
    waiting = [task["id"] for task in report["tasks"] if task["state"] in ("UNASSIGNED", "RESTARTING")]
    if not waiting and report["state"] not in ("UNASSIGNED", "RESTARTING"):
        return
    reasons = [unit.get("waits_for") or "" for unit in (report, *report["tasks"])]
    stuck = next((reason for reason in reasons if any(sign in reason for sign in _STUCK)), None)
    silent = next((reason for reason in reasons if reason.startswith(("not running: ", "not known: "))), None)
    if silent is not None:
        yield f"It was started; now it is {silent}. `GET /health` of its worker and the worker's log have more"
    elif stuck is not None:
        yield f"It waits for Spark, which does not start it: {stuck}. The worker's log has more"
    elif any(reason.startswith("waiting for Spark: ") for reason in reasons):
        yield "It waits for Spark, which takes seconds to start. If it takes longer, the worker's log says what Spark tries"
    elif report["moving"]:
        yield "A rebalance is under way: `kconnect cluster` shows what moves. This ends by itself."
    else:
        yield "It waits for a worker to start it. If that takes long, check that all workers are there: `kconnect cluster`"


def _numbers(report: Mapping[str, Any], name: str, failed: bool) -> Iterator[str]:
    numbers, lag, errors = report["numbers"] or {}, report["lag"], report["errors"]
    if numbers.get("skipped"):
        where = errors["topic"]
        look = (
            f"`kconnect dlq show {quote(where)}`"
            if where
            else ("they are lost, because errors.deadletterqueue.topic.name is not set")
        )
        yield f"{int(numbers['skipped'])} records failed and were dropped since its tasks started: {look}"
    if lag and lag["total"] and numbers.get("in_per_s") == 0 and report["state"] == "RUNNING" and not failed:
        yield f"It runs, {lag['total']} records wait, and none was read in the last minute: `kconnect logs {name}`"


def _records(report: Mapping[str, Any], error: Mapping[str, Any]) -> str:
    """
    Return the options by which `kconnect preview` takes records: the one that failed, a sink's topic, or a file for a source.
    """
    if report["type"] != "sink":
        return "--input RECORDS"
    if place := _FAILED_AT.search(error["reported_as"] or error["first_cause"]):
        return f"--topic {quote(place[1])} --partition {place[2]} --offset {place[3]} --limit 1"
    partitions = (report["lag"] or {}).get("partitions") or ()
    topics = [*(report["topics"] or ()), *(row["topic"] for row in partitions), "TOPIC"]
    return f"--topic {topics[0]}"


def _remedies(error: Mapping[str, Any], name: str, records: str) -> Iterator[str]:
    text = f"{error['first_cause']} {error['reported_as'] or ''}"
    if _NO_PLUGIN.search(text):
        yield (
            "A class is missing: `kconnect get plugins` lists what the worker has; install the plugin on every worker, then "
            "`kconnect plugin reload`."
        )
    elif _BAD_DATA.search(text):
        yield (
            f"A record is not what the connector expects. Try the chain on it: `kconnect preview --against {name} {records}`. "
            "To skip such records, set errors.tolerance=all, and for a sink errors.deadletterqueue.topic.name."
        )
    elif _NO_RIGHT.search(text):
        yield "Its user lacks a right (an ACL of Kafka, or a grant of the other system)."
    elif _NO_LOGIN.search(text):
        yield "It could not log in: check its user and password, or the secrets that its references stand for."
    elif _NO_FILE.search(text):
        yield "A file is missing or may not be opened: it must be on the machine where the task runs."
