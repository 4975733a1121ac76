"""
What `connector.py` has found, as a note to read: like a doctor's, with what is wrong and what to do at the end.

Called by `kconnect describe`. Each label is there or says why it can't be; numbers of a task are in its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from shlex import quote
from typing import Any

from kconnect.cli import retrying
from kconnect.cli.layout import age, clock, labelled, number, paint, table


def of(found: Mapping[str, Any], now: float, verbose: bool = False, changes: int = 10) -> list[str]:
    """
    Lines. `now` in seconds since 1970.

    Args:
        verbose: with whole traces, all offsets and partitions.
        changes: how many of the last changes.
    """
    lines = labelled("Connector", [f"{found['name']}  ({_what(found)})"])
    lines += labelled("State", [_state(found, now)])
    if found["error"] is not None:
        lines += _failure(_label(found), found["error"], verbose)
    lines += _retrying("Retrying", found)
    lines += _tasks(found, now, verbose)
    lines += _numbers(found, now)
    if found["type"] == "sink":
        lines += _lag(found, verbose)
    topics = found["topics"]
    lines += labelled("Topics", _why(found, "topics") if topics is None else [", ".join(topics) or "none used yet"])
    if found["type"] != "sink" or found["lag"] is None or not found["lag"]["partitions"]:
        lines += _offsets(found, verbose)
    plugins = [f"{row['role']}: {_short(row['class'])}{_version(row['version'])}" for row in found["plugins"]]
    lines += labelled("Plugins", plugins or ["the worker's converters, no transforms"])
    if found.get("schemas") is not None:
        inferred = [
            f"the {row['part']}s of {row['topic']}: version {row['version']}, {len(row['fields'])} fields"
            for row in found["schemas"]
        ]
        lines += labelled(
            "Schemas", [*(inferred or ["none inferred yet"]), f"kconnect schemas {quote(found['name'])} shows them"]
        )
    if found.get("late_rows") is not None:
        lines += labelled("Late rows", [found["late_rows"]])
    lines += _changes(found, now, changes)
    if found["advice"]:
        lines += ["", *labelled("What to do", [f"- {sentence}" for sentence in found["advice"]])]
    return lines


def of_task(found: Mapping[str, Any], now: float) -> list[str]:
    """Lines of one task, with the whole trace."""
    lines = [*labelled("Task", [found["name"]]), *labelled("State", [_state(found, now)])]
    if found["error"] is not None:
        lines += _failure(_label(found), found["error"], verbose=True)
    lines += _retrying("Retrying", found)
    numbers = found["numbers"]
    number_texts = [f"{key}: {number(value)}" for key, value in (numbers or {}).items() if key != "progress_at"]
    lines += labelled("Numbers", _why(found, "numbers") if numbers is None else number_texts or ["none reported yet"])
    if found["config"] is not None:
        lines += labelled("Config", [f"{key}={value}" for key, value in sorted(found["config"].items())])
    events = [f"{clock(event['at_ms'])}  {event['text']}" for event in found["changes"] or ()]
    lines += labelled("Changes", _why(found, "changes") if found["changes"] is None else events[-10:] or ["none on record"])
    if found["advice"]:
        lines += ["", *labelled("What to do", [f"- {sentence}" for sentence in found["advice"]])]
    return lines


def _what(report: Mapping[str, Any]) -> str:
    return f"{report['type'] or 'of an unknown type'}, {report['class']}{_version(report['version'])}"


def _state(unit: Mapping[str, Any], now: float) -> str:
    if unit["state"] is None:
        return f"{paint('unknown')}: {unit['unknown'].get('state', 'no worker has reported it')}"
    since = (
        "; the time of its last change is not known (see Changes)"
        if unit["since_ms"] is None
        else _since(unit["since_ms"], now)
    )
    return f"{paint(unit['state'])} on {unit['worker_id']}{since}"


def _since(at_ms: int, now: float) -> str:
    return f" since {clock(at_ms)} ({age(now - at_ms / 1000)})"


def _label(unit: Mapping[str, Any]) -> str:
    return "Waiting" if unit["state"] == "UNASSIGNED" else "Failure"


def _failure(label: str, error: Mapping[str, Any], verbose: bool) -> list[str]:
    texts = [paint(error["first_cause"], "red")]
    if error["reported_as"] is not None:
        texts.append(f"reported as {error['reported_as']}")
    lines = labelled(label, texts)
    if verbose:
        lines += [f"    {line}".rstrip() for line in error["trace"].strip().splitlines()]
    return lines


def _retrying(label: str, unit: Mapping[str, Any]) -> list[str]:
    """Return the line of a connector instance or a task that makes a call again; none if it does not."""
    return [] if unit["retrying"] is None else labelled(label, [paint(retrying.in_words(unit["retrying"]), "yellow")])


def _tasks(report: Mapping[str, Any], now: float, verbose: bool) -> list[str]:
    tasks = report["tasks"]
    if not tasks:
        return labelled("Tasks", ["none"])
    states: dict[str, int] = {}
    for task in tasks:
        states[task["state"]] = states.get(task["state"], 0) + 1
    count = ", ".join(f"{many} {paint(state)}" for state, many in states.items())
    lines = labelled("Tasks", [f"{len(tasks)}: {count}"])
    headings = ("TASK", "STATE", "FOR", "WORKER", "IN/S", "OUT/S", "LAG", "ERRORS", "CPU S")
    rows = []
    for task in tasks:
        numbers = task["numbers"] or {}
        since = "" if task["since_ms"] is None else age(now - task["since_ms"] / 1000)
        counted = [number(numbers.get(key)) for key in ("in_per_s", "out_per_s", "lag", "errors", "cpu_seconds")]
        rows.append((str(task["id"]), task["state"], since, task["worker_id"], *counted))
    lines += table(headings, rows, right=("TASK", "IN/S", "OUT/S", "LAG", "ERRORS", "CPU S"), lead="  ")
    for task in tasks:
        lines += _retrying(f"  Task {task['id']}", task)
    for numbers, error in _failures(tasks, verbose):
        lines += _failure(f"  Task {numbers}", error, verbose)
    return lines


def _failures(tasks: Iterable[Mapping[str, Any]], verbose: bool) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Tasks that failed of the same have one failure, unless their traces are to be shown."""
    alike: dict[object, list[Mapping[str, Any]]] = {}
    for task in tasks:
        if (error := task["error"]) is not None:
            key = task["id"] if verbose else (error["first_cause"], error["reported_as"])
            alike.setdefault(key, []).append(task)
    for failed in alike.values():
        shown = [str(task["id"]) for task in failed]
        yield ",".join(shown[:3]) + ("…" if len(shown) > 3 else ""), failed[0]["error"]


