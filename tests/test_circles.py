"""
No files of kconnect import each other in a circle, also not by an import inside a function.

The import contracts (`setup.cfg`) say which folder may import which; this is about the files of one folder. Imports for the
type checker only don't count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

ROOT = Path(__file__).parent.parent


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the names of what is imported, at the top or in a function: of modules, or of what is in them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imported(node)


def imports() -> dict[str, set[str]]:
    """Return the modules that each module of kconnect imports."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in (ROOT / "kconnect").rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = imported(ast.parse(path.read_text("utf-8")))
        found[module] = {name if name in paths else name.rpartition(".")[0] for name in names} & paths.keys() - {module}
    return found


def circles(graph: Mapping[str, Set[str]]) -> list[list[str]]:
    """Return the groups of modules of which each imports each other, if need be by way of others (Tarjan)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in numbers:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], numbers[other])
        if lowest[module] == numbers[module]:
            at = stack.index(module)
            groups.append(sorted(stack[at:]))
            del stack[at:]

    for module in sorted(graph):
        if module not in numbers:
            visit(module)
    return [group for group in groups if len(group) > 1]


def test_no_files_import_each_other() -> None:
    assert circles(imports()) == []


def test_no_modules_of_the_console_import_each_other() -> None:
    console = ROOT / "kconnect" / "console"
    # Imports for types are in comments, by other words.
    statement = re.compile(r"""(?:^import [^\n]*from |\bawait import\()"\./([\w.]+)\"""", re.M)
    graph = {file.name: set(statement.findall(file.read_text("utf-8"))) for file in console.glob("*.js")}
    assert "dom.js" in graph["connector.js"]
    assert circles(graph) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "c"}}) == [["b", "c"]]


def test_imports_in_functions_count_and_those_for_types_do_not() -> None:
    source = "import a\nif TYPE_CHECKING:\n    import b\ndef f():\n    from c import d\n"
    assert list(imported(ast.parse(source))) == ["a", "c.d"]
