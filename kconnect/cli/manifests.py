"""
Connectors in files: what `kconnect apply`, `create` and `diff` make of them, and `preview` and `test` of their configs.

A file has one connector or many: as REST takes and gives them (also all of them, `?expand=info`), settings alone with a `name`
among them, a list of these, or several documents of YAML. Beside `name` and `config` there may be the `state` that is wanted
and the `offsets` at which a new one begins. Read next: `cli/apply/plan.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kconnect.api.config import HIDDEN
from kconnect.cli.files import InputError, as_properties, reason_of, standard_input, text_of

Config = dict[str, "str | None"]

STATES = ("running", "paused", "stopped")
"""What a manifest may want, in REST's words but for their case."""

SUFFIXES = (".yaml", ".yml", ".json")
"""What is taken from a directory. Properties are not: many a worker's file lies beside its connectors."""

_FIELDS = ("name", "config", "state", "offsets")
_OF_REST = {"initial_state": "state", "initial_offsets": "offsets"}
# What REST and `kconnect get` say beside them, and nobody can want.
_SEEN = ("type", "tasks", "status")
_REMEDY = 'it must hold {"name": …, "config": {…}} as REST takes it, or the settings alone'
_REFERENCE = re.compile(r"\$\{[^}]*\}")


@dataclass(frozen=True)
class Manifest:
    """A connector as it is wanted. `state` and `offsets` are None where nothing is said of them; `where` is for messages."""

    name: str
    config: Config
    state: str | None = None
    offsets: list[dict[str, Any]] | None = None
    where: str = "-"


class Unusable(InputError):
    """`problems` has a sentence for each thing that is wrong, in the order of the files."""

    def __init__(self, problems: list[str]) -> None:
        what = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
        super().__init__(f"{what} in the files: nothing was done")
        self.problems = problems


def read(paths: Iterable[Path], recursive: bool = False) -> list[Manifest]:
    """
    All connectors of files and directories; `-` is standard input, as YAML or JSON.

    Unusable, with all that is wrong in all of them, before anything else is done.
    """
    problems: list[str] = []
    by_name: dict[str, Manifest] = {}
    for path in _files(paths, recursive, problems):
        try:
            text = standard_input() if str(path) == "-" else text_of(path)
            items = _items(path, text)
            if not items:
                raise InputError(f"{path} has no connector; {_REMEDY}")
        except InputError as error:
            problems.append(str(error))
            continue
        for item in items:
            manifest = _manifest(item, problems)
            if manifest is None:
                continue
            if manifest.name in by_name:
                first = by_name[manifest.name].where
                problems.append(f"{manifest.where}: the connector {manifest.name} is also in {first}; remove one of them")
            else:
                by_name[manifest.name] = manifest
    if problems:
        raise Unusable(problems)
    return list(by_name.values())


def of_text(text: str, where: str) -> Manifest:
    """The one connector in YAML that somebody edits. Unusable."""
    problems: list[str] = []
    try:
        items = _items(Path(where), text)
    except InputError as error:
        raise Unusable([str(error)]) from None
    if len(items) != 1:
        raise Unusable([f"{where}: {len(items)} connectors found, but one is expected"])
    manifest = _manifest(items[0], problems)
    if manifest is None or problems:
        raise Unusable(problems)
    return manifest


def config_of(path: Path) -> dict[str, str]:
    """The settings of the one connector in a file, which need have neither name nor class. InputError."""
    return {setting: text for setting, text in changes_of(path).items() if text is not None}


def changes_of(path: Path) -> Config:
    """Read settings that are put on top of others, as `config_of` does: None where null removes one."""
    items = _items(path, text_of(path))
    if len(items) > 1:
        raise InputError(f"{path} has {len(items)} connectors; give a file with one")
    return _settings(items[0].body if items else None, str(path))


def as_config(body: Any, where: str) -> dict[str, str]:
    """The settings of a connector, whether they stand alone or below `config`."""
    return {setting: text for setting, text in _settings(body, where).items() if text is not None}


def _settings(body: Any, where: str) -> Config:
    name = None
    if isinstance(body, dict) and isinstance(body.get("config"), dict):
        name, body = body.get("name"), body["config"]
    if not isinstance(body, dict) or not body:
        raise InputError(f"{where}: no connector's config found; {_REMEDY}")
    settings: Config = {} if name is None else {"name": str(name)}
    return settings | {str(setting): as_text(setting, value, where) for setting, value in body.items()}


