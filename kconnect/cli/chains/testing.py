"""`kconnect test CASES.yaml`: whether a connector's chain makes of records what a file of cases expects, for a user's CI."""

from __future__ import annotations

import os
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from kconnect.cli import connection, connector_file, manifests, outcome_text, yaml_file
from kconnect.cli.chains import against
from kconnect.cli.chains.preview import run
from kconnect.cli.connection import Target
from kconnect.cli.files import InputError, properties_of, text_of
from kconnect.errors import ConfigError

if TYPE_CHECKING:
    from kconnect.core.settings.worker import WorkerSettings
    from kconnect.plugins.registry import Registry
    from kconnect.preview.cases import Case, Difference
    from kconnect.preview.preview import Outcome

_CONVERTERS = re.compile(r"(key|value|header)\.converter(\..*)?", re.DOTALL)
_REACHES = re.compile(r"(plugin\.(path|discovery)|python\.transform\.path|config\.providers|java\.host)(\..*)?", re.DOTALL)
"""What loads code, or reads files and variables."""


@dataclass
class Result:
    """`problem`: the config can't be used, so that nothing was compared."""

    case: Case
    took: float = 0.0
    differences: list[Difference] = field(default_factory=list)
    problem: str | None = None
    outcome: Outcome | None = None
    otherwise: list[Text] = field(default_factory=list)
    """What comes out otherwise than of the connector that runs. It is no failure."""

    @property
    def passed(self) -> bool:
        return not self.differences and self.problem is None

    def lines(self) -> list[str]:
        if self.problem is not None:
            return [self.problem]
        return [
            line
            for difference in self.differences
            for line in (difference.place, f"  expected: {difference.expected}", f"  got:      {difference.found}")
        ]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path), metavar="CASES.yaml...")
@click.option(
    "-w",
    "--worker-file",
    "--worker-config",
    "worker",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The worker's file, for its converters and plugin.path. Default: the converters that `worker` in the cases names.",
)
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit XML report to this file.")
@click.option("--show", is_flag=True, help="Show each step of the cases that fail, as kconnect preview does.")
@click.option("--against", "connector", metavar="NAME", help="Use the config of this running connector, not that of the cases.")
@click.option(
    "-f",
    "--file",
    "changes",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --against: a file whose settings are put on top, as kconnect preview does; shows what changes.",
)
@connection.later
def test(
    files: tuple[Path, ...],
    worker: Path | None,
    junit: Path | None,
    show: bool,
    connector: str | None,
    changes: Path | None,
    target: Callable[[], Target],
) -> int:
    """
    Check what a connector's chain makes of records, for a CI.

    \b
      kconnect test cases.yaml
      kconnect test tests/*.yaml --junit report.xml
      kconnect test cases.yaml --against orders
      kconnect test cases.yaml --against orders -f changes.yaml

    Neither Kafka nor a worker is needed, but for --against. Exit status 1: a case failed. 2: a file of cases can't be used.
    """
    if changes is not None and connector is None:
        raise click.UsageError("-f changes the config of a running connector: name it with --against")
    console = outcome_text.console()
    # All files are read first: a mistake in the last one should not come after a minute of reports.
    read = [(file, *_read(file, worker, connector is None)) for file in files]
    now = None if connector is None else against.running(target(), connector)
    then = now if now is None or changes is None else against.changed(now, changes)
    by_file: list[tuple[Path, list[Result]]] = []
    for file, cases, settings in read:
        if len(read) > 1:
            console.print(Text(str(file), "bold"), soft_wrap=True)
        plugins = connector_file.plugins_of(settings)
        results = []
        for case in cases:
            results.append(_run(case, file, then, settings, plugins))
            if now is not None and changes is not None:
                _compare(results[-1], _run(case, file, now, settings, plugins))
            _print(console, results[-1], show)
        by_file.append((file, results))
    results = [result for _, some in by_file for result in some]
    failed = sum(not result.passed for result in results)
    click.echo(f"{len(results)} case{'' if len(results) == 1 else 's'}: {len(results) - failed} passed, {failed} failed")
    if junit is not None:
        _write_report(junit, by_file)
    return 1 if failed else 0


