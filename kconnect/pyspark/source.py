"""
KconnectDataSource: what Spark asks `format("kconnect")` for, as batch and as stream.

Registered by `kconnect.pyspark.register`. Spark makes these objects in processes of its own, pickles them, and sends them to
executors, so they hold a frame's options as they were given and offsets, never a client or a secret. Clients are imported and
made where they are first needed: Spark gives the process of a stream's source ten seconds to connect. Replays are by offsets,
so Spark's checkpoint is all that a stream needs. Read next: `options.py`, `places.py`, `rows.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from kconnect.pyspark import places
from kconnect.pyspark.places import At, Known, Range

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from kconnect.pyspark.cluster import Cluster
    from kconnect.pyspark.filters import Pushed
    from kconnect.pyspark.frame import Frame
    from kconnect.pyspark.options import Options

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:  # PySpark 4.0 and 4.1

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Newer versions of PySpark freeze the end of a stream by it."""

    _HAS_LIMITS = False
else:
    _HAS_LIMITS = True


_SETTLED_S, _PAUSE_S = 10.0, 0.5
"""How long a partition may end before the offset that was read, after a new leader has taken over."""


class RangePartition(InputPartition):
    """A range for one task of Spark's. None if there is nothing to read: a plan has at least one partition."""

    def __init__(self, wanted: Range | None) -> None:
        self.wanted = wanted

    def __repr__(self) -> str:
        return f"RangePartition({self.wanted})"


