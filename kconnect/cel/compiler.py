"""
Compiles an expression once to a function, which is then called for each record. Called by `records.py`.

Every node becomes a closure that takes the frame of the evaluation. Work is limited: each turn of a macro costs the size of the
macro's body, and a function costs the size of the values that it goes through. Read next: `operators.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kconnect.cel import functions, operators, values
from kconnect.cel.syntax import MACROS, Call, CelError, Ident, Literal, Macro, MakeList, MakeMap, Node, Select, parse
from kconnect.cel.values import PLAIN, CelType, Frame, Function, TooMuchWork, plain

Evaluate = Callable[[Frame], Any]

WORK = 2_000_000
"""What one evaluation may spend: steps within macros, list items, and eighths of characters gone through. Under a second."""


class Program:
    """A compiled expression; `tree` is what it was made of. Has no state: one may be used from many threads."""

    def __init__(self, text: str, tree: Node, evaluate: Evaluate, variables: int) -> None:
        self.text, self.tree = text, tree
        self._evaluate, self._variables = evaluate, variables

    def __call__(self, record: Any) -> Any:
        """Its value for this record, as a value of CEL's. CelError if it has none."""
        try:
            return self._evaluate(Frame(record, self._variables, WORK))
        except TooMuchWork:
            raise CelError(
                "it takes more work than is allowed for one record: too many turns of a macro, or texts that are too long"
            ) from None
        except RecursionError:
            raise CelError("values are nested too deeply") from None

    def __repr__(self) -> str:
        return f"Program({self.text!r})"


def compile(text: str, variables: Mapping[str, Callable[[Any], Any]]) -> Program:
    """`variables` read a record's parts. CelError, with its place, for what is no CEL or names what is not there."""
    tree = parse(text)
    compiler = _Compiler(variables)
    evaluate = compiler.made(tree, {})
    return Program(text, tree, evaluate, compiler.variables)


