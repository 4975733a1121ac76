"""How far a backfill is, in words. Called by the commands of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconnect.rest.answers import Backfill


def text(state: Backfill) -> str:
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


def held(state: Backfill) -> str | None:
    """Return what the database can't clear away meanwhile, in a sentence; None if that is not known."""
    numbers = state["held"]
    snapshot_s, transactions, log_bytes = numbers["snapshot_s"], numbers["transactions"], numbers["log_bytes"]
    if state["done"] or snapshot_s is None or transactions is None or log_bytes is None:
        return None
    return (
        f"The snapshot is {snapshot_s:,.0f} s old: VACUUM keeps what {transactions:,.0f} transactions "
        f"have replaced since, and {log_bytes / 2**20:,.1f} MiB of the log are kept"
    )
