"""
`kconnect doctor`: what would keep workers from working, each with what to do about it.

What it looks at is in `checkup`, from `run.py` on; the form of what it says is `cli/findings.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from kconnect.cli import connection, findings, output
from kconnect.cli.brokers import Brokers
from kconnect.cli.checkup import machine, run
from kconnect.cli.checkup.run import Check, beside_each_other
from kconnect.cli.connection import Target
from kconnect.cli.findings import ERROR, OK, SKIPPED, WARNING, Finding
from kconnect.errors import ConfigError, ConnectError, in_one_line

if TYPE_CHECKING:
    from kconnect.core.settings.worker import WorkerSettings


@click.command()
@connection.optional("Check the cluster of this worker. Default: the one on this machine, if there is one.")
@connection.kafka_options
@output.option("json", "yaml")
def doctor(target: Target | None, brokers: Brokers, form: str) -> int:
    """
    Check the machine, Kafka and the workers for problems.

    \b
      kconnect doctor
      kconnect doctor --worker-file worker.properties      before its first start
      kconnect doctor --url http://node-2:8083 --bootstrap-server kafka-1:9092,kafka-2:9092
      kconnect doctor -o json

    Of this machine: Java, Spark, Python, libraries, room for Spark's files, open files. Of the workers: health, versions,
    clocks, what has failed, and configs that rules would refuse. Of Kafka, if an option or the context says where it is:
    each broker's name, port, TLS and login, the internal topics' policies, and what the user may do with them. With a
    worker's file also its settings, plugins and ports, and Spark's master.

    Nothing is written to Kafka or to workers. No answer is waited for longer than 5 s, or 20 s where it is about topics, and
    everything takes a minute at most. The exit status is 1 if something is wrong, 0 if there are warnings only.
    """
    problem = _problem(brokers)
    if problem is not None:
        brokers = Brokers()
    settings = _settings(brokers)
    files = [Check("files", problem.location, partial(iter, [problem]))] if problem is not None else [*_of_files(brokers)]
    kafka = _of_kafka(brokers) if problem is None else ()
    asked, named = target or Target(_url(settings)), target is not None
    checks = [*files, *_of_machine(brokers, settings), *_of_workers(asked, named), *_of_configs(asked, brokers), *kafka]
    sorted_findings = sorted_by_place(beside_each_other(checks, run.ALL_S))
    wrong = sum(finding.severity == ERROR for finding in sorted_findings)
    if form == "table":
        findings.write(sorted_findings)
        click.echo()
        skipped = sum(finding.severity == SKIPPED for finding in sorted_findings)
        warnings = sum(finding.severity == WARNING for finding in sorted_findings)
        counts = f"{findings.count(wrong, 'error')}, {findings.count(warnings, 'warning')}"
        click.echo(f"{counts}, {skipped} not checked, {sum(finding.severity == OK for finding in sorted_findings)} ok")
    else:
        output.write({"findings": [asdict(finding) for finding in sorted_findings], "errors": wrong}, form)
    return 1 if wrong else 0


def sorted_by_place(found: Iterable[Finding]) -> list[Finding]:
    """Sort findings so that those of a place stand together, in the order in which places come first."""
    all_findings = list(found)
    order = {place: number for number, place in enumerate(dict.fromkeys(finding.location for finding in all_findings))}
    return sorted(all_findings, key=lambda finding: order[finding.location])


def _problem(brokers: Brokers) -> Finding | None:
    """Return what keeps the files that are given from being used, so that nothing of what they name can be checked."""
    files = ", ".join(filter(None, (brokers.worker_file, brokers.command_config)))
    if not files:
        return None
    try:
        if brokers.known:
            brokers.client_config()
        elif brokers.worker_file is not None:
            message = "It does not set bootstrap.servers"
            return Finding(ERROR, "files", f"File {files}", message, "set it to Kafka's address; a worker needs it")
    except ConnectError as error:
        message = f"It can't be used, so what it names was not checked ({in_one_line(str(error))})"
        return Finding(ERROR, "files", f"File {files}", message, "correct the file, or name another one")
    return None


def _of_files(brokers: Brokers) -> Iterator[Check]:
    if brokers.worker_file is not None:
        where = f"File {brokers.worker_file}"
        yield Check("files", where, partial(_starts_with_it, brokers, where))


def _starts_with_it(brokers: Brokers, where: str) -> Iterator[Finding]:
    """Check what a worker needs, and other commands do without."""
    from kconnect.core.settings import misnamed, secrets
    from kconnect.core.settings.worker import WorkerSettings

    texts = brokers.told
    try:
        settings = WorkerSettings.from_properties(texts, {})
    except ConfigError as error:
        wrong = in_one_line(secrets.hide(str(error), secrets.values(texts)))
        yield Finding(ERROR, "files", where, f"A worker can't start with it. {wrong}", "add or correct these settings")
    else:
        yield Finding(OK, "files", where, "It has the settings that a worker must have")
        for words, refused_remedy in settings.passed_over.items():
            yield Finding(WARNING, "files", where, f"{words} Kafka Connect 4 would not start", refused_remedy)
        for name in settings.unknown_keys:
            yield Finding(WARNING, "files", where, f"The setting {name} is unknown, and has no effect", misnamed.remedy(name))


def _settings(brokers: Brokers) -> Mapping[str, str]:
    """A worker file's texts, or nothing."""
    return brokers.settings.raw if brokers.worker_file is not None and brokers.known else {}


