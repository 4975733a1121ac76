"""
Random schemas, values and texts as JSON, for `fresh_cases.py`: awkward ones more often than chance would have them.

Envelopes as `envelopes.py` reads them, with one more thing: the text `"-0.0"` for a float is that number.
"""

from __future__ import annotations

import base64
import random
import struct
from typing import Any

from kconnect.data import schema as schemas
from tests.rig.golden.errors import Case

NAMES = ("a", "b", "c", "d", "e", "f_1", "a.b", "b.c", "`q`", "x y", "Ω", "id", "sub")
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
PRIMITIVES = (*BITS, "float", "double", "boolean", "string", "string", "bytes")
LOGICAL = ("decimal", "date", "time", "timestamp")
DAY_MS = 86_400_000

TEXTS = (
    "", "x", "héllo", "😀", "12", "-7", "+5", "300", "70000", "5000000000", "99999999999999999999", "1.5", "-0.0", "1e3",
    "1e40", "1e400", "-1e-400", "NaN", "Infinity", "-Infinity", "0x10", "1.5f", " 12 ", "\t7\n", "true", "TRUE", "false",
    "null", "1_000", "٣٤", "１２", ".5", "5.", ".", "-", "1e", "16777217", "[1,2]", '{"a":1}', "2020-01-02", "03:04:05.678Z",
    "2020-01-02T03:04:05.678Z", "1969-12-31T23:59:59.999Z", '"q"', "a\\b", "a,b", "\u00a07", "null ",
)  # fmt: skip
FLOATS = (
    0.0, 1.5, -2.5, 0.5, -0.999, 1e10, 3e9, -3e9, 1e19, -1e19, 1e300, 5e-324, 0.1, 123456.789, 1e7, 0.001, 9.99e-4, 16777217.0,
    4294967298.7, 128.0, -129.9, 1e-5, 9007199254740994.0, 1e22, 1e38, 1e39, 1e-40,
)  # fmt: skip
NO_JSON_NUMBERS = ("NaN", "Infinity", "-Infinity", "-0.0")
MILLIS = (0, 1, 999, 86_400_000, 1_700_000_000_123, -1, -86_400_000, 1_577_923_200_000, 3_600_000, 253_402_300_799_999)


