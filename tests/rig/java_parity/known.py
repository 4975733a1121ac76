"""
What may differ from Connect with Java connectors: the list, each with the row of docs/compatibility.md that tells of it.

A known difference that no longer occurs must go from here: a whole run fails on it. Read next: `tests/rig/parity/expected.py`,
by which they are written and matched.
"""

from __future__ import annotations

from tests.rig.parity.expected import Known, Place
from tests.rig.parity.known import DEAD_LETTERS, OWN_SETTINGS

_CHECKS = r".*: (validate|config of the plugin).*"

KNOWN: tuple[Known, ...] = (
    Known(
        "own-settings",
        "connector settings that Kafka Connect does not have",
        _CHECKS,
        (Place(rf"(configs\.)?({OWN_SETTINGS})", r"\(absent\)"),),
    ),
    Known(
        "inferred-schemas",
        "`schemas.infer`, `schemas.infer.max.fields`, `schema.subject`, `schema.subject.version` of `JsonConverter`",
        r".*: validate.*",
        (Place(r"configs\.(key|value)\.converter\.(schemas\.infer|schema\.subject)[a-z.]*", r"\(absent\)"),),
    ),
    Known(
        "source-dead-letters",
        "dead letter queue",
        _CHECKS,
        (Place(rf"(configs\.)?({DEAD_LETTERS})", r"\(absent\)"),),
    ),
    Known(
        "order-of-versions",
        "the versions that validation offers for `*.plugin.version`",
        r".*: validate, .*",
        (Place(r"configs\.connector\.plugin\.version\.value\.recommended_values\[[01]\]"),),
    ),
    Known(
        "range-of-versions",
        "a range in `GET /connector-plugins/{p}/config?version=`",
        r"versions: config of the plugin, \[.*",
        (
            Place(r"message", ".*matches the version range.*", ".* is a range.*"),
            # Of a range that fits Connect has all settings, and kconnect says why it has none.
            Place(r".+", ours=r"\(absent\)"),
            Place(r"status|message", r"\(absent\)", '400|".* is a range.*"'),
        ),
    ),
    Known(
        "traces",
        "`trace` of a status, and the stack trace in a dead letter",
        r"jdbc-sink: dead letters",
        (Place(r"dead\.partition 0\[\d\]\.headers\[9\]\.__connect\.errors\.exception\.stacktrace"),),
    ),
    Known(
        "dropped",
        "source offsets of records that transforms dropped",
        # The rows of an outbox are deleted last, and its router drops deletions.
        r"debezium: outbox, offsets",
        (
            Place(
                r"\[0\]\.offset\.(lsn|lsn_proc|lsn_commit|messageType)",
                r'"<lsn 0>"|"INSERT"|\(absent\)',
                r'"<lsn [01]>"|"DELETE"',
            ),
        ),
    ),
    Known(
        "failed-starts",
        "a connector whose `initialize` or `start` fails",
        r"life-starts: connector, .*",
        (Place("", r'\["start"(, "start")?\]', r'\["start", "stop"(, "start", "stop")?\]'),),
    ),
    Known(
        "later-changes",
        "a source's offset in a map that the task changes later",
        r"meddling-changes: changes, source\.commit_record",
        (Place(r"offsets\[0\]\.(partition|offset)\.(struck|bad|number)"),),
    ),
    Known(
        "altered-in-alter-offsets",
        "what a connector changes in the offsets that its `alterOffsets` is given",
        r"meddling-changes: changes, connector\.alter_offsets",
        (Place(r"altered", r'\{"status": 500\}', "null"),),
    ),
    Known(
        "thread-in-open",
        "a sink task's context, asked by another thread while the task's own is in `open`",
        r"meddling-thread: thread, sink\.open",
        (Place(r"state", '"FAILED"', ".*goes on.*"), Place(r"offsets.*", r"\[\]|\(absent\)")),
    ),
)
