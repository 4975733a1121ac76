"""
All that is wrong with the plugins of a `plugin.path`: their files, and then their classes, tried in the sandbox's children;
those of Java in one that has a JVM.

Called by `kconnect plugin doctor`, and by `install` for what it is about to install. Read next: `examination.py`,
`java_examination.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.plugins import examination, java_examination
from kconnect.plugins.examination import ERROR, WARNING, Problem
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.plugins.scan import INSTALLED

_TIMEOUT_S = 60.0
_PYTHON_ONLY = "override_policy"
"""The kind of which kconnect uses none of Java's."""


def examine(plugin_path: Sequence[Path], progress: Callable[[str], None] = lambda doing: None) -> list[Problem]:
    """The problems of a whole plugin.path, and of plugins installed beside kconnect. `progress` hears what is being done."""
    progress("Reading the installed plugins")
    plugins = Registry.scan([str(root) for root in plugin_path])
    distributions = examination.beside_kconnect()
    problems = list(examination.registry(plugins))
    for root in plugin_path:
        problems += examination.path(root)
    problems += examination.copies(plugin_path)
    problems += java_examination.copies(plugin_path)
    problems += java_examination.brought(plugins.plugins)
    for place in sorted({plugin.location for plugin in plugins.plugins if not plugin.java} - {INSTALLED}):
        progress(f"Examining {place}")
        problems += examination.directory(Path(place), distributions)
    problems += try_classes(plugins, plugin_path, plugins.plugins, progress)
    order = {place: number for number, place in enumerate(dict.fromkeys(problem.location for problem in problems))}
    return sorted(problems, key=lambda problem: (order[problem.location], problem.severity != ERROR))


def try_classes(
    plugins: Registry,
    plugin_path: Sequence[Path],
    wanted: Iterable[PluginDesc],
    progress: Callable[[str], None] = lambda doing: None,
) -> list[Problem]:
    """Have each class imported and made in a child process; kconnect's own are known to work."""
    problems: list[Problem] = []
    unused: dict[str, list[str]] = {}
    sandbox = Sandbox(plugins, [str(root) for root in plugin_path], _TIMEOUT_S)
    try:
        for plugin in wanted:
            if plugin.python_path.startswith("kconnect."):
                continue
            if plugin.java and plugin.kind == _PYTHON_ONLY:
                unused.setdefault(plugin.location, []).append(plugin.class_name)
                continue
            progress(f"Trying {plugin.class_name} {plugin.version}")
            try:
                sandbox.check(plugin)
            except ConnectError as error:
                text = " ".join(str(error).split())
                remedy = "fix the plugin, or ask its author"
                problems.append(Problem(ERROR, "class", plugin.location, text, remedy))
    finally:
        sandbox.close()
    for location, names in unused.items():
        text = f"kconnect uses its own override policies only, so these do nothing: {', '.join(names)}"
        problems.append(Problem(WARNING, "unused", location, text, "name one of kconnect's in the worker file"))
    return problems