class _Compiler:
    def __init__(self, variables: Mapping[str, Callable[[Any], Any]]) -> None:
        self._variables = variables
        self.variables = 0
        """How many variables there are, those of macros and the record's parts; each has a place of its own."""
        self._places: dict[str, int] = {}

    def made(self, node: Node, scope: Mapping[str, int]) -> Evaluate:
        """`scope` has the places of macros' variables."""
        match node:
            case Literal(value=value):
                return lambda frame: value
            case Ident():
                return self._ident(node, scope)
            case Select():
                return self._select(node, scope)
            case MakeList():
                return self._list(node, scope)
            case MakeMap():
                return self._map(node, scope)
            case Macro():
                return self._macro(node, scope)
            case Call():
                return self._call(node, scope)
        raise AssertionError(node)

    def _ident(self, node: Ident, scope: Mapping[str, int]) -> Evaluate:
        if node.name in scope:
            place = scope[node.name]
            return lambda frame: frame.locals[place]
        read = self._variables.get(node.name)
        if read is not None:
            if node.name not in self._places:
                self._places[node.name], self.variables = self.variables, self.variables + 1
            part = self._places[node.name]

            def variable(frame: Frame) -> Any:
                # Once for each record: a macro may ask for it in each of its turns, and headers are made a map of.
                value = frame.locals[part]
                if value is None:
                    value = read(frame.record)
                    frame.locals[part] = value = value if type(value) in PLAIN else plain(value)
                return value

            return variable
        kind = values.TYPE_NAMES.get(node.name)
        if kind is not None:
            return lambda frame: kind
        names = ", ".join(self._variables)
        raise CelError(f"there is no variable {node.name}; there are: {names}", node.at)

    def _select(self, node: Select, scope: Mapping[str, int]) -> Evaluate:
        name, at = node.field, node.at
        kind = None if node.test else self._type_name(node, scope)
        if kind is not None:
            return lambda frame: kind
        operand = self.made(node.operand, scope)
        read = operators.has if node.test else operators.field

        def select(frame: Frame) -> Any:
            where = operand(frame)
            try:
                return read(where, name)
            except CelError as error:
                raise _placed(error, at) from None

        return select

    def _type_name(self, node: Select, scope: Mapping[str, int]) -> CelType | None:
        parts = [node.field]
        inner = node.operand
        while isinstance(inner, Select):
            parts.append(inner.field)
            inner = inner.operand
        if not isinstance(inner, Ident) or inner.name in scope or inner.name in self._variables:
            return None
        return values.TYPE_NAMES.get(".".join([inner.name, *reversed(parts)]))

    def _list(self, node: MakeList, scope: Mapping[str, int]) -> Evaluate:
        items, cost = [self.made(item, scope) for item in node.items], len(node.items) + 1

        def make_list(frame: Frame) -> Any:
            frame.spend(cost)
            return [item(frame) for item in items]

        return make_list

    def _map(self, node: MakeMap, scope: Mapping[str, int]) -> Evaluate:
        entries = [(self.made(key, scope), self.made(item, scope)) for key, item in node.entries]
        cost, at = 2 * len(entries) + 1, node.at

        def make_map(frame: Frame) -> Any:
            frame.spend(cost)
            try:
                return operators.make_map([(key(frame), item(frame)) for key, item in entries])
            except CelError as error:
                raise _placed(error, at) from None

        return make_map

    def _call(self, node: Call, scope: Mapping[str, int]) -> Evaluate:
        name, at = node.function, node.at
        args = [self.made(child, scope) for child in node.children]
        if name == "&&":
            return _decided(args, False, at)
        if name == "||":
            return _decided(args, True, at)
        if name == "?:":
            return _conditional(args, at)
        function = operators.OPERATORS.get(name) or self._function(node)
        if len(args) == 2:
            first, second = args

            def binary(frame: Frame) -> Any:
                try:
                    return function(frame, first(frame), second(frame))
                except CelError as error:
                    raise _placed(error, at) from None

            return binary

        def call(frame: Frame) -> Any:
            try:
                return function(frame, *[arg(frame) for arg in args])
            except CelError as error:
                raise _placed(error, at) from None

        return call

    def _function(self, node: Call) -> Function:
        table = functions.GLOBALS if node.target is None else functions.METHODS
        entry = table.get(node.function)
        if entry is None:
            raise CelError(_unknown(node), node.at)
        argument_count = len(node.children)
        if argument_count not in entry.arities:
            arities = " or ".join(str(arity - (node.target is not None)) for arity in entry.arities)
            raise CelError(f"{node.function} takes {arities} arguments, but got {len(node.args)}", node.at)
        if node.function == "matches" and isinstance(pattern := node.children[1], Literal) and type(pattern.value) is str:
            try:
                return functions.matcher(pattern.value)
            except CelError as error:
                raise _placed(error, pattern.at) from None
        return entry.function

    def _macro(self, node: Macro, scope: Mapping[str, int]) -> Evaluate:
        over, at = self.made(node.over, scope), node.at
        place, self.variables = self.variables, self.variables + 1
        inner = {**scope, node.variable: place}
        body = self.made(node.body, inner)
        condition = None if node.condition is None else self.made(node.condition, inner)
        cost = 1 + _nodes(node.body) + (0 if node.condition is None else _nodes(node.condition))
        run = _MACROS[node.kind](body, condition, node)

        def macro(frame: Frame) -> Any:
            items = over(frame)
            if type(items) is not list:
                if not isinstance(items, dict):
                    raise CelError(f"{node.kind} needs a list or a map, but this is of type {values.type_name(items)}", at)
                items = list(items)
            frame.spend(len(items))
            return run(frame, items, place, cost)

        return macro


