"""
Offsets as the REST API writes them (KIP-875), `[{"partition": ..., "offset": ...}]`: read, checked, and compared.

A sink's partitions are also `Place`s, of which commands write `topic/0=1234`. All commands of this package use it; files that
hold such entries are `snapshot.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from kconnect.cli.files import InputError
from kconnect.kafka.positions import Place

Entry = dict[str, Any]
Entries = list[Entry]

_SINK = '{"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": {"kafka_offset": 1234}}'
_ANY = '{"partition": {…}, "offset": {…}}'
_MOST = 2**63 - 1
_MOST_PARTITIONS = 2**31
_INLINE = re.compile(r"(?P<topic>[^/=]+)/(?P<partition>\d+)=(?P<offset>-?\d+|null)")


def text(value: Any) -> str:
    """A partition or an offset on one line; equal ones have the same text, whatever the order of their keys."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def shown(kind: str, partition: Any) -> str:
    """A partition for people: `orders/0` of a sink."""
    place = place_of(partition) if kind == "sink" else None
    return text(partition) if place is None else str(place)


def shown_offset(kind: str, offset: Any) -> str:
    """An offset for people: the number of a sink's, `-` for none."""
    if offset is None:
        return "-"
    if kind == "sink" and isinstance(offset, dict) and list(offset) == ["kafka_offset"]:
        return str(offset["kafka_offset"])
    return text(offset)


def place_of(partition: Any) -> Place | None:
    """Return a sink's partition; None if it is none. Connect takes numbers that are written as texts, too."""
    if not isinstance(partition, dict) or not {"kafka_topic", "kafka_partition"} <= set(partition):
        return None
    topic, number = partition["kafka_topic"], _integer(partition["kafka_partition"])
    return None if number is None or not isinstance(topic, str) else Place(topic, number)


def sink_entry(place: Place, offset: int | None) -> Entry:
    partition = {"kafka_topic": place.topic, "kafka_partition": place.partition}
    return {"partition": partition, "offset": None if offset is None else {"kafka_offset": offset}}


def sink_offsets(entries: Iterable[Entry]) -> dict[Place, int]:
    """Return a sink's offsets from entries that have passed `checked`, or come from a worker; resets are left out."""
    offsets = {}
    for entry in entries:
        place = place_of(entry["partition"])
        if place is not None and entry["offset"] is not None:
            offsets[place] = int(entry["offset"]["kafka_offset"])
    return offsets


def inline(argument: str) -> Entry:
    """`orders/0=1234`, or `orders/0=null` to reset one partition."""
    match = _INLINE.fullmatch(argument)
    if match is None:
        raise InputError(f"{argument} is not an offset of a sink: write TOPIC/PARTITION=OFFSET, such as orders/0=1234")
    offset = None if match["offset"] == "null" else int(match["offset"])
    return sink_entry(Place(match["topic"], int(match["partition"])), offset)


def checked(kind: str, body: Any, where: str) -> Entries:
    """
    The entries of a body that a user wrote, as the REST API takes them; other keys, such as a lag, are left out.

    InputError, naming the place, for what the API would refuse for its form. What a source's partition and offset must
    hold, only its plugin knows.
    """
    listed = body.get("offsets") if isinstance(body, dict) else body
    if not isinstance(listed, list):
        example = _SINK if kind == "sink" else _ANY
        raise InputError(f'{where}: no offsets found; it must hold {{"offsets": [{example}]}}')
    entries = [_checked(kind, entry, f"{where}, entry {number}") for number, entry in enumerate(listed, 1)]
    numbers: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        first = numbers.setdefault(text(entry["partition"]), number)
        if first != number:
            which = shown(kind, entry["partition"])
            raise InputError(f"{where}: entries {first} and {number} are both for {which}: remove one of them")
    return entries


def require_flat(entries: Iterable[Entry], where: str) -> None:
    """InputError for what no worker takes. It says the same, but by then the connector has been stopped for it."""
    for entry in entries:
        for key, value in {**(entry["partition"] or {}), **(entry["offset"] or {})}.items():
            if isinstance(value, (dict, list)):
                rule = "partitions and offsets are flat, with texts, numbers, true, false and null"
                raise InputError(f"{where}: {key} holds {text(value)}, but {rule}")


def _checked(kind: str, entry: Any, where: str) -> Entry:
    example = _SINK if kind == "sink" else _ANY
    if not isinstance(entry, dict) or not {"partition", "offset"} <= set(entry):
        raise InputError(f"{where}: it must be {example}; an offset of null resets the partition")
    partition, offset = entry["partition"], entry["offset"]
    if offset is not None and not isinstance(offset, dict):
        raise InputError(f"{where}: its offset must be an object or null, as in {example}, but is {text(offset)}")
    if kind != "sink":
        if partition is not None and not isinstance(partition, dict):
            raise InputError(f"{where}: its partition must be an object, as in {example}, but is {text(partition)}")
        result = {"partition": partition, "offset": offset}
        try:
            text(result)
        except TypeError as error:
            raise InputError(f"{where}: it can't be sent as JSON ({error})") from None
        return result
    place = place_of(partition)
    if place is None:
        raise InputError(f"{where}: {text(partition)} is not a partition of a sink; write an entry as {example}")
    if place.partition < 0:
        raise InputError(f"{where}: the partition {place.partition} of {place.topic} is negative; the first one is 0")
    if place.partition >= _MOST_PARTITIONS:
        raise InputError(f"{where}: the partition {place.partition} of {place.topic} is beyond Kafka's largest")
    if offset is None:
        return sink_entry(place, None)
    number = _integer(offset.get("kafka_offset"))
    if number is None:
        raise InputError(f"{where}: {text(offset)} is not an offset of a sink; write an entry as {example}")
    if number < 0:
        raise InputError(f"{where}: the offset {number} of {place} is negative; 0 is the first, and null resets it")
    if number > _MOST:
        raise InputError(f"{where}: the offset {number} of {place} is beyond Kafka's largest, {_MOST}")
    return sink_entry(place, number)


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else None


@dataclass(frozen=True)
class Difference:
    """A partition whose offset is another one there than here; None where there is none."""

    partition: Any
    here: Any
    there: Any


def differences(here: Iterable[Entry], there: Iterable[Entry]) -> list[Difference]:
    """Return the differences in the order of `here`, then what only `there` has. An entry that resets is as good as none."""
    ours, right = _by_partition(here), _by_partition(there)
    pairs = []
    for key in {**ours, **right}:
        partition, our_offset = ours.get(key, (None, None))
        other_partition, their_offset = right.get(key, (None, None))
        if text(our_offset) != text(their_offset):
            pairs.append(Difference(partition if key in ours else other_partition, our_offset, their_offset))
    return pairs


def unlike(wanted: Iterable[Entry], found: Iterable[Entry]) -> list[Difference]:
    """Return the entries that are not as wanted; partitions that nobody asked for don't count. `here` is what was found."""
    by_partition = _by_partition(found)
    pairs = [(entry, by_partition.get(text(entry["partition"]), (None, None))[1]) for entry in wanted]
    return [Difference(entry["partition"], is_, entry["offset"]) for entry, is_ in pairs if text(is_) != text(entry["offset"])]


def _by_partition(entries: Iterable[Entry]) -> Mapping[str, tuple[Any, Any]]:
    return {text(entry["partition"]): (entry["partition"], entry["offset"]) for entry in entries}
