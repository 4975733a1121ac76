"""How far a backfill is, in words. Called by the commands of this package."""

from __future__ import annotations

from typing import Any


def text(state: dict[str, Any]) -> str:
    """Return a sentence about what `ConnectClient.backfill` has given."""
    rows, running = state["rows"], state["tasks"].get("RUNNING", 0)
    if state["done"]:
        return f"all ranges are read, {rows:,} rows"
    states = f"{state['state']}, {running} of {sum(state['tasks'].values())} tasks RUNNING"
    if not state["ranges"]:
        return f"{states}; {'all is read, and is being handed over' if rows else 'no tasks yet'}"
    in_all = state["rows_in_all"]
    guess = f" of some {in_all:,}" if in_all is not None and in_all > rows else ""
    rate = f"; {state['rows_per_s']:,.0f} rows a second" if state["rows_per_s"] else ""
    rest = "" if state["rest_s"] is None else f", some {state['rest_s']:,} s left"
    return f"{states}; {state['ranges_done']} of {state['ranges']} ranges, {rows:,}{guess} rows{rate}{rest}"


def held(state: dict[str, Any]) -> str | None:
    """Return what the database can't clear away meanwhile, in a sentence; None if that is not known."""
    numbers = state["held"]
    if state["done"] or None in numbers.values():
        return None
    return (
        f"The snapshot is {numbers['snapshot_s']:,.0f} s old: VACUUM keeps what {numbers['transactions']:,.0f} transactions "
        f"have replaced since, and {numbers['log_bytes'] / 2**20:,.1f} MiB of the log are kept"
    )
