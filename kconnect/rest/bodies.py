"""
Request bodies: from bytes to a connector's config or a create request, or a sentence that says what to send.

Called by the resources. Where Connect answers 500 with the text of its JSON library, this answers 400.
Read next: `connectors.py`.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import orjson

from kconnect.api.config import Type, parse
from kconnect.errors import BadRequestError

Config = dict[str, "str | None"]
Pairs = tuple[tuple[Any, Any], ...]
"""Of partition and offset, each an object or None."""

CREATE = (
    'send {"name": "<connector>", "config": {"connector.class": "<class>", ...}}, and optionally "initial_state" or '
    '"initial_offsets"'
)
CONFIG = 'send the connector\'s config as a flat JSON object, such as {"connector.class": "<class>", "tasks.max": "1"}'
PATCH = 'send the settings to change as a flat JSON object, such as {"tasks.max": "2"}; null removes a setting'
TASKS = "send a JSON list with one flat object for each task"
OFFSETS = 'send {"offsets": [{"partition": {...}, "offset": {...}}, ...]}, as GET gives them; null as an offset resets it'
LEVEL = 'send {"level": "<level>"} with one of OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE, ALL'

PREVIEW = (
    'send {"config": {...}, "records": [...]}, or in place of `records` a "topic", with "limit", "partition", "offset" or '
    '"newest" if wanted'
)
MOST_RECORDS = 100
REPLAY = (
    'send {"letters": [{"partition": 0, "offset": 12}, ...]}, and true for "through_chain", "again" or "dry_run", or a '
    '"to_topic", if wanted'
)
MOST_LETTERS = 500
BACKFILL = (
    'send {}, or {"tasks": 8} with a "rate" in rows a second, a sink "into" whose tables rows go, or "settings" as a flat '
    "object, if wanted"
)
MOST_TASKS = 10_000
REREAD = 'send {"tables": ["<schema>.<table>", ...]}, with a "where" in SQL if wanted'
LONGEST_CONDITION, MOST_TABLES, _LONGEST_SIGNAL = 20_000, 1000, 500_000
"""The condition stands in the signal for each table, and a record of Kafka has a megabyte by default."""
_LONGEST_LOGIN = 2800
"""Browsers take cookies of 4,096 bytes, and sealing makes it longer by a half."""
LOGIN = 'send {"user": "<name>", "password": "<password>"}, or {"token": "<token>"}'

INITIAL_STATES = ("RUNNING", "PAUSED", "STOPPED")


@dataclass(frozen=True, slots=True)
class Create:
    name: str
    config: Config
    initial_state: str | None
    initial_offsets: Pairs | None


def create(body: bytes, most: int | None = None) -> Create:
    """Parse the body of `POST /connectors`; a missing name is empty, for validation to refuse. `most` as for `config`."""
    data = _object(body, CREATE, most)
    for unknown in data.keys() - {"name", "config", "initial_state", "initial_offsets"}:
        raise BadRequestError(f"Unknown property '{unknown}' in the request; {CREATE}.")
    config = data.get("config")
    if config is None:
        raise BadRequestError(f"The request has no 'config'; {CREATE}.")
    if not isinstance(config, dict):
        raise BadRequestError(f"The request's 'config' is not an object; {CREATE}.")
    state = _text("initial_state", data.get("initial_state"), CREATE)
    if state is not None and state.upper() not in INITIAL_STATES:
        raise BadRequestError(f"Unknown initial_state '{state}'; send one of {', '.join(INITIAL_STATES)}, or none.")
    name = parse("name", _text("name", data.get("name"), CREATE) or "", Type.STRING)
    offsets = None
    if data.get("initial_offsets") is not None:
        # Once more: of a config the numbers are texts, as they were written.
        offsets = _pairs(_object(body, CREATE, parse_int=int, parse_float=float)["initial_offsets"], "initial_offsets")
    return Create(name, _flat(config, CREATE), state and state.upper(), offsets)


@dataclass(frozen=True, slots=True)
class Backfill:
    tasks: int
    rate: int | None
    settings: Config
    into: str | None


def backfill(body: bytes) -> Backfill:
    """Parse the body of `POST /kconnect/connectors/{c}/backfill`."""
    data = _object(body, BACKFILL, parse_int=int, parse_float=float)
    for unknown in data.keys() - {"tasks", "rate", "settings", "into"}:
        raise BadRequestError(f"Unknown property '{unknown}' in the request; {BACKFILL}.")
    tasks = 2 if data.get("tasks") is None else _whole(data, "tasks", 1, MOST_TASKS, BACKFILL)
    rate = None if data.get("rate") is None else _whole(data, "rate", 1, 2**31 - 1, BACKFILL)
    # Once more: of a config the numbers are texts, as they were written.
    settings = _object(body, BACKFILL).get("settings")
    if settings is not None and not isinstance(settings, dict):
        raise BadRequestError(f"The request's 'settings' is not an object; {BACKFILL}.")
    into = data.get("into")
    if into is not None and (not isinstance(into, str) or not into):
        raise BadRequestError(f"'into' must be the name of a connector; {BACKFILL}.")
    return Backfill(tasks, rate, _flat(settings or {}, BACKFILL), into)


def reread(body: bytes) -> tuple[tuple[str, ...], str | None]:
    """Parse the body of `POST /kconnect/connectors/{c}/backfill/again` to tables and an SQL condition."""
    data = _object(body, REREAD, parse_int=int, parse_float=float)
    for unknown in data.keys() - {"tables", "where"}:
        raise BadRequestError(f"Unknown property '{unknown}' in the request; {REREAD}.")
    tables, where = data.get("tables"), data.get("where")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, str) and table for table in tables):
        raise BadRequestError(f"'tables' must be a list of at least one name; {REREAD}.")
    if where is not None and (not isinstance(where, str) or not where.strip() or len(where) > LONGEST_CONDITION):
        raise BadRequestError(f"'where' must be a condition in SQL of at most {LONGEST_CONDITION} letters; {REREAD}.")
    length = sum(map(len, tables)) + len(tables) * len(where or "")
    if len(tables) > MOST_TABLES or length > _LONGEST_SIGNAL:
        raise BadRequestError(
            f"So many tables, with their condition, are more than one signal has room for, which is {MOST_TABLES} tables and "
            f"{_LONGEST_SIGNAL:,} letters: ask for a part of them"
        )
    return tuple(tables), where


def config(body: bytes, expected: str = CONFIG, most: int | None = None) -> Config:
    """
    Parse a flat object. Numbers and booleans become their text, as they were written; null stays None. What makes a record of
    more than `most` bytes is refused.
    """
    return _flat(_object(body, expected, most), expected)


def task_configs(body: bytes) -> tuple[Config, ...]:
    """Parse a list of flat objects, one for each task."""
    data = _parsed(body, TASKS)
    if not isinstance(data, list) or not all(isinstance(task_config, dict) for task_config in data):
        raise BadRequestError(f"The request's body is not a JSON list of objects; {TASKS}.")
    return tuple(_flat(task_config, TASKS) for task_config in data)


def offsets(body: bytes) -> Pairs:
    """Parse the body of `PATCH /connectors/{c}/offsets` to pairs of partition and offset, each an object or None."""
    data = _object(body, OFFSETS, parse_int=int, parse_float=float)
    for unknown in data.keys() - {"offsets"}:
        raise BadRequestError(f"Unknown property '{unknown}' in the request; {OFFSETS}.")
    return _pairs(data.get("offsets"), "offsets")


def preview(body: bytes) -> tuple[dict[str, str], tuple[Any, ...] | None, dict[str, Any]]:
    """Parse the body of `POST /kconnect/preview` to a config, records or None, and what `kafka/sample.py` is asked for."""
    data = _object(body, PREVIEW, parse_int=int, parse_float=float)
    for unknown in data.keys() - {"config", "records", "topic", "limit", "partition", "offset", "newest"}:
        raise BadRequestError(f"Unknown property '{unknown}' in the request; {PREVIEW}.")
    # Once more: of a config the numbers are texts, as they were written.
    raw = _object(body, PREVIEW).get("config")
    if not isinstance(raw, dict):
        raise BadRequestError(f"The request's 'config' is not an object; {PREVIEW}.")
    config = {name: text for name, text in _flat(raw, PREVIEW).items() if text is not None}
    if not config.get("connector.class"):
        raise BadRequestError(f"The config has no 'connector.class'; {PREVIEW}.")
    records, topic = data.get("records"), data.get("topic")
    if (records is None) == (topic is None):
        raise BadRequestError(f"Either 'records' or 'topic' must say what is tried; {PREVIEW}.")
    if records is not None:
        if (
            not isinstance(records, list)
            or len(records) > MOST_RECORDS
            or not all(isinstance(record, dict) for record in records)
        ):
            raise BadRequestError(f"'records' must be a list of at most {MOST_RECORDS} objects; {PREVIEW}.")
        return config, tuple(records), {}
    if not isinstance(topic, str) or not isinstance(data.get("newest", False), bool):
        raise BadRequestError(f"'topic' must be a text, and 'newest' true or false; {PREVIEW}.")
    limit = _whole(data, "limit", 1, MOST_RECORDS, PREVIEW) if data.get("limit") is not None else 5
    places = [None if data.get(name) is None else _whole(data, name, 0, 2**63 - 1, PREVIEW) for name in ("partition", "offset")]
    partition, offset = places
    if offset is not None and (partition is None or data.get("newest")):
        raise BadRequestError(f"'offset' needs a 'partition', and goes without 'newest'; {PREVIEW}.")
    sample = {"topic": topic, "limit": limit, "partition": partition, "offset": offset, "newest": data.get("newest", False)}
    return config, None, sample


def replay(body: bytes) -> dict[str, Any]:
    """Parse the body of `POST /kconnect/connectors/{c}/dead-letters/replay` to what `dlq/child.py` is asked for."""
    data = _object(body, REPLAY, parse_int=int, parse_float=float)
    flags = ("through_chain", "again", "dry_run")
    for unknown in data.keys() - {"letters", "to_topic", *flags}:
        raise BadRequestError(f"Unknown property '{unknown}' in the request; {REPLAY}.")
    letters, topic = data.get("letters"), data.get("to_topic")
    if not isinstance(letters, list) or not 0 < len(letters) <= MOST_LETTERS:
        raise BadRequestError(f"'letters' must be a list of at least one and at most {MOST_LETTERS}; {REPLAY}.")
    if not all(isinstance(letter, dict) and letter.keys() == {"partition", "offset"} for letter in letters):
        raise BadRequestError(f"Each of 'letters' must have a partition and an offset, and nothing else; {REPLAY}.")
    if not (topic is None or (isinstance(topic, str) and topic)):
        raise BadRequestError(f"'to_topic' must be a topic's name; {REPLAY}.")
    for name in flags:
        if not isinstance(data.get(name, False), bool):
            raise BadRequestError(f"'{name}' must be true or false; {REPLAY}.")
    places = [[_whole(letter, name, 0, 2**63 - 1, REPLAY) for name in ("partition", "offset")] for letter in letters]
    return {"letters": places, "to_topic": topic, **{name: data.get(name, False) for name in flags}}


def _whole(data: dict[str, Any], name: str, least: int, most: int, expected: str) -> int:
    value = data[name]
    if type(value) is not int or not least <= value <= most:
        raise BadRequestError(f"'{name}' must be a whole number from {least} to {most}; {expected}.")
    return value


def whole_text(name: str, text: str, least: int, most: int) -> int:
    """A number in a query."""
    if not (text.isascii() and text.isdigit() and len(text) < 19 and least <= int(text) <= most):
        raise BadRequestError(f"'{name}' is '{text[:100]}'; send a whole number from {least} to {most}.")
    return int(text)


def login(body: bytes) -> str:
    """Parse the body of `POST /console/login` to the header that means the same. What is refused is not repeated."""
    data = _object(body, LOGIN, parse_int=int, parse_float=float)
    header = None
    if data.keys() == {"token"} and isinstance(data["token"], str):
        header = f"Bearer {data['token']}"
    if data.keys() == {"user", "password"} and all(isinstance(part, str) for part in data.values()):
        header = "Basic " + base64.b64encode(f"{data['user']}:{data['password']}".encode()).decode()
    if header is None:
        raise BadRequestError(f"The request's body is no login; {LOGIN}.")
    if len(header) > _LONGEST_LOGIN:
        raise BadRequestError("The user and password, or the token, are too long for a cookie: 2,000 letters are not.")
    return header


def with_name(config: Config, name: str) -> Config:
    """The config with the connector's name in it; refuses one that names another connector."""
    included = config.get("name")
    if included is not None and included != name:
        raise BadRequestError(f"Connector name configuration ({included}) doesn't match connector name in the URL ({name})")
    return {**config, "name": name}


