"""
Avro's own schemas: read from JSON, written to JSON, and as fastavro takes them.

`parse` makes `Avro` nodes of a schema's text, in which names are resolved; `dump` makes the text again, as Avro's Java library
writes it: the order of its attributes, and each named type spelled out once. `Encoding` is the form for fastavro, which knows
of the bytes only: no docs, logical types or defaults. Used by the other `avro_*.py`. Read next: `avro_schema.py`.
"""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastavro import parse_schema, schemaless_writer

from kconnect.data import avro_indexes
from kconnect.errors import DataError

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
NAMED = frozenset(("record", "enum", "fixed"))
MISSING: Any = object()
"""In place of a default that there is not: null is one."""

_MOST_EMPTY = 4
"""So many fields without bytes a record may have, and one more for each that has some."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    ("type", "name", "namespace", "doc", "fields", "symbols", "items", "values", "size", "aliases", "default")
)


@dataclass(eq=False)
class AvroField:
    """A field of a record; `default` is as in its schema's JSON."""

    name: str
    type: Avro
    doc: str | None = None
    default: Any = MISSING


@dataclass(eq=False)
class Avro:
    """
    An Avro type; `type` is the word for it, or `union`.

    `name` is a full name, of named types only; `items` is of arrays and maps; `props` are the attributes that Avro leaves to
    others. References to a named type are the same object, so that a recursive type has a cycle.
    """

    type: str
    name: str | None = None
    doc: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    items: Avro | None = None
    branches: list[Avro] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    default_symbol: str | None = None
    size: int = 0
    props: dict[str, Any] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        return (self.name or self.type).rpartition(".")[2]

    @property
    def namespace(self) -> str:
        return (self.name or "").rpartition(".")[0]

    @property
    def present(self) -> list[Avro]:
        """The branches of a union that are not null; of another type, itself."""
        return [branch for branch in self.branches if branch.type != "null"] if self.type == "union" else [self]

    @property
    def nullable(self) -> bool:
        return self.type == "union" and len(self.present) < len(self.branches)

    def item(self) -> Avro:
        assert self.items is not None
        return self.items

    def __repr__(self) -> str:
        return f"Avro({self.name or self.type})"


# --- from JSON ---


def parse(text: str, references: Iterable[str] = ()) -> Avro:
    """The type that a schema's text describes; `references` are texts of schemas whose names it uses."""
    named: dict[str, Avro] = {}
    for reference in references:
        _Parser(named).parse(_loads(reference), "")
    avro = _Parser(named).parse(_loads(text), "")
    if parts_of(avro) > MOST_PARTS:
        raise DataError(f"Not an Avro schema that can be read: with all that it names it has over {MOST_PARTS} parts")
    return avro


MOST_PARTS = 100_000


def parts_of(avro: Avro) -> int:
    """Return how many types a type has in it, itself included."""
    return _parts(avro, {})


def _parts(avro: Avro, counts: dict[int, int]) -> int:
    """
    Return how many types a type has in it. A named type counts each time, because a schema of Connect has it as often: a type
    with two fields of the type below it, twenty levels deep, has a million.
    """
    if id(avro) not in counts:
        counts[id(avro)] = 1
        inner = [*avro.branches, *([] if avro.items is None else [avro.items]), *(field.type for field in avro.fields)]
        counts[id(avro)] = 1 + sum(_parts(part, counts) for part in inner)
    return counts[id(avro)]


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if text in PRIMITIVES:
            return text
        raise DataError(f"Not an Avro schema, because it is not JSON: {error}") from error


