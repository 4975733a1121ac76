"""Whether brokers forget what has been replayed (`dlq/memory.py`) before they drop the letters themselves."""

from __future__ import annotations

from kconnect.cli.brokers import Brokers
from kconnect.errors import ConnectError
from kconnect.kafka.cluster import Cluster


def warning(brokers: Brokers, queue: str) -> str | None:
    """A sentence if so; None too if the user may not ask."""
    cluster = Cluster(brokers.client_config("admin"))
    try:
        topic, _ = cluster.settings(queue)
        return told(queue, (topic or {}).get("retention.ms"), cluster.broker_settings().get("offsets.retention.minutes"))
    except ConnectError:
        return None


def told(queue: str, kept_ms: str | None, remembered_minutes: str | None) -> str | None:
    if kept_ms is None or remembered_minutes is None:
        return None
    days = int(remembered_minutes) / 1440
    if 0 <= int(kept_ms) <= int(remembered_minutes) * 60_000:
        return None
    how_long = "for ever" if int(kept_ms) < 0 else f"for {int(kept_ms) / 86_400_000:g} days"
    return (
        f"Brokers forget what was replayed {days:g} days after the last replay (offsets.retention.minutes), but keep the "
        f"letters {how_long}: drop replayed letters with `kconnect dlq drop {queue} --replayed`"
    )