def _numbers(report: Mapping[str, Any], now: float) -> list[str]:
    numbers = report["numbers"]
    if numbers is None:
        return labelled("Rate", _why(report, "numbers"))
    texts = []
    if "in_per_s" in numbers or "out_per_s" in numbers:
        texts.append(f"{_known(numbers, 'in_per_s')} records/s in, {_known(numbers, 'out_per_s')} out, over the last minute")
    if "in_total" in numbers or "out_total" in numbers:
        texts.append(f"{_known(numbers, 'in_total')} in, {_known(numbers, 'out_total')} out since its tasks started")
    if not texts and report["tasks"]:
        texts.append("unknown: no task has reported its numbers yet")
    if "progress_at" in numbers:
        texts.append(f"last record moved {age(now - numbers['progress_at'])} ago")
    if numbers.get("errors"):
        queue = report["errors"]["topic"]
        letters = f", {number(numbers.get('dead_letters', 0))} of them are in {queue}" if queue else ""
        texts.append(f"{number(numbers['errors'])} records failed, {number(numbers.get('skipped', 0))} were dropped{letters}")
    if "numbers" in report["unknown"]:
        texts.append(f"incomplete: {report['unknown']['numbers']}")
    return labelled("Rate", texts or ["nothing runs"])


def _known(numbers: Mapping[str, float], key: str) -> str:
    # A task that has just been started has some numbers and not yet others.
    return number(numbers[key]) if key in numbers else "?"


def _lag(report: Mapping[str, Any], verbose: bool) -> list[str]:
    lag = report["lag"]
    if lag is None:
        return labelled("Lag", _why(report, "lag"))
    texts = [f"{number(lag['total'])} records"]
    behind = sorted(lag["partitions"], key=lambda row: -row["lag"])
    for row in behind if verbose else behind[:5]:
        at = "nothing committed yet" if row["committed"] is None else f"at {row['committed']}"
        texts.append(f"{row['topic']}/{row['partition']}: {number(row['lag'])} ({at}, end {row['end']})")
    if len(behind) > 5 and not verbose:
        texts.append(f"and {len(behind) - 5} more partitions (-v)")
    return labelled("Lag", texts)


def _offsets(report: Mapping[str, Any], verbose: bool) -> list[str]:
    offsets = report["offsets"]
    if offsets is None:
        return labelled("Offsets", _why(report, "offsets"))
    shown = offsets if verbose else offsets[:5]
    texts = [f"{_plain(row['partition'])} at {_plain(row['offset'])}" for row in shown]
    if len(offsets) > len(shown):
        texts.append(f"and {len(offsets) - len(shown)} more (-v, or kconnect offsets get)")
    return labelled("Offsets", texts or ["none stored yet"])


def _changes(report: Mapping[str, Any], now: float, most: int) -> list[str]:
    if report["changes"] is None:
        return labelled("Changes", _why(report, "changes"))
    if not report["changes"]:
        return labelled("Changes", ["the internal topics have no record of it"])
    last = report["changes"][-most:] if most else []
    texts = [
        f"{clock(event['at_ms'])}  {'' if event['task'] is None else 'task ' + str(event['task']) + ' '}{event['text']}"
        for event in last
    ]
    if len(report["changes"]) > len(last):
        texts.append(f"and {len(report['changes']) - len(last)} earlier ones (--changes N)")
    restarts = f"{report['restarts']} since {clock(report['seen_since_ms'])}, where the internal topics begin"
    return [*labelled("Restarts", [restarts]), *(labelled("Changes", texts) if texts else [])]


def _why(report: Mapping[str, Any], what: str) -> list[str]:
    return [f"{paint('unknown')}: {report['unknown'].get(what, 'nothing reports it')}"]


def _plain(value: Any) -> str:
    """A source's partition or offset, or a sink's."""
    if isinstance(value, Mapping):
        return " ".join(_pairs(value)) or "{}"
    return str(value)


def _pairs(value: Mapping[str, Any]) -> Iterator[str]:
    for key, text in value.items():
        yield f"{key}={text}"


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _version(version: str | None) -> str:
    return f" {version}" if version and version != "undefined" else ""
