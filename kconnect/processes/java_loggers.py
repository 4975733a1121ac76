"""
Which loggers do here what those of Kafka Connect's Java classes do there: for runbooks that set their levels.

`levels.py` asks before it looks for a logger of that name, in every process that applies a level. A name of Kafka's that
nothing here goes by is refused: to set it would change nothing. docs/compatibility.md lists the table.
"""

from __future__ import annotations

from kconnect.errors import NotFoundError

_CONNECT = "org.apache.kafka.connect"
_RUNTIME = f"{_CONNECT}.runtime"
_FOREIGN = ("org.apache.kafka", "org.eclipse.jetty")
_MIRROR = f"{_CONNECT}.mirror"
"""MirrorMaker's: a plugin's, as any other name."""

CLASSES: dict[str, tuple[str, ...]] = {
    "org.apache.kafka": ("kconnect",),
    _CONNECT: ("kconnect",),
    _RUNTIME: (
        "kconnect.worker",
        "kconnect.host",
        "kconnect.units",
        "kconnect.core.task",
        "kconnect.processes",
        "kconnect.rest",
        "kconnect.plugins",
    ),
    f"{_RUNTIME}.AbstractHerder": ("kconnect.worker.loop",),
    f"{_RUNTIME}.AbstractWorkerSourceTask": ("kconnect.units.source_task", "kconnect.core.task.source_pump"),
    f"{_RUNTIME}.ExactlyOnceWorkerSourceTask": ("kconnect.core.task.delivery",),
    f"{_RUNTIME}.SourceTaskOffsetCommitter": ("kconnect.core.task.delivery",),
    f"{_RUNTIME}.Worker": ("kconnect.worker.main", "kconnect.host.main"),
    f"{_RUNTIME}.WorkerConnector": ("kconnect.units.connector_unit",),
    f"{_RUNTIME}.WorkerSinkTask": ("kconnect.units.sink_task", "kconnect.core.task.sink_pump", "kconnect.kafka.consumer"),
    f"{_RUNTIME}.WorkerSourceTask": ("kconnect.units.source_task", "kconnect.core.task.delivery"),
    f"{_RUNTIME}.WorkerTask": ("kconnect.units.unit",),
}
"""Of these names only."""

PACKAGES: dict[str, tuple[str, ...]] = {
    "org.apache.kafka.clients": ("kconnect.kafka.client",),
    "org.apache.kafka.common": ("kconnect.kafka.client",),
    "org.apache.kafka.common.config.provider": ("kconnect.providers", "kconnect.plugins.providers"),
    f"{_CONNECT}.cli": ("kconnect.worker.main",),
    f"{_CONNECT}.converters": ("kconnect.converters",),
    f"{_CONNECT}.file": ("kconnect.connectors",),
    f"{_CONNECT}.json": ("kconnect.converters",),
    f"{_RUNTIME}.distributed": ("kconnect.worker.loop", "kconnect.kafka.group"),
    f"{_RUNTIME}.errors": ("kconnect.units.reports",),
    f"{_RUNTIME}.isolation": ("kconnect.plugins",),
    f"{_RUNTIME}.rest": ("kconnect.rest",),
    f"{_CONNECT}.storage": ("kconnect.kafka.log", "kconnect.worker.writing", "kconnect.units.offset_topic"),
    f"{_CONNECT}.transforms": ("kconnect.transforms", "kconnect.predicates"),
    f"{_CONNECT}.util": ("kconnect.kafka.log", "kconnect.kafka.admin"),
    "org.eclipse.jetty": ("kconnect.rest",),
}
"""Of these names and of all below them."""


def is_foreign(name: str) -> bool:
    """Whether it is a Java name of Kafka's: of a logger of this process only if Java runs in it, too."""
    return any(_is_of(name, foreign) for foreign in _FOREIGN) and not _is_of(name, _MIRROR)


def _is_of(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def ours(name: str) -> tuple[str, ...]:
    """The loggers that a name means: itself, if it is none of Kafka's. NotFoundError if nothing here does what that one did."""
    if name in CLASSES:
        return CLASSES[name]
    if not is_foreign(name):
        return (name,)
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if (loggers := PACKAGES.get(".".join(parts[:end]))) is not None:
            return loggers
    raise NotFoundError(
        f"Logger {name} not found. It is a Java class of Kafka, and kconnect has no logger for it; {_CONNECT} stands for all "
        "of kconnect's, GET /admin/loggers lists them, and docs/compatibility.md has the Java names that lead to one of them."
    )
