"""
`docs/performance.md`: what benches found, as a page with tables and plots. Its last part is written by hand, and kept.

Called by `scripts/benchmarks/all.py --write`. All but the part by hand is made of the lines of JSON that are kept beside the
plots, so that a test can make it again. Read next: `results.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pygal
from pygal.style import CleanStyle

from tests.rig.benches import results
from tests.rig.benches.results import CONNECT, KCONNECT, SIDES, Row

PAGE, LINES = "performance.md", "performance/results.jsonl"

HAND = "\n## Where the time goes\n"
"""From here on the page is written by hand."""

HEAD = """# Performance

What kconnect costs, beside Apache Kafka Connect in the same run on the same machine. This page is written by
`scripts/bench all --write`; [Where the time goes](#where-the-time-goes) is written by hand.

A cell is the median of the rounds, with the least and the most in brackets. The ratio is kconnect's over Connect's: the
median of the ratios of rounds that ran side by side. CPU and memory are those of a worker's whole process tree.
"""

_TITLES = {
    "throughput": ("Records", "Each workload moves records by a connector of the file plugins, on workers that are warm."),
    "latency": ("Latency", "A line is appended to a source's file, is readable in the topic, and is at a file sink."),
    "chain": ("Transforms, predicates and converters", "In memory, without a broker."),
    "connectors": (
        "Connectors in the box",
        "Tasks in one process, with their system beside it, without Kafka; and bare loops of their libraries.",
    ),
    "columns": (
        "Converters and sinks",
        "From Kafka's messages of five fields to the system, in one process, without Kafka.",
    ),
    "java": (
        "Connectors in Java",
        "The same jars and configs on both workers; rows of PostgreSQL are written by SqlSink on kconnect.",
    ),
    "density": ("Idle connectors", "Half are file sources whose file does not grow, half file sinks on an empty topic."),
    "growth": ("Growth", "Ever more idle connectors, and 20 busy ones among them."),
    "start": ("Start", "Of a worker, and of the command line."),
    "rest": ("REST", "The dashboard's questions."),
    "console": (
        "The console",
        "In Chromium, with 2,000 connectors: how soon something is seen, and all of them; whether rows are missing while one "
        "scrolls; and what open consoles cost their worker.",
    ),
    "apply": ("Files of connectors", "`kconnect apply` of a directory."),
    "offsets": ("Altering offsets", "Stop, alter, resume, until the connector has worked from the new offset."),
    "cluster": ("Clusters", "Workers are killed, ended and added."),
    "capacity": ("Three workers under load", "One is killed and comes back, while REST is asked all the time."),
    "scale": (
        "A thousand workers, simulated",
        "The real code of leaders and hosts over a log in memory, without brokers, Spark or tasks: what the leader does when "
        "all is to be placed, and when workers go, come or are restarted. Seconds are the cluster's: the leader's own, and a "
        "tenth of a second for each way through the log.",
    ),
    "topics": ("New topics", "One task creates topics by sending to them."),
    "memory": ("Memory over time", "Nothing may grow with restarts, with connectors that come and go, or with time."),
}


def write(docs: Path, runs: Mapping[str, Mapping[str, Any]], rows: Sequence[Row]) -> None:
    """Puts what was found in place of what the page had of the same benches."""
    kept = docs / LINES
    kept.parent.mkdir(exist_ok=True)
    old_runs, old_rows = results.read(kept) if kept.exists() else ({}, [])
    runs = {**old_runs, **runs}
    rows = [*(row for row in old_rows if row.bench not in results.by_bench(rows)), *rows]
    kept.unlink(missing_ok=True)
    for bench, found in results.by_bench(rows).items():
        results.append(kept, runs[bench])
        for row in found:
            results.append(kept, row.to_json())
    for name, plot in plots(rows).items():
        (kept.parent / name).write_text(plot, "utf-8")
    page = docs / PAGE
    page.write_text(text(runs, rows) + HAND + by_hand(page), "utf-8")


def by_hand(page: Path) -> str:
    return page.read_text("utf-8").partition(HAND)[2] if page.exists() else "\n"


def text(runs: Mapping[str, Mapping[str, Any]], rows: Sequence[Row]) -> str:
    """The page up to the part that is written by hand."""
    found = results.by_bench(rows)
    newest = max((runs[bench] for bench in found), key=lambda run: str(run["date"]))
    parts = [
        HEAD,
        "\n".join(["| the newest run | |", "| --- | --- |", *(f"| {k} | {v} |" for k, v in newest["versions"].items())]),
    ]
    drawn = plots(rows)
    for bench in sorted(found, key=_order):
        title, said = _TITLES.get(bench, (bench, ""))
        parts.append(f"\n## {title}\n")
        parts.append(f"{said}{_ran(runs[bench], newest)}\n")
        parts.append(markdown(results.table(found[bench])))
        parts += [f"\n![{title}](performance/{name})" for name in drawn if name.startswith(f"{bench}.")]
    return "\n".join([*parts, ""])


def _order(bench: str) -> int:
    return list(_TITLES).index(bench) if bench in _TITLES else len(_TITLES)


def _ran(run: Mapping[str, Any], newest: Mapping[str, Any]) -> str:
    other = ", ".join(f"{k} {v}" for k, v in run["versions"].items() if newest["versions"].get(k) != v)
    quick = " **A quick run, which shows that the bench works, and not how fast anything is.**" if run["quick"] else ""
    return f"\n\n`{run['command']}`, {run['date']}, {run['minutes']} min{f'; {other}' if other else ''}.{quick}"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    shown = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
    return "\n".join([shown[0], f"|{' --- |' * len(lines[0])}", *shown[1:]])


# --- plots ---


def plots(rows: Iterable[Row]) -> dict[str, str]:
    """The SVGs by their file's name."""
    drawn: dict[str, str] = {}
    for bench, found in results.by_bench(rows).items():
        if svg := _PLOTS.get(bench, lambda found: None)(found):
            drawn[f"{bench}.svg"] = svg
    return drawn


def _bars(found: Sequence[Row], measures: Mapping[str, str], title: str) -> str | None:
    """Both sides' medians. `measures`: what a bar is called after its workload, by its measure."""
    shown = {(row.workload, row.measure, row.side): row.median for row in found if row.measure in measures}
    places = list(dict.fromkeys((workload, measure) for workload, measure, _ in shown))
    if not places:
        return None
    chart = _chart(pygal.HorizontalBar, found[0].bench, title, height=120 + 44 * len(places))
    # From bottom to top.
    places.reverse()
    chart.x_labels = [f"{workload}{measures[measure]}" for workload, measure in places]
    for side in SIDES:
        chart.add(side, [shown.get((*place, side)) for place in places])
    return _svg(chart)


def _ratios(found: Sequence[Row], measure: str, title: str) -> str | None:
    """kconnect's over Connect's: what differs by a hundred times from workload to workload fits on one scale."""
    shown = {(row.workload, row.side): row for row in found if row.measure == measure}
    pairs = {name: (shown.get((name, KCONNECT)), shown.get((name, CONNECT))) for name, _ in shown}
    bars = {name: float(results.ratio(*pair)) for name, pair in reversed(pairs.items()) if all(pair)}
    if not bars:
        return None
    chart = _chart(pygal.HorizontalBar, found[0].bench, title, height=100 + 26 * len(bars), show_legend=False)
    chart.range = (0, max(1, *bars.values()))
    chart.x_labels = list(bars)
    chart.add(KCONNECT, list(bars.values()))
    return _svg(chart)


def _lines(found: Sequence[Row], title: str, x_title: str, relative: bool) -> str | None:
    """A line a measure, over the number that a workload begins with; relative ones as multiples of their first value."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in found:
        number = re.match(r"\d[\d,.]*", row.workload)
        if number and row.side == KCONNECT:
            points.setdefault(row.measure, []).append((float(number[0].replace(",", "")), row.median))
    if relative:
        # Nothing is a multiple of 0, and a logarithmic scale has none.
        points = {name: [(x, y) for x, y in line if x and y] for name, line in points.items()}
    points = {name: line for name, line in points.items() if len(line) > 1}
    if not points:
        return None
    if relative:
        points = {name: [(x, y / line[0][1]) for x, y in line] for name, line in points.items()}
        xs = [x for x, _ in max(points.values(), key=len)]
        points["as the number itself"] = [(x, x / xs[0]) for x in xs]
    chart = _chart(pygal.XY, found[0].bench, title, height=480, x_title=x_title, logarithmic=relative)
    for name, line in points.items():
        chart.add(name, line)
    return _svg(chart)


_PLOTS: dict[str, Any] = {
    "throughput": lambda found: _ratios(found, "CPU a record", "CPU a record, kconnect's over Connect's"),
    "latency": lambda found: _bars(found, {f"p{share}": f", p{share}" for share in (50, 99, 99.9)}, "latency, ms"),
    "growth": lambda found: _lines(found, "growth, as a multiple of the smallest size", "idle connectors", relative=True),
    "memory": lambda found: _lines(
        [row for row in found if row.unit == "MiB" and "restarts" in row.workload],
        "memory over host restarts, MiB",
        "restarts",
        relative=False,
    ),
}


def _chart(kind: Any, name: str, title: str, **options: Any) -> Any:
    chart = kind(
        style=CleanStyle, title=title, width=960, js=(), disable_xml_declaration=True, legend_at_bottom=True, **options
    )
    # By chance otherwise: the same rows are to give the same file.
    chart.uuid = name
    return chart


def _svg(chart: Any) -> str:
    """Without what says when it was made."""
    return "\n".join([*_comments_out(chart.render(is_unicode=True)), ""])


def _comments_out(svg: str) -> Iterator[str]:
    yield from re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL).splitlines()
