"""
What hinders a move, found before anything is stopped.

`look` asks both clusters about one connector and gives a `Plan`: what is to be done, what hinders it, and what can't be known.
Called by `cli/migrate/migrate.py`. Read next: `decision.py`, `move.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconnect.cli.migrate.decision import Decision, Doing, Pair, decide
from kconnect.cli.migrate.journal import Entry
from kconnect.cli.migrate.side import Seen, Side
from kconnect.core.settings import references, secrets
from kconnect.core.settings.source import EXACTLY_ONCE_SUPPORT, OFFSETS_STORAGE_TOPIC
from kconnect.rest.client import RestError

if TYPE_CHECKING:
    from kconnect.rest.answers import ConfigValueInfo

_STOP, _INITIAL_STATE = (3, 5), (3, 7)
"""Since which version of Kafka Connect a connector can be stopped, its offsets be set, and it be created stopped."""


@dataclass(frozen=True)
class Plan:
    """A plan for the move of one connector. Nothing is to be done with it if there are `problems`; `notes` are for people."""

    name: str
    source: Seen
    target: Seen
    decision: Decision
    shared: bool
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def versions(source: Side, target: Side) -> list[str]:
    """Return what the versions of the two clusters hinder, whatever the connector."""
    hindrances = []
    if _before(source, _STOP):
        hindrances.append(
            f"{source.url} runs {source.version}, which can't stop connectors or show offsets: it needs 3.5 or newer"
        )
    if _before(target, _INITIAL_STATE):
        hindrances.append(
            f"{target.url} runs {target.version}, which can't create connectors in the STOPPED state: it needs 3.7 or newer"
        )
    return hindrances


def look(name: str, source: Side, target: Side, entry: Entry | None, copy_sink_offsets: bool) -> Plan:
    """RestError if a cluster doesn't say what it has."""
    at_source, at_target = source.settled(name), target.settled(name)
    kind = at_source.type if at_source.there else at_target.type
    same_kafka = bool(source.kafka_cluster) and source.kafka_cluster == target.kafka_cluster
    shared = kind == "sink" and (same_kafka or "consumer.override.bootstrap.servers" in (at_source.config or {}))
    decision = decide(name, at_source, at_target, entry, Pair(source.url, target.url, shared))
    problems, notes = [], []
    if decision.doing is Doing.REFUSE:
        problems.append(decision.words)
    if decision.doing is Doing.MOVE:
        problems += [*_immovable(at_source), *_offsets(at_source, kind, shared, copy_sink_offsets, source, target)]
        wrong, unknown = _validated(target, at_source)
        problems += wrong
        notes += unknown
        if at_source.between:
            notes.append(f"its state is unknown, as no worker runs it at {source.url} (UNASSIGNED); kconnect assumes RUNNING")
        if "FAILED" in (at_source.state, *at_source.tasks):
            notes.append(f"it has FAILED at {source.url}; it is started at {target.url}, and may fail there again")
    return Plan(name, at_source, at_target, decision, shared, tuple(problems), tuple(notes))


def _before(side: Side, needed: tuple[int, int]) -> bool:
    match = re.match(r"(\d+)\.(\d+)", side.version)
    return match is not None and tuple(map(int, match.groups())) < needed


def _immovable(connector: Seen) -> Iterator[str]:
    config = connector.config or {}
    if OFFSETS_STORAGE_TOPIC.read(config):
        yield (
            "it keeps its offsets in a topic of its own (offsets.storage.topic), and both clusters would write to it. Take "
            "over the whole cluster on its topics (--same-topics), or remove the setting first: the worker's offset topic has "
            "a copy"
        )
    if EXACTLY_ONCE_SUPPORT.read(config).lower() == "required":
        yield (
            "it has exactly.once.support=required: tasks are fenced by transactional ids that contain the cluster's group.id, "
            "so a cluster with another group.id can't fence its old tasks. Take over the whole cluster on its topics "
            "(--same-topics)"
        )


def _offsets(connector: Seen, kind: str, shared: bool, copy: bool, source: Side, target: Side) -> Iterator[str]:
    if connector.offsets is None:
        yield f"{source.url} does not show its offsets: {connector.no_offsets}"
    if kind == "sink" and not shared and not copy:
        yield (
            f"it is a sink, and the two Connect clusters use different Kafka clusters ({source.kafka_cluster or 'unknown'} and "
            f"{target.kafka_cluster or 'unknown'}). The same offset is another record there, unless the topics are exact "
            "copies; if they are, give --copy-sink-offsets"
        )


def _validated(target: Side, connector: Seen) -> tuple[list[str], list[str]]:
    """Return the target's answer on the config: problems, and notes on what can't be known."""
    config, name = connector.config or {}, connector.connector_class
    try:
        answer = target.ask(lambda: target.client.validate(name, config))
    except RestError as error:
        if "Failed to find any class" in error.message or error.status == 404:
            return [f"{target.url} has no connector class {name}. Install its plugin there"], []
        return [f"{target.url} can't validate it: {_shown(error.message, config)}"], []
    rows = [value for row in answer.get("configs", ()) if (value := row.get("value"))]
    wrong = [f"{target.url} refuses {row['name']}: {_shown(error, config)}" for row in rows for error in row["errors"]]
    if wrong or target.is_kconnect:
        # kconnect's validation refuses a reference that it can't resolve.
        return wrong, []
    return _unresolved(target, config, rows)


def _unresolved(target: Side, config: dict[str, Any], rows: list[ConfigValueInfo]) -> tuple[list[str], list[str]]:
    """Kafka Connect takes a reference that it can't resolve for the value; its validation shows what it made of some."""
    shown = {row["name"]: row["value"] for row in rows}
    wrong: list[str] = []
    unknown: set[str] = set()
    for setting, text in config.items():
        refs = references.find(str(text or ""))
        if not refs:
            continue
        if shown.get(setting) == text:
            wrong.append(f"{target.url} does not resolve {setting}={text}: see config.providers in its worker file")
        elif setting not in shown or shown[setting] == "[hidden]":
            unknown.update(ref.provider for ref in refs)
    if not unknown:
        return wrong, []
    return wrong, [f"{target.url} does not show whether its workers have config.providers={','.join(sorted(unknown))}"]


def _shown(message: str, config: dict[str, Any]) -> str:
    return " ".join(secrets.hide(message, secrets.values(config)).split())
