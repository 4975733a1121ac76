"""
All that can be found out about one connector, from REST, `/metrics`, Kafka and the internal topics, as plain data.

`kconnect describe` calls `Look.connector` for each name; what serves for several connectors is asked once. What can't be known
is None, and `unknown` says why. Read next: `core/describe/advice.py`, which judges what was found; `note.py`, which writes it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kconnect.cli import retrying
from kconnect.core.describe import advice, changes, lateness
from kconnect.core.state import causes
from kconnect.core.state.records import Topic, UnitId
from kconnect.errors import BadRequestError, ConnectError, RetriableError, UnavailableError

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers
    from kconnect.cli.scrape import Scrape
    from kconnect.kafka.stamped import Stamped
    from kconnect.rest.answers import InferredSchema
    from kconnect.rest.client import ConnectClient

_NO_BROKERS = "give --bootstrap-server or --worker-file"
_NO_TOPICS = "give --worker-file, or --bootstrap-server with --config-topic and --status-topic"
_ROLES = {"config": Topic.CONFIG, "status": Topic.STATUS}
_TOTALS = ("in_per_s", "out_per_s", "in_total", "out_total", "lag", "errors", "skipped", "dead_letters")
_ROLES_OF_PLUGINS = ("key.converter", "value.converter", "header.converter")


class Look:
    """A view of one cluster, through one worker, at one time. `brokers` may know nothing."""

    def __init__(self, client: ConnectClient, brokers: Brokers, names: Iterable[str]) -> None:
        self._client, self._brokers, self._names = client, brokers, list(names)
        self._silent: dict[str, str] = {}

    def connector(self, name: str) -> dict[str, Any]:
        """
        RestError if there is no such connector, or no answer; anything else that fails is in `unknown`.

        Keys: name, type, class, version, state, worker_id, since_ms, error, retrying, tasks, plugins, schemas (None unless it
        infers any), topics, late_rows (None unless a row can come too late), offsets, lag, numbers, restarts, changes,
        seen_since_ms, moving, errors, unknown, advice. Times are milliseconds since 1970.
        """
        unknown: dict[str, str] = {}
        info = self._client.connector(name)
        config: dict[str, str | None] = info["config"]
        status = self._or_why(unknown, "state", lambda: self._client.status(name)) or {"connector": {}, "tasks": []}
        of_kconnect = self._or_why(unknown, "retrying", lambda: self._own) or {}
        retrying.add(of_kconnect, name, status["tasks"])
        scraped = self._or_why(unknown, "numbers", lambda: self._scrape)
        past = self._or_why(unknown, "since", lambda: changes.of(name, self._stamped))
        if past is None:
            unknown["changes"] = unknown["since"]
        tasks = [self._task(name, task, past, scraped) for task in status["tasks"]]
        kind = info.get("type") or status.get("type")
        connector = status["connector"]
        report: dict[str, Any] = {
            "name": name,
            "type": kind,
            "class": config.get("connector.class"),
            "version": connector.get("version"),
            **_unit(UnitId(name), connector, past),
            "retrying": of_kconnect.get(name, {}).get("retrying"),
            "tasks": tasks,
            "plugins": self._plugins(config),
            "schemas": self._or_why(unknown, "schemas", lambda: self._schemas(name, config)),
            "topics": self._or_why(unknown, "topics", lambda: self._client.topics(name)),
            "late_rows": lateness.of(config),
            "offsets": self._or_why(unknown, "offsets", lambda: self._client.offsets(name)),
            "lag": None,
            "numbers": _sums(tasks) if scraped is not None else None,
            "restarts": None if past is None else past.restarts(),
            "changes": None if past is None else [_event(event) for event in past.events],
            "seen_since_ms": None if past is None else past.begins_ms,
            "moving": [] if scraped is None else [unit for unit in scraped.cluster["moving"] if unit["connector"] == name],
            "errors": _errors(config),
            "unknown": unknown,
        }
        if kind == "sink":
            report["lag"] = self._or_why(unknown, "lag", lambda: self._lag(config, report, scraped))
        if scraped is not None and (silent := {task["worker_id"] for task in tasks} & scraped.silent.keys()):
            unknown["numbers"] = "; ".join(scraped.silent[worker] for worker in sorted(silent))
        report["advice"] = advice.of(report)
        return report

    def task(self, name: str, number: int) -> dict[str, Any] | None:
        """
        Return a task as `connector` has it, with name, config (secrets hidden), changes, unknown and advice; None if there is
        none.
        """
        report = self.connector(name)
        of_number = next((task for task in report["tasks"] if task["id"] == number), None)
        if of_number is None:
            return None
        unknown = {key: why for key, why in report["unknown"].items() if key in ("numbers", "since", "changes")}
        configs = self._or_why(unknown, "config", lambda: self._client.tasks(name)) or []
        config = next((row["config"] for row in configs if row["id"]["task"] == number), None)
        own_changes = report["changes"] and [row for row in report["changes"] if row["task"] == number]
        return {
            "name": f"{name}/{number}",
            **of_number,
            "config": None if config is None else changes.shown(config),
            "changes": own_changes,
            "unknown": unknown,
            "advice": [] if of_number["error"] is None else report["advice"],
        }

    def _task(self, name: str, task: Mapping[str, Any], past: changes.History | None, scraped: Scrape | None) -> dict[str, Any]:
        number: int = task["id"]
        numbers = None if scraped is None else dict(scraped.tasks.get((name, number), {}))
        unit = _unit(UnitId(name, number), task, past)
        retries = task.get("retrying")
        return {"id": number, "version": task.get("version"), **unit, "numbers": numbers, "retrying": retries}

    def _lag(self, config: Mapping[str, str | None], report: Mapping[str, Any], scraped: Scrape | None) -> dict[str, Any]:
        """`{"total", "partitions": [{"topic", "partition", "committed", "end", "lag"}]}`; of /metrics: no partitions."""
        if not self._brokers.known or report["offsets"] is None:
            lags = [task["numbers"]["lag"] for task in report["tasks"] if task["numbers"] and "lag" in task["numbers"]]
            if scraped is not None and lags and len(lags) == len(report["tasks"]):
                return {"total": int(sum(lags)), "partitions": []}
            raise BadRequestError(_NO_BROKERS if report["offsets"] is not None else "its committed offsets are not known")
        if config.get("consumer.override.bootstrap.servers"):
            raise BadRequestError("it reads from brokers of its own (consumer.override.bootstrap.servers)")
        return lag(report["offsets"], {*(report["topics"] or ()), *_named_topics(config)}, self._brokers.client_config("admin"))

    def _plugins(self, config: Mapping[str, str | None]) -> list[dict[str, str | None]]:
        classes = [(role, config.get(role)) for role in _ROLES_OF_PLUGINS]
        for kind in ("transforms", "predicates"):
            aliases = [alias.strip() for alias in (config.get(kind) or "").split(",") if alias.strip()]
            classes += [(f"{kind}.{alias}", config.get(f"{kind}.{alias}.type")) for alias in aliases]
        versions: dict[str, set[str]] = {}
        for plugin in self._listed:
            for name in (plugin["class"], plugin["class"].rpartition(".")[2]):
                versions.setdefault(name, set()).add(plugin.get("version") or "")
        return [
            {"role": role, "class": name, "version": (_only(versions.get(name, set())) or None)}
            for role, name in classes
            if name is not None
        ]

    def _schemas(self, name: str, config: Mapping[str, str | None]) -> list[InferredSchema] | None:
        infers = any((config.get(f"{part}.converter.schemas.infer") or "").lower() == "true" for part in ("key", "value"))
        return list(self._client.schemas(name)["schemas"]) if infers else None

    def _or_why(self, unknown: dict[str, str], what: str, ask: Callable[[], Any]) -> Any:
        import click

        if what in self._silent:
            unknown[what] = self._silent[what]
            return None
        try:
            return ask()
        except (ConnectError, click.UsageError) as error:
            unknown[what] = " ".join(str(error).split())
            if isinstance(error, (RetriableError, UnavailableError)):
                # Brokers that do not answer take up to two minutes: not for each of the connectors.
                self._silent[what] = unknown[what]
            return None

    # Each of these is asked once; functools keeps what came of it, not an error.

    @functools.cached_property
    def _listed(self) -> list[dict[str, Any]]:
        try:
            return self._client.plugins(connectors_only=False)
        except ConnectError:
            return []  # Kafka Connect before 3.2 lists connectors only; versions are a nicety here.

    @functools.cached_property
    def _own(self) -> dict[str, Any]:
        return self._client.own()

    @functools.cached_property
    def _scrape(self) -> Scrape:
        from kconnect.cli import scrape

        try:
            return scrape.scrape(self._client)
        except BadRequestError:
            raise BadRequestError("this worker has no /metrics, which kconnect's workers have") from None

    @functools.cached_property
    def _stamped(self) -> list[Stamped]:
        from kconnect.kafka import stamped

        topic_names = self._brokers.topics.known() if self._brokers.known else {}
        topics = {role: topic_names[name] for name, role in _ROLES.items() if name in topic_names}
        if len(topics) < len(_ROLES):
            raise BadRequestError(_NO_TOPICS)
        return stamped.read(self._brokers.client_config("consumer"), topics, changes.keys(self._names))


def lag(offsets: Iterable[Mapping[str, Any]], topics: Iterable[str], client: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return how far a sink is behind, by its offsets as REST gives them and the ends of Kafka's partitions. A partition without
    an offset has all of its records still to come, as a sink reads from the beginning by default.
    """
    from kconnect.kafka.positions import Place, Positions

    committed = {
        Place(entry["partition"]["kafka_topic"], int(entry["partition"]["kafka_partition"])): int(
            entry["offset"]["kafka_offset"]
        )
        for entry in offsets
        if entry.get("offset")
    }
    positions = Positions(client)
    places = positions.partitions({*topics, *(place.topic for place in committed)})
    rows = []
    for place, span in positions.spans(places).items():
        at = committed.get(place)
        behind = max(span.end - max(span.start if at is None else at, span.start), 0)
        rows.append({"topic": place.topic, "partition": place.partition, "committed": at, "end": span.end, "lag": behind})
    return {"total": sum(row["lag"] for row in rows), "partitions": rows}


