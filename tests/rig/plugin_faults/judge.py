"""
What a cell of the fault matrix has to be like, and what is wrong with one that is not. Pure; called by `run.py`.

The demands: the fault is that unit's own failure, with a reason; its neighbours go on, at most interrupted for the start of a
process; REST answers; who deletes the connector gets rid of it; the worker's process never hears of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.rig.plugin_faults.places import Phase, Place

MILD = ("slow", "stdout", "log", "leak", "changes", "thread", "within")
"""What is no failure."""
LOUD = ("os._exit", "SIGSEGV", "SIGKILL", "GIL", "memory", "heap", "direct", "crash", "crash in a thread")
"""What may cost the process that it happens in, and so its neighbours a pause."""
ERRORS = ("exception", "sys.exit", "signal", "stack", "class", "exit", "halt")
"""What is an error in the plugin's own call, and nothing else: where errors are tolerated, the task goes on."""
HANGS = ("hang", "deadlock", "busy")
"""What tells nobody that it will last for ever."""
_REPLACED = (*LOUD, *HANGS, "threads")
"""After these the neighbours may need the start of a new process."""

_REASONS = {
    # Of a provider the type alone is told: its text may have what was asked for.
    "exception": ("struck: an exception", "has failed: RuntimeError"),
    "os._exit": ("_exit", "exit status 3"),
    "SIGSEGV": ("SIGSEGV", "Segmentation"),
    "SIGKILL": ("",),
    "memory": ("memory",),
    "threads": ("thread",),
    "sys.exit": ("SystemExit",),
    "signal": ("signal",),
    "builtins": ("open", "builtins"),
    "GIL": ("",),
    "stack": ("StackOverflowError",),
    "class": ("NoClassDefFoundError",),
    "exit": ("System.exit(3)",),
    "halt": ("System.exit(3)", "halt(3)"),
    "heap": ("Java heap space",),
    "direct": ("direct buffer memory",),
    "crash": ("SIGSEGV",),
    "crash in a thread": ("SIGSEGV",),
}
"""Of these words the reason must have one."""

# Generous, for busy machines: what was measured is in the table.
GAP_S, REPLACED_GAP_S, GIL_GAP_S = 60.0, 120.0, 180.0
ANSWER_S, WRITE_S, PATCHED_S = 60.0, 60.0, 60.0
FLOOD_LINES = 5_000
THREADS_LEFT = 50


@dataclass
class Seen:
    """One cell. Seconds; a state is the worst of connector and task, "" if there is none."""

    accepted: bool
    answer: str = ""
    """What REST said when it refused."""
    answer_s: float = 0.0
    struck: int = 0
    beside: bool = True
    """Whether the neighbours have been in a process in which it struck."""
    state: str = ""
    reason: str = ""
    gap_s: float = 0.0
    rest_s: float = 0.0
    restart_s: float | None = None
    delete_s: float = 0.0
    gone_s: float | None = None
    """None: something of it was left at the end."""
    left: str = ""
    neighbours: str = "RUNNING"
    """The worst state that they were seen in, afterwards."""
    missing: int = 0
    patched_s: float = 0.0
    same_worker: bool = True
    flood_lines: int = 0
    failed_to: str = ""
    """What of the run itself went wrong: REST calls that were refused."""


def complaints(place: Place, kind: str, seen: Seen) -> list[str]:
    """What is wrong, in words; nothing if all is as it should be."""
    found = [seen.failed_to] if seen.failed_to else []
    if kind and not seen.struck:
        found.append("the fault was never met")
    found += _own(place, kind, seen)
    limit = GIL_GAP_S if kind == "GIL" else REPLACED_GAP_S if kind in _REPLACED else GAP_S
    if seen.gap_s > limit:
        found.append(f"neighbours had no data for {seen.gap_s:.0f} s")
    if seen.neighbours != "RUNNING":
        found.append(f"neighbours were {seen.neighbours} afterwards")
    if seen.missing:
        found.append(f"{seen.missing} of the neighbours' records are missing")
    if seen.rest_s > ANSWER_S:
        found.append(f"GET /connectors took {seen.rest_s:.0f} s")
    if seen.restart_s is not None and seen.restart_s > WRITE_S:
        found.append(f"the restart took {seen.restart_s:.0f} s")
    if seen.delete_s > WRITE_S:
        found.append(f"DELETE took {seen.delete_s:.0f} s")
    if seen.gone_s is None:
        found.append(f"after DELETE is left: {seen.left}")
    if seen.patched_s > PATCHED_S:
        found.append(f"builtins stayed replaced for {seen.patched_s:.0f} s")
    if not seen.same_worker:
        found.append("the worker's process ended")
    # What is logged may be as much as the log can take.
    if seen.flood_lines > FLOOD_LINES and kind != "log":
        found.append(f"{seen.flood_lines} printed lines got into the log")
    return found


def _own(place: Place, kind: str, seen: Seen) -> list[str]:
    """What is wrong with the connector's own state."""
    if not kind:
        return [] if seen.state == "RUNNING" else [f"without a fault it is {seen.state or seen.answer}"]
    if not seen.accepted:
        if place.phase is not Phase.VALIDATION or kind in MILD:
            return [f"refused: {seen.answer}"]
        # Whatever a connector in Java throws at alterOffsets refuses the change, in its own words.
        where = ("stage", "provider", "alterOffsets", *(("struck",) if place.name == "connector.alter_offsets" else ()))
        return [] if any(word in seen.answer for word in where) else [f"no stage in: {seen.answer}"]
    if place.phase is Phase.STOP or kind in HANGS:
        # A unit that waits tells nobody that it will wait for ever.
        return []
    if kind == "leak" and "live threads, and can't start" in seen.reason:
        # Where it is called for each record, there are soon as many as a plugin may have.
        return []
    if kind in MILD or (place.phase is Phase.VALIDATION and kind in ("signal", "builtins", "threads")):
        return [] if seen.state == "RUNNING" or (seen.state == "FAILED" and kind not in MILD) else _is(seen)
    if kind in ERRORS and place.tolerated:
        return [] if seen.state in ("RUNNING", "FAILED") else _is(seen)
    if kind == "GIL" and seen.state == "RUNNING":
        return []
    if seen.state != "FAILED":
        return _is(seen)
    words = _REASONS[kind]
    return [] if any(word in seen.reason for word in words) else [f"the reason does not tell: {seen.reason}"]


def _is(seen: Seen) -> list[str]:
    return [f"it is {seen.state or 'without a state'}{f': {seen.reason}' if seen.reason else ''}"]


def cell(place: Place, kind: str, seen: Seen) -> str:
    """A cell of the table."""
    wrong = complaints(place, kind, seen)
    state = (seen.state or "no state") if seen.accepted else "refused"
    alone = "" if seen.beside or not seen.struck or not seen.accepted else ", **alone**"
    gone = "" if not seen.accepted else f", gone {seen.gone_s:.0f} s" if seen.gone_s is not None else ", **left**"
    return f"{'✗ ' if wrong else ''}{state}, gap {seen.gap_s:.1f} s{gone}{alone}"
