"""
`kconnect plugin install`: by pip, into a directory of plugin.path, whole or not at all. What is for Java `install_java.py`
installs. Read next: `plugins/pip.py`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kconnect import interpreter
from kconnect.cli import waiting
from kconnect.cli.plugins import plugin, trial
from kconnect.errors import BadRequestError, ConnectError

if TYPE_CHECKING:
    from kconnect.plugins.installation import Plan
    from kconnect.plugins.registry import Registry


@click.command("install")
@click.argument("requirement")
@plugin.where
@click.option("--python", metavar="PYTHON", help="Install for this Python, which must have kconnect, too.")
@click.option(
    "--find-links",
    metavar="DIR",
    multiple=True,
    help="Look for packages in this place, too. May be given several times.",
)
@click.option("--no-index", is_flag=True, help="Look in --find-links only, not in PyPI.")
@click.option("--pre", is_flag=True, help="Accept pre-releases, too.")
@click.option("--upgrade", is_flag=True, help="Remove older versions of the plugin, once this one is there.")
@click.option("--force", is_flag=True, help="Install a version again that is already there.")
@click.option("--no-check", is_flag=True, help="Install it even if it does not work here.")
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Let an archive for Java hold so many bytes; default: 200 times its own size, and at most 4 GiB.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be installed, and install nothing.")
@click.pass_context
def install(
    context: click.Context,
    requirement: str,
    plugin_path: tuple[str, ...],
    worker_file: Path | None,
    python: str | None,
    find_links: tuple[str, ...],
    no_index: bool,
    pre: bool,
    upgrade: bool,
    force: bool,
    no_check: bool,
    max_bytes: int | None,
    dry_run: bool,
) -> int:
    """
    Install a plugin into plugin.path.

    \b
      kconnect plugin install 'acme-connector>=1.2' -w worker.properties
      kconnect plugin install ./acme_connector-1.2-py3-none-any.whl -p /opt/kconnect/plugins
      kconnect plugin install ./my-project -p /opt/kconnect/plugins --dry-run
      kconnect plugin install io.debezium:debezium-connector-postgres:3.6.1.Final -p /opt/kconnect/plugins
      kconnect plugin install ./confluentinc-kafka-connect-jdbc-10.9.1.zip -p /opt/kconnect/plugins

    It goes into the first directory, as NAME-VERSION. REQUIREMENT is a package, a wheel, or a project's directory. pip
    installs it, with your pip's configuration. What it needs comes along, but for what is beside kconnect and will do; its
    own versions of the rest are kept apart from those of kconnect and of other plugins. Other versions of the plugin stay,
    and connectors choose by connector.plugin.version. Its classes are tried before it is there. A running worker sees it
    after `kconnect plugin reload`.

    For Java REQUIREMENT is group:artefact:version in a Maven repository, which is Maven Central unless KCONNECT_MAVEN has
    another's URL; or an archive (.zip, .tar.gz), a jar, or a folder of jars. From a repository comes the archive that the
    project publishes with the classifier `plugin`, or else its jar with all that it needs and Connect does not have.
    """
    directories = plugin.directories(plugin_path, worker_file)
    if not directories:
        raise click.UsageError(
            "Give the directory to install into: -p DIR, -w WORKER-FILE, or CONNECT_PLUGIN_PATH in the environment."
        )
    # Imported here: `--help` does without.
    from kconnect.plugins import installation, java_installation
    from kconnect.plugins.pip import Pip

    java = java_installation.source_of(requirement, max_bytes)
    if java is not None:
        python_only = {"--python": python, "--find-links": find_links, "--no-index": no_index, "--pre": pre}
        for name, value in python_only.items():
            if value:
                raise click.UsageError(f"{name} is about Python packages, and {requirement} is for Java: leave it out.")
    elif python is not None:
        return _with(python, context)

    options = [f"--find-links={place}" for place in find_links]
    options += [option for option, is_set in (("--no-index", no_index), ("--pre", pre)) if is_set]
    pip = Pip(options, verbose=bool(context.find_root().params.get("verbose")))
    root = directories[0]
    if root.exists() and not root.is_dir():
        raise BadRequestError(f"{root} is not a directory. plugin.path names directories whose child directories are plugins")
    if java is not None:
        from kconnect.cli.plugins import install_java

        return install_java.install(java, directories, install_java.Options(upgrade, force, no_check, dry_run, max_bytes))
    asked = installation.requirement_of(requirement)
    with waiting.progress() as tell:
        tell(f"Asking pip what {requirement} needs")
        planned = installation.plan(root, asked, pip)
        if planned.there is not None and not force:
            click.echo(
                f"{planned.there} has {planned.plugin.name} {planned.plugin.version} already (--force installs it again)"
            )
            return 0
        if not dry_run:
            before = trial.registry(directories)
            tell(f"Installing {planned.plugin.name} {planned.plugin.version}")
            with installation.staged(planned, pip) as stage:
                if not any(installation.distributions(stage)):
                    raise BadRequestError(_no_plugin(planned))
                tell(f"Trying {planned.plugin.name} {planned.plugin.version}")
                if not _works(stage, planned) and not no_check:
                    raise ConnectError(
                        f"{planned.plugin.name} {planned.plugin.version} was not installed, because it would not work here "
                        "(--no-check installs it anyway)"
                    )
                installation.put(stage, planned)
            removed = trial.remove_older(root, planned.plugin.name, planned.plugin.version) if upgrade else []
    if dry_run:
        click.echo(f"Would install {planned.plugin.name} {planned.plugin.version} in {planned.target}")
        click.echo(f"  packages  {', '.join(f'{package.name} {package.version}' for package in planned.packages)}")
        return 0
    _report(planned, directories, before)
    for directory in removed:
        click.echo(f"Removed {directory}")
    click.echo(trial.AFTERWARDS)
    return 0


def _with(python: str, context: click.Context) -> int:
    """The same command in another Python, where pip, kconnect's packages and what is tried are that one's."""
    typed = context.params
    arguments = ["-v"] if context.find_root().params.get("verbose") else []
    arguments += ["plugin", "install", str(typed["requirement"])]
    for name in ("plugin_path", "find_links"):
        arguments += [f"--{name.replace('_', '-')}={value}" for value in typed[name]]
    if typed["worker_file"] is not None:
        arguments.append(f"--worker-file={typed['worker_file']}")
    for name in ("no_index", "pre", "upgrade", "force", "no_check", "dry_run"):
        arguments += [f"--{name.replace('_', '-')}"] if typed[name] else []
    try:
        process = subprocess.run(
            interpreter.evaluate("import kconnect.cli.plugins.install", python), capture_output=True, text=True
        )
    except OSError as error:
        raise BadRequestError(f"--python {python}: {error.strerror or error}; name a Python executable") from None
    if process.returncode:
        reason = (process.stderr.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
        raise BadRequestError(
            f"--python {python}: this Python lacks kconnect of this version ({reason}); install kconnect there, too"
        )
    sys.stdout.flush()
    return subprocess.run(interpreter.command("kconnect", *arguments, python=python)).returncode


def _no_plugin(planned: Plan) -> str:
    return (
        f"{planned.plugin.name} {planned.plugin.version} is not a plugin: its package has no entry points for kconnect. Its "
        'author must declare them, as in this pyproject.toml: [project.entry-points."kconnect.connectors"] Acme = '
        '"acme:AcmeConnector"'
    )


def _works(stage: Path, planned: Plan) -> bool:
    from kconnect.plugins import doctor, examination

    plugins = trial.registry([stage.parent])
    problems = [problem for problem in examination.registry(plugins) if problem.location == str(stage)]
    problems += examination.directory(stage, examination.beside_kconnect())
    problems += doctor.try_classes(plugins, [stage.parent], trial.at(plugins, stage))
    return trial.works(problems, stage, planned.target)


def _report(planned: Plan, directories: list[Path], before: Registry) -> None:
    from packaging.utils import canonicalize_name

    from kconnect.plugins import examination

    after = trial.registry(directories)
    click.echo(f"Installed {planned.plugin.name} {planned.plugin.version} in {planned.target}")
    installed = trial.at(after, planned.target)
    for described in installed:
        click.echo(f"  {described.kind.replace('_', ' ')}  {described.class_name} {described.version}")
    elsewhere = examination.differences(planned.target, examination.beside_kconnect(), directories)
    for name, distribution in sorted(examination.inside(planned.target).items()):
        if name == canonicalize_name(planned.plugin.name):
            continue
        versions_elsewhere = ", ".join(f"{where} has {version}" for where, version in elsewhere.get(name, {}).items())
        apart = "each keeps its own"
        if elsewhere.get(name, {}).keys() - {"kconnect"} and examination.has_extensions(distribution):
            apart += "; because it has C extensions, one connector can't use both"
        click.echo(f"  brings {name} {distribution.version}{f' ({versions_elsewhere}; {apart})' if versions_elsewhere else ''}")
    trial.tell_defaults(installed, before, after)
