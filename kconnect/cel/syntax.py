"""
CEL's grammar: parses an expression's text to a tree, or says what is wrong and where.

Called by `compiler.py`. Text and nesting are limited, so that no expression can make this parser, or code that walks its tree,
recurse too deep. Read next: `compiler.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

MAX_LENGTH = 4096
MAX_NESTING = 40
MAX_DEPTH = 120
"""Of the tree: `a + b + c` is as deep as it has operands, although nothing is nested."""


class CelError(Exception):
    """An expression that can't be compiled or evaluated. `at` is the place in its text, counted from 1, where known."""

    def __init__(self, message: str, at: int | None = None) -> None:
        self.message, self.at = message, at
        super().__init__(message if at is None else f"{message} (at character {at})")


class Uint(int):
    """CEL's unsigned integer, which is no int."""


@dataclass(frozen=True)
class Node:
    at: int

    @property
    def children(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True)
class Literal(Node):
    value: Any


@dataclass(frozen=True)
class Ident(Node):
    name: str


@dataclass(frozen=True)
class Select(Node):
    """`operand.field`; with `test` it is `has(operand.field)`."""

    operand: Node
    field: str
    test: bool = False

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class Call(Node):
    """Operators are calls too, by the names `+`, `[]`, `?:`, `-x`, `!x`; those of `&&` and `||` have two or more arguments."""

    function: str
    target: Node | None
    args: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.args if self.target is None else (self.target, *self.args)


@dataclass(frozen=True)
class MakeList(Node):
    items: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.items


@dataclass(frozen=True)
class MakeMap(Node):
    entries: tuple[tuple[Node, Node], ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return tuple(part for entry in self.entries for part in entry)


@dataclass(frozen=True)
class Macro(Node):
    """`over.kind(variable, body)`; `map` of three arguments has a `condition` before its body."""

    kind: str
    over: Node
    variable: str
    body: Node
    condition: Node | None = None

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.over, self.body) if self.condition is None else (self.over, self.condition, self.body)


MACROS = ("all", "exists", "exists_one", "existsOne", "filter", "map")

