"""`kconnect plugin doctor`: what would keep plugins from working, each with what to do about it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click

from kconnect.cli import findings, output, waiting
from kconnect.cli.plugins import plugin
from kconnect.errors import ConnectError


@click.command("doctor")
@plugin.where
@output.option("json", "yaml")
def doctor(plugin_path: tuple[str, ...], worker_file: Path | None, form: str) -> int:
    """
    Check whether plugins will work.

    \b
      kconnect plugin doctor -w worker.properties
      kconnect plugin doctor -p /opt/kconnect/plugins -o json

    Reads the metadata of all that is in plugin.path, compares what plugins need with what is there, and has each class
    imported and made once, in a process of its own, for Java with a JVM. The exit status is 1 if something is wrong, 0 if
    there are warnings only.
    """
    from kconnect.plugins import doctor as doctors
    from kconnect.plugins import examination, java_examination
    from kconnect.plugins.registry import Registry

    directories = plugin.directories(plugin_path, worker_file)
    with waiting.progress() as tell:
        problems = doctors.examine(directories, tell)
    releases: dict[str, int] = {}
    for needing, release in java_examination.needed(Registry.scan([str(root) for root in directories]).plugins).items():
        releases[needing.location] = max(release, releases.get(needing.location, 0))
    errors = sum(problem.severity == examination.ERROR for problem in problems)
    if form == "table":
        findings.write(problems)
        where = ", ".join(map(str, directories)) or "the packages installed with kconnect (no plugin.path was given)"
        if not problems:
            click.echo(f"No problems in {where}")
        else:
            click.echo(f"{findings.count(errors, 'error')}, {findings.count(len(problems) - errors, 'warning')}")
        for location, release in releases.items():
            click.echo(f"{location} needs Java {release} or newer{_here()}")
    else:
        output.write({"problems": [asdict(problem) for problem in problems], "errors": errors, "java": releases}, form)
    return 1 if errors else 0


def _here() -> str:
    from kconnect.jvm import java

    # Without a Java the problems say so.
    with suppress(ConnectError):
        return f"; here is Java {java.version(java.find())}"
    return ""