class _Parser:
    def __init__(self, named: dict[str, Avro]) -> None:
        self._named = named

    def parse(self, body: Any, namespace: str) -> Avro:
        if isinstance(body, str):
            return Avro(body) if body in PRIMITIVES else self._known(body, namespace)
        if isinstance(body, list):
            return Avro("union", branches=[self.parse(branch, namespace) for branch in body])
        if not isinstance(body, dict) or "type" not in body:
            raise DataError(f"Not an Avro schema: no type in {json.dumps(body)[:200]}")
        kind = body["type"]
        if not isinstance(kind, str):
            return self.parse(kind, namespace)
        props = {name: value for name, value in body.items() if name not in _RESERVED}
        if kind in PRIMITIVES:
            return Avro(kind, props=props)
        if kind in ("array", "map"):
            return Avro(kind, items=self.parse(body.get("items" if kind == "array" else "values"), namespace), props=props)
        if kind in ("record", "error", *NAMED):
            return self._parse_named("record" if kind == "error" else kind, body, namespace, props)
        return self._known(kind, namespace)

    def _known(self, name: str, namespace: str) -> Avro:
        named = self._named.get(_full_name(name, namespace)) or self._named.get(name)
        if named is None:
            raise DataError(f'"{name}" is not a defined name in this Avro schema or in those it refers to')
        return named

    def _parse_named(self, kind: str, body: Mapping[str, Any], namespace: str, props: dict[str, Any]) -> Avro:
        name = body.get("name")
        if not isinstance(name, str):
            raise DataError(f"Not an Avro schema: a {kind} without a name")
        stated = _text(body.get("namespace"))
        name = _full_name(name, namespace if stated is None else stated)
        if name in self._named:
            raise DataError(f"Can't redefine: {name}")
        avro = Avro(kind, name=name, doc=_text(body.get("doc")), props=props)
        self._named[name] = avro
        try:
            if kind == "enum":
                avro.symbols, avro.default_symbol = list(body["symbols"]), _text(body.get("default"))
            elif kind == "fixed":
                avro.size = int(body["size"])
            else:
                for part in body["fields"]:
                    avro.fields.append(
                        AvroField(
                            _required_text(part["name"]),
                            # A field's type may be spelled out in the field itself only as a value of `type`.
                            self.parse(part["type"], name.rpartition(".")[0]),
                            _text(part.get("doc")),
                            part.get("default", MISSING),
                        )
                    )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"Not an Avro schema: {kind} {name} is not complete ({error!r})") from error
        return avro


def _text(value: Any) -> str | None:
    """Return a text; None for what is none, as Avro's library in Java does."""
    return value if isinstance(value, str) else None


def _required_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is no text")
    return value


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


# --- to JSON ---


def dumps(avro: Avro) -> str:
    """A schema's text. DataError if a name can't be one in Avro, or is used for two types."""
    return json.dumps(_Dump().of(avro, ""), separators=(",", ":"), ensure_ascii=False)


class _Dump:
    def __init__(self) -> None:
        self._named: dict[str, Avro] = {}

    def of(self, avro: Avro, namespace: str) -> Any:
        if avro.type == "union":
            return [self.of(branch, namespace) for branch in avro.branches]
        if avro.type in PRIMITIVES:
            return {"type": avro.type, **avro.props} if avro.props else avro.type
        if avro.type in ("array", "map"):
            items = self.of(avro.item(), namespace)
            return {"type": avro.type, "items" if avro.type == "array" else "values": items, **avro.props}
        assert avro.name is not None
        namesake = self._named.get(avro.name)
        if namesake is not None:
            if namesake is not avro and dumps(namesake) != dumps(avro):
                raise DataError(
                    f"Can't redefine: {avro.name}. Two different types of one schema have this name; give each its own."
                )
            return avro.short_name if avro.namespace == namespace else avro.name
        self._named[avro.name] = avro
        return self._named_body(avro, namespace)

    def _named_body(self, avro: Avro, namespace: str) -> dict[str, Any]:
        for part in (avro.name or "").split("."):
            check_name(part, avro.name or "")
        body: dict[str, Any] = {"type": avro.type, "name": avro.short_name}
        if avro.namespace != namespace:
            body["namespace"] = avro.namespace
        if avro.doc is not None:
            body["doc"] = avro.doc
        if avro.type == "enum":
            body["symbols"] = avro.symbols
            if avro.default_symbol is not None:
                body["default"] = avro.default_symbol
        elif avro.type == "fixed":
            body["size"] = avro.size
        else:
            body["fields"] = [self._field(field, avro.namespace) for field in avro.fields]
        return {**body, **avro.props}

    def _field(self, field: AvroField, namespace: str) -> dict[str, Any]:
        check_name(field.name, field.name)
        body = {"name": field.name, "type": self.of(field.type, namespace)}
        if field.doc is not None:
            body["doc"] = field.doc
        if field.default is not MISSING:
            body["default"] = field.default
        return body


def check_name(part: str, whole: str) -> None:
    """DataError unless Avro takes `part`, of the name `whole`."""
    if not _NAME.fullmatch(part):
        raise DataError(
            f"Illegal character in: {whole}. Avro's names have letters, digits and _ only, and don't begin with a digit; "
            "with scrub.invalid.names=true the converter replaces what they can't have."
        )


def check_elements(avro: Avro) -> None:
    """
    Raise DataError for a type with lists whose elements have no bytes: six bytes of a record may say that there are a billion
    of them. Also for one with records of many fields without bytes, of which a list has as many as it has bytes.
    """
    _least(avro, {})


def _least(avro: Avro, least_by_id: dict[int, int]) -> int:
    """Return how many bytes a value has at least. A value of a type that contains itself has a byte that says where it ends."""
    if id(avro) not in least_by_id:
        least_by_id[id(avro)] = 1
        least_by_id[id(avro)] = _least_of_new(avro, least_by_id)
    return least_by_id[id(avro)]


