"""
What is tried, row by row, in the order of the table. Read next: `states.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.rig.compat.flows import ExactSource, Kind, NewerSink, Sink, Source
from tests.rig.compat.row import Case, Row, Steps, Suite, Version
from tests.rig.compat.rows import changes, internals, states


# The tests play each scenario with one kind only, where the other would tell nothing more of the records.
def _rows(
    title: str,
    steps: Callable[[Kind, Case], Steps],
    kinds: tuple[Kind, ...] = (Source, Sink),
    since: Version = (0,),
    before: str = "",
    short: tuple[Kind, ...] = (Source, Sink),
) -> tuple[Row, ...]:
    return tuple(Row(title.format(kind.kind), partial(steps, kind), since, before, kind not in short) for kind in kinds)


PLAIN_ROWS = (
    *_rows("a running {} goes on there, and here again", states.running),
    *_rows("a {} that was made there goes on here", states.made, short=(Source,)),
    *_rows("a paused {} stays paused", states.paused, short=(Source,)),
    *_rows("a stopped {} stays stopped", states.stopped),
    *_rows("a stopped {} is resumed there and put to rest again", states.resumed, short=(Sink,)),
    *_rows("a failed {} is mended there", states.failed_mended_there, short=(Source,)),
    *_rows("a failed {} fails there too, and is mended here", states.failed_mended_here, short=(Sink,)),
    *_rows("a {} is reconfigured by each", changes.reconfigured, short=()),
    *_rows(
        "a running {} of KIP-848 goes on there, and here again",
        states.running,
        (NewerSink,),
        since=(3,),
        before="its workers let connectors set nothing of their clients by default",
        short=(NewerSink,),
    ),
    *_rows(
        "the protocol of a {}'s group is changed by each",
        changes.protocols,
        (NewerSink,),
        since=(4,),
        before="its clients do not know the setting",
        short=(),
    ),
    *_rows("a {} is deleted, and made again, by each", changes.deleted, short=(Source,)),
    *_rows("kconnect moves the offsets of a {}, which goes on there", changes.moved_here, short=(Sink,)),
    *_rows(
        "the offsets of a {} are moved there, and it goes on here",
        changes.moved_there,
        short=(Source,),
        since=changes.ALTER_SINCE,
        before=changes.NO_REQUEST,
    ),
    *_rows(
        "the offsets of a {} are reset there, and it begins anew here",
        changes.reset_there,
        short=(Sink,),
        since=changes.ALTER_SINCE,
        before=changes.NO_REQUEST,
    ),
    *_rows("the topics that a {} has used, and their reset", changes.topics, short=(Source,)),
    *_rows("statuses: RESTARTING is left behind, and `version`", internals.statuses, (Source,)),
    *_rows("requests for restarts, levels of loggers, fencings", internals.restarts, (Source,)),
    *_rows("session keys are kept, replaced in time, and sign", internals.session_key, (Source,)),
    *_rows("a {} is deleted, its tombstones compacted away, and one of its name made by each", internals.orphans, short=()),
)

_exact = partial(_rows, kinds=(ExactSource,), since=(4,), before="exactly once is tried with 4.3.1 only")

EXACTLY_ONCE_ROWS = (
    *_exact("exactly once: a running {} goes on there, and here again", states.running),
    *_exact("exactly once: a {} that was made there goes on here", states.made, short=(Source,)),
    *_exact("exactly once: a stopped {} is resumed there and put to rest again", states.resumed),
    *_exact("exactly once: a {} is reconfigured by each", changes.reconfigured),
    *_exact("exactly once: a {} is deleted, and made again, by each", changes.deleted),
    *_exact("exactly once: kconnect moves the offsets of a {}, which goes on there", changes.moved_here),
)

PLAIN = Suite("plain", PLAIN_ROWS, "the workers start and end in order, and their logs have no error that is not explained")
EXACTLY_ONCE = Suite(
    "exactly-once",
    EXACTLY_ONCE_ROWS,
    "exactly once: the workers start and end in order, and their logs have no error that is not explained",
    {"exactly.once.source.support": "enabled"},
)
SUITES = (PLAIN, EXACTLY_ONCE)
