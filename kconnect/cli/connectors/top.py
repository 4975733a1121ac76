"""
`kconnect top`: which connectors move how much, what waits and what fails, and what the workers take; again and again.

The numbers are those of `/metrics` of all workers, which `cli/scrape.py` asks, the states those of REST.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import click

from kconnect.cli import connection, output, retrying, scrape, watch
from kconnect.cli.layout import age, number, size, table
from kconnect.cli.scrape import Scrape

_EVERY_S = 5.0
_LOOKS = 13
_RETRIES = 2
"""Of one connector: its tasks mostly try the same again."""
_LEAST_S = 10.0
"""CPU is told over the last minute, and not before: hosts report every ten seconds, so two near looks would tell nothing."""

_ORDERS = {
    "rate": lambda row: (-(row["in_per_s"] or 0), -(row["lag"] or 0), row["name"]),
    "lag": lambda row: (-(row["lag"] or 0), row["name"]),
    "errors": lambda row: (-(row["errors"] or 0), row["name"]),
    "name": lambda row: row["name"],
}


@click.command()
@connection.options
@output.option("json", "yaml")
@click.option("--once", is_flag=True, help="Show the table once, for scripts and pipes; -o json and yaml always do.")
@click.option(
    "--every",
    "seconds",
    type=click.FloatRange(0.5, 3600),
    default=_EVERY_S,
    show_default=True,
    metavar="SECONDS",
    help="How often to ask all workers.",
)
@click.option("--sort", type=click.Choice(list(_ORDERS)), default="rate", show_default=True, help="Sort by this column.")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="Show at most so many connectors.")
def top(target: connection.Target, form: str, once: bool, seconds: float, sort: str, limit: int | None) -> None:
    """
    Show live how much each connector moves, what waits, and what fails.

    \b
      kconnect top
      kconnect top --sort lag -n 20
      kconnect top --once -o json

    IN/S are records a second from the source or from Kafka, OUT/S those that went to Kafka or to the sink, both over the
    last 30 to 60 seconds. LAG is what sinks still have to read, ERRORS are records that failed for good since their tasks
    started, and IDLE is the time since a record was last moved. BYTES/S, of the values in Kafka, and CPU, of hosts and of
    tasks' own threads, are those of the looks before, up to twelve: they come once these are ten seconds apart, and never
    with --once. A task that makes a call again and again is RUNNING, and stands below with the reason. Hosts report their
    numbers every `metrics.report.interval.ms` (10 s).

    The workers must be kconnect's: a worker of Kafka Connect has no /metrics.
    """
    with target.connect() as client:
        looks: deque[Scrape] = deque(maxlen=_LOOKS)

        def look() -> dict[str, Any]:
            looks.append(scrape.scrape(client))
            statuses, of_kconnect = client.connectors("status"), client.own()
            for name, entry in statuses.items():
                retrying.add(of_kconnect, name, entry.get("status", {}).get("tasks", ()))
            return view(statuses, looks[-1], looks[0], sort, limit)

        if form != "table":
            output.write(look(), form)
        else:
            watch.show(None if once else seconds, lambda: "\n".join(text(look())))


def view(
    statuses: Mapping[str, Any], now: Scrape, before: Scrape, sort: str = "rate", limit: int | None = None
) -> dict[str, Any]:
    """
    `{"workers": [...], "connectors": [...], "more": how many are left out}`. What is not known is None.

    Args:
        statuses: as `GET /connectors?expand=status` answers, with what `retrying.add` puts there.
        before: an earlier look, which tells of CPU; `now` itself if there is none.
    """
    rows = [_connector(name, entry["status"], now, before) for name, entry in statuses.items() if "status" in entry]
    rows.sort(key=_ORDERS[sort])
    shown = rows if limit is None else rows[:limit]
    return {"workers": _workers(now, before), "connectors": shown, "more": len(rows) - len(shown)}


def _connector(name: str, status: Mapping[str, Any], now: Scrape, before: Scrape) -> dict[str, Any]:
    of_tasks = [now.tasks[name, task["id"]] for task in status["tasks"] if (name, task["id"]) in now.tasks]
    states: dict[str, int] = {}
    for task in status["tasks"]:
        states[task["state"]] = states.get(task["state"], 0) + 1

    def total(key: str) -> float | None:
        values = [numbers[key] for numbers in of_tasks if key in numbers]
        return sum(values) if values else None

    seconds = now.at - before.at

    def rate(key: str) -> float | None:
        since = [
            # One that was started anew since counts from 0 again.
            max(count - before.tasks.get((name, task["id"]), {}).get(key, count), 0.0)
            for task in status["tasks"]
            if (count := now.tasks.get((name, task["id"]), {}).get(key)) is not None
        ]
        return sum(since) / seconds if since and seconds >= _LEAST_S else None

    cpu, data = rate("cpu_seconds"), rate("bytes")
    moved = [numbers["progress_at"] for numbers in of_tasks if "progress_at" in numbers]
    return {
        "name": name,
        "type": status.get("type"),
        "state": status["connector"]["state"],
        "tasks": states,
        "retrying": [{"task": task["id"], **task["retrying"]} for task in status["tasks"] if "retrying" in task],
        **{key: total(key) for key in ("in_per_s", "out_per_s", "lag", "errors", "skipped", "dead_letters")},
        "cpu_percent": None if cpu is None else round(100 * cpu, 1),
        "bytes_per_s": None if data is None else round(data),
        "idle_s": max(now.wall - max(moved), 0.0) if moved else None,
    }


def _workers(now: Scrape, before: Scrape) -> list[dict[str, Any]]:
    rows = []
    for worker in now.cluster["workers"]:
        name = worker["worker_id"]
        hosts, earlier = now.hosts.get(name, {}), before.hosts.get(name, {})
        seconds = now.at - before.at
        memory = [host["memory_bytes"] for host in hosts.values() if "memory_bytes" in host]
        cpu = [
            # A host that has been replaced since counts from 0 again.
            max(host["cpu_seconds"] - earlier.get(number, {}).get("cpu_seconds", host["cpu_seconds"]), 0.0)
            for number, host in hosts.items()
            if "cpu_seconds" in host
        ]
        rows.append(
            {
                "worker_id": name,
                "state": "gone" if worker["url"] is None else "silent" if name in now.silent else "answers",
                "leads": name == now.cluster["leader"],
                "connectors": worker["connectors"],
                "tasks": worker["tasks"],
                "hosts": len(worker["hosts"]),
                "memory_bytes": sum(memory) if memory else None,
                "cpu_percent": round(100 * sum(cpu) / seconds, 1) if cpu and seconds >= _LEAST_S else None,
                "why_silent": now.silent.get(name),
            }
        )
    return rows


def text(found: Mapping[str, Any]) -> list[str]:
    """Two tables, workers on top, for a screen or a pipe."""
    workers = [
        (
            worker["worker_id"] + (" (leader)" if worker["leads"] else ""),
            "" if worker["state"] == "answers" else worker["state"],
            *(str(worker[key]) for key in ("connectors", "tasks", "hosts")),
            size(worker["memory_bytes"]),
            "" if worker["cpu_percent"] is None else f"{worker['cpu_percent']:.0f}%",
        )
        for worker in found["workers"]
    ]
    counts = ("CONNECTORS", "TASKS", "HOSTS", "HOSTS' MEMORY", "CPU")
    lines = table(("WORKER", "STATE", *counts), workers, right=counts)
    lines += [f"{worker['worker_id']}: {worker['why_silent']}" for worker in found["workers"] if worker["why_silent"]]
    rows = [
        (
            row["name"],
            row["type"] or "",
            row["state"],
            _tasks(row["tasks"]) + (f", {len(row['retrying'])} retrying" if row["retrying"] else ""),
            *(number(row[key]) for key in ("in_per_s", "out_per_s", "lag", "errors")),
            "" if row["bytes_per_s"] is None else size(row["bytes_per_s"]),
            "" if row["cpu_percent"] is None else f"{row['cpu_percent']:.0f}%",
            "" if row["idle_s"] is None else age(row["idle_s"]),
        )
        for row in found["connectors"]
    ]
    numbers = ("IN/S", "OUT/S", "LAG", "ERRORS", "BYTES/S", "CPU", "IDLE")
    lines += ["", *table(("CONNECTOR", "TYPE", "STATE", "TASKS", *numbers), rows, right=numbers)]
    if found["more"]:
        lines.append(f"and {found['more']} more")
    for row in found["connectors"]:
        lines += [f"{row['name']}/{task['task']}: {retrying.in_words(task)}" for task in row["retrying"][:_RETRIES]]
    if not rows:
        lines.append("There are no connectors.")
    return lines


def _tasks(states: Mapping[str, int]) -> str:
    """`3 RUNNING`, what has failed first."""
    order = sorted(states, key=lambda state: (state != "FAILED", state))
    return ", ".join(f"{states[state]} {state}" for state in order) or "none"