def _pairs(rows: Any, where: str) -> Pairs:
    expected = OFFSETS.replace("offsets", where, 1)
    if rows is None or rows == []:
        raise BadRequestError("Partitions / offsets need to be provided for an alter offsets request")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadRequestError(f"The request's '{where}' is not a list of objects; {expected}.")
    for row in rows:
        for key, value in row.items():
            if key not in ("partition", "offset"):
                raise BadRequestError(f"Unknown property '{key}' in the request's '{where}'; {expected}.")
            if value is not None and not isinstance(value, dict):
                raise BadRequestError(f"The value of '{key}' in the request's '{where}' is not an object; {expected}.")
    return tuple((row.get("partition"), row.get("offset")) for row in rows)


def _object(body: bytes, expected: str, most: int | None = None, **numbers: Any) -> dict[str, Any]:
    data = _parsed(body, expected, most, **numbers)
    if not isinstance(data, dict):
        raise BadRequestError(f"The request's body is not a JSON object; {expected}.")
    return data


def _parsed(body: bytes, expected: str, most: int | None = None, parse_int: Any = str, parse_float: Any = str) -> Any:
    if not body.strip():
        raise BadRequestError(f"The request has no body; {expected}.")
    try:
        # As Java's parser: what begins with a byte order mark, or has zeros in its first characters, is no plain UTF-8.
        encoding = json.detect_encoding(body)
        if encoding != "utf-8":
            body = body.decode(encoding).encode()
        # orjson is the stricter one (NaN, lone surrogates); only json can keep a number as it was written (1e5, 1.50).
        quick = orjson.loads(body)
        if most is not None and len(body) > most:
            _check_size(quick, most)
        return json.loads(body, parse_int=parse_int, parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"The request's body is not valid JSON ({error}); {expected}.") from None


def _check_size(data: Any, most: int) -> None:
    """
    Raise BadRequestError for a config that is too large for its topic, before anything expensive is done with it. The nulls of
    a patch are in no record.
    """
    config = data
    # A setting may be called so, too.
    if isinstance(data, dict) and isinstance(data.get("config"), dict):
        config = data["config"]
    if isinstance(config, dict):
        size = len(orjson.dumps({key: value for key, value in config.items() if value is not None}))
        if size > most:
            raise BadRequestError(
                f"The config makes a record of more than {size:,} bytes, but the config topic accepts {most:,}. Make it "
                "smaller, or raise `max.message.bytes` of the topic and `max.request.size` of the worker."
            )


def _flat(data: dict[str, Any], expected: str) -> Config:
    return {key: _text(key, value, expected) for key, value in data.items()}


def _text(key: str, value: object, expected: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    kind = "a list" if isinstance(value, list) else "an object"
    raise BadRequestError(f"The value of '{key}' is {kind}, but must be text, a number, true, false or null; {expected}.")
