"""
The small faults that a piece of source can have: a comparison turned, a condition negated, a call, a return or a raise left
out, an exception widened, arguments swapped, a keyword left out, a number that is one too high.

Each is an edit of the text, so that nothing else of the file changes. Called by `__main__.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TURNED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}
"""The operator as a pattern, and what it is turned to."""
_LOGS = frozenset(("debug", "info", "warning", "error", "exception"))


@dataclass(frozen=True)
class Fault:
    """`first` and `last` are the lines of the statement that has it; `begin` and `end` places in the file's bytes."""

    path: Path
    kind: str
    line: int
    first: int
    last: int
    begin: int
    end: int
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.begin] + self.new.encode() + source[self.end :]

    def shown(self, source: bytes) -> str:
        """Return the line as it is, and as it would be, the first line of each only."""
        begin = source.rfind(b"\n", 0, self.begin) + 1
        end = source.find(b"\n", self.end)
        before, after = source[begin:end], source[begin : self.begin] + self.new.encode() + source[self.end : end]
        lines = [text.decode().strip().split("\n")[0] for text in (before, after)]
        return f"- {lines[0]}\n+ {lines[1]}"


def faults_of(path: Path, source: bytes) -> list[Fault]:
    """Return all faults that a file can have, in the order of its text."""
    return sorted(_Finder(path, source).found(), key=lambda fault: (fault.begin, fault.kind))


class _Finder:
    def __init__(self, path: Path, source: bytes) -> None:
        self._path, self._source = path, source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def found(self) -> Iterator[Fault]:
        yield from self._within(ast.parse(self._source), None)

    def _within(self, node: ast.AST, statement: ast.stmt | None) -> Iterator[Fault]:
        if isinstance(node, ast.stmt):
            statement = node
            if self._is_skipped(node):
                return
        if statement is not None:
            yield from self._of(node, statement)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._within(child, statement)

    def _is_skipped(self, node: ast.stmt) -> bool:
        """What says nothing at run time, or only to a reader or a log."""
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert):
            return True
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return True
        if not isinstance(node, ast.Expr):
            return False
        called = node.value.func if isinstance(node.value, ast.Call) else None
        is_log = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "log"
        return isinstance(node.value, ast.Constant) or (is_log and getattr(called, "attr", "") in _LOGS)

    def _of(self, node: ast.AST, statement: ast.stmt) -> Iterator[Fault]:
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _TURNED:
                yield from self._turned("comparison turned", left, right, *_TURNED[type(operator)], node, statement)
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                words = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                yield from self._turned("and for or", left, right, *words, node, statement)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
                signs = (r"\+", "-") if isinstance(operator, ast.Add) else ("-", "+")
                yield from self._turned("plus for minus", left, right, *signs, node, statement)
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                yield self._fault("number", self._span(node), str(number + 1), node, statement)
            case ast.Constant(value=bool() as flag):
                yield self._fault("true for false", self._span(node), str(not flag), node, statement)
            case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
                yield self._fault("return left out", self._span(value), "None", node, statement)
            case ast.Raise():
                yield self._fault("raise left out", self._span(node), "pass", node, statement)
            case ast.Expr(value=ast.Call() | ast.YieldFrom() | ast.Await()):
                yield self._fault("call left out", self._span(node), "pass", node, statement)
            case ast.ExceptHandler(type=ast.expr() as caught) if self._text(caught) not in ("Exception", "BaseException"):
                yield self._fault("exception widened", self._span(caught), "Exception", node, statement)
            case ast.Call(args=arguments, keywords=keywords):
                yield from self._of_call(node, arguments, keywords, statement)
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            text = self._text(node.test)
            yield self._fault("condition negated", self._span(node.test), f"(not ({text}))", node.test, statement)

    def _turned(
        self, kind: str, left: ast.expr, right: ast.expr, pattern: str, new: str, node: ast.AST, statement: ast.stmt
    ) -> Iterator[Fault]:
        """The operator between two operands, which may be in brackets, turned."""
        begin, end = self._span(left)[1], self._span(right)[0]
        found = re.search(pattern, self._source[begin:end].decode())
        if found is not None:
            yield self._fault(kind, (begin + found.start(), begin + found.end()), new, node, statement)

    def _of_call(
        self, node: ast.Call, arguments: list[ast.expr], keywords: list[ast.keyword], statement: ast.stmt
    ) -> Iterator[Fault]:
        if len(arguments) >= 2 and not any(isinstance(each, ast.Starred) for each in arguments[:2]):
            first, second = arguments[:2]
            if self._text(first) != self._text(second):
                (begin, _), (_, end) = self._span(first), self._span(second)
                middle = self._source[self._span(first)[1] : self._span(second)[0]].decode()
                new = f"{self._text(second)}{middle}{self._text(first)}"
                yield self._fault("arguments swapped", (begin, end), new, node, statement)
        for keyword in keywords:
            if keyword.arg is not None:
                begin, end = self._span(keyword)
                # With the comma behind it, or else with that before it.
                tail = self._source[end : self._span(node)[1]]
                comma = tail.lstrip()[:1] == b","
                before = self._source[:begin].rstrip()
                if comma:
                    end += tail.index(b",") + 1
                elif before.endswith(b","):
                    begin = len(before) - 1
                yield self._fault("keyword left out", (begin, end), "", node, statement)

    def _fault(self, kind: str, span: tuple[int, int], new: str, node: ast.AST, statement: ast.stmt) -> Fault:
        line = getattr(node, "lineno", statement.lineno)
        # Of a compound statement, its head: what is below has statements of its own.
        body = getattr(statement, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) and body else statement.end_lineno or statement.lineno
        last = max(last, statement.lineno, line)
        return Fault(self._path, kind, line, statement.lineno, last, *span, new)

    def _place(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _text(self, node: ast.expr) -> str:
        """Return its source, with brackets where it needs them: they are no part of its place."""
        begin, end = self._span(node)
        text = self._source[begin:end].decode()
        return f"({text})" if isinstance(node, ast.Yield | ast.YieldFrom | ast.NamedExpr) else text
