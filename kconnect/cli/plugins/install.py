"""`kconnect plugin install`: by pip, into a directory of plugin.path, whole or not at all. Read next: `plugins/pip.py`."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kconnect.cli import findings
from kconnect.cli.plugins import doctor as plugin_doctor
from kconnect.cli.plugins import plugin
from kconnect.errors import BadRequestError, ConnectError

if TYPE_CHECKING:
    from kconnect.plugins.installation import Plan
    from kconnect.plugins.registry import Registry


@click.command("install")
@click.argument("requirement")
@plugin.where
@click.option("--python", metavar="PYTHON", help="Install for this Python, which must have kconnect, too.")
@click.option("--find-links", metavar="DIR", multiple=True, help="Look for packages here, too. May be given several times.")
@click.option("--no-index", is_flag=True, help="Look into --find-links only, and not into PyPI.")
@click.option("--pre", is_flag=True, help="Take pre-releases too.")
@click.option("--upgrade", is_flag=True, help="Remove older versions of the plugin, once this one is there.")
@click.option("--force", is_flag=True, help="Install again a version that is there already.")
@click.option("--no-check", is_flag=True, help="Install it even if it does not work here.")
@click.option("--dry-run", is_flag=True, help="Only say what would be installed.")
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
    dry_run: bool,
) -> int:
    """
    Install a plugin into plugin.path.

    \b
      kconnect plugin install 'acme-connector>=1.2' -w worker.properties
      kconnect plugin install ./acme_connector-1.2-py3-none-any.whl -p /opt/kconnect/plugins
      kconnect plugin install ./my-project -p /opt/kconnect/plugins --dry-run

    It goes into the first directory, as NAME-VERSION. REQUIREMENT is a package, a wheel, or a project's directory. pip
    installs it, with your pip's configuration. What it needs comes along, but for what is beside kconnect and will do; its
    own versions of the rest are kept apart from those of kconnect and of other plugins. Other versions of the plugin stay,
    and connectors choose by connector.plugin.version. Its classes are tried before it is there. A running worker sees it
    after `kconnect plugin reload`.
    """
    directories = plugin.directories(plugin_path, worker_file)
    if not directories:
        raise click.UsageError("Say where to: -p DIR, -w WORKER-FILE, or CONNECT_PLUGIN_PATH in the environment.")
    if python is not None:
        return _with(python, context)
    # Imported here: `--help` does without.
    from kconnect.plugins import installation
    from kconnect.plugins.pip import Pip

    options = [f"--find-links={each}" for each in find_links]
    options += [option for option, wanted in (("--no-index", no_index), ("--pre", pre)) if wanted]
    pip = Pip(options, verbose=bool(context.find_root().params.get("verbose")))
    root = directories[0]
    if root.exists() and not root.is_dir():
        raise BadRequestError(f"{root}: this is no directory, as plugin.path names them: their child directories are plugins")
    asked = installation.requirement_of(requirement)
    with plugin_doctor.progress() as tell:
        tell(f"Asking pip what {requirement} needs")
        wanted = installation.plan(root, asked, pip)
        if wanted.there is not None and not force:
            click.echo(f"{wanted.there} has {wanted.plugin.name} {wanted.plugin.version} already (--force: once more)")
            return 0
        if not dry_run:
            before = _registry(directories)
            tell(f"Installing {wanted.plugin.name} {wanted.plugin.version}")
            with installation.staged(wanted, pip) as stage:
                if not any(installation.distributions(stage)):
                    raise BadRequestError(_no_plugin(wanted))
                tell(f"Trying {wanted.plugin.name} {wanted.plugin.version}")
                works = _works(stage, wanted)
                if not works and not no_check:
                    raise ConnectError(
                        f"{wanted.plugin.name} {wanted.plugin.version} was not installed, as it would not work here "
                        "(--no-check installs it all the same)"
                    )
                installation.put(stage, wanted)
            removed = _remove_older(root, wanted) if upgrade else []
    if dry_run:
        click.echo(f"Would install {wanted.plugin.name} {wanted.plugin.version} in {wanted.target}")
        click.echo(f"  packages  {', '.join(f'{each.name} {each.version}' for each in wanted.packages)}")
        return 0
    _report(wanted, directories, before)
    for each in removed:
        click.echo(f"Removed {each}")
    click.echo("Workers look into plugin.path when they start: `kconnect plugin reload` has those look that run.")
    return 0


def _with(python: str, context: click.Context) -> int:
    """The same command in another Python, where pip, kconnect's packages and what is tried are that one's."""
    given = context.params
    arguments = ["-v"] if context.find_root().params.get("verbose") else []
    arguments += ["plugin", "install", str(given["requirement"])]
    for name in ("plugin_path", "find_links"):
        arguments += [f"--{name.replace('_', '-')}={each}" for each in given[name]]
    if given["worker_file"] is not None:
        arguments.append(f"--worker-file={given['worker_file']}")
    for name in ("no_index", "pre", "upgrade", "force", "no_check", "dry_run"):
        arguments += [f"--{name.replace('_', '-')}"] if given[name] else []
    try:
        there = subprocess.run([python, "-c", "import kconnect.cli.plugins.install"], capture_output=True, text=True)
    except OSError as error:
        raise BadRequestError(f"--python {python}: {error.strerror or error}; name a Python's executable") from None
    if there.returncode:
        said = (there.stderr.strip().splitlines() or [f"exit status {there.returncode}"])[-1]
        raise BadRequestError(f"--python {python}: it has no kconnect of this version ({said}); install kconnect there too")
    sys.stdout.flush()
    return subprocess.run([python, "-m", "kconnect", *arguments]).returncode


def _registry(directories: list[Path]) -> Registry:
    from kconnect.plugins.registry import Registry

    return Registry.scan([str(directory) for directory in directories])


def _no_plugin(wanted: Plan) -> str:
    return (
        f"{wanted.plugin.name} {wanted.plugin.version} is no plugin: its package has no entry points for kconnect. Its author "
        'declares them, as in pyproject.toml: [project.entry-points."kconnect.connectors"] Acme = "acme:AcmeConnector"'
    )


def _works(stage: Path, wanted: Plan) -> bool:
    """Tells of all problems as those of where the plugin will be; false if one of them is an error."""
    from kconnect.plugins import doctor, examination

    plugins = _registry([stage.parent])
    problems = [each for each in examination.registry(plugins) if each.location == str(stage)]
    problems += examination.directory(stage, examination.beside_kconnect())
    of_it = [each for each in plugins.plugins if each.location == str(stage)]
    problems += doctor.try_classes(plugins, [stage.parent], of_it)
    final = [
        replace(
            each,
            location=str(wanted.target),
            message=each.message.replace(str(stage), str(wanted.target)),
            remedy=each.remedy.replace(str(stage), str(wanted.target)),
        )
        for each in problems
    ]
    findings.write(final, err=True)
    return not any(each.severity == examination.ERROR for each in final)


def _remove_older(root: Path, wanted: Plan) -> list[Path]:
    from kconnect.java import versions
    from kconnect.plugins import installation

    new = versions.key(wanted.plugin.version)
    found = {each.directory: each.version_of(wanted.plugin.name) for each in installation.installed(root)}
    older = [directory for directory, version in found.items() if version is not None and versions.key(version) < new]
    for each in older:
        installation.remove(each)
    return older


def _report(wanted: Plan, directories: list[Path], before: Registry) -> None:
    from packaging.utils import canonicalize_name

    from kconnect.plugins import examination

    after = _registry(directories)
    click.echo(f"Installed {wanted.plugin.name} {wanted.plugin.version} in {wanted.target}")
    own = [each for each in after.plugins if each.location == str(wanted.target)]
    for each in own:
        click.echo(f"  {each.kind.replace('_', ' ')}  {each.class_name} {each.version}")
    elsewhere = examination.differences(wanted.target, examination.beside_kconnect(), directories)
    for name, distribution in sorted(examination.inside(wanted.target).items()):
        if name == canonicalize_name(wanted.plugin.name):
            continue
        others = ", ".join(f"{where} has {version}" for where, version in elsewhere.get(name, {}).items())
        apart = "each keeps its own"
        if elsewhere.get(name, {}).keys() - {"kconnect"} and examination.has_extensions(distribution):
            apart += ", and as it has C extensions, one connector can't have both"
        click.echo(f"  brings {name} {distribution.version}{f' ({others}; {apart})' if others else ''}")
    for each in own:
        known = before.versions(each.python_path, each.kind)
        default = after.versions(each.python_path, each.kind)[0]
        if known and known[0] != default:
            click.echo(f"  configs that ask for no version of {each.class_name} will get {default}, not {known[0]}")
        elif default != each.version:
            click.echo(f"  configs that ask for no version of {each.class_name} will still get {default}")
