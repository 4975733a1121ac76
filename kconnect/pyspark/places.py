"""
Places in topics, and ranges between them: offsets as Spark's checkpoints have them, and the plan of a batch.

Called by `options.py` and `source.py`. Pure: what brokers know comes in by arguments. Read next: `filters.py`, which makes
ranges smaller.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kconnect.errors import ConnectError

Offsets = dict[str, dict[str, int]]
"""By topic and partition, as JSON has it: the form of Spark's own Kafka source."""
At = tuple[str, int]

_EARLIEST, _LATEST = -2, -1
_LARGEST = 2**63 - 1
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Place(NamedTuple):
    """A place in each partition: one of these is given. -2 in `offset` and `offsets` is the beginning, -1 the end."""

    offset: int | None = None
    offsets: Mapping[At, int] | None = None
    time_ms: int | None = None


EARLIEST, LATEST = Place(offset=_EARLIEST), Place(offset=_LATEST)


class Known(NamedTuple):
    """What brokers say of partitions: where they begin, and the offset behind the last committed record."""

    begins: Mapping[At, int]
    ends: Mapping[At, int]


class Range(NamedTuple):
    """The offsets of a partition from `begin` on, without `end`."""

    topic: str
    partition: int
    begin: int
    end: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from offset {self.begin} to {self.end}"


def of_text(text: str) -> Place:
    """Return the place that an option such as `startingOffsets` names. ValueError, with the rule, if it names none."""
    if text.lower() in ("earliest", "latest"):
        return EARLIEST if text.lower() == "earliest" else LATEST
    rule = 'must be earliest, latest, or offsets such as {"orders": {"0": 120, "1": -2}}'
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(rule) from None
    if not isinstance(plain, dict) or not all(isinstance(partitions, dict) for partitions in plain.values()):
        raise ValueError(rule)
    offsets: dict[At, int] = {}
    for topic, partitions in plain.items():
        for partition, offset in partitions.items():
            number = int(partition) if partition.isascii() and partition.isdigit() else -1
            if number < 0 or type(offset) is not int or not _EARLIEST <= offset <= _LARGEST:
                raise ValueError(f"{rule}; {topic} has {partition}: {offset}")
            offsets[topic, number] = offset
    return Place(offsets=offsets)


