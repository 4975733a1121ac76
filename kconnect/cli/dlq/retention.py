"""Whether brokers forget what has been replayed (`memory.py`) before they drop the letters themselves."""

from __future__ import annotations

from typing import Any

from kconnect.cli.brokers import Brokers

_ANSWER_S = 15


def warning(brokers: Brokers, queue: str) -> str | None:
    """A sentence if so; None too if the user may not ask."""
    import confluent_kafka as ck
    from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

    admin = AdminClient(brokers.client_config("admin"))
    try:
        broker = next(iter(admin.list_topics(timeout=_ANSWER_S).brokers))
        asked = [ConfigResource(ResourceType.TOPIC, queue), ConfigResource(ResourceType.BROKER, str(broker))]
        topic, node = (done.result() for done in admin.describe_configs(asked, request_timeout=_ANSWER_S).values())
    except (ck.KafkaException, StopIteration):
        return None
    return told(queue, _value(topic, "retention.ms"), _value(node, "offsets.retention.minutes"))


def told(queue: str, kept_ms: str | None, remembered_minutes: str | None) -> str | None:
    if kept_ms is None or remembered_minutes is None:
        return None
    days = int(remembered_minutes) / 1440
    if 0 <= int(kept_ms) <= int(remembered_minutes) * 60_000:
        return None
    kept = "for ever" if int(kept_ms) < 0 else f"for {int(kept_ms) / 86_400_000:g} days"
    return (
        f"Brokers forget what was replayed {days:g} days after the last replay (offsets.retention.minutes), but keep "
        f"the letters {kept}: drop what is done with `kconnect dlq drop {queue} --replayed`"
    )


def _value(found: Any, name: str) -> str | None:
    entry = found.get(name)
    return None if entry is None else entry.value
