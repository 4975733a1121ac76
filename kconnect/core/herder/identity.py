"""Who a worker is, as `worker/main.py` tells its herder once. Read next: `desk.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kconnect.core.cluster.lease import stopped_after_ms
from kconnect.core.state.records import Topic


@dataclass(frozen=True)
class Identity:
    """
    This worker's identity. `incarnation` orders the lives of one worker id: start time first, then something random. Times are
    milliseconds.
    """

    worker_id: str
    url: str
    incarnation: str
    commit: str
    """Of what code the worker is, as `GET /` tells it."""
    kafka_cluster_id: str
    hosts: int = 1
    """The fewest hosts that ordinary connectors and tasks share."""
    most_hosts: int = 0
    """The most of them; 0: there are never more."""
    session_timeout_ms: int = 10_000
    handover_grace_ms: int = 2_000
    task_grace_ms: int = 5_000
    rebalance_delay_ms: int = 0
    spark_rests_after_ms: int = -1
    """After how long without anything to run, in the whole cluster, this worker's Spark ends; -1: never."""
    load_moves_per_hour: int = 0
    """How many units may move in an hour for what tasks take of a processor; 0: none."""
    record_bytes: int = 2**20
    """The size of the largest record that may be written into the internal topics."""
    tracks_topics: bool = True
    resets_topics: bool = True
    exactly_once: bool = False
    """Whether source tasks write in transactions."""
    redirects_producers: bool = False
    """Whether the worker's own settings have connectors' producers write to another Kafka cluster."""
    topic_names: Mapping[Topic, str] = field(default_factory=dict)
    topic_ids: Mapping[Topic, str] = field(default_factory=dict)
    """What Kafka called the internal topics when this worker began to read them."""
    process: tuple[str, int, float] | None = None
    """Where this process is seen: see `Held`."""
    version: str = ""
    """Of kconnect."""

    @property
    def is_secure(self) -> bool:
        """Whether this worker is reached by https."""
        return self.url.lower().startswith("https://")

    @property
    def hosts_stop_after_ms(self) -> int:
        """After how long a host that nobody can see, and that can't read the log, has asked its units to stop."""
        return stopped_after_ms(self.session_timeout_ms, self.handover_grace_ms)