def _of_machine(brokers: Brokers, settings: Mapping[str, str]) -> Iterator[Check]:
    place = machine.PLACE
    yield Check("Java", place, machine.check_java)
    yield Check("Spark", place, partial(machine.check_spark, settings))
    yield Check("Python", place, partial(machine.check_python, settings))
    yield Check("room", place, partial(machine.check_room, settings))
    yield Check("open files", place, machine.check_files)
    if brokers.worker_file is not None:
        from kconnect.cli.checkup import listening

        listeners = [*brokers.settings.listeners, *(brokers.settings.admin_listeners or ())]
        yield Check("ports", place, partial(listening.check, listeners))
        yield Check("Spark's master", f"Spark {settings.get('spark.master', '')}", partial(machine.check_master, settings))
    yield Check("plugins", "Plugins", partial(_plugins, brokers))


def _plugins(brokers: Brokers) -> Iterator[Finding]:
    from kconnect.plugins import doctor as doctors

    plugin_path = (brokers.settings.plugin_path or ()) if brokers.worker_file is not None else ()
    directories = [Path(part).expanduser().absolute() for part in plugin_path]
    problems = doctors.examine(directories)
    yield from map(findings.of_problem, problems)
    missing = [] if brokers.worker_file is None else _missing_converters(brokers.settings)
    yield from missing
    if not problems and not missing:
        where = ", ".join(map(str, directories)) or "the packages installed with kconnect (no worker file sets plugin.path)"
        yield Finding(OK, "plugins", "Plugins", f"No problems in {where}")


def _missing_converters(settings: WorkerSettings) -> list[Finding]:
    """Find the converters of a worker file that are nowhere: each task that has none of its own fails by them."""
    from kconnect.core.settings.worker import converters
    from kconnect.plugins import chain
    from kconnect.plugins.registry import Registry

    registry = Registry.scan(settings.plugin_path, discovery=settings.plugin_discovery)
    remedy = "correct the setting, or install the plugin"
    wrong = chain.missing_converters(registry, converters(settings))
    return [
        Finding(ERROR, "plugins", "Plugins", f"Tasks without a converter of their own fail: {error}", remedy) for error in wrong
    ]


def _url(settings: Mapping[str, str]) -> str:
    """Return the address at which the worker of a file listens on this machine; it may not run yet."""
    if not settings:
        return connection.DEFAULT_URL
    from kconnect.core.settings.worker import WorkerSettings

    with contextlib.suppress(ConnectError, ValueError):
        listener = urlsplit(WorkerSettings.from_properties(settings, {}).listeners[0])
        host = "localhost" if listener.hostname in (None, "", "0.0.0.0", "::") else listener.hostname
        if listener.port:
            return f"{listener.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{listener.port}"
    return connection.DEFAULT_URL


def _of_workers(asked: Target, named: bool) -> Iterator[Check]:
    from kconnect.cli.checkup import workers

    asked.log_in()
    yield Check("workers", f"Worker {asked.url}", partial(workers.check, asked, named))


def _of_configs(asked: Target, brokers: Brokers) -> Iterator[Check]:
    from kconnect.cli.checkup import reach

    settings = brokers.settings if brokers.worker_file is not None and brokers.known else None
    if settings is not None:
        where = f"File {brokers.worker_file}"
        yield Check("files of connectors", where, partial(reach.check_files, settings, where))
    asked.log_in()
    yield Check("configs", f"Worker {asked.url}", partial(reach.check_configs, asked, settings))


def _of_kafka(brokers: Brokers) -> Iterator[Check]:
    if not brokers.known:
        message = "Kafka's address is not known"
        remedy = "give --worker-file or --bootstrap-server, to check brokers, topics and rights"
        yield Check("brokers", "Brokers", lambda: [Finding(SKIPPED, "broker", "Brokers", message, remedy)])
        return
    from kconnect.cli.checkup import brokers as kafka

    client = brokers.client_config("admin")
    for server in dict.fromkeys(part.strip() for part in brokers.address.split(",") if part.strip()):
        yield Check(f"the broker {server}", kafka.place(server), partial(kafka.check_server, server, client))
    yield Check("rights", "Rights", partial(kafka.check_rights, brokers))
