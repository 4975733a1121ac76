"""
How `kconnect preview` shows a record's way: what it was, what each step changed, and its bytes in Kafka, at the end or the
beginning as they are for a source or a sink.

A record is laid out as lines of a place (`value.address.city`), a value and its type; a step shows the lines that are
different after it. Rows are folded at the width of a terminal, with their values below each other; where the output goes
elsewhere, a row is a line, however long. Only bytes are shortened, and say so.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.text import Text

from kconnect.data import decimals
from kconnect.data import schema as schemas
from kconnect.errors import DataError
from kconnect.java import moments

if TYPE_CHECKING:
    from kconnect.preview.preview import Body, Done, Outcome, Verdict

_LOGICAL = {schemas.DECIMAL: "Decimal", schemas.DATE: "Date", schemas.TIME: "Time", schemas.TIMESTAMP: "Timestamp"}
_MOST_TEXT = 1000
_MOST_BYTES = 64
_WIDEST_LABEL = 32
_ASCII = str.maketrans({"✓": "+", "–": "-", "✗": "x", "→": "->", "…": "..."})


class Cell(NamedTuple):
    """The text at one place. `whole`: a container, whose parts are cells of their own; `exact` is compared."""

    text: str
    type: str
    whole: bool
    exact: str

    @property
    def shown(self) -> str:
        text = "" if self.whole else self.text
        return "  ".join(part for part in (text, self.type) if part)


class Row(NamedTuple):
    lead: str
    mark: str
    label: str
    text: str
    style: str = ""


def console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def show(to: Console, number: int, outcome: Outcome) -> None:
    """Print the block of one record."""
    at = outcome.record
    place = f"{at['topic']}" if at.get("partition") is None else f"{at['topic']}-{at['partition']}"
    place += f"@{at['offset']}" if "offset" in at else ""
    rows = list(_rows(outcome))
    echo(to, Text(printable(f"Record {number}: {place}"), "bold"))
    lead = min(24, max(len(row.lead) for row in rows))
    label = min(_WIDEST_LABEL, max(len(row.label) for row in rows))
    last = ""
    for row in rows:
        _print_row(to, row, lead, label, row.lead if row.lead != last else "")
        last = row.lead
    echo(to, Text())


def summary(outcomes: Sequence[str]) -> str:
    """`outcomes` are `out`, `dropped`, `failed` and `skipped`."""
    counts = [f"{outcomes.count(name)} {name}" for name in ("out", "dropped", "skipped", "failed") if name in outcomes]
    return f"{len(outcomes)} record{'' if len(outcomes) == 1 else 's'}: {', '.join(counts) or 'nothing to show'}"


def verdict(outcome: Outcome) -> str:
    if outcome.error is not None:
        return "skipped" if outcome.error.tolerated else "failed"
    return "dropped" if outcome.out is None else "out"


def _rows(outcome: Outcome) -> Iterator[Row]:
    sink = "offset" in outcome.record
    if sink and (outcome.key is not None or outcome.value is not None):
        # As consumed. A sink's record that was given as such never was bytes.
        yield from _bytes(outcome)
    unread = sink and outcome.error is not None and outcome.error.alias is None
    before = {} if unread else cells(outcome.record)
    for place, cell in before.items():
        yield Row("  before", " ", place, cell.shown)
    for step in outcome.steps:
        yield from _step(step, before, outcome)
        if step.record is not None:
            before = cells(step.record)
    if outcome.error is not None and outcome.error.alias is None:
        yield _failure("✗ converter", outcome)
    if outcome.out is None:
        return
    if not sink:
        yield from _bytes(outcome)
    elif outcome.steps:
        for place, cell in before.items():
            yield Row("  after", " ", place, cell.shown)


def _step(step: Done, before: dict[str, Cell], outcome: Outcome) -> Iterator[Row]:
    verdict = "" if step.predicate is None else _said(step.predicate)
    if outcome.error is not None and outcome.error.alias == step.alias and step is outcome.steps[-1]:
        if verdict:
            yield Row(f"✗ {step.alias}", " ", "", verdict, "red")
        yield _failure(f"✗ {step.alias}", outcome)
        return
    if not step.applied:
        yield Row(f"– {step.alias}", " ", "", f"not applied: {verdict}", "dim")
        return
    if step.record is None:
        yield Row(f"✗ {step.alias}", " ", "", f"dropped: {verdict}" if verdict else "dropped", "yellow")
        return
    lead = f"✓ {step.alias}"
    if verdict:
        yield Row(lead, " ", "", f"applied: {verdict}", "green")
    changed = list(changes(before, cells(step.record)))
    if not changed:
        yield Row(lead, " ", "", "nothing changed", "dim")
    for mark, place, text in changed:
        yield Row(lead, mark, place, text, {"+": "green", "-": "red"}.get(mark, "yellow"))


def _said(verdict: Verdict) -> str:
    result = {True: "true", False: "false", None: "unknown"}[verdict.result]
    return f"{verdict.alias} is {result}" + (", and negate is set" if verdict.negate else "")


def _failure(lead: str, outcome: Outcome) -> Row:
    error = outcome.error
    assert error is not None
    name = error.class_name.rsplit(".", 1)[-1]
    then = "; errors.tolerance=all skips the record" if error.tolerated else ""
    where = "" if error.alias else f" in {error.stage}"
    message = " ".join(f"{error.message} {error.cause}".split())
    return Row(lead, " ", "", f"failed{where}: {name}: {message}{then}", "red")


def changes(before: dict[str, Cell], after: dict[str, Cell]) -> Iterator[tuple[str, str, str]]:
    """`+`, `-` or `~`, the place, and what is there or was."""
    hidden: list[str] = []
    for place, was in before.items():
        now = after.get(place)
        if any(place.startswith((f"{above}.", f"{above}[")) for above in hidden) and now is None:
            continue
        if now is None:
            hidden.append(place)
            yield "-", place, was.text if was.whole else was.shown
        elif now.exact != was.exact:
            if was.whole and not now.whole:
                hidden.append(place)
            to = now.shown if now.shown != was.shown else f"{now.shown}  (the schema differs)"
            yield "~", place, f"{was.shown} → {to}"
    for place, now in after.items():
        if place not in before:
            yield "+", place, now.shown


# --- laying out a record ---


def cells(record: Body) -> dict[str, Cell]:
    """Return the cells of a record, by their places."""
    by_place: dict[str, Cell] = {}
    for name in ("topic", "partition", "timestamp", "offset"):
        value = record.get(name)
        if value is not None:
            text = str(value) if name != "timestamp" else f"{value} ({_moment(value)})"
            by_place[name] = Cell(printable(text), "", False, text)
    for name in ("key", "value"):
        _lay_out(record[name], name, by_place)
    counts: dict[str, int] = {}
    for header in record["headers"]:
        name = header["name"]
        counts[name] = counts.get(name, 0) + 1
        _lay_out(header["value"], f"header {name}" + (f" #{counts[name]}" if counts[name] > 1 else ""), by_place)
    return {printable(place): cell for place, cell in by_place.items()}


def _lay_out(envelope: Body, place: str, cells: dict[str, Cell]) -> None:
    _part(envelope["schema"], envelope["payload"], envelope.get("types"), place, cells)


def _part(schema: Body | None, payload: Any, types: Any, place: str, cells: dict[str, Cell]) -> None:
    compact = _json(payload)
    odd = isinstance(types, str)
    if isinstance(payload, dict) and payload and not odd and (schema is None or schema["type"] == "struct"):
        fields = None if schema is None else {field["field"]: field for field in schema["fields"]}
        type_only = None if schema is None else {name: part for name, part in schema.items() if name not in ("fields", "field")}
        cells[place] = Cell(compact, _type(schema) or "object", True, _json(type_only))
        for name, item in payload.items():
            of = types.get(name) if isinstance(types, dict) else None
            _part(None if fields is None else fields[name], item, of, f"{place}.{name}", cells)
        return
    kind = _type(schema)
    if odd:
        kind = f"{kind}, but holds {types}" if kind else str(types)
    text = compact if odd or payload is None else _logical(schema, payload) or compact
    exact = {name: part for name, part in (schema or {}).items() if name != "field"}
    cells[place] = Cell(text, kind, False, _json([exact, payload, types]))


def _logical(schema: Body | None, payload: Any) -> str | None:
    """A decimal or a date as people write it."""
    name = None if schema is None else schema.get("name")
    if schema is None or name not in _LOGICAL:
        return None
    if name == schemas.DECIMAL:
        try:
            return str(decimals.of_bytes(base64.b64decode(payload), int(schema["parameters"]["scale"])))
        except DataError:
            return None
    text = _moment(payload * (moments.DAY_MS if name == schemas.DATE else 1))
    date, _, time = text.partition("T")
    return date if name == schemas.DATE else time if name == schemas.TIME else text


def _moment(milliseconds: int) -> str:
    at = moments.date_of(milliseconds)
    if isinstance(at, moments.FarDate):
        return f"{milliseconds} ms"
    return at.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _type(schema: Body | None) -> str:
    """Return a type in one word, with `?` for what may be null."""
    if schema is None:
        return ""
    kind: str = schema["type"]
    if kind == "array":
        kind = f"array<{_type(schema['items']) or 'any'}>"
    elif kind == "map":
        kind = f"map<{_type(schema['keys']) or 'any'},{_type(schema['values']) or 'any'}>"
    name = schema.get("name")
    if name in _LOGICAL:
        return _LOGICAL[name] + ("?" if schema["optional"] else "")
    version = f" v{schema['version']}" if "version" in schema else ""
    return kind + ("?" if schema["optional"] else "") + (f" {printable(name)}" if name else "") + version


# --- bytes ---


def _bytes(outcome: Outcome) -> Iterator[Row]:
    headers = ((f"header {name}", data) for name, data in outcome.headers)
    for name, data in (("key", outcome.key), ("value", outcome.value), *headers):
        yield Row("  bytes", " ", printable(name), bytes_text(data))


def bytes_text(data: bytes | None) -> str:
    """Return bytes as text if they are one, else hexadecimal; shortened, and then it says how much there is."""
    if data is None:
        return "null"
    size = f"  ({len(data):,} byte{'' if len(data) == 1 else 's'})"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text.replace("\n", "").replace("\t", "").isprintable() and (text or not data):
        shown = text.replace("\n", "\\n").replace("\t", "\\t")
        if len(shown) <= _MOST_TEXT:
            return (shown or '""') + size
        return f"{shown[:_MOST_TEXT]}…  (the first {_MOST_TEXT:,} of {len(shown):,} characters; -o json has all)"
    if len(data) <= _MOST_BYTES:
        return f"0x{data.hex()}{size}"
    return f"0x{data[:_MOST_BYTES].hex()}…  (the first {_MOST_BYTES} of {len(data):,} bytes; -o json has all)"


# --- printing ---


def printable(text: str) -> str:
    """Without anything that a terminal would obey: records come from elsewhere."""
    return "".join(character if character.isprintable() else character.encode("unicode_escape").decode() for character in text)


def _json(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False))


def _print_row(to: Console, row: Row, lead: int, label: int, shown_lead: str) -> None:
    style = "bold" if row.lead.startswith(" ") else "green" if row.lead.startswith("✓") else row.style
    begin = Text().append(f"{printable(shown_lead):<{lead}} ", style)
    if row.label:
        begin.append(f"{row.mark} {row.label:<{label}}  ", row.style or "cyan")
    else:
        begin.append("  ")
    room = to.width - begin.cell_len
    right = Text(printable(row.text), row.style if not row.label else "")
    if not to.is_terminal or right.cell_len <= room:
        echo(to, Text.assemble(begin, right))
        return
    if room < 24:
        # A very long label: the value has its own lines.
        echo(to, begin)
        begin, room = Text(" " * (lead + 5)), to.width - lead - 5
    for index, line in enumerate(right.wrap(to, max(8, room), overflow="fold")):
        echo(to, Text.assemble(begin if index == 0 else " " * begin.cell_len, line))


def echo(to: Console, line: Text) -> None:
    """Print one line, with other signs where the output's encoding lacks ours."""
    line.rstrip()
    try:
        line.plain.encode(to.encoding)
    except UnicodeEncodeError:
        line = Text(line.plain.translate(_ASCII).encode(to.encoding, "backslashreplace").decode(to.encoding))
    to.print(line, soft_wrap=True)
