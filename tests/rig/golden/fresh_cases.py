"""
Random golden cases without results, for `fresh.py` to have answered. A case depends on the seed and its number alone, so that
one that differs can be had again.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

from tests.rig.golden.errors import Case
from tests.rig.golden.fresh_data import MILLIS, NAMES, Data, untyped

TRANSFORMS = "org.apache.kafka.connect.transforms."
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
OF_KEY_OR_VALUE = (
    "Cast", "ExtractField", "Flatten", "HeaderFrom", "HoistField", "InsertField", "MaskField", "ReplaceField",
    "SetSchemaMetadata", "TimestampConverter",
)  # fmt: skip
OF_RECORDS = ("DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter", "ValueToKey")
NUMBERS = ("Boolean", "Short", "Integer", "Long", "Float", "Double")
CASTS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
PATHS = (
    "a", "sub.a", "a.b", "`a.b`", "`a.b`.c", "b.`b.c`", "a.", "..", ".a", "", "`a`", "a`b", "``", "`a.b", "`a`b", "a..b",
    "`x y`",
)  # fmt: skip
DATE_PATTERNS = (
    "yyyy-MM-dd", "yyyy-MM-dd'T'HH:mm:ss.SSS", "HH:mm", "EEE, d MMM yyyy HH:mm:ss z", "yyyyMMdd", "yyyy-MM-dd HH:mm:ssXXX",
    "dd/MM/yy hh:mm a", "yyyy-DDD", "YYYY-'W'ww-u", "G y", "''yyyy''", "SSS", "HHmmssZ", "bad", "yyyy'", "",
)  # fmt: skip
PATTERNS = (
    "(.*)-(.*)", "orders", "o.*", r"my\.(.*)", "(?<x>.*)", "([a-z]+)[-.]?(.*)", "(?i)ORDERS", r"\w+", "[^.]+", "(a|o)(r+)?.*",
    "(", r"(.)(.)\2?.*", ".*?s", r"^\p{Alpha}+$", "", r"t-\d",
)  # fmt: skip
REPLACEMENTS = ("$1", "x", "$2-$1", "${x}", "\\$1", "$", "$3", "a$1b$1", "", "\\")
TOPICS = ("orders", "my.topic", "t-1", "Orders", "ürders", "a.b-c")
DATES = ("2023-11-14T22:13:20.123Z", "2023-11-14", "Tue, 14 Nov 2023 22:13:20 PST", "20231114", "14/11/23 10:13 PM")
CONVERSIONS = (
    "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "String", "List", "Map", "Struct", "Date", "Time",
    "Timestamp", "Decimal",
)  # fmt: skip


def case(seed: int, number: int) -> tuple[str, Case]:
    """The name of a format, and a case of it."""
    made = Cases(random.Random(f"{seed}-{number}"))
    names = [name for name, (share, _) in FORMATS.items() for _ in range(share)]
    name = names[number % len(names)]
    return name, {"id": f"fresh-{seed}-{number}", **FORMATS[name][1](made)}


class Cases(Data):
    def transform(self) -> Case:
        predicate = self.step_predicate() if self.chance(0.15) else None
        name, config = self.a_transform()
        # A record without a timestamp is shown where one is needed.
        self.bytes_too = "timestamp.field" not in config and "TimestampRouter" not in name
        kind = self.one("source", "sink")
        return {"kind": kind, "class": name, "config": config, "predicate": predicate, "in": self.record(kind, name)}

    def predicate(self) -> Case:
        asked = self.step_predicate()
        kind = self.one("source", "sink")
        return {"kind": kind, "class": asked["class"], "config": asked["config"], "in": self.record(kind)}

    def chain(self) -> Case:
        kind = self.one("source", "sink")
        steps = []
        for _ in range(self.one(1, 2, 3)):
            # Only settings that can be used, for a chain is configured before it is run. And no transform that fails on the
            # first of several entries of a map: the order that a map has after another transform is Java's secret.
            config = {
                "HoistField$Value": {"field": "a"},
                "InsertField$Value": {"static.field": "a", "static.value": "v"},
                "ValueToKey": {"fields": self.names(1, 3)},
                "DropHeaders": {"headers": "h1"},
                "Filter": {},
                "ReplaceField$Value": {"exclude": self.names(1, 4), "renames": "a:new"},
            }
            name = self.random.choice(list(config))
            asked = {**self.step_predicate(), "config": {}} if name == "Filter" or self.chance(0.3) else None
            if asked is not None:
                asked["class"] = f"{TRANSFORMS}predicates.RecordIsTombstone"
            steps.append({"class": TRANSFORMS + name, "config": config[name], "predicate": asked})
        return {"kind": kind, "steps": steps, "ins": [self.record(kind) for _ in range(3)]}

    def step_predicate(self) -> Case:
        name = self.one("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
        config = {
            "HasHeaderKey": {"name": self.one("h1", "trace", "nope", "", " h1 ")},
            "RecordIsTombstone": {},
            "TopicNameMatches": {"pattern": self.random.choice(PATTERNS)},
        }[name]
        return {"class": f"{TRANSFORMS}predicates.{name}", "config": config, "negate": self.chance(0.5)}

    def record(self, kind: str, of: str = "") -> Case:
        headers = []
        for _ in range(self.one(0, 0, 1, 3)):
            # A header's value is checked when it is added.
            body = self.schema(1)
            value = self.typed(body, nulls=body["optional"]) if self.chance(0.6) else untyped(*self.free(1))
            headers.append({"name": self.one("h1", "h2", "trace", "H1"), "value": value})
        key, value = self.envelope(0.3, 1), self.envelope()
        if of.endswith("$Key"):
            key = self.envelope()
        made = {
            "topic": self.random.choice(TOPICS),
            "partition": self.one(None, 0, 3) if kind == "source" else self.one(0, 3),
            "timestamp": self.one(None, *MILLIS),
            "key": key,
            "value": value,
            "headers": headers,
        }
        return made if kind == "source" else {**made, "offset": self.one(0, 42, 1 << 40)}

    def names(self, least: int, most: int) -> str:
        return ",".join(self.one(*NAMES, "nope") for _ in range(self.random.randrange(least, most)))

    def a_transform(self) -> tuple[str, dict[str, Any]]:
        base = self.one(*OF_KEY_OR_VALUE, *OF_KEY_OR_VALUE, *OF_RECORDS)
        config: dict[str, Any] = getattr(self, f"_of_{base}")()
        if base in ("Cast", "ExtractField", "HeaderFrom", "InsertField", "MaskField", "ReplaceField", "TimestampConverter",
                    "ValueToKey", "SetSchemaMetadata") and self.chance(0.4):  # fmt: skip
            config["replace.null.with.default"] = self.one("true", "false", "false", "no" if self.chance(0.1) else "true")
        if config and self.chance(0.03):
            config.pop(self.random.choice(list(config)))
        return TRANSFORMS + base + (self.one("$Key", "$Value", "$Value") if base in OF_KEY_OR_VALUE else ""), config

    def _of_Cast(self) -> Case:
        if self.chance(0.25):
            odd = ("bytes", " Int8 ", "struct", "a:", "a::", ":int8", ":", "", ",", "int8,int8", "a:int8,b")
            return {"spec": self.one(*CASTS, *odd)}
        names = self.random.sample(NAMES, self.random.randrange(1, 6))
        return {"spec": self.one(",", " , ").join(f"{name}:{self.random.choice(CASTS)}" for name in names)}

    def _of_DropHeaders(self) -> Case:
        return {"headers": self.one("h1", "h1,h2", "trace", "", "a,,b", "h1,h1", " h1 , H1 ")}

    def _of_ExtractField(self) -> Case:
        if self.chance(0.5):
            return {"field": self.random.choice(NAMES)}
        return {"field": self.random.choice(PATHS), "field.syntax.version": self.one("V2", "V2", "v2", "V1", "V3")}

    def _of_Filter(self) -> Case:
        return {}

    def _of_Flatten(self) -> Case:
        return {"delimiter": self.one("_", ".", "", "::")} if self.chance(0.6) else {}

    def _of_HeaderFrom(self) -> Case:
        count = self.random.randrange(1, 4)
        fields = self.random.sample(NAMES, count)
        headers = ",".join(self.one("h1", "h2", "hx") for _ in range(count + self.chance(0.05)))
        return {"fields": ",".join(fields), "headers": headers, "operation": self.one("move", "copy", "move", "MOVE")}

    def _of_HoistField(self) -> Case:
        return {"field": self.one("a", "x y", "", " ")}

    def _of_InsertField(self) -> Case:
        config = {}
        for part in ("topic", "partition", "timestamp", "static", "offset"):
            if self.chance(0.12 if part == "offset" else 0.45):
                config[f"{part}.field"] = self.one("n1", "n2!", "n3?", "n4", "n5", "a", "a!", "!", "n!!", "n?!")
        if self.chance(0.8):
            config["static.value"] = self.one("v", "", "ü")
        return config

    def _of_InsertHeader(self) -> Case:
        return {"header": self.one("h1", "new", ""), "value.literal": self.literal()}

    def _of_MaskField(self) -> Case:
        config = {"fields": self.names(1, 6)}
        if self.chance(0.5):
            odd = (" 8 ", "true", "NaN", "9" * 20, "", "0x10", "٣")
            config["replacement"] = self.one("x", "7", "300", "1.5", "-1", "1e2", *odd)
        return config

    def _of_RegexRouter(self) -> Case:
        return {"regex": self.random.choice(PATTERNS), "replacement": self.random.choice(REPLACEMENTS)}

    def _of_ReplaceField(self) -> Case:
        config = {}
        if self.chance(0.5):
            config["exclude"] = self.names(0, 4)
        if self.chance(0.4):
            config["include"] = self.names(0, 4)
        if self.chance(0.5):
            renames = (f"{self.one(*NAMES)}:{self.one(*NAMES, 'new', 'n2')}" for _ in range(self.one(1, 2, 3)))
            config["renames"] = ",".join(renames)
        if self.chance(0.08):
            config["renames"] = self.one("a", "a:", "a:b:", "a::b", ":b", ":", "a:b,", "", "a:b:c", " a : b ")
        return config

    def _of_SetSchemaMetadata(self) -> Case:
        config = {}
        if self.chance(0.6):
            config["schema.name"] = self.one("new", "", " x ")
        if self.chance(0.6):
            config["schema.version"] = self.one("7", "-1", "+3", "x", "", " 4 ")
        return config

    def _of_TimestampConverter(self) -> Case:
        config = {"target.type": self.one("string", "unix", "Date", "Time", "Timestamp", "Timestamp", "date")}
        if self.chance(0.7):
            config["field"] = self.random.choice(NAMES)
        if self.chance(0.7):
            config["format"] = self.random.choice(DATE_PATTERNS)
        if self.chance(0.4):
            config["unix.precision"] = self.one("nanoseconds", "microseconds", "milliseconds", "seconds", "days")
        return config

    def _of_TimestampRouter(self) -> Case:
        config = {}
        if self.chance(0.6):
            config["topic.format"] = self.one("${topic}-${timestamp}", "x", "${timestamp}", "${topic}${topic}", "$1")
        if self.chance(0.6):
            config["timestamp.format"] = self.random.choice(DATE_PATTERNS)
        return config

    def _of_ValueToKey(self) -> Case:
        return {"fields": self.names(1, 4) if self.chance(0.93) else self.one("", ",", "a,,b")}

    # --- converters ---

    def converter(self) -> Case:
        name, config = self._a_converter()
        made = {"converter": name, "config": config, "isKey": self.chance(0.5), "topic": "t"}
        return {**made, **self._conversion(name, "Data")}

    def sequence(self) -> Case:
        name, config = self._a_converter(broken=False)
        steps = [self._conversion(name, "Data") for _ in range(3)]
        return {"converter": name, "config": config, "isKey": False, "topic": "t", "steps": [*steps, steps[0]]}

    def header_converter(self) -> Case:
        name, config = (SIMPLE, {}) if self.chance(0.5) else self._a_converter()
        return {"converter": name, "config": config, "topic": "t", "header": "h", **self._conversion(name, "Header")}

    def _a_converter(self, broken: bool = True) -> tuple[str, Case]:
        of = self.random.random()
        if of < 0.65:
            config: Case = {}
            if self.chance(0.5):
                config["schemas.enable"] = self.one("true", "false")
            if self.chance(0.3):
                config["decimal.format"] = self.one("numeric", "BASE64", "Numeric", "hex" if broken else "base64")
            if self.chance(0.3):
                config["replace.null.with.default"] = self.one("true", "false")
            if self.chance(0.1):
                config["schemas.cache.size"] = self.one("0", "1", "5")
            return JSON, config
        if of < 0.8:
            # An encoding that isn't known fails differently from one Java to the next.
            return STRING, self.one({}, {"encoding": "ISO-8859-1"}, {"converter.encoding": "UTF-16"}, {"encoding": "US-ASCII"})
        return f"org.apache.kafka.connect.converters.{self.one(*NUMBERS, 'ByteArray')}Converter", {}

    def _conversion(self, name: str, of: str) -> Case:
        if self.chance(0.5):
            self.bytes_too = name != STRING
            envelope = self.anything() if name in (JSON, STRING, SIMPLE) else self._near_number()
            return {"direction": f"fromConnect{of}", "in": envelope}
        if self.chance(0.05):
            data = None
        elif name == JSON:
            data = json.dumps(self._json_text(), ensure_ascii=self.chance(0.5)).encode("utf-8", "surrogatepass")
            if self.chance(0.05):
                data = data[: self.random.randrange(len(data))]
        elif name in (STRING, SIMPLE):
            data = (self.literal() if name == SIMPLE else self.text()).encode()
        else:
            data = self.random.randbytes(self.one(1, 2, 4, 8, self.random.randrange(10)))
            if "Boolean" in name and self.chance(0.8):
                data = bytes([self.one(0, 1, 2)])
        encoded = None if data is None else base64.b64encode(data).decode()
        return {"direction": f"toConnect{of}", "bytes_base64": encoded}

    def _near_number(self) -> Case:
        kind = self.one("int16", "int32", "int64", "float", "double", "boolean", "bytes", "string")
        body = {"type": kind, "optional": self.chance(0.5)}
        return self.typed(body) if self.chance(0.7) else untyped(*self.free(0))

    def _json_text(self) -> Any:
        """An envelope as the converter reads it, sometimes with something wrong."""
        body = self.schema()
        payload = self.value(body)
        if self.chance(0.15):
            payload = self.free()[0]
        if self.chance(0.1):
            body.pop(self.random.choice(list(body)))
        if self.chance(0.05):
            return payload
        whole = {"schema": None if self.chance(0.1) else body, "payload": payload}
        if self.chance(0.05):
            whole.pop(self.one("schema", "payload"))
        return whole

    # --- data ---

    def literal(self, depth: int = 2) -> str:
        of = self.random.random()
        if of < 0.5 or not depth:
            return self._scalar()
        space = self.one("", "", "", " ")
        count = self.random.randrange(4)
        elements = [self._quoted() if self.chance(0.3) else self.literal(depth - 1) for _ in range(count)]
        if of < 0.75:
            return f"[{f',{space}'.join(elements)}]"
        return "{" + f",{space}".join(f"{self._name(depth)}{space}:{element}" for element in elements) + "}"

    def _scalar(self) -> str:
        return self.one(self.text(), str(self.integer(self.one(8, 16, 32, 64))), repr(self.random.uniform(-1e5, 1e5)))

    def _quoted(self) -> str:
        return f'"{self.text()}"'

    def _name(self, depth: int) -> str:
        """A key of a map. What is in an inner map with other keys than texts, the types of an envelope have no way to say."""
        if depth < 2:
            return f'"{self.random.choice(NAMES)}"'
        # A map as a key is no value of ours, and true and 1 are one and the same.
        return self._quoted() if self.chance(0.5) else str(self.integer(self.one(8, 16, 32, 64)))

    def parse(self) -> Case:
        return {"text": self.literal() if self.chance(0.97) else self.one(None, "null")}

    def convert(self) -> Case:
        self.bytes_too, self.text_keys = False, True
        function = self.random.choice(CONVERSIONS)
        made = {"function": f"convertTo{function}", "in": self.anything()}
        return {**made, "scale": self.one(0, 2)} if function == "Decimal" else made

    def projection(self) -> Case:
        source = self.typed(self.struct(1) if self.chance(0.6) else self.schema(1))
        return {"in": source, "target": self._changed(source["schema"]) if self.chance(0.9) else self.schema(1)}

    def _changed(self, body: Case) -> Case:
        """A schema much like another: numbers wider, fields gone or new, optional or no longer."""
        made = dict(body)
        wider = {"int8": "int16", "int16": "int64", "int32": "int64", "int64": "double", "float": "double"}
        if self.chance(0.3) and made["type"] in wider and "name" not in made and "default" not in made:
            made["type"] = wider[made["type"]]
        if self.chance(0.2):
            made["optional"] = not made["optional"]
        if self.chance(0.05):
            made["name"] = "other"
        if "items" in made:
            made["items"] = self._changed(made["items"])
        if "fields" in made:
            fields = [{**self._changed(field), "field": field["field"]} for field in made["fields"] if self.chance(0.9)]
            if self.chance(0.3):
                fields.append({**self.schema(0), "field": "new"})
            made["fields"] = fields
        return made

    def validation(self) -> Case:
        body = self.schema(1)
        given = untyped(*self.free()) if self.chance(0.7) else self.typed(self._changed(body) if self.chance(0.5) else body)
        made = {"schema": body, "in": given}
        return {**made, "field": "my field"} if self.chance(0.3) else made

    # --- texts ---

    def regex(self) -> Case:
        pattern, replacement = self.random.choice(PATTERNS), self.random.choice(REPLACEMENTS)
        return {"kind": "regex", "pattern": pattern, "input": self.random.choice(TOPICS), "replacement": replacement}

    def date_format(self) -> Case:
        pattern = self.random.choice(DATE_PATTERNS)
        if self.chance(0.5):
            return {"kind": "format", "pattern": pattern, "millis": self.one(self.millis(), self.integer(64))}
        digits = "".join(self.one(*"0123456789-:. T/ADZ") for _ in range(self.random.randrange(12)))
        text = self.one(digits, *DATES)
        return {"kind": "parse", "pattern": pattern, "text": text}


FORMATS: dict[str, tuple[int, Callable[[Cases], Case]]] = {
    "transforms": (24, Cases.transform),
    "converters": (10, Cases.converter),
    "header_converters": (4, Cases.header_converter),
    "values": (4, Cases.parse),
    "values_convert": (4, Cases.convert),
    "projector": (3, Cases.projection),
    "validate": (3, Cases.validation),
    "chains": (2, Cases.chain),
    "predicates": (2, Cases.predicate),
    "converter_sequences": (1, Cases.sequence),
    "java_regex": (1, Cases.regex),
    "simple_date_format": (2, Cases.date_format),
}
"""How many of each sixty cases are of a format, and what makes them."""
