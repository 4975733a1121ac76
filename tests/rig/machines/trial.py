"""
What a run on the rig is of: workers of kconnect or of Kafka Connect, connectors in Python or Java, exactly or at least once.

Made by `chaos.py` from its arguments and handed to all parts. Read next: `workload.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """`delay_ms` is `scheduled.rebalance.max.delay.ms` of Kafka Connect's workers, None for its default."""

    is_peer: bool = False
    in_java: bool = False
    exactly_once: bool = True
    delay_ms: int | None = None
    has_tables: bool = False
    """With Debezium's connectors for databases, beside the others."""

    def __post_init__(self) -> None:
        if self.is_peer and not self.in_java:
            raise ValueError("workers of Kafka Connect have connectors in Java only")

    def __str__(self) -> str:
        workers = "Kafka Connect" if self.is_peer else "kconnect"
        delay = "" if self.delay_ms is None else f", scheduled.rebalance.max.delay.ms={self.delay_ms}"
        language, guarantee = "Java" if self.in_java else "Python", "exactly" if self.exactly_once else "at least"
        more = f"{', MirrorMaker' if self.in_java else ''}{', Debezium and JDBC' if self.has_tables else ''}"
        return f"{workers}{delay}, connectors in {language}{more}, {guarantee} once"


USUAL = Trial()
