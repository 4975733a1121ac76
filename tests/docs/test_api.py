"""
docs/plugins/api.md is the reference of `kconnect.api`, made from its docstrings, with every public name in it.

`.venv/bin/python -m tests.docs.test_api` writes it anew.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import kconnect.api
from tests.docs.pages import DOCS

PAGE = DOCS / "plugins" / "api.md"
HEAD = """# Reference of kconnect.api

Everything that a plugin imports from kconnect, from its docstrings. [Writing plugins](../plugins.md) is the guide, with
complete examples, and with what a version of kconnect promises of these names. `.venv/bin/python -m tests.docs.test_api`
writes this page.
"""
SECTIONS = {
    "Connectors": ("api.connector",),
    "Tasks": ("api.task",),
    "Records": ("api.record",),
    "Settings": ("api.config", "api.config_provider"),
    "Converters, transforms and predicates": ("api.converter", "api.transformation", "api.predicate", "api.batch"),
    "Schemas and values": ("data.schema", "data.column", "data"),
    "Errors": ("errors",),
}
"""Which modules' names stand under which heading."""


def page() -> str:
    parts = [HEAD]
    names = sorted(kconnect.api.__all__, key=_order)
    for heading, modules in SECTIONS.items():
        parts.append(f"## {heading}\n")
        constants = [name for name in names if _module(name) in modules and _is_constant(name)]
        for name in names:
            if _module(name) in modules and name not in constants:
                parts.append(_entry(name, getattr(kconnect.api, name)))
        if constants:
            parts.append(f"Constants: {', '.join(f'`{name}`' for name in constants)}.\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def _module(name: str) -> str:
    thing = getattr(kconnect.api, name)
    if isinstance(thing, ModuleType):
        return "data"
    defined = getattr(thing, "__module__", None) if isinstance(thing, type) else None
    return (defined or ("api.config" if name == "NO_DEFAULT" else "data.schema")).removeprefix("kconnect.")


def _is_constant(name: str) -> bool:
    return not isinstance(getattr(kconnect.api, name), type | ModuleType)


def _order(name: str) -> tuple[int, str]:
    thing = getattr(kconnect.api, name)
    line = inspect.getsourcelines(thing)[1] if isinstance(thing, type) else 0
    return line, name


def _entry(name: str, thing: Any) -> str:
    lines = [f"### {name}\n", _text(thing)]
    if isinstance(thing, ModuleType):
        lines += [_function(each, f"{name}.") for _, each in _public_functions(thing)]
        return "\n".join(lines)
    bases = [base.__name__ for base in thing.__bases__ if base.__name__ in kconnect.api.__all__]
    if bases:
        lines.append(f"Derived from {', '.join(f'[{base}](#{base.lower()})' for base in bases)}.\n")
    if issubclass(thing, enum.Enum):
        lines.append(f"One of {', '.join(f'`{member.name}`' for member in thing)}.\n")
    elif _is_made(thing):
        lines.append(f"**`{name}{_signature(thing)}`**\n")
    lines += _members(thing)
    return "\n".join(lines)


def _is_made(thing: type) -> bool:
    """Whether plugins call the class: they derive from abstract ones, and are given objects of protocols."""
    return not inspect.isabstract(thing) and not getattr(thing, "_is_protocol", False) and not issubclass(thing, Exception)


def _members(thing: type) -> Iterator[str]:
    attributes = _attributes(thing)
    if attributes:
        yield "\n".join(f"- `{name}`{f': {text}' if text else ''}" for name, text in attributes.items()) + "\n"
    for name, member in vars(thing).items():
        if name.startswith("_") or name in attributes:
            continue
        if isinstance(member, property):
            yield f"- `{name}`{f': {text}' if (text := _text(member)) else ''}".rstrip() + "\n"
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            yield _function(getattr(thing, name), f"{thing.__name__}.")


def _attributes(thing: type) -> dict[str, str]:
    """Return the annotated attributes of a class, each with the text that stands below it."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for node, after in zip(tree.body, [*tree.body[1:], None]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            found[node.target.id] = " ".join(str(text).split())
    return found


def _public_functions(module: ModuleType) -> list[tuple[str, Any]]:
    functions = inspect.getmembers(module, inspect.isfunction)
    names = getattr(module, "__all__", [name for name, function in functions if function.__module__ == module.__name__])
    return [(name, function) for name, function in functions if name in names and not name.startswith("_")]


def _function(function: Any, prefix: str) -> str:
    return f"**`{prefix}{function.__name__}{_signature(function)}`**\n\n{_text(function)}"


def _signature(thing: Any) -> str:
    signature = inspect.signature(thing)
    parts: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        kind = "" if parameter.annotation is parameter.empty else f": {_annotation(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        parts.append(f"{stars}{parameter.name}{kind}{default}")
    returned = signature.return_annotation
    arrow = "" if isinstance(thing, type) or returned is signature.empty else f" -> {_annotation(returned)}"
    return f"({', '.join(parts)}){arrow}"


def _annotation(kind: Any) -> str:
    text = getattr(kind, "__forward_arg__", None) or (kind.__name__ if isinstance(kind, type) else str(kind))
    return text.strip("'").replace("typing.", "")


def _default(value: Any) -> str:
    text = repr(value)
    return "…" if text.startswith("<") or text == "Ellipsis" else text


def _text(thing: Any) -> str:
    text = inspect.getdoc(thing) if not isinstance(thing, type) else inspect.cleandoc(vars(thing).get("__doc__") or "")
    # What a dataclass says of itself is its signature.
    return f"{text}\n" if text and not text.startswith(f"{getattr(thing, '__name__', '')}(") else ""


def test_the_page_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "docs/plugins/api.md is stale: .venv/bin/python -m tests.docs.test_api"


@pytest.mark.parametrize("name", kconnect.api.__all__)
def test_each_public_name_is_on_the_page(name: str) -> None:
    text = PAGE.read_text("utf-8")
    assert f"### {name}\n" in text or f"`{name}`" in text


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
