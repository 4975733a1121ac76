"""
Finds what a worker would trip over in the internal topics: `kconnect topics check`.

Everything is looked at twice: as it stands, which is what a worker reads today, and as it will be once brokers have compacted
it. `settings.py` has the checks of the topics themselves, `placing.py` those of keys and partitions, `connectors.py` those of
what the config topic says of connectors, `remains.py` those for what is left of what is gone; here are those of other records.
Read next: `findings.py`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from shlex import quote

import orjson

from kconnect.core.state import records
from kconnect.core.state.records import Broken, Topic
from kconnect.internal_topics import connectors, placing, remains, settings
from kconnect.internal_topics.contents import Contents, Stored, compacted, decode
from kconnect.internal_topics.findings import ORDER, Finding, Severity
from kconnect.internal_topics.view import View

_HOUR_MS = 3_600_000
"""Also Connect's default of `inter.worker.key.ttl.ms`."""


def check(contents: Contents, now_ms: int, exactly_once: bool = False) -> list[Finding]:
    """
    The worst first. `exactly_once`: whether the workers have exactly-once sources; that fencings were recorded says so too.
    """
    findings = [*settings.check(contents), *placing.check(contents), *_records(contents, now_ms, exactly_once)]
    return sorted(findings, key=lambda finding: ORDER[finding.severity])


def looks_foreign(contents: Contents) -> list[Topic]:
    """The topics that hold records, and none of the kind that belongs there: somebody has named another topic."""
    foreign = []
    for role in contents.topics:
        topic_records = contents.of(role)
        if topic_records and all(isinstance(decode(record.log), Broken) for record in topic_records):
            foreign.append(role)
    return foreign


def _records(contents: Contents, now_ms: int, exactly_once: bool) -> Iterator[Finding]:
    now, remaining = View(contents.records), compacted(contents.records)
    later = View(remaining)
    yield from _broken(later)
    yield from connectors.check(now, later, remaining, contents, exactly_once)
    yield from remains.of_connectors(now, remaining)
    yield from _offsets(now)
    yield from _topic_uses(remaining)
    yield from _session_key(now, bool(contents.members), now_ms)
    yield from remains.of_workers(now, contents)


def _broken(later: View) -> Iterator[Finding]:
    for record, broken in later.broken:
        where = f"offset {record.offset}" if record.partition == 0 else f"partition {record.partition}, offset {record.offset}"
        unknown = broken.reason == "unknown kind of key"
        remedy = "Write a tombstone for its key, or let the worker write it again: "
        if record.role is Topic.OFFSET:
            remedy = "A source starts without this offset: reset it and set it again with `kconnect offsets`."
        elif unknown:
            remedy = "A newer Connect may have written it. If there is none, find out what else writes to this topic."
        elif record.role is Topic.CONFIG:
            remedy = (
                "Submit the connector's config again, or pause, stop or resume the connector again: that rewrites the record."
            )
        elif record.role is Topic.SCHEMAS:
            remedy = (
                "Tasks pass over it and infer on from what they can read. `kconnect schemas NAME` shows what that is. To begin "
                "anew, stop the connector and forget them with --forget."
            )
        elif record.role is Topic.STATUS:
            remedy = "Restart the connector or task: that rewrites its status."
        elif (name := broken.key.removeprefix("tasks-")) != broken.key:
            remedy = f"Restart the connector, which writes it again: `kconnect restart {quote(name)}`."
        else:
            remedy = "Restart the workers one after the other: that rewrites the record. It needs no topic to be deleted."
        yield Finding(
            Severity.WARNING if unknown else Severity.ERROR,
            "unknown-key" if unknown else "broken",
            record.role,
            f"Workers ignore the record {broken.key or '(empty key)'} ({where}): {broken.reason}.",
            remedy,
            (broken.key,),
        )
    if later.assignment.newer is not None:
        newer = later.assignment.newer
        yield Severity.ERROR.finding(
            "newer-format",
            Topic.ASSIGNMENT,
            f"{newer.key} was written by a newer kconnect, in format {newer.format}: workers of this version can't lead.",
            "Upgrade the workers; or stop them all and delete the assignment topic, which a worker creates again.",
            (newer.key,),
        )


def _offsets(now: View) -> Iterator[Finding]:
    for name in sorted(now.offsets_of):
        for offset in now.offset.of(name):
            wrong = [field for field, value in (offset.offset or {}).items() if isinstance(value, dict | list)]
            if wrong:
                yield Severity.ERROR.finding(
                    "offset-value",
                    Topic.OFFSET,
                    f"An offset of {name} holds more than plain values, in {', '.join(wrong)}: Kafka Connect's workers refuse "
                    "it.",
                    f"Set it again with `kconnect offsets set {quote(name)}`.",
                    (name,),
                )


def _topic_uses(remaining: list[Stored]) -> Iterator[Finding]:
    for record in remaining:
        if record.role is not Topic.STATUS:
            continue
        decoded = decode(record.log)
        if not isinstance(decoded, records.TopicUse):
            continue
        value = orjson.loads(record.value or b"{}").get("topic", {})
        if value.get("name", decoded.topic) != decoded.topic or value.get("connector", decoded.connector) != decoded.connector:
            yield Severity.WARNING.finding(
                "topic-use-differs",
                Topic.STATUS,
                f"The key says that {decoded.connector} uses {decoded.topic}, and the value that {value.get('connector')} uses "
                f"{value.get('name')}: Connect lists the latter, and a reset does not remove it.",
                f"PUT /connectors/{decoded.connector}/topics/reset, and write a tombstone for the key if it stays.",
                (decoded.connector,),
            )


def _session_key(now: View, workers_live: bool, now_ms: int) -> Iterator[Finding]:
    keys = now.config.session_keys
    if not keys:
        return
    try:
        base64.b64decode(keys[0].key, validate=True)
    except (binascii.Error, ValueError):
        yield Severity.ERROR.finding(
            "session-key",
            Topic.CONFIG,
            "The session key is not base64: workers can't sign their requests to each other.",
            "Restart the workers: a new leader writes another one.",
        )
    age_ms = now_ms - keys[0].created_ms
    if age_ms > 2 * _HOUR_MS:
        old = f"The session key is {age_ms // _HOUR_MS} hours old"
        yield Finding(
            Severity.WARNING if workers_live else Severity.NOTE,
            "session-key-old",
            Topic.CONFIG,
            f"{old}, and no leader has replaced it: perhaps none can write."
            if workers_live
            else f"{old}, and there has been no leader since. The next leader replaces it.",
            "Find the leader with `kconnect cluster`, and look at its log. Or inter.worker.key.ttl.ms is longer than usual."
            if workers_live
            else "",
        )
    elif age_ms < -_HOUR_MS:
        yield Severity.WARNING.finding(
            "session-key-future",
            Topic.CONFIG,
            "The session key has a time in the future: the clocks of workers differ.",
            "Synchronize the clocks of the workers' machines.",
        )