_RESERVED = frozenset(
    (
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)
_WORDS = {"true": True, "false": False, "null": None}
_BINARY = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
"""Operators from the weakest to the strongest; all are left-associative."""

_TOKEN = re.compile(
    r"""
      (?P<blank>(?:[ \t\n\f\r]+|//[^\n]*)+)
    | (?P<text>[rR]?[bB]?[rR]?(?:\"{3}|'{3}|["']))
    | (?P<float>(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+))
    | (?P<int>(?:0[xX][0-9a-fA-F]+|[0-9]+)[uU]?)
    | (?P<ident>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>\|\||&&|==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.|\Z))", re.DOTALL
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class _Token(NamedTuple):
    kind: str
    text: str
    at: int
    value: Any = None


def parse(text: str) -> Node:
    """CelError, with its place, if this is no CEL or more than the limits allow."""
    if len(text) > MAX_LENGTH:
        raise CelError(f"it is {len(text)} characters long, but may have {MAX_LENGTH} at most")
    if not text.strip():
        raise CelError("it is empty")
    parser = _Parser(list(_tokens(text)))
    node = parser.expression()
    parser.expect("end")
    _check_depth(node)
    return node


def _check_depth(root: Node) -> None:
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise CelError(
                f"more than {MAX_DEPTH} operations depend on each other; put parentheses around parts of them", level[0].at
            )
        level = [child for node in level for child in node.children]


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise CelError(f"{text[place]!r} is not valid in CEL", place + 1)
        kind, token, at = str(match.lastgroup), match.group(), place + 1
        place = match.end()
        if kind == "text":
            value, place = _quoted(text, token, place, at)
            yield _Token("literal", token, at, value)
        elif kind == "int":
            yield _Token("int", token, at)
        elif kind == "float":
            yield _Token("literal", token, at, float(token))
        elif kind == "ident":
            yield _Token("in" if token == "in" else "ident", token, at)
        elif kind == "sign":
            yield _Token(token, token, at)
    yield _Token("end", "the end", len(text) + 1)


def _quoted(text: str, opening: str, start: int, at: int) -> tuple[str | bytes, int]:
    prefix = opening.rstrip("\"'").lower()
    if prefix not in ("", "r", "b", "rb", "br"):
        raise CelError(f"texts begin with a quote, r, b or rb, not with {prefix}", at)
    quote, raw, place = opening[len(prefix) :], "r" in prefix, start
    while not text.startswith(quote, place):
        if place >= len(text) or (len(quote) == 1 and text[place] in "\r\n"):
            raise CelError(f"the text that begins here has no {quote} at its end", at)
        place += 2 if text[place] == "\\" and not raw else 1
    inside, end = text[start:place], place + len(quote)
    if "b" in prefix:
        return (inside.encode() if raw else b"".join(_unescaped(inside, at, True))), end
    return (inside if raw else b"".join(_unescaped(inside, at, False)).decode()), end


def _unescaped(inside: str, at: int, as_bytes: bool) -> Iterator[bytes]:
    place = 0
    for match in _ESCAPE.finditer(inside):
        yield inside[place : match.start()].encode()
        place = match.end()
        simple, two, four, eight, octal, invalid = match.groups()
        if invalid is not None or (as_bytes and (four or eight)):
            raise CelError(f"{match.group()} is not an escape in CEL; for a backslash, write two, or put r before the text", at)
        if simple is not None:
            yield _SIMPLE.get(simple, simple).encode()
            continue
        code = int(octal, 8) if octal else int(two or four or eight, 16)
        if as_bytes:
            yield bytes((code,))
        elif code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise CelError(f"{match.group()} is not a Unicode character", at)
        else:
            yield chr(code).encode()
    yield inside[place:].encode()


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._nesting = 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *kinds: str) -> _Token | None:
        token = self._token
        if token.kind not in kinds:
            return None
        self._next += 1
        return token

    def expect(self, kind: str) -> _Token:
        token = self._take(kind)
        if token is None:
            expected = {"end": "nothing more", "ident": "a name"}.get(kind, kind)
            raise CelError(f"expected {expected}, found {self._token.text}", self._token.at)
        return token

    def expression(self) -> Node:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise CelError(f"parentheses, brackets and calls may be nested {MAX_NESTING} deep at most", self._token.at)
        node = self._binary(0)
        if (sign := self._take("?")) is not None:
            yes = self._binary(0)
            self.expect(":")
            node = Call(sign.at, "?:", None, (node, yes, self.expression()))
        self._nesting -= 1
        return node

    def _binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while (sign := self._take(*_BINARY[level])) is not None:
            right = self._binary(level + 1)
            if level < 2 and isinstance(left, Call) and left.function == sign.kind:
                # Nothing depends on how these are grouped, and a long chain is not deep so.
                left = Call(left.at, sign.kind, None, (*left.args, right))
            else:
                left = Call(sign.at, sign.kind, None, (left, right))
        return left

    def _unary(self) -> Node:
        signs = []
        while (sign := self._take("!", "-")) is not None:
            signs.append(sign)
        if len({sign.kind for sign in signs}) > 1:
            raise CelError("- and ! can't be mixed without parentheses", signs[0].at)
        if signs and signs[0].kind == "-" and self._token.kind == "int":
            # The smallest int has no positive twin.
            token = signs.pop()
            self._tokens[self._next] = self._token._replace(text=f"-{self._token.text}", at=token.at)
        node = self._member()
        # Two of a kind undo each other, but for the check of what they stand before.
        for sign in signs if len(signs) < 3 else signs[: 2 - len(signs) % 2]:
            node = Call(sign.at, f"{sign.kind}x", None, (node,))
        return node

    def _member(self) -> Node:
        node = self._primary()
        while (sign := self._take(".", "[", "{")) is not None:
            if sign.kind == "{":
                raise CelError("messages can't be made here; in a map, names are texts: {'name': ...}", sign.at)
            if sign.kind == "[":
                self._refuse_optional("?")
                node = Call(sign.at, "[]", None, (node, self.expression()))
                self.expect("]")
                continue
            self._refuse_optional("?")
            name = self._take("in") or self.expect("ident")
            if self._take("(") is None:
                if name.text in _RESERVED or name.kind == "in" or name.text in _WORDS:
                    raise CelError(
                        f"{name.text} is a reserved word of CEL; read a field of that name with ['{name.text}']", name.at
                    )
                node = Select(sign.at, node, name.text)
            else:
                node = self._method(name, node, self._items(")"))
        return node

    def _refuse_optional(self, kind: str) -> None:
        if self._token.kind == kind:
            raise CelError("optional fields are not supported; write has(a.b) ? a.b : null", self._token.at)

    def _method(self, name: _Token, target: Node, args: tuple[Node, ...]) -> Node:
        if name.text not in MACROS:
            return Call(name.at, name.text, target, args)
        if len(args) != 2 and not (len(args) == 3 and name.text == "map"):
            raise CelError(f"{name.text} takes a name and an expression: items.{name.text}(item, ...)", name.at)
        variable = args[0]
        if not isinstance(variable, Ident):
            raise CelError(f"the first argument of {name.text} must be a new name", args[0].at)
        kind = "exists_one" if name.text == "existsOne" else name.text
        return Macro(name.at, kind, target, variable.name, args[-1], args[1] if len(args) == 3 else None)

    def _primary(self) -> Node:
        token = self._token
        self._next += 1
        match token.kind:
            case "literal":
                return Literal(token.at, token.value)
            case "int":
                return Literal(token.at, _integer(token))
            case "(":
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                return MakeList(token.at, self._items("]"))
            case "{":
                return MakeMap(token.at, self._entries())
            case ".":
                token = self.expect("ident")
            case "ident":
                pass
            case _:
                raise CelError(f"expected a value, found {token.text}", token.at)
        if token.text in _WORDS:
            return Literal(token.at, _WORDS[token.text])
        if token.text in _RESERVED:
            raise CelError(f"{token.text} is a reserved word of CEL", token.at)
        if self._take("(") is None:
            return Ident(token.at, token.text)
        args = self._items(")")
        if token.text != "has":
            return Call(token.at, token.text, None, args)
        if len(args) != 1 or not isinstance(args[0], Select) or args[0].test:
            raise CelError("has() asks for a field: has(value.name)", token.at)
        return Select(token.at, args[0].operand, args[0].field, True)

    def _items(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while self._take(end) is None:
            if items:
                self.expect(",")
                if end != ")" and self._take(end) is not None:
                    break
            self._refuse_optional("?")
            items.append(self.expression())
        return tuple(items)

    def _entries(self) -> tuple[tuple[Node, Node], ...]:
        entries: list[tuple[Node, Node]] = []
        while self._take("}") is None:
            if entries:
                self.expect(",")
                if self._take("}") is not None:
                    break
            self._refuse_optional("?")
            key = self.expression()
            self.expect(":")
            entries.append((key, self.expression()))
        return tuple(entries)


def _integer(token: _Token) -> int:
    unsigned = token.text[-1] in "uU"
    digits = token.text.rstrip("uU")
    value = int(digits, 16 if "x" in digits.lower() else 10)
    if unsigned:
        if not 0 <= value < 1 << 64:
            raise CelError(f"{token.text} is not an unsigned 64-bit integer", token.at)
        return Uint(value)
    if not -(1 << 63) <= value < 1 << 63:
        raise CelError(f"{token.text} is not a 64-bit integer", token.at)
    return value
