"""
`kconnect plugin install` of a Java plugin: from a Maven repository, an archive, a jar or a folder, whole or not at all.

Called by `install.py`. Read next: `plugins/java_installation.py`, for where the files come from; `trial.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from kconnect.cli import waiting
from kconnect.cli.plugins import trial
from kconnect.errors import BadRequestError, ConnectError
from kconnect.jvm.maven import Coordinates
from kconnect.plugins import doctor, examination, installation, java_examination, java_installation
from kconnect.plugins.java_installation import JavaPlan, Source
from kconnect.plugins.registry import PluginDesc

_SHOWN = 3


@dataclass(frozen=True)
class Options:
    """The options of the command that say what becomes of a plugin."""

    upgrade: bool
    force: bool
    no_check: bool
    dry_run: bool
    max_bytes: int | None = None


def install(source: Source, directories: list[Path], options: Options) -> int:
    """Gives the exit status; ConnectError if the plugin is not to be had, or does not work here."""
    root = directories[0]
    java_plan = java_installation.planned(source, root)
    if isinstance(source, Coordinates) and _is_there(java_plan, options):
        return 0
    with waiting.progress() as tell, _stage(java_plan, options) as stage:
        java_plan = java_installation.prepare(source, java_plan, stage, tell, options.max_bytes)
        if java_plan.version and _is_there(java_plan, options):
            return 0
        left_out = java_installation.of_worker(stage)
        for jar in left_out:
            jar.unlink()
        tell(f"Looking at {java_plan}")
        plugins = trial.registry([stage.parent])
        plugins_of_stage = trial.at(plugins, stage)
        if not java_plan.version:
            java_plan = java_installation.versioned(java_plan, plugins_of_stage)
            if _is_there(java_plan, options):
                return 0
        problems = [problem for problem in examination.registry(plugins) if problem.location == str(stage)]
        if not plugins_of_stage and not options.no_check and _says_nothing(problems):
            raise BadRequestError(f"{java_plan} is not a plugin that works here: {java_installation.why_nothing(stage)}")
        tell(f"Trying {java_plan}")
        problems += doctor.try_classes(plugins, [stage.parent], plugins_of_stage)
        if not trial.works(problems, stage, java_plan.target) and not options.no_check:
            raise ConnectError(f"{java_plan} was not installed, because it would not work here (--no-check installs it anyway)")
        lines = list(_lines(plugins_of_stage, stage, left_out))
        if options.dry_run:
            click.echo("\n".join((f"Would install {java_plan} in {java_plan.target}", *lines)))
            return 0
        before = trial.registry(directories)
        installation.put(stage, java_plan)
        removed = (
            trial.remove_older(root, java_plan.name, java_plan.version, java=True)
            if options.upgrade and java_plan.version
            else []
        )
    after = trial.registry(directories)
    click.echo("\n".join((f"Installed {java_plan} in {java_plan.target}", *lines)))
    installed = trial.at(after, java_plan.target)
    for place in sorted({_first(plugin, after.plugins) for plugin in plugins_of_stage} - {str(java_plan.target), ""}):
        click.echo(f"  {place} has some of these in the same version, and that is the one that workers use")
    trial.tell_defaults(installed, before, after)
    for directory in removed:
        click.echo(f"Removed {directory}")
    click.echo(trial.AFTERWARDS)
    return 0


def _is_there(planned: JavaPlan, options: Options) -> bool:
    if planned.replaced is None or options.force:
        return False
    click.echo(f"{planned.target} has {planned} already (--force installs it again)")
    return True


@contextmanager
def _stage(planned: JavaPlan, options: Options) -> Iterator[Path]:
    if options.dry_run:
        with tempfile.TemporaryDirectory(prefix="kconnect-plugin-") as directory:
            stage = Path(directory).resolve() / planned.target.name
            stage.mkdir()
            yield stage
    else:
        with installation.stage(planned.target) as stage:
            yield stage


def _says_nothing(problems: list[examination.Problem]) -> bool:
    """Whether a scan has told no more than that it found no plugin."""
    return all("no class in it is a plugin" in problem.message for problem in problems)


def _first(plugin: PluginDesc, plugins: list[PluginDesc]) -> str:
    """Return where workers get the class from."""
    key = (plugin.kind, plugin.class_name, plugin.version)
    return next(
        (candidate.location for candidate in plugins if (candidate.kind, candidate.class_name, candidate.version) == key), ""
    )


def _lines(plugins: list[PluginDesc], place: Path, left_out: list[Path]) -> Iterator[str]:
    """Yield the plugins, a line each."""
    for plugin in plugins:
        yield f"  {plugin.type or plugin.kind.replace('_', ' ')}  {plugin.class_name} {plugin.version}"
    if needed := java_examination.needed(plugins):
        yield f"  needs Java {max(needed.values())} or newer"
    jars = sorted(file.name for file in place.rglob("*") if file.name.lower().endswith(".jar"))
    more = f" and {len(jars) - _SHOWN} more" if len(jars) > _SHOWN else ""
    yield f"  brings {', '.join(jars[:_SHOWN])}{more}"
    if left_out:
        yield f"  leaves out {', '.join(jar.name for jar in left_out)}, which plugins have from the worker"
