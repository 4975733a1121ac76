"""
What the workers write for themselves: session keys, statuses, restarts, levels of loggers, fencings; what compaction leaves.
"""

from __future__ import annotations

import json
import time

import httpx
import orjson

from kconnect.core.state import records
from kconnect.core.state.records import LogRecord, SessionKey, State, Topic, UnitId, UnitStatus
from kconnect.rest import signature
from tests.rig.compat.flows import Kind
from tests.rig.compat.row import Case, Failed, Steps, Until, Wait

VERSION_SINCE = (4, 1)
RESTART_SINCE = (3, 0)
LOGGER_SINCE = (3, 7)
PURGE_SINCE = (3, 7, 1)

NEW_KEY = "this version replaces the key whenever it takes the lead"
GHOSTS = "this version itself may begin with the tasks of the deleted connector (KAFKA-16838)"

_KEY = "session-key"
_TOO_OLD_MS = 0
"""When the key that `_age` writes was made."""


def session_key(kind: Kind, case: Case) -> Steps:
    """A key goes from one to the other while it is good, is replaced once it is too old, and what it signs is accepted."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    for _ in range(2):
        before = _key(case)
        yield Wait.NEXT
        yield from flow.runs()
        kept = _key(case)
        if kept != before:
            case.require(case.turn.version is not None, "the key was replaced before its time")
            case.saw(NEW_KEY)
        yield from _accepts(case, flow.name, kept)
        if case.turn.version is not None or case.thorough:
            _age(case, kept)
            yield Until(lambda old=kept.key: _is_replaced(case, flow.name, old), "a key that is too old is replaced")  # type: ignore[misc]
            yield from _accepts(case, flow.name, _key(case))
        yield from flow.runs()


def _key(case: Case) -> SessionKey:
    value = case.topics.last(case.topics.config).get(_KEY)
    found = records.decode_config(LogRecord(Topic.CONFIG, 0, 0, _KEY.encode(), value))
    if not isinstance(found, SessionKey):
        raise Failed(f"no session key can be read: {found}")
    return found


def _is_replaced(case: Case, name: str, old: str) -> bool:
    # A worker looks at its key when something wakes it, as this request does; a key that it reads does not.
    case.client.connector(name)
    return _key(case).key != old


def _age(case: Case, key: SessionKey) -> None:
    case.topics.write(case.topics.config, records.session_key(SessionKey(key.key, key.algorithm, _TOO_OLD_MS)))


def _accepts(case: Case, name: str, key: SessionKey) -> Steps:
    """The tasks' configs as they are, as another worker would send them."""

    def sent(by: SessionKey) -> int:
        body = orjson.dumps([task["config"] for task in case.client.tasks(name)])
        path = f"/connectors/{name}/tasks"
        worker = signature.worker_at(case.client.url)
        headers = {"Content-Type": "application/json", **signature.sign(by, by.algorithm, worker, "POST", path, body)}
        return httpx.post(f"{case.client.url}{path}", content=body, headers=headers, timeout=60).status_code

    other = SessionKey("b3RoZXI=", key.algorithm, key.created_ms)
    yield Until(lambda: sent(key) in (200, 204), "what the key has signed is accepted")

    def is_refused() -> bool:
        status = sent(other)
        case.require(status not in (200, 204), "what another key has signed is not refused")
        return status == 403

    yield Until(is_refused, "what another key has signed is refused")


def statuses(kind: Kind, case: Case) -> Steps:
    """RESTARTING is the last that is said of it when the other comes, which then says what is so."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    for _ in range(2):
        yield Wait.GAP
        for unit in (UnitId(flow.name), UnitId(flow.name, 0)):
            left = UnitStatus(State.RESTARTING, "elsewhere:8083", 1, None, "0.1")
            case.topics.write(case.topics.status, records.status(unit, left))
        yield Wait.NEXT
        yield from flow.runs()
        version = case.turn.version
        for key in (f"status-connector-{flow.name}", f"status-task-{flow.name}-0"):
            # The worker has read its own status before it shows it; the harness reads the topic anew.
            value = json.loads(case.topics.last(case.topics.status)[key] or b"{}")
            case.require(value.get("worker_id") == case.turn.worker_id, f"{key} is {value}")
            has_version = version is None or version >= VERSION_SINCE
            case.require(bool(value.get("version")) == has_version, f"{key} is {value}")


def restarts(kind: Kind, case: Case) -> Steps:
    """Requests for restarts, levels of loggers and fencings lie in the config topic; they are not carried out again."""
    flow = kind(case)
    logger = f"compat.{flow.name}"
    yield from flow.create()
    yield from flow.flows()
    for number in range(3):
        version = case.turn.version
        if version is None or version >= RESTART_SINCE:
            yield from case.asked(lambda client: client.restart(flow.name, include_tasks=True), "it is restarted")
            yield from flow.runs()
        if version is None or version >= LOGGER_SINCE:
            yield from case.asked(lambda client: client.set_logger(logger, "TRACE", cluster=True), "a logger's level is set")
        case.topics.write(case.topics.config, records.tasks_fencing(flow.name, 1))
        yield from flow.flows()
        if number < 2:
            yield Wait.NEXT
            yield from flow.runs()
            case.require(logger not in case.client.loggers(), "a logger's level was set from what others wrote long ago")


def orphans(kind: Kind, case: Case) -> Steps:
    """
    A connector is deleted and the config topic compacted, which leaves its tasks alone. One of its name, made by either side,
    has nothing of them.
    """
    flows = [kind(case, f"-{where}") for where in ("there", "here")]
    for flow in flows:
        yield from flow.create()
        yield from flow.flows()
        yield from flow.delete()
    yield from _compacted(case, [flow.name for flow in flows])
    for flow in flows:
        yield Wait.NEXT
        yield Wait.QUIET
        case.require(flow.name not in case.client.connectors(), f"{flow.name} is there again")
        before = len(flow.arrived())
        flow.send()
        old = flow.destinations[-1]
        flow.add_destination()
        yield from flow.create()
        yield from flow.arrives()
        yield from flow.flows()
        ghosts = len(flow.at(old)) - before
        if case.turn.version is not None and case.turn.version < PURGE_SINCE:
            # It does when its connector instance is slower than the tasks.
            case.saw(GHOSTS)
        else:
            case.require(not ghosts, f"{ghosts} lines went where the deleted connector wrote to")
        if flow is flows[0]:
            yield from flow.delete()
            yield from _compacted(case, [flow.name])


def _compacted(case: Case, names: list[str]) -> Steps:
    """Wait until the records of the deletions are gone, and those of the tasks are not."""
    key = _key(case)
    asked_at = [0.0]

    def done() -> bool:
        if time.monotonic() < asked_at[0] + 1:
            return False
        asked_at[0] = time.monotonic()
        # What is compacted ends with the segment before the newest; a record that says what was said makes a new one.
        case.topics.write(case.topics.config, records.session_key(key))
        found = case.topics.last(case.topics.config)
        gone = not any(f"{kind}-{name}" in found for name in names for kind in ("connector", "target-state"))
        return gone and all(f"{kind}" in found for name in names for kind in (f"task-{name}-0", f"commit-{name}"))

    yield Until(done, f"the config topic is compacted, so that only tasks are left of {', '.join(names)}")
