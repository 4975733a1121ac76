"""
`kconnect plugin new`: a project to begin a plugin with, made of the files in `templates/`.

In these `{{name}}`, `{{package}}`, `{{class}}` and the like stand for what the command line says. The project passes its own
tests as it is; docs/plugins.md is the guide that goes with it.
"""

from __future__ import annotations

import keyword
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

_TEMPLATES = Path(__file__).parents[1] / "templates"
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_NOT_OURS = {"kconnect", "pyspark", "py4j", "tests"}
"""Names that a worker, or the project itself, has already."""


@dataclass(frozen=True)
class _Kind:
    """`suffix` ends the class's name, `group` is that of its entry point, `title` says what it is."""

    suffix: str
    group: str
    title: str


_KINDS = {
    "source": _Kind("SourceConnector", "kconnect.connectors", "source connector"),
    "sink": _Kind("SinkConnector", "kconnect.connectors", "sink connector"),
    "transform": _Kind("", "kconnect.transforms", "transform"),
    "predicate": _Kind("", "kconnect.predicates", "predicate"),
    "converter": _Kind("Converter", "kconnect.converters", "converter"),
    "config-provider": _Kind("ConfigProvider", "kconnect.config_providers", "config provider"),
}


@click.command("new")
@click.argument("name")
@click.option("--kind", type=click.Choice(list(_KINDS)), default="source", show_default=True, help="The kind of plugin.")
@click.option("--directory", type=click.Path(path_type=Path), metavar="DIR", help="The project's directory. Default: ./NAME.")
def new_plugin(name: str, kind: str, directory: Path | None) -> None:
    """
    Create a project for a plugin of your own.

    \b
      kconnect plugin new orders
      kconnect plugin new mask-card --kind transform --directory ~/src/mask-card

    It has code that works, a test that passes, and all that packaging needs.
    """
    _check(name)
    place = (directory or Path(name)).expanduser()
    if place.exists() or place.is_symlink():
        raise click.UsageError(f"{place} exists: choose another name, or another --directory.")
    if not place.parent.is_dir():
        raise click.UsageError(f"{place.parent} is not a directory: create it, or choose another --directory.")
    texts = _texts(name, kind)
    _write(place, kind, texts)
    title = _KINDS[kind].title
    click.echo(f"Created {place} with the {title} {texts['class']}. Next:\n")
    click.echo(f"  cd {shlex.quote(str(place))}")
    click.echo("  pip install -e '.[test]'      # pytest, and the plugin itself beside kconnect")
    click.echo("  python -m pytest")
    click.echo("  kconnect plugin install . --plugin-path DIR      # a directory of your worker's plugin.path")


def _check(name: str) -> None:
    """UsageError, with a name that would do, for one that no project or no Python package can have."""
    package = name.replace("-", "_")
    if not _NAME.fullmatch(name):
        better = re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()).strip("-0123456789")
        hint = f"such as {better}" if _NAME.fullmatch(better) else "such as orders"
        raise click.UsageError(
            f"The name {name!r} can't be used: use lower-case letters, digits and single dashes, with a letter first, {hint}."
        )
    reserved = _NOT_OURS | set(sys.stdlib_module_names)
    if package in reserved or keyword.iskeyword(package):
        whose = "a keyword of Python" if keyword.iskeyword(package) else "the name of an installed module"
        raise click.UsageError(f"The name {name!r} can't be used: {package} is {whose}. Choose another one, such as my-{name}.")


def _texts(name: str, kind: str) -> dict[str, str]:
    """Return the texts for the placeholders of the templates."""
    words = re.split("[-_]", name)
    # The class's name ends with its kind already, and `sqlsink` is SqlSinkConnector; but a resource is no source.
    ends = (*kind.split("-"), "connector")
    while words != (shorter := _without_end(words, ends)):
        words = shorter
    template, simple = _KINDS[kind], "".join(word.capitalize() for word in words)
    class_name = simple + template.suffix
    texts = {
        "name": name,
        "package": name.replace("-", "_"),
        "class": class_name,
        "task": class_name.removesuffix("Connector") + "Task",
        "module": kind.replace("-", "_"),
        "group": template.group,
        "description": f"A {template.title} for kconnect.",
    }
    return {**texts, "usage": _filled((_TEMPLATES / kind / "usage.md.in").read_text("utf-8"), texts).rstrip()}


def _without_end(words: list[str], ends: Sequence[str]) -> list[str]:
    *first, last = words
    end = next((end for end in ends if last.endswith(end) and last != "resource"), "")
    rest = [*first, *filter(None, [last.removesuffix(end)])]
    return rest or words


def _write(place: Path, kind: str, texts: dict[str, str]) -> None:
    """All files or none: they are written aside, and then moved."""
    source, module = Path("src") / texts["package"], texts["module"]
    files = {
        Path("pyproject.toml"): "common/pyproject.toml.in",
        Path("README.md"): "common/README.md.in",
        Path(".gitignore"): "common/gitignore.in",
        source / "__init__.py": "common/init.py.in",
        source / f"{module}.py": f"{kind}/{module}.py.in",
        Path("tests") / f"test_{module}.py": f"{kind}/test_{module}.py.in",
    }
    aside = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        # One level down: what mkdtemp makes is for its owner's eyes only.
        project = aside / place.name
        for path, template in files.items():
            target = project / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_filled((_TEMPLATES / template).read_text("utf-8"), texts), "utf-8")
        project.rename(place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _filled(template: str, texts: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: texts[match[1]], template)