def _unit(unit: UnitId, status: Mapping[str, Any], past: changes.History | None) -> dict[str, Any]:
    state = status.get("state")
    cause = causes.of(status.get("trace"))
    return {
        "state": state,
        "waits_for": status.get("trace") if state == "UNASSIGNED" else None,
        "worker_id": status.get("worker_id"),
        "since_ms": None if past is None or state is None else past.since_if(unit, state),
        "error": None
        # With a trace, a RUNNING one is making a call again.
        if cause is None or state == "RUNNING"
        else {"first_cause": cause.first, "reported_as": cause.reported, "trace": status["trace"]},
    }


def _sums(tasks: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    of_tasks = [task["numbers"] for task in tasks if task["numbers"]]
    sums = {key: sum(numbers[key] for numbers in of_tasks if key in numbers) for key in _TOTALS}
    progress = [numbers["progress_at"] for numbers in of_tasks if "progress_at" in numbers]
    return {key: value for key, value in sums.items() if any(key in task_numbers for task_numbers in of_tasks)} | (
        {"progress_at": max(progress)} if progress else {}
    )


def _event(event: changes.Event) -> dict[str, Any]:
    task = None if event.unit is None or event.unit.is_connector else event.unit.task
    return {"at_ms": event.at_ms, "task": task, "text": event.text}


def _errors(config: Mapping[str, str | None]) -> dict[str, str | None]:
    return {"tolerance": config.get("errors.tolerance") or "none", "topic": config.get("errors.deadletterqueue.topic.name")}


def _named_topics(config: Mapping[str, str | None]) -> list[str]:
    return [topic.strip() for topic in (config.get("topics") or "").split(",") if topic.strip()]


def _only(versions: set[str]) -> str | None:
    """Several versions are installed: which one a config means, `*.plugin.version` says, and the metrics."""
    return next(iter(versions)) if len(versions) == 1 else None
