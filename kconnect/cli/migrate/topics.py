"""
`kconnect migrate --same-topics`: checks whether a whole cluster can be taken over on its topics, and prints the steps.

It reads the brokers and the worker file, and writes nothing. What is found is `takeover.py`'s business; called by
`cli/migrate/migrate.py`.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator

import click

from kconnect.cli import connector_file
from kconnect.cli.brokers import Brokers
from kconnect.cli.migrate import takeover
from kconnect.cli.migrate.takeover import Alive, Takeover
from kconnect.cli.topics import topics
from kconnect.internal_topics import checking
from kconnect.internal_topics.findings import listed


def run(brokers: Brokers) -> int:
    """0 if nothing hinders it, else 6."""
    if brokers.worker_file is None:
        raise click.UsageError(
            "--same-topics needs --worker-file: the file that Kafka Connect's workers use, and that kconnect's will use."
        )
    settings = brokers.settings
    contents = topics.load(brokers, None)
    topics.refuse_foreign(contents)
    findings = checking.check(contents, int(time.time() * 1000), settings.exactly_once_enabled)
    result = takeover.examine(contents, findings, settings, connector_file.plugins_of(settings))
    for line in report(result, brokers.worker_file):
        click.echo(line)
    return 6 if result.problems else 0


def report(found: Takeover, worker_file: str) -> Iterator[str]:
    """Yield what was found, and the steps: which are done, and which one is next."""
    yield from (f"hinders: {line}" for line in found.problems)
    yield from (f"warning: {line}" for line in found.warnings)
    yield f"{found.connectors} connector{'' if found.connectors == 1 else 's'} in the config topic; {_members(found)}."
    yield ""
    yield from _steps(found, shlex.quote(worker_file))
    yield ""
    yield "Give this command again after each step. The way back is the same: stop all of kconnect's workers, then start"
    yield "Kafka Connect's with the file that they had."


def _members(planned: Takeover) -> str:
    match planned.alive:
        case Alive.UNKNOWN:
            return "you may not see who is in the workers' group"
        case Alive.NOBODY:
            return "no worker is in the group"
        case alive:
            kind = "kconnect" if alive is Alive.KCONNECT else "Kafka Connect"
            return f"workers of {kind} in the group: {listed(planned.members)}"


def _steps(planned: Takeover, file: str) -> Iterator[str]:
    steps = [
        ("Nothing prevents the takeover", [f"kconnect migrate --same-topics --worker-file {file}"], not planned.problems),
        (
            "Stop all workers of Kafka Connect, and keep them from starting again",
            ["on each node; for example, systemctl stop connect-distributed"],
            planned.alive in (Alive.NOBODY, Alive.KCONNECT),
        ),
        (
            "Save the topics, as a precaution",
            [f"kconnect topics export connect.jsonl.gz --worker-file {file}"],
            planned.alive is Alive.KCONNECT,
        ),
        (
            "Start a worker of kconnect on each node, with the same file",
            [f"kconnect worker {file}"],
            planned.alive is Alive.KCONNECT,
        ),
        ("Check that all connectors run", ["kconnect cluster", "kconnect get connectors"], False),
    ]
    ahead = True
    for number, (what, commands, is_done) in enumerate(steps, 1):
        is_done = is_done and ahead
        mark = "done" if is_done else "next" if ahead else "    "
        ahead = ahead and is_done
        yield f"{mark}  {number}. {what}"
        yield from (f"           {command}" for command in commands)
