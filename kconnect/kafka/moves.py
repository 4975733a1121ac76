"""
Where a sink goes on, moved to a time, an end of its topics, or back: what that means for each partition.

Used by `kconnect offsets rewind` and by the worker's REST API (`worker/brokers.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kconnect.kafka.positions import Place, Positions, Span


@dataclass(frozen=True)
class Move:
    """
    A move of one partition. `now` is None where the sink has committed nothing: it begins where its consumer is set to begin.
    """

    place: Place
    now: int | None
    new: int
    span: Span

    @property
    def again(self) -> int:
        """The greatest number of records that come a second time: compaction and transactions leave offsets without records."""
        return 0 if self.now is None else max(min(self.now, self.span.end) - self.new, 0)

    @property
    def skipped(self) -> int:
        """The greatest number of records that the move skips."""
        return max(self.new - max(self.now or 0, self.span.start), 0)

    @property
    def changes(self) -> bool:
        return self.now != self.new


def planned(positions: Positions, places: Collection[Place], now: Mapping[Place, int], to: str, number: int = 0) -> list[Move]:
    """
    `to` is `earliest`, `latest`, `time`, in ms since 1970, or `back`, by so many records; `now` is what is committed.

    UnavailableError if no broker answers.
    """
    spans = positions.spans(places)
    if to == "time":
        return to_times(now, spans, positions.at(places, number))
    if to == "back":
        return back_by(now, spans, number)
    return to_earliest(now, spans) if to == "earliest" else to_latest(now, spans)


def to_times(now: Mapping[Place, int], spans: Mapping[Place, Span], at: Mapping[Place, int | None]) -> list[Move]:
    """`at` is the first record that is not older than the time; behind the last record is the end."""
    return _moves(now, spans, {place: spans[place].end if at[place] is None else at[place] for place in spans})


def to_earliest(now: Mapping[Place, int], spans: Mapping[Place, Span]) -> list[Move]:
    return _moves(now, spans, {place: span.start for place, span in spans.items()})


def to_latest(now: Mapping[Place, int], spans: Mapping[Place, Span]) -> list[Move]:
    return _moves(now, spans, {place: span.end for place, span in spans.items()})


def back_by(now: Mapping[Place, int], spans: Mapping[Place, Span], count: int) -> list[Move]:
    """Return moves back by `count` offsets from where the sink is, so that partitions without an offset stay without one."""
    return _moves(now, spans, {place: now[place] - count for place in spans if place in now})


def _moves(now: Mapping[Place, int], spans: Mapping[Place, Span], targets: Mapping[Place, int | None]) -> list[Move]:
    """Never before the first record that is still there, nor behind the end: Kafka would go somewhere else by itself."""
    moves = []
    for place, offset in sorted(targets.items()):
        span = spans[place]
        new = min(max(span.start if offset is None else offset, span.start), span.end)
        moves.append(Move(place, now.get(place), new, span))
    return moves
