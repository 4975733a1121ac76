"""
What runs on the rig while faults are played: connectors whose every record and call can be checked.

Three source tasks with a transaction for each poll, two with longer ones, two sink tasks that read what all these write, and
the connector `churn`, whose config changes all the time. Whether they are exactly once, and in Java, is up to the run
(`trial.py`). `tests/rig/systems/verifiable.py` says what they do. Held by `play.py`. Read next: `evidence.py`.
"""

from __future__ import annotations

from confluent_kafka.admin import NewTopic

from kconnect.rest.client import ConnectClient
from tests.rig.machines import mirror, tables
from tests.rig.machines.cluster import Rig
from tests.rig.systems import verifiable

POLLS, INTERVALS, CHURN = "polls", "intervals", "churn"
"""The sources, and the topics of the same names that they write to."""
TASKS = {POLLS: 3, INTERVALS: 2, "sink": 2}
"""The connectors that run all the time, with their numbers of tasks."""
UNITS = tuple(f"{name}-{task}" for name, count in TASKS.items() for task in range(count))
SUNK = (POLLS, INTERVALS)

_CHURN_TASKS = (1, 2)
_PARTITIONS = {POLLS: TASKS[POLLS], INTERVALS: TASKS[INTERVALS], CHURN: max(_CHURN_TASKS)}
_SETTINGS = {
    POLLS: {"rate": "10", "poll.ms": "300"},
    INTERVALS: {"rate": "10", "poll.ms": "200", "transaction.boundary": "interval", "transaction.boundary.interval.ms": "1000"},
    CHURN: {"rate": "4", "poll.ms": "500"},
}
_APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
"""The broker's clock says what was there first: a source offset or the record that it covers."""


def create_topics(rig: Rig) -> None:
    """Create the topics, and grant the workers' user its rights."""
    counts = dict(_PARTITIONS)
    groups = ["sink"]
    read = list(SUNK)
    if rig.trial.in_java:
        counts |= {mirror.copy(topic): _PARTITIONS[topic] for topic in SUNK}
    topics = [NewTopic(topic, count, 3, config=_APPEND_TIME) for topic, count in counts.items()]
    if rig.trial.has_tables:
        topics.append(NewTopic(tables.TOPIC, 1, 3))
        read.append(tables.TOPIC)
        groups.append(tables.SINK)
    for created in rig.brokers.admin().create_topics(topics).values():
        created.result(120)
    rig.rights.grant([topic.topic for topic in topics], read, groups)


def create_connectors(client: ConnectClient, rig: Rig) -> None:
    client.create("sink", _sink(rig))
    for name, count in ((POLLS, TASKS[POLLS]), (INTERVALS, TASKS[INTERVALS]), (CHURN, _CHURN_TASKS[0])):
        client.create(name, _source(rig, name, count))
    if rig.trial.in_java:
        authority = rig.certificates.authority.read_text("utf-8")
        client.create(mirror.NAME, mirror.config(SUNK, authority, rig.trial.exactly_once))


def churn(rig: Rig, revision: int) -> dict[str, str]:
    """Return the config of the connector `churn`, of which each revision has another number of tasks than the one before."""
    count = _CHURN_TASKS[revision % len(_CHURN_TASKS)]
    return {**_source(rig, CHURN, count), "revision": str(revision)}


def _source(rig: Rig, name: str, tasks: int) -> dict[str, str]:
    return {
        "connector.class": verifiable.JAVA_SOURCE_CLASS if rig.trial.in_java else verifiable.SOURCE_CLASS,
        "directory": str(rig.data),
        "topic": name,
        "tasks.max": str(tasks),
        "exactly.once.support": "required" if rig.trial.exactly_once else "requested",
        **_SETTINGS[name],
    }


def _sink(rig: Rig) -> dict[str, str]:
    return {
        "connector.class": verifiable.JAVA_SINK_CLASS if rig.trial.in_java else verifiable.SINK_CLASS,
        "directory": str(rig.data),
        "topics": ",".join(SUNK),
        "tasks.max": str(TASKS["sink"]),
        "consumer.override.isolation.level": "read_committed",
    }
