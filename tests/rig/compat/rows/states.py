"""
Connectors that run, are paused, stopped or failed when the other kind of worker finds them.

Nothing may run there that was not to, and nothing be lost or come twice: all workers end in order.
"""

from __future__ import annotations

from tests.rig.compat.flows import Kind
from tests.rig.compat.row import Case, Steps, Wait

STOP_SINCE = (3, 5)
WHOLE_SINCE = (3, 4)
"""Since then file connectors give their tasks the whole config."""

SEEN_AS_PAUSED = "this version has no STOPPED: it shows PAUSED without tasks, and kconnect finds STOPPED again"
LEFT_PAUSED = "this version can't stop it again, only pause it, and so kconnect finds it PAUSED"
NOT_TOLD = "this version's tasks learn of a changed transform only when they are restarted (KAFKA-9228)"


def running(kind: Kind, case: Case) -> Steps:
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    for _ in range(2):
        yield Wait.GAP
        flow.send()
        yield Wait.NEXT
        yield from flow.runs()
        _runs_here(case, flow.name)


def made(kind: Kind, case: Case) -> Steps:
    flow = kind(case)
    yield Wait.NEXT
    yield from flow.create()
    yield from flow.flows()
    yield Wait.GAP
    flow.send()
    yield Wait.NEXT
    yield from flow.runs()


def paused(kind: Kind, case: Case) -> Steps:
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from flow.pause()
    before = len(flow.expected)
    for _ in range(2):
        flow.send()
        yield Wait.NEXT
        yield from case.shows(flow.name, "PAUSED", "PAUSED")
        yield Wait.QUIET
        flow.nothing_came(but=before)
    yield from flow.resume()
    yield from flow.arrives()


def stopped(kind: Kind, case: Case) -> Steps:
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from flow.stop()
    before = len(flow.expected)
    flow.send()
    yield Wait.NEXT
    if case.version < STOP_SINCE:
        case.saw(SEEN_AS_PAUSED)
    yield from case.shows(flow.name, "PAUSED" if case.version < STOP_SINCE else "STOPPED")
    yield Wait.QUIET
    flow.nothing_came(but=before)
    flow.send()
    yield Wait.NEXT
    yield from case.shows(flow.name, "STOPPED")
    yield Wait.QUIET
    flow.nothing_came(but=before)
    yield from flow.resume()
    yield from flow.arrives()


def resumed(kind: Kind, case: Case) -> Steps:
    """Stopped by kconnect, resumed by the other, and put to rest there as far as it can."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from flow.stop()
    flow.send()
    yield Wait.NEXT
    yield from flow.resume()
    yield from flow.arrives()
    yield from flow.flows()
    if case.version < STOP_SINCE:
        case.saw(LEFT_PAUSED)
        yield from flow.pause()
    else:
        yield from flow.stop()
    before = len(flow.expected)
    flow.send()
    yield Wait.NEXT
    yield from case.shows(flow.name, *(("PAUSED", "PAUSED") if case.version < STOP_SINCE else ("STOPPED",)))
    yield Wait.QUIET
    flow.nothing_came(but=before)
    yield from flow.resume()
    yield from flow.arrives()


def failed_mended_there(kind: Kind, case: Case) -> Steps:
    flow = kind(case)
    yield from flow.create(failing=True)
    flow.send()
    yield from case.shows(flow.name, "RUNNING", "FAILED")
    yield Wait.NEXT
    # A new worker tries once more, as each of them does.
    yield from case.shows(flow.name, "RUNNING", "FAILED")
    flow.nothing_came(but=0)
    yield from flow.configure()
    if case.version < WHOLE_SINCE:
        case.saw(NOT_TOLD)
        yield from case.asked(lambda client: client.restart_task(flow.name, 0), "its task is restarted")
    yield from flow.runs()
    yield Wait.NEXT
    yield from flow.runs()


def failed_mended_here(kind: Kind, case: Case) -> Steps:
    flow = kind(case)
    yield from flow.create(failing=True)
    flow.send()
    yield from case.shows(flow.name, "RUNNING", "FAILED")
    for _ in range(2):
        yield Wait.NEXT
        yield from case.shows(flow.name, "RUNNING", "FAILED")
    flow.nothing_came(but=0)
    yield from flow.configure()
    yield from flow.runs()


def _runs_here(case: Case, name: str) -> None:
    status = case.client.status(name)
    for unit in (status["connector"], *status["tasks"]):
        case.require(unit["worker_id"] == case.turn.worker_id, f"{name} is said to run on {unit['worker_id']}")