# -- files ------------------------------------------------------------------------------------------------------------


def _files(paths: Iterable[Path], recursive: bool, problems: list[str]) -> Iterator[Path]:
    for path in paths:
        if str(path) == "-" or not path.is_dir():
            yield path
            continue
        inside = sorted(path.rglob("*") if recursive else path.iterdir())
        # What editors and version control keep beside the files is hidden.
        files = [
            file
            for file in inside
            if file.suffix in SUFFIXES
            and file.is_file()
            and not any(part.startswith(".") for part in file.relative_to(path).parts)
        ]
        if not files:
            more = "" if recursive else "; -R reads the directories below, too"
            problems.append(f"{path} has no file that ends with {', '.join(SUFFIXES)}{more}")
        yield from files


@dataclass(frozen=True)
class _Item:
    """A connector as it stands in a file, with numbers as they are written; `numbers` returns it with numbers."""

    body: Any
    where: Callable[..., str]
    numbers: Callable[[], Any]


def _items(path: Path, text: str) -> list[_Item]:
    """InputError if the file is of no form that is known."""
    if path.suffix == ".properties":
        settings = as_properties(text, str(path))
        return [_Item(settings, lambda *keys: str(path), lambda: settings)] if settings else []
    if path.suffix == ".json" or (path.suffix not in SUFFIXES and text.lstrip()[:1] in ("{", "[")):
        if path.suffix != ".json":
            try:
                return _json_items(path, text)
            except InputError:
                # A document of YAML may begin with a brace, too; what is neither is told as YAML, with its line.
                return _yaml_items(path, text)
        return _json_items(path, text)
    return _yaml_items(path, text)


def _json_items(path: Path, text: str) -> list[_Item]:
    try:
        # Numbers stay as they are written.
        body = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: this is not JSON ({reason_of(error)}); {_REMEDY}") from None

    def item(connector: Any, place: tuple[str | int, ...], entry: str) -> _Item:
        return _Item(connector, lambda *keys: f"{path}{entry}", lambda: _at(json.loads(text), place))

    return [item(connector, place, _entry(place)) for connector, place in _each(body)]


def _yaml_items(path: Path, text: str) -> list[_Item]:
    from kconnect.cli import yaml_file

    try:
        documents = yaml_file.documents(text, numbers=False)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: this is not YAML ({reason_of(error)}); {_REMEDY}") from None

    def item(number: int, connector: Any, place: tuple[str | int, ...]) -> _Item:
        def where(*keys: str | int) -> str:
            return f"{path}:{documents[number].line_of(*place, *keys)}"

        return _Item(connector, where, lambda: _at(yaml_file.documents(text)[number].value, place))

    return [
        item(number, connector, place)
        for number, document in enumerate(documents)
        for connector, place in _each(document.value)
    ]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise ValueError(f"the key {twice} is there twice")
    return mapping


def _each(body: Any) -> list[tuple[Any, tuple[str | int, ...]]]:
    """Each connector in what one document holds, and the keys that lead to it."""
    if isinstance(body, list):
        return [(entry, (number,)) for number, entry in enumerate(body)]
    if isinstance(body, dict) and body and all(isinstance(entry, dict) and "info" in entry for entry in body.values()):
        return [(entry["info"], (name, "info")) for name, entry in body.items()]
    return [(body, ())]


def _entry(place: tuple[str | int, ...]) -> str:
    if not place:
        return ""
    return f", entry {place[0] + 1}" if isinstance(place[0], int) else f", {place[0]}"


def _at(body: Any, place: tuple[str | int, ...]) -> Any:
    for key in place:
        body = body[key]
    return body


# -- one connector ----------------------------------------------------------------------------------------------------


