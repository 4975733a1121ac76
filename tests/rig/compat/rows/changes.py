"""
Connectors that are reconfigured, deleted or made anew, and whose offsets are moved, by either side.
"""

from __future__ import annotations

from tests.rig.compat.flows import Flow, Kind, NewerSink
from tests.rig.compat.row import Case, Failed, Steps, Until, Wait
from tests.rig.compat.rows.states import STOP_SINCE

ALTER_SINCE = (3, 6)

NO_REQUEST = "this version has no request for it"


def reconfigured(kind: Kind, case: Case) -> Steps:
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from flow.moves()
    yield Wait.NEXT
    yield from flow.runs()
    yield from flow.moves()
    yield Wait.NEXT
    yield from flow.runs()
    yield from flow.moves()


def protocols(kind: Kind, case: Case) -> Steps:
    """Each side changes the protocol of the sink's group while it runs, and the other one goes on with it."""
    flow = kind(case)
    assert isinstance(flow, NewerSink)
    yield from flow.create()
    yield from flow.flows()
    for protocol in ("classic", "consumer"):
        yield Wait.NEXT
        yield from flow.runs()
        flow.protocol = protocol
        yield from flow.moves()
        yield from flow.flows()


def topics(kind: Kind, case: Case) -> Steps:
    """Which topics a connector has used, whoever has told of them (KIP-558)."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from _shows_topics(flow)
    for _ in range(2):
        yield Wait.NEXT
        yield from flow.runs()
        yield from _shows_topics(flow)
        yield from flow.moves()
        yield from _shows_topics(flow)
    # Whoever wrote a record, a reset takes it away.
    yield from flow.stop()
    yield from case.asked(lambda client: client.reset_topics(flow.name), "the topics are reset")
    case.require(case.client.topics(flow.name) == [], "topics are left after the reset")


def _shows_topics(flow: Flow) -> Steps:
    yield Until(lambda: sorted(flow.case.client.topics(flow.name)) == flow.topics(), f"the topics are {flow.topics()}")


def deleted(kind: Kind, case: Case) -> Steps:
    """Gone for the other too; one of the same name goes on where it was, as offsets outlive their connector."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from flow.delete()
    for _ in range(2):
        before = len(flow.expected)
        flow.send()
        yield Wait.NEXT
        case.require(flow.name not in case.client.connectors(), f"{flow.name} is there again")
        yield Wait.QUIET
        flow.nothing_came(but=before)
        yield from flow.create()
        yield from flow.arrives()
        yield from flow.flows()
        yield from flow.delete()


def moved_here(kind: Kind, case: Case) -> Steps:
    """kconnect has five lines come again, and the other one brings them."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from flow.stop()
    yield from _shows_offset(flow, len(flow.sent))
    kept = len(flow.sent) - 5
    yield from case.asked(lambda client: client.alter_offsets(flow.name, flow.offset(kept)), "its offsets are altered")
    flow.expected += flow.sent[kept:]
    yield Wait.NEXT
    if case.version >= STOP_SINCE:
        yield from _shows_offset(flow, kept)
    yield from flow.resume()
    yield from flow.runs()
    yield Wait.NEXT
    yield from flow.runs()


def moved_there(kind: Kind, case: Case) -> Steps:
    """The other one has five lines come again, and then all; kconnect brings them."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield Wait.NEXT
    yield from flow.runs()
    yield from flow.stop()
    kept = len(flow.sent) - 5
    yield from case.asked(lambda client: client.alter_offsets(flow.name, flow.offset(kept)), "its offsets are altered")
    flow.expected += flow.sent[kept:]
    yield Wait.NEXT
    yield from _shows_offset(flow, kept)
    yield from flow.resume()
    yield from flow.runs()


def reset_there(kind: Kind, case: Case) -> Steps:
    """The other one forgets all offsets; kconnect brings all again."""
    flow = kind(case)
    yield from flow.create()
    yield from flow.flows()
    yield from flow.stop()
    yield Wait.NEXT
    yield from case.shows(flow.name, "STOPPED")
    yield from case.asked(lambda client: client.reset_offsets(flow.name), "its offsets are reset")
    flow.expected += flow.sent
    yield Wait.NEXT
    yield from case.shows(flow.name, "STOPPED")
    if case.client.offsets(flow.name):
        raise Failed(f"{flow.name} still has offsets")
    yield from flow.resume()
    yield from flow.runs()


def _shows_offset(flow: Flow, lines: int) -> Steps:
    wanted = flow.offset(lines)
    yield Until(lambda: flow.case.client.offsets(flow.name) == wanted, f"the offsets of {flow.name} are {wanted}")