class Data:
    """All that follows comes from `random` alone: a seed gives the same again."""

    def __init__(self, random: random.Random) -> None:
        self.random = random
        self.bytes_too = True
        """Not in what may be shown as a text: that of bytes is where they are in Java's memory."""
        self.text_keys = False
        """For what comes out without a schema: of a map with other keys the types of an envelope can't say what is in it."""

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def integer(self, bits: int) -> int:
        most = (1 << bits - 1) - 1
        # Of a double above that Java 17 writes a digit too many now and then (JDK-4511638).
        large, small = min(most, 10**15), min(most, 1000)
        chosen = self.random.randint(-large, large), self.random.randint(-small, small)
        return self.one(0, 1, -1, 7, most, -most - 1, *chosen)

    def number(self) -> float | str:
        if self.chance(0.2):
            return self.random.choice(NO_JSON_NUMBERS)
        return self.one(self.random.choice(FLOATS), self.random.uniform(-1e6, 1e6), self.random.random())

    def millis(self) -> int:
        return self.one(self.random.choice(MILLIS), self.random.randrange(-(10**12), 3 * 10**12))

    def unscaled(self) -> int:
        chosen = self.random.randrange(-(10**9), 10**9)
        return self.one(0, 1, -1, 100, 12345, -99999, 1 << 31, 1 << 63, -(1 << 64) - 5, 10**30, chosen)

    def bytes(self) -> str:
        return self.one("", "AP8=", "YWJj", _base64(self.random.randbytes(self.random.randrange(9))))

    # --- with a schema ---

    def schema(self, depth: int = 2, optional: bool | None = None) -> Case:
        kinds = [*PRIMITIVES, *LOGICAL, *(("array", "map", "struct", "struct") if depth else ())]
        kind = self.random.choice([kind for kind in kinds if kind != "bytes" or self.bytes_too])
        body: Case = {"type": kind, "optional": self.chance(0.4) if optional is None else optional}
        if kind in LOGICAL:
            body.update(self._logical(kind))
        else:
            self._describe(body)
        if kind == "array":
            body["items"] = self.schema(depth - 1)
        elif kind == "map":
            keys = "string" if self.text_keys else self.one("string", "string", "string", "int32", "int64")
            body.update(keys={"type": keys, "optional": False}, values=self.schema(depth - 1))
        elif kind == "struct":
            body.update(self._fields(depth - 1))
        elif kind != "bytes" and self.chance(0.3):
            # Bytes are equal only to themselves in Java, and a struct's default can't be read from JSON.
            body["default"] = self.value(body, False)
            if body["default"] in NO_JSON_NUMBERS and kind != "string":
                del body["default"]
        return body

    def struct(self, depth: int = 2) -> Case:
        body: Case = {"type": "struct", "optional": self.chance(0.3), **self._fields(depth)}
        self._describe(body)
        return body

    def _fields(self, depth: int) -> Case:
        names = self.random.sample(NAMES, self.one(0, 1, 2, 3, 4, 5))
        return {"fields": [{**self.schema(depth), "field": name} for name in names]}

    def _logical(self, kind: str) -> Case:
        if kind == "decimal":
            scale = str(self.one(0, 2, 5, -1))
            return {"type": "bytes", "name": schemas.DECIMAL, "version": 1, "parameters": {"scale": scale}}
        name, of = {
            "date": (schemas.DATE, "int32"),
            "time": (schemas.TIME, "int32"),
            "timestamp": (schemas.TIMESTAMP, "int64"),
        }[kind]
        return {"type": of, "name": name, "version": 1}

    def _describe(self, body: Case) -> None:
        if self.chance(0.12):
            body["name"] = self.one("n1", "com.acme.X")
        if self.chance(0.1):
            body["version"] = self.one(1, 2, 3)
        if self.chance(0.1):
            body["doc"] = self.one("doc", "")
        if self.chance(0.08):
            body["parameters"] = {"p": "1", "q": "2"}

    def value(self, body: Case, nulls: bool = True) -> Any:
        """A payload that fits."""
        if nulls and self.chance(0.25) and (body["optional"] or body.get("default") is not None):
            return None
        kind, name = body["type"], body.get("name")
        if name == schemas.DECIMAL:
            unscaled = self.unscaled()
            return _base64(unscaled.to_bytes((unscaled + (unscaled < 0)).bit_length() // 8 + 1, "big", signed=True))
        if name == schemas.DATE:
            return self.one(0, 1, 19_000, -5, self.random.randrange(-20_000, 40_000))
        if name == schemas.TIME:
            return self.one(0, 1, DAY_MS - 1, self.random.randrange(DAY_MS))
        if name == schemas.TIMESTAMP:
            return self.millis()
        if kind in BITS:
            return self.integer(BITS[kind])
        if kind in ("float", "double"):
            return _narrow(self.number()) if kind == "float" else self.number()
        if kind == "boolean":
            return self.chance(0.5)
        if kind == "string":
            return self.text()
        if kind == "bytes":
            return self.bytes()
        if kind == "array":
            return [self.value(body["items"], body["items"]["optional"]) for _ in range(self.random.randrange(3))]
        if kind == "struct":
            return {field["field"]: self.value(field) for field in body["fields"]}
        pairs = {
            self.value(body["keys"], False): self.value(body["values"], body["values"]["optional"])
            for _ in range(self.random.randrange(3))
        }
        ordered = _as_a_java_map(pairs, body["keys"]["type"] == "int64")
        return ordered if body["keys"]["type"] == "string" else [list(pair) for pair in ordered.items()]

    # --- without ---

    def free(self, depth: int = 2) -> tuple[Any, Any]:
        """A payload and its types."""
        kinds = ("string", "string", "int64", "int64", "float64", "boolean", "null")
        odd = ["int8", "int16", "int32", "float32", "decimal", "bigint", "date"]
        if self.bytes_too:
            odd += ["bytes", "bytebuffer"]
        kind = self.random.choice((*kinds, *odd, *(("list", "map", "map", "map", "map") if depth else ())))
        if kind == "list":
            items = [self.free(depth - 1) for _ in range(self.random.randrange(4))]
            types = [of for _, of in items]
            return [payload for payload, _ in items], types if any(of is not None for of in types) else None
        if kind == "map":
            return self.free_map(depth - 1)
        if kind in BITS:
            return self.integer(BITS[kind]), None if kind == "int64" else kind
        if kind in ("float64", "float32"):
            number = self.number()
            return number, kind if kind == "float32" or isinstance(number, str) else None
        plain = {
            "string": self.text,
            "boolean": lambda: self.chance(0.5),
            "null": lambda: None,
            "decimal": lambda: self.one("0", "1.50", "-12.345", "1E+3", "1E-10", str(self.unscaled())),
            "bigint": lambda: str(self.one(1 << 63, -(1 << 70), 10**30)),
            "date": self.millis,
        }
        return plain.get(kind, self.bytes)(), None if kind in kinds else kind

    def free_map(self, depth: int = 2) -> tuple[Any, Any]:
        names = self.random.sample(NAMES, self.one(0, 1, 2, 3, 5))
        made = {name: self.free(depth) for name in _as_a_java_map(dict.fromkeys(names))}
        types = {name: of for name, (_, of) in made.items() if of is not None}
        return {name: payload for name, (payload, _) in made.items()}, types or None

    # --- envelopes ---

    def envelope(self, structs: float = 0.5, depth: int = 2) -> Case:
        """As a record's key or value: mostly a struct or a map."""
        at = self.random.random()
        if at < structs:
            return self.typed(self.struct(depth))
        if at < structs + 0.1:
            return self.typed(self.schema(1))
        if at > 0.92:
            return {"schema": None, "payload": None}
        return untyped(*(self.free_map(depth) if self.chance(0.85) else self.free(depth)))

    def typed(self, body: Case, nulls: bool = True) -> Case:
        return {"schema": body, "payload": self.value(body, nulls)}

    def anything(self) -> Case:
        return self.typed(self.schema()) if self.chance(0.6) else untyped(*self.free())


def untyped(payload: Any, types: Any) -> Case:
    return {"schema": None, "payload": payload, **({} if types is None else {"types": types})}


def _narrow(number: float | str) -> float | str:
    if isinstance(number, str):
        return number
    try:
        return float(struct.unpack(">f", struct.pack(">f", number))[0]) or 0.0
    except OverflowError:
        return 1.5


def _as_a_java_map(pairs: dict[Any, Any], long: bool = False) -> dict[Any, Any]:
    """In the order in which a HashMap of 16 buckets goes through them, so that both sides meet the same error first."""

    def bucket(key: Any) -> int:
        if isinstance(key, int):
            code = (key ^ key >> 32 if long else key) & 0xFFFFFFFF
        else:
            code = 0
            data = key.encode("utf-16-be", "surrogatepass")
            for at in range(0, len(data), 2):
                code = (code * 31 + int.from_bytes(data[at : at + 2], "big")) & 0xFFFFFFFF
        return (code ^ code >> 16) & 15

    return dict(sorted(pairs.items(), key=lambda pair: bucket(pair[0])))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