def _unknown(node: Call) -> str:
    if node.target is None and node.function in functions.METHODS:
        return f"{node.function} is called as x.{node.function}(...)"
    if node.target is not None and node.function in functions.GLOBALS:
        return f"{node.function} is called as {node.function}(x)"
    table = functions.GLOBALS if node.target is None else {**functions.METHODS, **dict.fromkeys(MACROS)}
    what = "function" if node.target is None else "method"
    return f"there is no {what} {node.function}; there are: {', '.join(table)}"


def _nodes(root: Node) -> int:
    count, open_nodes = 0, [root]
    while open_nodes:
        node = open_nodes.pop()
        count += 1
        open_nodes += node.children
    return count


def _placed(error: CelError, at: int) -> CelError:
    return error if error.at is not None else CelError(error.message, at)


def _decided(args: list[Evaluate], deciding: bool, at: int) -> Evaluate:
    """`||` (by true) or `&&` (by false): one operand that decides counts, also where others fail."""

    def decided(frame: Frame) -> bool:
        failed: CelError | None = None
        for arg in args:
            try:
                result: object = arg(frame)
            except CelError as error:
                failed = failed or error
                continue
            if result is deciding:
                return deciding
            if result is not (not deciding):
                failed = failed or _placed(values.no_overload("||" if deciding else "&&", result), at)
        if failed is not None:
            raise failed
        return not deciding

    return decided


def _conditional(args: list[Evaluate], at: int) -> Evaluate:
    test, yes, no = args

    def conditional(frame: Frame) -> Any:
        condition = test(frame)
        if condition is True:
            return yes(frame)
        if condition is False:
            return no(frame)
        raise _placed(values.no_overload("?:", condition), at)

    return conditional


Run = Callable[[Frame, "list[Any]", int, int], Any]


def _quantifier(deciding: bool) -> Callable[[Evaluate, Evaluate | None, Macro], Run]:
    def make(body: Evaluate, condition: Evaluate | None, node: Macro) -> Run:
        def run(frame: Frame, items: list[Any], place: int, cost: int) -> bool:
            failed: CelError | None = None
            for item in items:
                frame.spend(cost)
                frame.locals[place] = item if type(item) in PLAIN else plain(item)
                try:
                    result: object = body(frame)
                except CelError as error:
                    failed = failed or error
                    continue
                if result is deciding:
                    return deciding
                if result is not (not deciding):
                    failed = failed or _placed(values.no_overload(node.kind, result), node.at)
            if failed is not None:
                raise failed
            return not deciding

        return run

    return make


def _exists_one(body: Evaluate, condition: Evaluate | None, node: Macro) -> Run:
    def run(frame: Frame, items: list[Any], place: int, cost: int) -> bool:
        return len(chosen(frame, items, place, cost)) == 1

    chosen = _filter(body, condition, node)
    return run


def _filter(body: Evaluate, condition: Evaluate | None, node: Macro) -> Run:
    def run(frame: Frame, items: list[Any], place: int, cost: int) -> list[Any]:
        chosen = []
        for item in items:
            frame.spend(cost)
            item = item if type(item) in PLAIN else plain(item)
            frame.locals[place] = item
            verdict = body(frame)
            if verdict is True:
                chosen.append(item)
            elif verdict is not False:
                raise _placed(values.no_overload(node.kind, verdict), node.at)
        return chosen

    return run


def _mapped(body: Evaluate, condition: Evaluate | None, node: Macro) -> Run:
    def run(frame: Frame, items: list[Any], place: int, cost: int) -> list[Any]:
        results = []
        for item in items if condition is None else chosen(frame, items, place, cost):
            frame.spend(cost)
            frame.locals[place] = item if type(item) in PLAIN else plain(item)
            results.append(body(frame))
        return results

    chosen = _filter(condition or body, None, node)
    return run


_MACROS: Mapping[str, Callable[[Evaluate, Evaluate | None, Macro], Run]] = {
    "all": _quantifier(False),
    "exists": _quantifier(True),
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _mapped,
}
