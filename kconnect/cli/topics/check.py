"""`kconnect topics check`: findings of `internal_topics/checking.py`, each with what helps."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kconnect.cli import output
from kconnect.cli.topics import topics

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers
    from kconnect.internal_topics.findings import Finding


@click.command()
@topics.source
@click.option("--strict", is_flag=True, help="Exit with status 1 for warnings, too.")
@output.option("json", "yaml")
def check(brokers: Brokers, snapshot: Path | None, strict: bool, form: str) -> int:
    """
    Check the internal topics for problems.

    \b
      kconnect topics check --worker-file worker.properties
      kconnect topics check --bootstrap-server localhost:9092 --config-topic connect-configs --group connect
      kconnect topics check --snapshot backup.jsonl.gz --strict

    It looks for broken records and those of newer formats, task sets without all their tasks, what is left of connectors that
    are gone, keys on wrong partitions, unsafe settings of the topics, limits that records outgrew, transactions that stay open,
    and what kconnect's workers have left behind. Each finding says what it means and what helps.

    Exit status: 0 no errors, 1 errors; with --strict, also for warnings. Notes are no faults.
    """
    from kconnect.internal_topics import checking
    from kconnect.internal_topics.findings import Severity
    from kconnect.internal_topics.meaning import counted

    contents = topics.load(brokers, snapshot)
    topics.refuse_foreign(contents)
    exactly_once = snapshot is None and brokers.settings.exactly_once_enabled
    now_ms = contents.created_ms or int(time.time() * 1000)
    all_findings = checking.check(contents, now_ms, exactly_once)
    counts = {severity: sum(finding.severity is severity for finding in all_findings) for severity in Severity}
    if form != "table":
        findings = [finding.data for finding in all_findings]
        output.write({"findings": findings, **{f"{severity.value}s": count for severity, count in counts.items()}}, form)
    else:
        for finding in all_findings:
            _show(finding)
        text = ", ".join(counted(count, severity.value) for severity, count in counts.items() if count) or "nothing found"
        click.echo(
            f"{text[0].upper()}{text[1:]}: {counted(len(contents.records), 'record')} of "
            f"{', '.join(facts.name for facts in contents.topics.values())}."
        )
    return 1 if counts[Severity.ERROR] or (strict and counts[Severity.WARNING]) else 0


def _show(finding: Finding) -> None:
    from kconnect.cli.outcome_text import printable

    lead = f"{finding.severity.value.upper():<7}  {finding.topic.value:<10}  "
    for mark, text in ((lead, finding.text), (" " * (len(lead) - 3) + "-> ", finding.remedy)):
        if text:
            click.echo(folded(mark, printable(text)))


def folded(lead: str, text: str) -> str:
    """
    Return the text, folded on a terminal into lines that fit, below each other; elsewhere as one line, which other programs can
    read.
    """
    if not sys.stdout.isatty():
        return lead + text
    import shutil
    import textwrap

    width = max(shutil.get_terminal_size().columns, len(lead) + 30)
    return "\n".join(
        textwrap.wrap(lead + text, width, subsequent_indent=" " * len(lead), break_long_words=False, break_on_hyphens=False)
    )
