"""
YAML as people mean it: version 1.2's plain values, so that `no`, `1:30` and `2024-01-31` are texts, and no key twice.

Called for cases, configs and manifests only; PyYAML takes a while to import.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import yaml

from kconnect.cli import terminal


class _Values:
    """The constructors that the loaders below add to PyYAML's."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)  # type: ignore[misc]
        except (ValueError, AttributeError, TypeError, LookupError, OverflowError) as error:
            # What PyYAML's constructors make of a tag that does not fit its value, such as `!!timestamp foo`.
            kind = node.tag.removeprefix("tag:yaml.org,2002:")
            what = f"{node.value} is not a valid {kind}" if isinstance(node.value, str) else f"this is not a valid {kind}"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from error

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key.value, str) and key.value in keys:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value} is there twice", key.start_mark)
            keys.add(str(key.value))
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)  # type: ignore[misc]
        return mapping


_WORDS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
)
_NUMBERS = (
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
)


def _loader(parser: Any, rules: Iterable[tuple[str, str, list[str]]]) -> Any:
    loader_class: Any = type("Loader", (_Values, parser), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in rules:
        loader_class.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), first)
    # YAML 1.1 takes a leading zero for octal and colons for minutes.
    loader_class.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
    loader_class.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node)))
    return loader_class


_MOST_VALUES, _DEEPEST = 1_000_000, 500

# libyaml's parser takes a tenth of the time, which counts with a thousand files. What it refuses the other one explains
# better; PyYAML comes without the first on some platforms.
_PARSERS = (getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader)
_LOADERS = {
    numbers: [_loader(parser, _WORDS + _NUMBERS if numbers else _WORDS) for parser in _PARSERS] for numbers in (True, False)
}


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML has no types
    """Puts quotes around texts that either version of YAML would take for something else: other programs read 1.1."""


for _tag, _pattern, _first in _WORDS + _NUMBERS:
    _Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


@dataclass(frozen=True)
class Document:
    """A document of a file, and its place: `line_of` counts from 1."""

    value: Any
    _node: Any = field(repr=False)

    def line_of(self, *keys: str | int) -> int:
        """The line of the key that they lead to, or of the last one of them that is there."""
        node, line = self._node, self._node.start_mark.line
        for key in keys:
            if isinstance(node, yaml.MappingNode):
                pair_of_key = next((pair for pair in node.value if pair[0].value == key), None)
                if pair_of_key is None:
                    break
                line, node = pair_of_key[0].start_mark.line, pair_of_key[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
                node = node.value[key]
                line = node.start_mark.line
            else:
                break
        return int(line) + 1


def load(text: str, numbers: bool = True) -> Any:
    """The one document. Without `numbers`, these are texts, as they are written. ValueError, in one line, if it is no YAML."""

    _check_depth(text)

    def made(kind: Any) -> Any:
        loader = kind(text)
        node = loader.get_single_node()
        _check_aliases(node)
        return None if node is None else loader.construct_document(node)

    return _tried(made, numbers)


def documents(text: str, numbers: bool = True) -> list[Document]:
    """All documents that hold something, as `load` reads them."""

    _check_depth(text)

    def made(kind: Any) -> list[Document]:
        loader, documents_read = kind(text), []
        while loader.check_node():
            node = loader.get_node()
            _check_aliases(node)
            documents_read.append(Document(loader.construct_document(node), node))
        return [document for document in documents_read if document.value is not None]

    documents_read: list[Document] = _tried(made, numbers)
    return documents_read


def _check_depth(text: str) -> None:
    """Raise ValueError for lists and mappings so deep in each other that libyaml would end the process."""
    if sum(map(text.count, "[{")) + text.count("- ") + text.count("? ") <= _DEEPEST and "\n" + _DEEPEST * " " not in text:
        return
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_PARSERS[0]):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                line = event.start_mark.line + 1
                raise ValueError(f"lists and mappings are more than {_DEEPEST} deep in each other in line {line}")
    except yaml.YAMLError:
        return  # Whoever reads it says what it is.


def _check_aliases(document: Any) -> None:
    """
    Raise an error of YAML's if a document's aliases stand for far more than it has: a few lines, each with the one before ten
    times, would take all memory of whoever applies a file of somebody else's.
    """
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()
    todo = [] if document is None else [(document, False)]
    while todo:
        node, is_seen = todo.pop()
        if id(node) in sizes:
            continue
        items = node.value if isinstance(node, yaml.CollectionNode) else ()
        children = [child for item in items for child in (item if isinstance(item, tuple) else (item,))]
        if is_seen:
            open_nodes.discard(id(node))
            # What refers to itself is told where it is used.
            sizes[id(node)] = 1 + sum(sizes.get(id(child), 0) for child in children)
        elif id(node) not in open_nodes:
            open_nodes.add(id(node))
            todo.append((node, True))
            todo += [(child, False) for child in children]
    if document is not None and sizes[id(document)] > max(_MOST_VALUES, 4 * len(sizes)):
        text = f"its aliases (*name) stand for more than {_MOST_VALUES} values: write what is meant"
        raise yaml.constructor.ConstructorError(None, None, text, document.start_mark)


def _tried(read: Callable[[Any], Any], numbers: bool) -> Any:
    quick, exact = _LOADERS[numbers]
    try:
        return read(quick)
    except yaml.YAMLError:
        pass
    try:
        return read(exact)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        where = "" if mark is None else f" in line {mark.line + 1}"
        raise ValueError(f"{problem}{where}") from None


def dump(found: Any) -> str:
    """Return YAML that `load` reads back as it was: dicts, in their order, lists, texts, numbers, True, False and None."""
    text = _dumped(found, True)
    # Otherwise `terminal.py` would put the letters of an escape in the place of a character in a text without quotes.
    return text if terminal.harmless(text) == text else _dumped(found, False)


def _dumped(value: Any, allow_unicode: bool) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=1000)
    return text
