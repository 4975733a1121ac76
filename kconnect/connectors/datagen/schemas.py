"""
Reads a schema, Avro's or a JSON Schema, and makes the generator of its records.

Avro's may have `arg.properties`, in a type or beside it in a field, by which users of other generators say what values they
want: `options`, `range`, `length`, `regex`, `iteration`, `odds`, `keys`, `prefix`, `suffix`. `faker`, `digits` and `null.odds`
are ours. A JSON Schema has keywords for most of it, and `x-datagen` for the rest; it is turned into an Avro one. A text that
nothing is said about is what its field's name promises (`_BY_NAME`). Read by `connector.py`; read next: `generators.py`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kconnect.api import ConnectError, Schema, SchemaType, Struct, schema, values
from kconnect.connectors.datagen import generators, weights
from kconnect.connectors.datagen.generators import Generator

PROPERTIES = "arg.properties"
_NAMES, _MATCHES = 2000, 5000
"""How many values Faker makes for a field, and how many texts a regular expression."""

_INSTALL = "pip install 'kconnect[datagen]' on every machine of the cluster"

_INTEGERS = {"int": (SchemaType.INT32, 32), "long": (SchemaType.INT64, 64)}
_FLOATS = {"float": SchemaType.FLOAT32, "double": SchemaType.FLOAT64}
_TEXTS = ("options", "regex", "length", "prefix", "suffix", "faker", "iteration", "uuid")
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "string": _TEXTS,
    "int": ("options", "range", "iteration"),
    "long": ("options", "range", "iteration"),
    "float": ("options", "range", "iteration", "digits"),
    "double": ("options", "range", "iteration", "digits"),
    "boolean": ("options", "odds"),
    "bytes": ("length", "range"),
    "fixed": (),
    "enum": ("options",),
    "array": ("length",),
    "map": ("length", "keys"),
    "record": ("options",),
    "null": (),
}
"""The properties that a type may have; each may have `null.odds` beside these, within a union with null."""

_BY_NAME = {
    **{
        name: name
        for name in ("name", "first_name", "last_name", "email", "city", "country", "street_address", "company", "job")
    },
    **{
        name: name
        for name in ("phone_number", "user_name", "ipv4", "ipv6", "user_agent", "url", "country_code", "currency_code")
    },
    **{
        "firstname": "first_name",
        "lastname": "last_name",
        "full_name": "name",
        "customer_name": "name",
        "phone": "phone_number",
    },
    **{"street": "street_address", "address": "address", "zipcode": "postcode", "zip": "postcode", "postcode": "postcode"},
    **{"username": "user_name", "ip": "ipv4", "useragent": "user_agent", "agent": "user_agent", "state": "administrative_unit"},
    **{"description": "sentence", "comment": "sentence", "title": "catch_phrase", "currency": "currency_code"},
}
"""What Faker makes for a text of this name."""

_FORMATS: Mapping[str, dict[str, Any]] = {
    "email": {"faker": "email"},
    "hostname": {"faker": "hostname"},
    "ipv4": {"faker": "ipv4"},
    "ipv6": {"faker": "ipv6"},
    "uri": {"faker": "uri"},
    "uuid": {"uuid": True},
}
"""Of JSON Schema."""
_TIMES = {"date-time": ("long", "timestamp-millis"), "date": ("int", "date"), "time": ("int", "time-millis")}


class LocaleError(ConnectError):
    """An error that there is no such locale."""


@dataclass
class Reader:
    """Reads one schema. Values are of `seed`, names and addresses of `locale`, as Faker names them."""

    seed: str
    locale: str
    _types: dict[str, tuple[Mapping[str, Any], str]] = field(default_factory=dict)
    """Definitions of types with a name, each with its namespace; they may be used again behind that."""
    _open: set[str] = field(default_factory=set)
    """Those that are being read."""

    def read(self, text: str) -> Generator:
        """ConnectError, saying where, if there is no such schema, or one that no records can be made of."""
        try:
            spec = json.loads(text)
        except ValueError as error:
            raise ConnectError(f"The schema is not JSON: {error}") from None
        if isinstance(spec, dict) and spec.get("type") != "record" and ("properties" in spec or spec.get("type") == "object"):
            spec = _of_json_schema(spec, "value")
        if not isinstance(spec, dict) or spec.get("type") != "record":
            raise ConnectError(
                'The schema is neither that of a record in Avro ("type": "record") nor of an object in JSON Schema'
            )
        generator = self._read(spec, "value", "", {})
        if generator.weight > weights.HEAVIEST:
            raise ConnectError(
                f"A record may have {generator.weight} values and pieces of texts, of which {weights.HEAVIEST} are possible: "
                "make its lists, maps and texts shorter"
            )
        return generator

    def _read(self, spec: Any, path: str, namespace: str, beside: Mapping[str, Any]) -> Generator:
        """`beside` are properties of the field, which go before those of the type."""
        if isinstance(spec, list):
            return self._union(spec, path, namespace, beside)
        if isinstance(spec, str):
            spec = {"type": spec}
        if not isinstance(spec, dict) or "type" not in spec:
            raise ConnectError(f"{path} has no type")
        if isinstance(spec["type"], dict | list):
            return self._read(spec["type"], path, namespace, {**spec.get(PROPERTIES, {}), **beside})
        kind = spec["type"]
        if kind not in _KNOWN:
            return self._named(kind, path, namespace, beside)
        wants = {**spec.get(PROPERTIES, {}), **beside}
        wants.pop("null.odds", None)
        logical = spec.get("logicalType", "")
        wrong = [name for name in wants if name not in _KNOWN[kind]]
        if wrong:
            supported = ", ".join(_KNOWN[kind]) or "none"
            raise ConnectError(f"{path} has the property {wrong[0]}, but those of the type {kind} are: {supported}")
        if "options" in wants and kind not in ("record", "enum"):
            return self._options(kind, spec, path, wants["options"])
        if spec.get("name"):
            self._types[self._full(str(spec["name"]), spec.get("namespace", namespace))] = (spec, namespace)
        match kind:
            case "record":
                return self._record(spec, path, namespace, wants)
            case "array":
                item = self._read(spec.get("items"), f"{path}[]", namespace, {})
                return generators.Arrays(schema.array(item.schema), path, *_length(wants, path, 1, 3), item)
            case "map":
                key = self._read({"type": "string", PROPERTIES: wants.get("keys", {})}, f"{path}{{}}", namespace, {})
                value = self._read(spec.get("values"), f"{path}[]", namespace, {})
                map_schema = schema.mapping(key.schema, value.schema)
                return generators.Maps(map_schema, path, *_length(wants, path, 1, 3), key, value)
            case "string":
                return self._string(path, wants, "uuid" if logical == "uuid" else "")
            case "boolean":
                odds = _number(wants.get("odds", 0.5), f"{path}: odds")
                return generators.Booleans(Schema(SchemaType.BOOLEAN), path, odds)
            case "bytes" | "fixed":
                return _bytes(spec, path, wants, logical)
            case "enum":
                return self._options("enum", spec, path, wants.get("options", spec.get("symbols")))
            case "null":
                raise ConnectError(f'{path} is of type null alone; null is for unions, such as ["null", "string"]')
        return _numeric(kind, path, wants, logical)

    def _union(self, branches: Sequence[Any], path: str, namespace: str, beside: Mapping[str, Any]) -> Generator:
        some = [branch for branch in branches if branch != "null"]
        if len(some) != 1:
            raise ConnectError(f"{path} is a union of {len(some)} types besides null, but there may be one")
        inner = self._read(some[0], path, namespace, beside)
        if len(some) == len(branches):
            return inner
        within = some[0].get(PROPERTIES, {}) if isinstance(some[0], dict) else {}
        odds = _number({**within, **beside}.get("null.odds", 1 / len(branches)), f"{path}: null.odds")
        return generators.Optional(inner, odds)

    def _named(self, kind: str, path: str, namespace: str, beside: Mapping[str, Any]) -> Generator:
        name = self._full(kind, namespace)
        name = name if name in self._types else kind
        if name in self._open:
            raise ConnectError(f"{path} is of the type {kind}, which is around it: such records would never end")
        if name not in self._types:
            raise ConnectError(f"{path} is of the type {kind}, which Avro does not have, and which no field before it defines")
        spec, within = self._types[name]
        return self._read(spec, path, within, beside)

    def _full(self, name: str, namespace: str) -> str:
        return name if "." in name or not namespace or not name else f"{namespace}.{name}"

    def _record(self, spec: Mapping[str, Any], path: str, namespace: str, wants: Mapping[str, Any]) -> Generator:
        fields = spec.get("fields")
        if not isinstance(fields, list):
            raise ConnectError(f"{path} is a record without fields")
        namespace = spec.get("namespace", namespace)
        name = self._full(str(spec.get("name", "")), namespace)
        self._open.add(name)
        field_generators: list[Generator] = []
        for entry in fields:
            if not isinstance(entry, dict) or not entry.get("name"):
                raise ConnectError(f"{path} has a field without a name")
            inner = f"{path}.{entry['name']}"
            field_generators.append(self._read(entry.get("type"), inner, namespace, entry.get(PROPERTIES, {})))
        self._open.discard(name)
        names = [entry["name"] for entry in fields]
        twice = [field_name for field_name in names if names.count(field_name) > 1]
        if twice:
            raise ConnectError(f"{path} has the field {twice[0]} twice")
        record_schema = schema.struct(
            {name: generator.schema for name, generator in zip(names, field_generators)}, name=name or None, doc=spec.get("doc")
        )
        if "options" in wants:
            return generators.Options(record_schema, path, _checked_options(record_schema, path, wants["options"]))
        return generators.Records(record_schema, path, field_generators)

    def _options(self, kind: str, spec: Mapping[str, Any], path: str, options: Any) -> Generator:
        if kind == "enum":
            symbols = spec.get("symbols")
            wrong = [option for option in options if option not in (symbols or ())] if isinstance(options, list) else []
            if wrong:
                raise ConnectError(f"{path}: {wrong[0]!r} is not one of the enum's symbols")
        option_schema = {
            **{name: Schema(type) for name, (type, _) in _INTEGERS.items()},
            **{name: Schema(type) for name, type in _FLOATS.items()},
            "boolean": Schema(SchemaType.BOOLEAN),
        }.get(kind, Schema(SchemaType.STRING))
        return generators.Options(option_schema, path, _checked_options(option_schema, path, options))

    def _string(self, path: str, wants: Mapping[str, Any], default: str) -> Generator:
        string_schema = Schema(SchemaType.STRING)
        named = path.rpartition(".")[2].lower()
        ways = [name for name in ("regex", "faker", "iteration", "uuid", "length") if name in wants]
        if len(ways) > 1:
            raise ConnectError(f"{path} has {ways[0]} and {ways[1]}: one of them says what its values are")
        way = ways[0] if ways else default or ("faker" if named in _BY_NAME else "length")
        generator: Generator
        if way == "regex":
            generator = generators.Pool(string_schema, path, self._matching(str(wants["regex"]), path))
        elif way == "faker":
            generator = generators.Pool(
                string_schema, path, self._faker(str(wants.get("faker") or _BY_NAME[named]), path, bool(ways))
            )
        elif way == "iteration":
            generator = _iteration(string_schema, path, wants["iteration"], int)
            generator = generators.Affixed(generator, string_schema, "", "")
        elif way == "uuid":
            generator = generators.Uuids(string_schema, path)
        else:
            generator = generators.Letters(string_schema, path, *_length(wants, path, 8, 16))
        if "prefix" in wants or "suffix" in wants:
            return generators.Affixed(generator, string_schema, str(wants.get("prefix", "")), str(wants.get("suffix", "")))
        return generator

    def _faker(self, method: str, path: str, asked: bool) -> Callable[[], Sequence[str]]:
        try:
            import faker
        except ImportError:
            raise ConnectError(f"{path} is made by Faker, which is not installed here: {_INSTALL}") from None
        try:
            generator = faker.Faker(self.locale)
        except (AttributeError, ValueError) as error:
            raise LocaleError(f"Faker has no locale {self.locale}: {error}") from None
        generator.seed_instance(f"{self.seed} {path}")
        make = getattr(generator, method, None)
        if method.startswith("_") or not callable(make):
            raise ConnectError(f"{path}: Faker makes no {method} for {self.locale}; its documentation lists what it makes")
        return lambda: [str(make()) for _ in range(_NAMES)]

    def _matching(self, regex: str, path: str) -> Callable[[], Sequence[str]]:
        try:
            import rstr
        except ImportError:
            raise ConnectError(f"{path} has a regex, for which rstr is not installed here: {_INSTALL}") from None
        make = rstr.Rstr(random.Random(f"{self.seed} {path}")).xeger
        try:
            longest = weights.longest_match(regex)
            if longest > weights.LONGEST_MATCH:
                raise NotImplementedError(f"it may have {longest} characters, of which {weights.LONGEST_MATCH} are possible")
            make(regex)
        except (re.error, KeyError, ValueError, RecursionError, NotImplementedError) as error:
            raise ConnectError(f"{path}: no text can be made by the regex {regex}: {error}") from None
        return lambda: [make(regex) for _ in range(_MATCHES)]


def _numeric(kind: str, path: str, wants: Mapping[str, Any], logical: str) -> Generator:
    if kind in _FLOATS:
        number_schema = Schema(_FLOATS[kind])
        if "iteration" in wants:
            return _iteration(number_schema, path, wants["iteration"], float)
        low, high = _range(wants, path, 0.0, 1000.0)
        digits = wants.get("digits")
        return generators.Fractions(
            number_schema, path, low, high, None if digits is None else _integer(digits, f"{path}: digits")
        )
    type, bits = _INTEGERS[kind]
    makers: Mapping[str, tuple[Schema, Callable[[int], Any]]] = {
        "timestamp-millis": (schema.TIMESTAMP_SCHEMA, values.date_of),
        "timestamp-micros": (Schema(type), lambda milliseconds: milliseconds * 1000),
        "date": (schema.DATE_SCHEMA, generators.date),
        "time-millis": (schema.TIME_SCHEMA, generators.time_of_day),
    }
    number_schema, make = makers.get(logical, (Schema(type), None))
    if "iteration" in wants:
        if make is not None:
            raise ConnectError(f"{path} is a {logical}, which has no iteration; event.time.step.ms says how the time goes on")
        return _iteration(number_schema, path, wants["iteration"], int)
    if make is None:
        return generators.Numbers(number_schema, path, *_whole_range(wants, path, -(2 ** (bits - 1)), 2 ** (bits - 1)))
    if "range" not in wants:
        return generators.EventTime(number_schema, path, make)
    unit = generators.DAY_MS if logical == "date" else 1
    scaled = make if unit == 1 else lambda days: make(days * unit)
    return generators.Numbers(number_schema, path, *_whole_range(wants, path, 0, 2**31), scaled)


def _bytes(spec: Mapping[str, Any], path: str, wants: Mapping[str, Any], logical: str) -> Generator:
    if logical == "decimal":
        scale = _integer(spec.get("scale", 0), f"{path}: scale")
        precision = _integer(spec.get("precision", 0), f"{path}: precision")
        if not 0 < precision <= 1000 or not 0 <= scale <= precision:
            raise ConnectError(f"{path}: a decimal needs a precision from 1, and a scale from 0 to that")
        low, high = _range(wants, path, 0, 10 ** (precision - scale))
        limits = [
            round(float(limit) * 10**scale) if isinstance(limit, float) else int(limit) * 10**scale for limit in (low, high)
        ]
        if limits[0] >= limits[1]:
            raise ConnectError(f"{path}: its range has no decimal of scale {scale}")
        return generators.Numbers(schema.decimal_schema(scale), path, limits[0], limits[1], generators.decimals(scale))
    if "range" in wants:
        raise ConnectError(f"{path} has a range, which bytes have only as decimals")
    size = _integer(spec.get("size", 0), f"{path}: size")
    low, high = (size, size) if spec["type"] == "fixed" else _length(wants, path, 8, 16)
    return generators.Bytes(Schema(SchemaType.BYTES), path, low, high)


def _checked_options(own: Schema, path: str, options: Any) -> list[Any]:
    if not isinstance(options, list) or not options:
        raise ConnectError(f"{path}: options are a list with at least one value")
    return [_value(own, path, option) for option in options]


def _value(own: Any, path: str, plain: Any) -> Any:
    """Convert a value of JSON to one of the schema."""
    if plain is None and own.optional:
        return None
    try:
        if own.type is SchemaType.STRUCT:
            struct = Struct(own, {field.name: _value(field.schema, path, plain.get(field.name)) for field in own.fields})
            struct.validate()
            return struct
        if own.type is SchemaType.ARRAY:
            return [_value(own.value_schema, path, item) for item in plain]
        if own.type in (SchemaType.FLOAT32, SchemaType.FLOAT64):
            return _number(plain, path)
        if own.type is SchemaType.BYTES:
            return values.convert_to_decimal(None, plain, schema.decimal_scale(own)) if own.name else plain.encode("latin-1")
        schema.validate(own, plain)
    except ConnectError as error:
        raise ConnectError(f"{path}: the option {json.dumps(plain)[:100]} is not of its type: {error}") from None
    except (AttributeError, TypeError):
        raise ConnectError(f"{path}: the option {json.dumps(plain)[:100]} is not of its type") from None
    return plain


def _iteration(own: Schema, path: str, spec: Any, number: type[int] | type[float]) -> Generator:
    if not isinstance(spec, dict) or "start" not in spec:
        raise ConnectError(f"{path}: an iteration has a start, and may have a step and a restart")
    if wrong := [name for name in spec if name not in ("start", "step", "restart")]:
        raise ConnectError(f"{path}: an iteration has a start, a step and a restart, but no {wrong[0]}")
    check: Callable[[Any, str], Any] = _integer if number is int else _number
    start = check(spec["start"], f"{path}: start")
    restart = check(spec["restart"], f"{path}: restart") if spec.get("restart") is not None else None
    step = check(spec.get("step", -1 if restart is not None and restart < start else 1), f"{path}: step")
    if not step or (restart is not None and (restart - start) * step <= 0):
        raise ConnectError(f"{path}: the iteration never gets from {start} to its restart by steps of {step}")
    return generators.Iteration(own, path, start, step, restart)


def _length(wants: Mapping[str, Any], path: str, low: int, high: int) -> tuple[int, int]:
    spec = wants.get("length", {"min": low, "max": high + 1})
    if isinstance(spec, dict):
        low = _integer(spec.get("min", 0), f"{path}: length")
        high = _integer(spec.get("max", low + 1), f"{path}: length") - 1
    else:
        low = high = _integer(spec, f"{path}: length")
    if not 0 <= low <= high:
        raise ConnectError(f"{path}: its length is from min, 0 or more, to below max, but it is {spec}")
    return low, high


def _range(wants: Mapping[str, Any], path: str, low: Any, high: Any) -> tuple[Any, Any]:
    spec = wants.get("range", {})
    if not isinstance(spec, dict):
        raise ConnectError(f"{path}: a range has a min and a max")
    low, high = (_number(spec.get(name, limit), f"{path}: range") for name, limit in (("min", low), ("max", high)))
    if not low < high:
        raise ConnectError(f"{path}: its range is from min to below max, but {low} is not below {high}")
    return low, high


def _whole_range(wants: Mapping[str, Any], path: str, low: int, high: int) -> tuple[int, int]:
    bounds = _range(wants, path, low, high)
    return _integer(bounds[0], f"{path}: range"), _integer(bounds[1], f"{path}: range")


def _number(value: Any, what: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConnectError(f"{what} is a number, not {json.dumps(value)}")
    return value


def _integer(value: Any, what: str) -> int:
    if _number(value, what) != int(value):
        raise ConnectError(f"{what} is an integer, not {json.dumps(value)}")
    return int(value)


def _of_json_schema(spec: Any, path: str) -> dict[str, Any]:
    """The same in Avro's words."""
    if not isinstance(spec, dict):
        raise ConnectError(f"{path} has no schema")
    kind = spec.get("type")
    optional = isinstance(kind, list) and "null" in kind
    if isinstance(kind, list):
        some = [type_name for type_name in kind if type_name != "null"]
        kind = some[0] if len(some) == 1 else None
    wants = dict(spec.get("x-datagen", {}))
    avro: dict[str, Any] = {PROPERTIES: wants}
    options = [spec["const"]] if "const" in spec else spec.get("enum")
    if options is not None:
        wants["options"] = options
        kind = kind or {bool: "boolean", int: "integer", float: "number"}.get(type(options[0]) if options else str, "string")
    limits = {
        "min": spec.get("minimum", spec.get("exclusiveMinimum", 0) + ("exclusiveMinimum" in spec)),
        "max": spec.get("maximum", spec.get("exclusiveMaximum", 1000) - ("exclusiveMaximum" in spec)),
    }
    match kind:
        case "object" if isinstance(spec.get("properties"), dict):
            required = spec.get("required", ())
            avro |= {"type": "record", "name": spec.get("title", ""), "fields": []}
            for name, property_spec in spec["properties"].items():
                inner = _of_json_schema(property_spec, f"{path}.{name}")
                # Who says that null may be there, or how often, wants it; else a property is there, required or not.
                nullable = inner.pop("optional") or "null.odds" in inner[PROPERTIES]
                if not nullable and name not in required:
                    nullable, inner[PROPERTIES]["null.odds"] = True, 0
                avro["fields"].append({"name": name, "type": ["null", inner] if nullable else inner})
        case "object":
            avro |= {"type": "map", "values": _without_optional(spec.get("additionalProperties"), f"{path}[]")}
        case "array":
            avro |= {"type": "array", "items": _without_optional(spec.get("items"), f"{path}[]")}
            if "minItems" in spec or "maxItems" in spec:
                low = spec.get("minItems", 0)
                wants.setdefault("length", {"min": low, "max": spec.get("maxItems", low + 3) + 1})
        case "string" if spec.get("format") in _TIMES:
            avro["type"], avro["logicalType"] = _TIMES[spec["format"]]
        case "string":
            avro["type"] = "string"
            if not wants and "pattern" in spec:
                wants["regex"] = spec["pattern"]
            elif not wants and spec.get("format") in _FORMATS:
                wants |= _FORMATS[spec["format"]]
            elif not wants and ("minLength" in spec or "maxLength" in spec):
                low = spec.get("minLength", 0)
                wants["length"] = {"min": low, "max": spec.get("maxLength", low + 8) + 1}
        case "integer":
            avro["type"] = "long"
            if not wants:
                wants["range"] = {"min": limits["min"], "max": max(limits["max"], limits["min"]) + 1}
        case "number":
            avro["type"] = "double"
            if not {"options", "range", "iteration"} & wants.keys():
                wants["range"] = limits
        case "boolean":
            avro["type"] = "boolean"
        case _:
            raise ConnectError(f"{path} is of the type {json.dumps(spec.get('type'))}, of which no values can be made")
    return {**avro, "optional": optional}


def _without_optional(spec: Any, path: str) -> Any:
    avro = _of_json_schema(spec, path)
    return ["null", avro] if avro.pop("optional") else avro
