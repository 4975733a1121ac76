"""
Moves one connector, step by step. A run that is killed between any two of them, and started again, goes on.

What keeps both clusters from running it: the target's copy is made stopped, and started only after a last look whether the
source's is at rest; the journal says before each step what it will allow. Called by `cli/migrate/migrate.py` with what
`decision.py` decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kconnect.cli.migrate.decision import Decision, Doing
from kconnect.cli.migrate.journal import Entry, Journal, Offsets, Phase
from kconnect.cli.migrate.side import Seen, Side, by_partition, same_offsets
from kconnect.errors import ConnectError
from kconnect.rest.client import RestError

Say = Callable[[str], None]

_SETTLED_S = 1.0
"""A worker of Kafka Connect may show STOPPED a moment before another one's last commit of offsets."""
_NO_TASKS_S = 20.0
_PAUSE_S = 0.2


class MoveError(ConnectError):
    """A move that stopped half way; the text says where both clusters stand."""


class Move:
    """
    The move of one connector from `source` to `target`. `checked` is what the source showed of it when the target was asked
    about its config, and `shared` as in `decision.Pair`. `say` gets a line for each step.
    """

    def __init__(self, name: str, source: Side, target: Side, journal: Journal, checked: Seen, shared: bool, say: Say) -> None:
        self.name, self.source, self.target = name, source, target
        self._journal = journal
        self._checked = checked
        self._shared = shared
        self._say = say

    def carry_out(self, decision: Decision) -> str:
        """Do what was decided; gives the state in the end. MoveError, or what a cluster refused, if it stops half way."""
        if decision.doing is Doing.UNDO:
            return self._undo(decision.wanted)
        if decision.doing is Doing.NOTHING:
            return decision.wanted
        return self._start(self._copy(decision.wanted) if decision.doing is Doing.MOVE else self._journal.entries[self.name])

    def delete_source(self) -> None:
        """
        Delete the source's connector, but only if it was moved, is at rest, and has not failed where it went: it is the way
        back.
        """
        entry = self._journal.entries.get(self.name)
        if entry is None or entry.phase is not Phase.MOVED or entry.source != self.source.url:
            return
        at_source = self.source.settled(self.name)
        if not at_source.there:
            return
        if not at_source.at_rest:
            raise MoveError(f"{self.name} is {at_source.state} at {self.source.url}, so it is not deleted there")
        at_target = self.target.look(self.name)
        if not at_target.there or "FAILED" in (at_target.state, *at_target.tasks):
            where = "has failed" if at_target.there else "is gone"
            raise MoveError(f"{self.name} {where} at {self.target.url}, so it is not deleted at {self.source.url}")
        self._delete(self.source)
        self._say(f"deleted at {self.source.url}")

    # --- the way there ---

    def _copy(self, final_state: str) -> Entry:
        """Copy until the target has everything, and only has to start it."""
        source, target, name = self.source, self.target, self.name
        before = self._journal.entries.get(name)
        is_new = before is not None and before.unfinished and before.source == source.url and before.made
        entry = Entry(source.url, target.url, Phase.STOPPING, final_state, is_new)
        self._journal.write(name, entry)
        # Also if it shows STOPPED: it may be about to start.
        source.ask(lambda: source.client.stop(name))
        at_source = self._settled()
        if at_source.config != self._checked.config:
            raise MoveError(f"Its config at {source.url} was changed after it had been checked")
        offsets = at_source.offsets or []
        self._say(f"stopped at {source.url}, with {_counted(offsets)}")
        at_target = target.settled(name)
        if at_target.there and not at_target.at_rest:
            raise MoveError(f"Somebody started it at {target.url}: it is {at_target.state} there")
        entry.phase, entry.made, entry.offsets = Phase.COPYING, is_new or not at_target.there, offsets
        self._journal.write(name, entry)
        self._hand_config(at_source, at_target)
        self._hand_offsets(offsets)
        return entry

    def _settled(self) -> Seen:
        """
        Return what the source shows once nothing writes its offsets any more. MoveError if they change for longer than the
        limit.
        """
        end = time.monotonic() + self.source.limit
        state = self.source.at_rest(self.name)
        while not self.source.is_kconnect:
            time.sleep(_SETTLED_S)
            again = self.source.at_rest(self.name)
            if same_offsets(state.offsets, again.offsets) or (state.offsets is None and again.offsets is None):
                break
            if time.monotonic() > end:
                raise MoveError(f"Its offsets at {self.source.url} still change, though it is stopped")
            state = again
        if state.offsets is None:
            raise MoveError(f"Its offsets can't be read: {state.no_offsets}")
        return state

    def _hand_config(self, at_source: Seen, at_target: Seen) -> None:
        target, name, config = self.target, self.name, at_source.config or {}
        if at_target.config == config:
            return
        if at_target.there:
            target.ask(lambda: target.client.put_config(name, config))
            self._say(f"replaced the config at {target.url}")
            return
        try:
            target.ask(lambda: target.client.create(name, config, initial_state="STOPPED"))
        except RestError as error:
            # The answer to a first attempt may have been lost.
            if error.status != 409 or target.look(name).config is None:
                raise
        self._say(f"created at {target.url}, stopped")

    def _hand_offsets(self, offsets: Offsets) -> None:
        target, name = self.target, self.name
        at_target = target.at_rest(name)
        if not self._shared and not same_offsets(at_target.offsets, offsets):
            partitions = by_partition(offsets).keys()
            stale = [row["partition"] for row in at_target.offsets or [] if not by_partition([row]).keys() <= partitions]
            changes = [*offsets, *({"partition": partition, "offset": None} for partition in stale)]
            answer = target.ask(lambda: target.client.alter_offsets(name, changes))
            self._say(f"{_counted(offsets)} set at {target.url}")
            if "externally" in answer:
                self._say("its plugin may keep offsets elsewhere, too, which are not moved: see its documentation")
        end = time.monotonic() + target.limit
        while not same_offsets(at_target.offsets, offsets):
            if time.monotonic() > end:
                shown = f"{at_target.offsets or at_target.no_offsets or 'none'}"
                raise MoveError(
                    f"{target.url} does not show the offsets of {self.source.url}: it shows {shown} instead of {offsets}"
                )
            time.sleep(_PAUSE_S)
            at_target = target.look(name)

    def _start(self, entry: Entry) -> str:
        """Start the target's connector. From here on the target has the truth."""
        source, target, name = self.source, self.target, self.name
        at_source = source.settled(name)
        if at_source.there and not at_source.at_rest:
            raise MoveError(f"Somebody started it again at {source.url}: it is {at_source.state} there")
        if entry.phase is not Phase.SWITCHING:
            entry.phase = Phase.SWITCHING
            self._journal.write(name, entry)
        state = self._bring(target, entry.wanted)
        entry.phase = Phase.MOVED
        self._journal.write(name, entry)
        self._say(f"{state} at {target.url}")
        return state

    def _bring(self, side: Side, final_state: str) -> str:
        """Into its state, and wait for it; FAILED is a state in which it may end."""
        name = self.name
        if final_state == "STOPPED":
            side.ask(lambda: side.client.stop(name))
            side.at_rest(name)
            return final_state
        side.ask(lambda: (side.client.pause if final_state == "PAUSED" else side.client.resume)(name))
        began = time.monotonic()
        while True:
            now = side.look(name)
            states = {now.state, *now.tasks}
            waited = time.monotonic() - began
            if states == {final_state} and (now.tasks or waited > _NO_TASKS_S):
                return final_state
            if "FAILED" in states:
                return "FAILED"
            if waited > side.limit:
                raise MoveError(
                    f"It was not {final_state} at {side.url} within {side.limit:g} s; it is {', '.join(map(str, states))}"
                )
            time.sleep(_PAUSE_S)

    # --- the way back from half way ---

    def _undo(self, final_state: str) -> str:
        """Undo a move: what was made here is deleted, and where it came from, it gets its state back."""
        new_side, old_side, name = self.source, self.target, self.name
        if self._journal.entries[name].made and (copy := new_side.settled(name)).there:
            if not copy.at_rest:
                raise MoveError(f"Somebody started it at {new_side.url}: it is {copy.state} there")
            self._delete(new_side)
            self._say(f"deleted at {new_side.url}, where it had not run")
        state = self._bring(old_side, final_state)
        self._journal.forget(name)
        self._say(f"{state} at {old_side.url}, as before")
        return state

    def _delete(self, side: Side) -> None:
        name = self.name
        try:
            side.ask(lambda: side.client.delete(name))
        except RestError as error:
            if error.status != 404:
                raise


def situation(name: str, source: Side, target: Side, entry: Entry | None) -> str:
    """Return where both clusters stand after a failure, and how to go on or back."""
    words = [f"{name} is {_state(source, name)} at {source.url} and {_state(target, name)} at {target.url}."]
    if entry is None or not entry.unfinished:
        return " ".join(words)
    owner = target if entry.phase is Phase.SWITCHING else source
    words.append(
        f"The state at {owner.url} is the valid one. To continue, give the same command; to go back, swap --from and --to."
    )
    return " ".join(words)


def _state(side: Side, name: str) -> str:
    try:
        status = side.client.status(name)
    except RestError as error:
        return "not there" if error.status == 404 else f"unknown ({error.message})"
    tasks = len(status["tasks"])
    return f"{status['connector']['state']}" + (f" with {tasks} task(s)" if tasks else "")


def _counted(offsets: Offsets) -> str:
    return f"offsets of {len(offsets)} partition{'s' if len(offsets) > 1 else ''}" if offsets else "no offsets"
