"""
Checks for common mistakes in configured transforms, predicates, converters and config providers. Called by `checks.py`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import kconnect
from kconnect.api.config_provider import ConfigData
from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.errors import ConnectError
from kconnect.testing.plugins.configs import configured, kind_of
from kconnect.testing.plugins.records import applied, holds, sink_records, source_record
from kconnect.testing.plugins.source import require_usable

Records = Sequence["SourceRecord | SinkRecord"]

_OURS = Path(kconnect.__file__).parent
_LACKS_A_SCHEMA = "does not have corresponding schema type"


def problems(made: Any, config: Mapping[str, str], records: Records) -> Iterator[str]:
    """The problems of a configured plugin, as sentences. With `config`, the checks make more instances of it."""
    checks: dict[str, Callable[[Any, Mapping[str, str], Records], Iterator[str]]] = {
        "transformation": _of_transform,
        "predicate": _of_predicate,
        "converter": _of_converter,
        "header_converter": _of_header_converter,
        "config_provider": _of_provider,
    }
    yield from checks[kind_of(type(made))](made, config, records)


def _of_transform(transform: Any, config: Mapping[str, str], records: Records) -> Iterator[str]:
    for number, record in enumerate(records, 1):
        try:
            result = applied(transform, record)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
            yield f"record {number}: {error if isinstance(error, AssertionError) else 'apply() raised ' + told(error)}"
            continue
        if result is not None:
            yield from _same_place(number, record, result)
            if _unusable(record) is None and (reason := _unusable(result)) is not None:
                yield f"record {number}: apply() returned a record that can't be used: {reason}"
    # A tombstone comes to every transform of a compacted topic.
    tombstones: Records = (source_record(), *sink_records(None))
    for record in tombstones:
        try:
            applied(transform, record)
        except (ConnectError, AssertionError):
            continue
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
            yield f"apply() of a tombstone (its value is None) raised {told(error)}: return the record, or raise a DataError"
            return


def _unusable(record: Any) -> str | None:
    """Return why no worker could send a source's record; None if one could. What sinks take is theirs to say."""
    try:
        if isinstance(record, SourceRecord):
            require_usable(record)
    except Exception as error:  # noqa: BLE001 - whatever a schema or a value leads to
        # A time or a decimal without a schema is data, which the next step of a chain may make a text of.
        return None if _LACKS_A_SCHEMA in str(error) else str(error)
    return None


def _same_place(number: int, record: Any, result: Any) -> Iterator[str]:
    names = ("source_partition", "source_offset") if isinstance(record, SourceRecord) else ("original_topic", "original_offset")
    if any(getattr(record, name) != getattr(result, name) for name in names):
        yield f"record {number}: apply() lost its origin ({', '.join(names)}): make records with record.new_record()"


def _of_predicate(predicate: Any, config: Mapping[str, str], records: Records) -> Iterator[str]:
    for record in (*records, source_record(), *sink_records(None)):
        try:
            if not isinstance(predicate.test(record), bool):
                yield f"test() returned {predicate.test(record)!r}, but must return True or False"
                return
            holds(type(predicate), config, record)
        except ConnectError:
            continue
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
            yield str(error) if isinstance(error, AssertionError) else f"test() of {record!r} raised {told(error)}"
            return


def _of_converter(converter: Any, config: Mapping[str, str], records: Records) -> Iterator[str]:
    for number, record in enumerate(records, 1):
        try:
            data = converter.from_connect_data(record.topic, record.value_schema, record.value)
            if data is not None and not isinstance(data, bytes):
                yield f"record {number}: from_connect_data() returned a {type(data).__name__}, but must return bytes or None"
                continue
            converted = configured(type(converter), config).to_connect_data(record.topic, data)
            if getattr(converted, "value", None) != record.value:
                yield f"record {number}: to_connect_data() returned another value than the one that was converted"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
            yield f"record {number}: the conversion raised {told(error)}"
    if not hasattr(_quietly(converter.to_connect_data, "test", None), "schema"):
        yield "to_connect_data() of None, a tombstone, must return a SchemaAndValue"
    yield from _of_garbage(lambda: converter.to_connect_data("test", b"\xff\x00garbage"), "to_connect_data()")


def _of_header_converter(converter: Any, config: Mapping[str, str], records: Records) -> Iterator[str]:
    for record in records:
        for header in record.headers:
            try:
                data = converter.from_connect_header(record.topic, header.key, header.schema, header.value)
                if data is not None and not isinstance(data, bytes):
                    yield f"from_connect_header() returned a {type(data).__name__}, but must return bytes or None"
                    continue
                converter.to_connect_header(record.topic, header.key, data)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
                yield f"the conversion of the header {header.key} raised {told(error)}"
    yield from _of_garbage(lambda: converter.to_connect_header("test", "h", b"\xff\x00garbage"), "to_connect_header()")


def _of_garbage(read: Callable[[], Any], what: str) -> Iterator[str]:
    try:
        read()
    except ConnectError:
        return
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"{what} of meaningless bytes raised {told(error)}: raise a DataError that says what it expects"


def _of_provider(provider: Any, config: Mapping[str, str], records: Records) -> Iterator[str]:
    try:
        answer = provider.get("", {"no-such-key"})
    except ConnectError:
        return
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"get() of a missing key raised {told(error)}: leave the key out, or raise a ConnectError"
        return
    if not isinstance(answer, ConfigData):
        yield f"get() returned a {type(answer).__name__}, but must return a ConfigData"


def _quietly(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except (Exception, SystemExit):  # noqa: BLE001 - a plugin's own
        return None


def told(error: BaseException) -> str:
    """
    An error as text, with its place in the plugin, because the test shows no traceback. What kconnect finds wrong in a result
    has no place: the line that looked at it says nothing to an author.
    """
    places = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    # The plugins in the box are kconnect's, too.
    shown = [at for at in places if _OURS not in at[0].parents] or [
        at for at in places if _OURS / "testing" not in at[0].parents
    ]
    return f"{type(error).__name__}: {error}" + (f" ({shown[-1][0].name}, line {shown[-1][1]})" if shown else "")