def _read(file: Path, worker: Path | None, with_config: bool) -> tuple[list[Case], WorkerSettings]:
    from kconnect.preview import cases as engine

    try:
        cases, asked = engine.cases_of(yaml_file.load(text_of(file)), str(file), with_config)
    except ConfigError as error:
        raise InputError(str(error)) from None
    except ValueError as error:
        raise InputError(f"{file}: this is not YAML ({error})") from None
    if worker is not None or asked is None:
        return cases, connector_file.worker_of(worker)
    where = f"{file}: `worker`"
    if isinstance(asked, str):
        path = file.parent / asked
        return cases, connector_file.worker_with(_converters(properties_of(path), str(path)), str(path), None, os.environ)
    return cases, connector_file.worker_with(_converters(manifests.as_config(asked, where), where), where)


def _converters(given: Mapping[str, str], where: str) -> Mapping[str, str]:
    """
    Return what cases say of the worker's converters. Whoever writes cases need not be who runs them: what loads code, or reads
    the files and variables of who does, comes from the command line. InputError for that.
    """
    for name in given:
        if _REACHES.fullmatch(name):
            raise InputError(f"{where}: {name} is not taken from cases: give the worker's file with -w")
    return {name: text for name, text in given.items() if _CONVERTERS.fullmatch(name)}


def _run(case: Case, file: Path, config: Mapping[str, str] | None, settings: WorkerSettings, plugins: Registry) -> Result:
    """`config` is the one in place of the case's own."""
    from kconnect.preview import cases as engine

    began = time.monotonic()
    result = Result(case)
    try:
        # A chain of its own for each: transforms remember schemas, and predicates may remember anything.
        chain = connector_file.build("config", config or _config(case, file), case.kind, settings, plugins)
    except InputError as error:
        result.problem = str(error)
        return result
    try:
        result.outcome = run(chain, case.record, f"{case.where}: `in`")
    finally:
        chain.close()
    result.differences = engine.differences(case.expect, result.outcome)
    result.took = time.monotonic() - began
    return result


def _compare(result: Result, now: Result) -> None:
    if now.problem is not None:
        problem = outcome_text.printable(now.problem)
        result.otherwise = [Text(f"  the running config can't be tried here: {problem}", "yellow")]
    elif now.outcome is not None and result.outcome is not None:
        result.otherwise = list(against.lines(against.differences(now.outcome, result.outcome)))


def _config(case: Case, file: Path) -> Mapping[str, str]:
    if isinstance(case.config, str):
        return manifests.config_of(file.parent / case.config)
    return manifests.as_config(case.config, f"{case.where}: `config`")


def _print(console: Console, result: Result, show: bool) -> None:
    mark, style = ("✓", "green") if result.passed else ("✗", "red")
    outcome_text.echo(console, Text.assemble((f"{mark} ", style), outcome_text.printable(result.case.name)))
    for line in result.lines():
        outcome_text.echo(console, Text(f"    {outcome_text.printable(line)}", "" if line.startswith(" ") else style))
    for change in result.otherwise:
        outcome_text.echo(console, Text.assemble("  ", change))
    if show and result.outcome is not None and not result.passed:
        outcome_text.show(console, 1, result.outcome)


def _write_report(path: Path, results_by_file: list[tuple[Path, list[Result]]]) -> None:
    root = ElementTree.Element("testsuites")
    for file, results in results_by_file:
        errors = sum(result.problem is not None for result in results)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(str(file)),
            tests=str(len(results)),
            failures=str(sum(not result.passed for result in results) - errors),
            errors=str(errors),
            skipped="0",
            time=f"{sum(result.took for result in results):.3f}",
        )
        for result in results:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_xml(file.stem), name=_xml(result.case.name), time=f"{result.took:.3f}"
            )
            if not result.passed:
                kind = "failure" if result.problem is None else "error"
                message = "; ".join(
                    f"{difference.place}: expected {difference.expected}, got {difference.found}"
                    for difference in result.differences
                )
                failure = ElementTree.SubElement(case, kind, message=_xml(result.problem or message))
                failure.text = _xml("\n".join(result.lines()))
    ElementTree.indent(root)
    try:
        ElementTree.ElementTree(root).write(path, "utf-8", xml_declaration=True)
    except OSError as error:
        raise InputError(f"--junit {path}: {error.strerror or error}") from None


def _xml(text: str) -> str:
    """Without what XML has no place for, however it is escaped."""
    return "\n".join(map(outcome_text.printable, text.split("\n")))
