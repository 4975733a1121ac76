"""
What is to be done with one connector, decided from what both clusters show of it and what the journal remembers.

Pure: asked by `checks.py` before anything is touched, and so again by a run that was started anew. The rule behind all of it:
one of the two has the truth, that is the newest offsets, and only that one is ever let run.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kconnect.cli.migrate.journal import Entry, Phase
from kconnect.cli.migrate.side import Seen, same_offsets


class Doing(enum.Enum):
    MOVE = "move"
    """Stop it here, carry config and offsets over, start it there."""
    FINISH = "finish"
    """It was carried over already: bring it into its state there."""
    UNDO = "undo"
    """The way there was not finished: take away what was made of it, and start it again where it came from."""
    NOTHING = "nothing"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Decision:
    """`wanted` is the state that it is to have in the end; `words` say why, for a person."""

    doing: Doing
    wanted: str = ""
    words: str = ""


@dataclass(frozen=True)
class Pair:
    """
    The clusters that a connector comes from and goes to. `shared` says that its offsets are the same ones for both: a group's.
    """

    source: str
    target: str
    shared: bool = False


def decide(name: str, here: Seen, there: Seen, entry: Entry | None, pair: Pair) -> Decision:
    """`here` is what the source of the move shows, `there` the target."""
    # What has moved once is of two clusters, however much alike their workers' names are.
    if entry is None and _same_cluster(here, there):
        return _refuse(
            f"{pair.source} and {pair.target} are the same cluster: both show {name} with the same config, on the worker "
            f"{here.worker}. To move a whole cluster on its own topics, see kconnect migrate --same-topics"
        )
    if entry is not None and entry.unfinished:
        if entry.source == pair.target:
            if entry.phase is not Phase.SWITCHING:
                return _undo(here, there, entry, pair)
            # The way there was as good as finished: what is here has the truth, and the state that was meant.
            return _fresh(name, here, there, pair, entry.wanted if here.state == "STOPPED" else None)
        return _go_on(name, here, there, entry, pair)
    if entry is not None and entry.source == pair.source and there.there and (not here.there or here.at_rest):
        return Decision(Doing.NOTHING, there.state or "", f"it has already moved, and is {there.state} at {pair.target}")
    came_from_there = entry is not None and entry.source == pair.target
    return _fresh(name, here, there, pair, "STOPPED" if came_from_there and here.at_rest and there.at_rest else None)


def _fresh(name: str, at_source: Seen, at_target: Seen, pair: Pair, real_state: str | None) -> Decision:
    """Decide where nothing was begun that matters now; `real_state` is the state if another one is shown for the time being."""
    if not at_source.there:
        where = f"; {pair.target} has it" if at_target.there else ""
        return _refuse(f"there is no connector {name} at {pair.source}{where}")
    new_state = real_state or _wanted(at_source)
    if not at_target.there:
        return Decision(Doing.MOVE, new_state)
    if at_source.connector_class != at_target.connector_class:
        return _refuse(
            f"{pair.target} has another connector of this name, of class {at_target.connector_class}. Delete or "
            "rename one of them"
        )
    if not at_target.at_rest:
        if at_source.at_rest and real_state is None:
            return Decision(Doing.NOTHING, at_target.state or "", f"it is {at_target.state} at {pair.target} already")
        return _refuse(
            f"it is {at_source.state} at {pair.source} and {_shown(at_target)} at {pair.target}. Stop it at the "
            "cluster that it should not run on"
        )
    if not at_source.at_rest or real_state is not None:
        return Decision(
            Doing.MOVE, new_state, "the stopped connector of the same name there gets this one's config and offsets"
        )
    if pair.shared or same_offsets(at_source.offsets, at_target.offsets):
        return Decision(Doing.NOTHING, "STOPPED", "it is stopped at both clusters, with the same offsets")
    return _refuse(
        "it is stopped at both clusters, with different offsets, and kconnect can't know which ones are newer. Resume the one "
        f"to move, or delete the one at {pair.target}"
    )


def _go_on(name: str, at_source: Seen, at_target: Seen, entry: Entry, pair: Pair) -> Decision:
    """A move of the same direction was begun and not finished."""
    if entry.phase is Phase.SWITCHING:
        if not at_target.there:
            return _refuse(
                f"it was copied to {pair.target} and is gone from there. It may have run there in between: check what it "
                "wrote. To move it anew, give another journal (--state)"
            )
        if at_source.there and not at_source.at_rest:
            ran = not at_target.at_rest or not (pair.shared or same_offsets(at_target.offsets, entry.offsets))
            if ran:
                return _refuse(
                    f"it was started again at {pair.source} after it had been copied to {pair.target}, and has run at both. "
                    "Stop the one that should not continue"
                )
            return Decision(Doing.MOVE, _wanted(at_source), f"it was started again at {pair.source} in the meantime")
        return Decision(Doing.FINISH, entry.wanted, "it has been copied; what remains is to bring it into its state")
    if not at_source.there:
        return _refuse(f"the connector {name} was deleted at {pair.source} before its move was finished")
    if at_target.there and not at_target.at_rest:
        return _refuse(
            f"it is {_shown(at_target)} at {pair.target}: somebody started it before its offsets from {pair.source} were "
            "there. Stop it there"
        )
    new_state = entry.wanted if at_source.state == "STOPPED" else _wanted(at_source)
    return Decision(Doing.MOVE, new_state, "its move continues where it was interrupted")


def _undo(at_source: Seen, at_target: Seen, entry: Entry, pair: Pair) -> Decision:
    if at_source.there and not at_source.at_rest:
        return _refuse(
            f"its move to {pair.source} was not finished, and somebody started it there. Stop the one that should not continue"
        )
    if not at_target.there:
        return _refuse(f"its move from {pair.target} was not finished, and it is gone from there")
    return Decision(Doing.UNDO, entry.wanted, f"its move to {pair.source} was not finished")


def _same_cluster(at_source: Seen, at_target: Seen) -> bool:
    """Two clusters with the same topics show the same statuses. A worker's address is its own."""
    return (
        at_source.there
        and at_source.config == at_target.config
        and at_source.worker == at_target.worker
        and bool(at_source.worker)
    )


def _wanted(connector: Seen) -> str:
    """The state to restore. What failed, or has no worker at the moment, is meant to run."""
    return connector.state if connector.state in ("PAUSED", "STOPPED") else "RUNNING"


def _shown(connector: Seen) -> str:
    return f"{connector.state} with {len(connector.tasks)} task(s)"


def _refuse(words: str) -> Decision:
    return Decision(Doing.REFUSE, words=words)