def _manifest(item: _Item, problems: list[str]) -> Manifest | None:
    """Return a manifest; None if it is wrong, and then add the reasons to the problems."""
    body, before = item.body, len(problems)
    at: tuple[str, ...] = ("config",)
    if not isinstance(body, dict) or not body:
        problems.append(f"{item.where()}: no connector's config found; {_REMEDY}")
        return None
    if "config" not in body and "connector.class" in body:
        body, at = {"name": body.get("name"), "config": body}, ()
    else:
        for field in body:
            if field not in (*_FIELDS, *_OF_REST, *_SEEN):
                problems.append(
                    f"{item.where(field)}: a connector has no field {field}: use {', '.join(_FIELDS)}, and put settings below "
                    "config"
                )
        body = {_OF_REST.get(str(field), str(field)): value for field, value in body.items()}
    config = _config(body.get("config"), item, at, problems)
    name = _name(body.get("name"), config, item, problems)
    state = _state(body.get("state"), item, problems)
    offsets = _offsets(item, at, problems) if body.get("offsets") is not None else None
    if len(problems) > before:
        return None
    return Manifest(name, config, state, offsets, item.where())


def _config(value: Any, item: _Item, at: tuple[str, ...], problems: list[str]) -> Config:
    if not isinstance(value, dict) or not value:
        problems.append(f"{item.where(*at)}: no connector's config found; {_REMEDY}")
        return {}
    config: Config = {}
    for setting, raw in value.items():
        try:
            text = config[str(setting)] = as_text(setting, raw, item.where(*at, setting))
        except InputError as error:
            problems.append(str(error))
            continue
        if text is not None and HIDDEN in text:
            problems.append(
                f"{item.where(*at, setting)}: the setting {setting} is {HIDDEN}, the placeholder for a secret; write the "
                "secret (kconnect get … --show-secrets shows it), or a reference to it"
            )
    if not value.get("connector.class"):
        problems.append(f"{item.where(*at)}: the config has no connector.class; add the class of the connector")
    return config


def as_text(setting: Any, value: Any, where: str) -> str | None:
    """A setting's value as REST takes it. InputError for what no text can stand for."""
    # A text has a tag such as !!timestamp only where somebody wrote it, and then looks like what it was.
    if isinstance(value, dict | list | tuple | set | bytes):
        kind = {dict: "an object", bytes: "binary"}.get(type(value), "a list")
        raise InputError(f"{where}: the setting {setting} is {kind}, but settings are text: write it as one string")
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)


def _name(value: Any, config: Config, item: _Item, problems: list[str]) -> str:
    """Return the connector's name. If its config has one, too, it must be the same."""
    inside = config.get("name")
    name = inside if value is None else value
    if not isinstance(name, str) or not name.strip():
        problems.append(f"{item.where('name')}: the connector has no name, or one that is not text: set name")
    elif inside is not None and inside != name:
        problems.append(
            f"{item.where('name')}: the connector is named {name}, but {inside} in its config: remove name from the config"
        )
    elif _REFERENCE.search(name):
        problems.append(_no_reference(item.where("name"), "name", name))
    else:
        return name
    return ""


def _state(value: Any, item: _Item, problems: list[str]) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and value.lower() in STATES:
        return value.upper()
    where = item.where("state")
    if isinstance(value, str) and _REFERENCE.search(value):
        problems.append(_no_reference(where, "state", value))
    else:
        problems.append(f"{where}: the state is {value}; it must be one of {', '.join(STATES)}, or left out to keep the state")
    return None


def _offsets(item: _Item, at: tuple[str, ...], problems: list[str]) -> list[dict[str, Any]] | None:
    body = item.numbers()
    field = next(field for field in ("offsets", "initial_offsets") if body.get(field) is not None)
    where, rows = item.where(field), body[field]
    # As `GET /connectors/X/offsets` gives them.
    if isinstance(rows, dict) and set(rows) == {"offsets"}:
        rows = rows["offsets"]
    if isinstance(rows, list) and all(
        isinstance(row, dict) and set(row) == {"partition", "offset"} and all(isinstance(row[key], dict) for key in row)
        for row in rows
    ):
        if not rows:
            return None
        try:
            offsets: list[dict[str, Any]] = json.loads(json.dumps(rows, allow_nan=False))
        except (ValueError, TypeError, RecursionError) as error:
            problems.append(f"{where}: the offsets are not JSON ({error})")
            return None
        if _REFERENCE.search(json.dumps(offsets)):
            problems.append(_no_reference(where, "offsets", "${…}"))
        return offsets
    problems.append(f'{where}: the offsets must be a list of {{"partition": {{…}}, "offset": {{…}}}}, as REST gives them')
    return None


def _no_reference(where: str, field: str, value: str) -> str:
    return (
        f"{where}: the {field} is {value}, but only settings may have references, which the worker resolves: write the value "
        "itself"
    )