def of_time(text: str) -> Place:
    """Return the place of a time. ValueError, with the rule, for what is none."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        if len(text) > len(str(_LARGEST)) or int(text) > _LARGEST:
            raise ValueError("must be a time such as 2026-11-29T12:00:00Z, or milliseconds since 1970 that 64 bits can hold")
        return Place(time_ms=int(text))
    try:
        # Python before 3.11 does not take the Z.
        moment = datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)
    except ValueError:
        raise ValueError("must be a time such as 2026-11-29T12:00:00Z, or milliseconds since 1970") from None
    if moment.tzinfo is None:
        raise ValueError("must say its time zone, as 2026-11-29T12:00:00Z or 2026-11-29T12:00:00+02:00 does")
    return Place(time_ms=milliseconds(moment))


def milliseconds(moment: datetime.datetime) -> int:
    """
    Return the first millisecond since 1970 that is not before a moment, 0 for all that lie before 1970: no record is older, and
    Kafka takes -1 for the end and -2 for the beginning.
    """
    return max(0, -((_EPOCH - moment) // datetime.timedelta(milliseconds=1)))


def require_order(starting: Place, ending: Place) -> None:
    """Raise ValueError, naming both, if a batch would end before it begins. What only brokers know is left out."""
    if starting.time_ms is not None and ending.time_ms is not None and starting.time_ms > ending.time_ms:
        raise ValueError("it lies before startingTimestamp")
    ends = ending.offsets or {}
    for (topic, partition), begin in (starting.offsets or {}).items():
        end = ends.get((topic, partition), _LATEST)
        if 0 <= end < begin:
            raise ValueError(f"{topic} ends at {partition}: {end}, and startingOffsets begins there at {begin}")


def settled(place: Place, known: Known, by_time: Mapping[At, int]) -> dict[At, int]:
    """
    Return the offset of a place in each partition that brokers know. `by_time` are the first offsets at or after its time, if
    it has one; a partition without such a record is settled at its end. One that `offsets` leaves out is settled at its
    beginning, as one that comes later.

    Raises:
        ConnectError: `offsets` names a partition that does not exist
    """
    if place.offsets is not None:
        strange = sorted(place.offsets.keys() - known.ends.keys())
        if strange:
            topic, partition = strange[0]
            raise ConnectError(f"The offsets name {topic}-{partition}, and there is no such partition in what is read")
    settled_offsets = {}
    for at, end in known.ends.items():
        if place.time_ms is not None:
            offset = by_time.get(at, _LATEST)
        elif place.offsets is not None:
            offset = place.offsets.get(at, _EARLIEST)
        else:
            offset = place.offset if place.offset is not None else _EARLIEST
        settled_offsets[at] = known.begins[at] if offset == _EARLIEST else end if offset == _LATEST else offset
    return settled_offsets


def to_json(offsets: Mapping[At, int]) -> Offsets:
    """Return offsets as a checkpoint has them."""
    plain: Offsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        plain.setdefault(topic, {})[str(partition)] = offset
    return plain


def of_json(plain: Mapping[str, Mapping[str, Any]] | None) -> dict[At, int]:
    """Return the offsets of a checkpoint."""
    partitions = ((topic, by_partition) for topic, by_partition in (plain or {}).items())
    return {(topic, int(number)): int(offset) for topic, by_partition in partitions for number, offset in by_partition.items()}


def ranges(begin: Mapping[At, int], end: Mapping[At, int], known: Known, fails_on_loss: bool) -> list[Range]:
    """
    Return what lies between two places. A partition that `begin` lacks has come later, and is read from its beginning.

    Raises:
        ConnectError: records between them are gone, or the topic is another one than before. With `fails_on_loss` false, what
            there is is read instead
    """
    if fails_on_loss:
        require_there(begin, known)
    planned = []
    for (topic, partition), last in sorted(end.items()):
        at = (topic, partition)
        if at not in known.begins:
            if fails_on_loss and last > begin.get(at, 0):
                raise _loss(f"{topic}-{partition} does not exist any more, and its offsets up to {last} are wanted")
            continue
        low, high = known.begins[at], known.ends[at]
        first = begin.get(at, low)
        if first > last:
            if fails_on_loss:
                raise made_again((topic, partition), {(topic, partition): first}, Known({}, {(topic, partition): last}))
            first = low
        if fails_on_loss and first < low and first < last:
            raise _loss(f"{topic}-{partition} begins at offset {low} now, and offset {first} is wanted")
        if fails_on_loss and last > high:
            raise _loss(f"{topic}-{partition} ends at offset {high} now, and offsets up to {last} are wanted")
        first, last = max(first, low), min(last, high)
        if first < last:
            planned.append(Range(topic, partition, first, last))
    return planned


def require_there(begin: Mapping[At, int], known: Known) -> None:
    """Raise ConnectError if a partition that was read before does not exist any more."""
    for topic, partition in sorted(begin.keys() - known.ends.keys()):
        raise _loss(f"{topic}-{partition} has been read before, and does not exist any more, or the options name other topics")


def gone_back(begin: Mapping[At, int], known: Known) -> list[At]:
    """
    Return the partitions that end before the offset up to which they were read. A leader that has only just begun may know an
    earlier end for a moment; where that lasts, the topic was made again.
    """
    return sorted(at for at, offset in begin.items() if known.ends.get(at, offset) < offset)


def made_again(at: At, begin: Mapping[At, int], known: Known) -> ConnectError:
    """Return the error for a partition that has gone back."""
    return _loss(f"{at[0]}-{at[1]} was read up to offset {begin[at]}, and ends at {known.ends[at]} now: it was made again")


def _loss(reason: str) -> ConnectError:
    return ConnectError(
        f"Records are missing: {reason}. Kafka's retention may have deleted them, or somebody the topic. To read what there "
        "is, set the option failOnDataLoss=false; a stream may need a new checkpoint"
    )


def pieces(planned: Iterable[Range], most: int | None) -> Iterator[Range]:
    """Yield the ranges, with none that has more than `most` offsets."""
    for whole in planned:
        step = most or whole.end - whole.begin
        for begin in range(whole.begin, whole.end, step):
            yield whole._replace(begin=begin, end=min(begin + step, whole.end))


def limited(start: Mapping[At, int], known: Known, most: int | None) -> dict[At, int]:
    """
    Return the ends of a batch that has at most `most` offsets: each partition gets its share of what it has. A partition that
    does not exist any more stays where it was: it would be read from its beginning if it came back.
    """
    gone = {at: offset for at, offset in start.items() if at not in known.ends}
    begins = {at: max(start.get(at, known.begins[at]), known.begins[at]) for at in known.ends}
    waiting = {at: max(0, end - begins[at]) for at, end in known.ends.items()}
    total = sum(waiting.values())
    if most is None or total <= most:
        # A partition never goes back: a leader that has only just begun may know an earlier end.
        return {**gone, **{at: max(end, start.get(at, end)) for at, end in known.ends.items()}}
    ends, left = gone, most
    for at in sorted(waiting, key=lambda at: (-waiting[at], at)):
        share = min(waiting[at], left, -(-most * waiting[at] // total))
        left -= share
        ends[at] = start[at] if share == 0 and at in start else begins[at] + share
    return ends