class KconnectDataSource(DataSource):
    """Topics of Kafka as typed rows. Raises ConfigError, naming the option, for one that can't be used."""

    def __init__(self, options: Any) -> None:
        # As they are: Spark pickles this object into the plan.
        self.options = dict(options)
        self._parsed()

    @classmethod
    def name(cls) -> str:
        return "kconnect"

    def schema(self) -> StructType:
        from kconnect.pyspark import frame

        return frame.schema(self._parsed())

    def reader(self, schema: StructType) -> DataSourceReader:
        # Spark fails a reader that takes filters where it is not told to hand them on.
        kind = PushingReader if _may_push() else BatchReader
        return kind(self._frame(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from kconnect.pyspark import options

        options.require_endless(self._parsed())
        return StreamReader(self._frame(schema))

    def _parsed(self) -> Options:
        from kconnect.pyspark import options

        return options.parse(self.options)

    def _frame(self, schema: StructType) -> Frame:
        from kconnect.pyspark import frame

        return frame.of(self._parsed(), schema)


def _may_push() -> bool:
    """Whether Spark asks in order to hand over filters: that is a process with a module of its own."""
    import sys

    pushdown = "pyspark.sql.worker.data_source_pushdown_filters"
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return pushdown in sys.modules or getattr(spec, "name", None) == pushdown


class BatchReader(DataSourceReader):
    """Reads what there is when Spark plans the query."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._pushed: Pushed | None = None

    def partitions(self) -> list[InputPartition]:
        frame, cluster = self._frame, self._frame.cluster()
        options = frame.options
        known = cluster.known(cluster.existing(frame.topics(cluster)))
        begin = places.settled(options.starting, known, cluster.by_time(options.starting, known))
        end = places.settled(options.ending, known, cluster.by_time(options.ending, known))
        end = {at: max(offset, begin[at]) for at, offset in end.items()}
        planned = places.ranges(begin, end, known, options.fails_on_loss)
        if self._pushed is not None:
            since = cluster.by_time(places.Place(time_ms=self._pushed.since_ms), known)
            planned = self._pushed.ranges(planned, since)
        return _partitions(planned, options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._frame.read(partition.wanted if isinstance(partition, RangePartition) else None)


class PushingReader(BatchReader):
    """The same, which takes filters of Spark's."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        from kconnect.pyspark.filters import Pushed

        self._pushed = Pushed()
        return self._pushed.take(filters)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """
    Reads on, batch by batch. Offsets are those of Spark's Kafka source, `{"topic": {"0": 123}}`; what they lack has come later,
    and is read from its beginning.

    PySpark before 4.2 does not say where a stream is when it asks for the end of a batch, so the reader remembers where it was.
    It does not know that for the first batch after a restart, which has all there is, whatever `maxOffsetsPerTrigger` says.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._cluster: Cluster | None = None
        self._at: Mapping[At, int] | None = None
        self._frozen: Mapping[At, int] | None = None
        self._newest: Mapping[At, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        # What executors need: they have clients of their own.
        return {**self.__dict__, "_cluster": None, "_at": None, "_frozen": None, "_newest": {}}

    def initialOffset(self) -> dict[str, Any]:
        options, known = self._frame.options, self._known()
        self._at = places.settled(options.starting, known, self._reached().by_time(options.starting, known))
        return places.to_json(self._at)

    def latestOffset(self, start: Any = None, limit: Any = None) -> dict[str, Any]:
        begin = self._at if start is None else places.of_json(start)
        known = self._known(begin or ())
        if begin is not None:
            begin, known = self._without_lost(begin, known)
        self._newest = known.ends
        if self._frozen is not None:
            # Where a connector has forgotten its topics, only the stream's own place names them.
            self._frozen = {**{at: known.ends[at] for at in begin or () if at in known.ends}, **self._frozen}
            # A partition that has come since is for the next run.
            ends = {at: min(end, self._frozen[at]) for at, end in known.ends.items() if at in self._frozen}
            known = known._replace(ends=ends)
        end = places.limited(begin or {}, known, self._most(limit) if begin is not None else None)
        self._at = end
        return places.to_json(end)

    def _without_lost(self, begin: Mapping[At, int], known: Known) -> tuple[Mapping[At, int], Known]:
        """
        Return what is left of the offsets after which to read, with what brokers say now: a partition of a topic that was made
        again is one that has come later. Raise ConnectError if a loss is to fail the stream.
        """
        fails = self._frame.options.fails_on_loss
        deadline = time.monotonic() + _SETTLED_S
        while back := places.gone_back(begin, known):
            if time.monotonic() > deadline:
                if fails:
                    raise places.made_again(back[0], begin, known)
                return {at: offset for at, offset in begin.items() if at not in back}, known
            time.sleep(_PAUSE_S)
            known = self._known(begin)
        if fails:
            places.require_there(begin, known)
        return begin, known

    def getDefaultReadLimit(self) -> Any:
        most = self._frame.options.most_of_batch
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return places.to_json(self._newest) if self._newest else None

    def prepareForTriggerAvailableNow(self) -> None:
        self._frozen = self._known().ends

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        options = self._frame.options
        begin, last = places.of_json(start), places.of_json(end)
        self._at = last
        topics = {topic for topic, _ in (*begin, *last)}
        planned = places.ranges(begin, last, self._reached().known(topics), options.fails_on_loss)
        return _partitions(planned, options)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return self._frame.read(partition.wanted if isinstance(partition, RangePartition) else None)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: where a stream is stands in Spark's checkpoint."""

    def stop(self) -> None:
        self._cluster = None

    def _most(self, limit: Any) -> int | None:
        """Return how many offsets a batch may have: Spark asks for all of them once it has frozen the end itself."""
        if _HAS_LIMITS and limit is not None and not isinstance(limit, ReadMaxRows):
            return None if isinstance(limit, ReadAllAvailable) else self._frame.options.most_of_batch
        return limit.max_rows if limit is not None else self._frame.options.most_of_batch

    def _reached(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._frame.cluster()
        return self._cluster

    def _known(self, begin: Iterable[At] = ()) -> Known:
        cluster = self._reached()
        return cluster.known(self._frame.topics(cluster, {topic for topic, _ in begin}))


def _partitions(planned: list[Range], options: Options) -> list[InputPartition]:
    partitions: list[InputPartition] = [RangePartition(piece) for piece in places.pieces(planned, options.most_of_task)]
    return partitions or [RangePartition(None)]