def _least_of_new(avro: Avro, least_by_id: dict[int, int]) -> int:
    if avro.type == "union":
        for branch in avro.branches:
            _least(branch, least_by_id)
        return 1
    if avro.type in ("array", "map") and _least(avro.item(), least_by_id) == 0 and avro.type == "array":
        raise DataError("A list whose elements have no bytes, as null has none, may have any number of them: it can't be read")
    if avro.type in ("array", "map"):
        return 1
    if avro.type == "record":
        least = [_least(field.type, least_by_id) for field in avro.fields]
        empty = sum(_empty_parts(field.type) for field, size in zip(avro.fields, least) if not size)
        if empty > _MOST_EMPTY + len(least) - least.count(0):
            raise DataError(
                f"The record {avro.name} has {empty} fields and fields within them without any bytes: a list of such may take "
                "any memory, and can't be read"
            )
        return sum(least)
    return 0 if avro.type == "null" or (avro.type == "fixed" and avro.size == 0) else 1


def _empty_parts(avro: Avro) -> int:
    """Return how many types are in one without bytes, which does not contain itself."""
    return 1 + sum(_empty_parts(field.type) for field in avro.fields)


# --- for fastavro ---


class Encoding:
    """
    The form in which fastavro is given a type. `schema` is parsed; it is a record, whose only field is `v` if `wrapped`.

    Two things are put into records of one field, which have the same bytes as the field itself: the whole, because fastavro
    keeps the parsed form of records only; and the branches of a union with two or more besides null, because then it reads
    a value together with the name of its branch, where a bare int or long would not tell.
    """

    def __init__(self, avro: Avro) -> None:
        self._names: dict[int, str] = {}
        self._kept: list[Avro] = []
        self._branches: dict[int, list[str]] = {}
        self._names_of_branches: dict[tuple[int, int], str] = {}
        """Names of branches, by the union and the branch."""
        self._next = 0
        body = self._of(avro)
        self.wrapped = avro.type != "record"
        if self.wrapped:
            body = {"type": "record", "name": self._name("top"), "fields": [{"name": "v", "type": body}]}
        self.schema: Any = parse_schema(body)
        self._reading: Any = None

    @property
    def reading(self) -> Any:
        """`schema` as records are read with it: what is no index of an enum or a union is refused."""
        if self._reading is None:
            self._reading = avro_indexes.refusing(copy.deepcopy(self.schema))
        return self._reading

    def encode(self, plain: Any) -> bytes:
        """Return the bytes of a value as fastavro takes it. Whatever fastavro raises is raised."""
        out = io.BytesIO()
        schemaless_writer(out, self.schema, {"v": plain} if self.wrapped else plain)
        return out.getvalue()

    def branch_names(self, union: Avro) -> list[str]:
        """Return the names of a union's branches besides null, in their order, if there are several."""
        return self._branches[id(union)]

    def branch_name(self, union: Avro, branch: Avro) -> str | None:
        """Return the name of a union's branch in one step, for a union may be long. None if it is alone besides null."""
        return self._names_of_branches.get((id(union), id(branch)))

    def type_name(self, avro: Avro) -> str:
        """The name by which fastavro knows a branch that is alone besides null."""
        return self._names.get(id(avro), avro.type)

    def _name(self, stem: str) -> str:
        self._next += 1
        return f"{stem}{self._next}"

    def _of(self, avro: Avro) -> Any:
        if avro.type in PRIMITIVES:
            return avro.type
        if avro.type in ("array", "map"):
            return {"type": avro.type, "items" if avro.type == "array" else "values": self._of(avro.item())}
        if avro.type == "union":
            return self._of_union(avro)
        if id(avro) in self._names:
            return self._names[id(avro)]
        name = self._names[id(avro)] = self._name(avro.type)
        # Kept, so that no other node can get its id.
        self._kept.append(avro)
        if avro.type == "enum":
            return {"type": "enum", "name": name, "symbols": avro.symbols}
        if avro.type == "fixed":
            return {"type": "fixed", "name": name, "size": avro.size}
        return {
            "type": "record",
            "name": name,
            "fields": [{"name": field.name, "type": self._of(field.type)} for field in avro.fields],
        }

    def _of_union(self, avro: Avro) -> list[Any]:
        if len(avro.present) < 2:
            return [self._of(branch) for branch in avro.branches]
        self._kept.append(avro)
        names = self._branches[id(avro)] = []
        branches: list[Any] = []
        for branch in avro.branches:
            if branch.type == "null":
                branches.append("null")
                continue
            names.append(self._name("branch"))
            self._names_of_branches.setdefault((id(avro), id(branch)), names[-1])
            branches.append({"type": "record", "name": names[-1], "fields": [{"name": "v", "type": self._of(branch)}]})
        return branches
