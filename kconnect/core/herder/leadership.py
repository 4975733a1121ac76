"""
Whether this worker leads: it begins a term once it owns the group's partition, and ends it when another one does.

Held by `herder.py`, which tells it what happens to the partition. Read next: `leader.py` for what a term is.
"""

from __future__ import annotations

from typing import Any

from kconnect.core.herder.classes import Classes
from kconnect.core.herder.desk import Desk, Term
from kconnect.core.herder.effects import LeadRefusedError
from kconnect.core.herder.leader import Leading
from kconnect.core.herder.losses import Losses
from kconnect.core.herder.procedures import Procedure, Until
from kconnect.core.state import assignment_records


class Leadership:
    def __init__(self, desk: Desk, losses: Losses, classes: Classes) -> None:
        self._desk, self._losses, self._classes = desk, losses, classes
        self._run: Procedure[None] | None = None
        """The term's work, while there is one."""

    def owned(self, owns: bool) -> None:
        """This worker owns the partition by now, or no longer."""
        self._desk.owns_partition = owns
        self._desk.find_members()
        if owns:
            self.begin()
        else:
            self._desk.lead_refused = None
            self._end()

    def begin(self) -> None:
        """Lead, if there is nothing against it."""
        desk = self._desk
        if not (desk.started and self._may_lead):
            return
        if desk.log.assignment.newer is not None:
            newer = desk.log.assignment.newer
            desk.say(
                "ERROR",
                f"This worker will not lead: the record {newer.key!r} of the assignment topic was written by a newer kconnect, "
                f"in format {newer.format}, but this worker reads formats up to {assignment_records.FORMAT}. Upgrade this "
                "worker.",
            )
            return
        desk.lead_refused = None
        term = Leading(desk, self._losses, self._classes, lambda: self.deposed(term))
        desk.term = term

        def ended(_: Any, error: Exception | None) -> None:
            if desk.term is not term:
                return
            desk.term = None
            term.close()
            desk.lead_refused = str(error) if isinstance(error, LeadRefusedError) else None
            desk.say("WARNING", f"Leading was interrupted: {error}")
            self._begin_once_confirmed()

        self._run = term.run()
        desk.start(self._run, ended)

    def begin_again(self) -> None:
        """End the term, as another worker may lead by now; if none does, the next one begins."""
        self._end()
        self._begin_once_confirmed()

    def deposed(self, term: Term | None) -> None:
        """A write of that term was fenced: another worker leads by now, or this one in a later term."""
        if self._desk.leads and self._desk.term is term:
            self.begin_again()

    @property
    def _may_lead(self) -> bool:
        return self._desk.owns_partition and self._desk.term is None and self._desk.refusal is None

    def _begin_once_confirmed(self) -> None:
        """
        Lead again, but only once the coordinator confirms that this worker owns the partition.

        A worker that was suspended may believe so for a while, and would fence the one that really does.
        """
        desk = self._desk

        def work() -> Procedure[None]:
            while self._may_lead:
                yield desk.pause(500)
                answers = desk.members_seen
                desk.find_members()
                yield Until(lambda answers=answers: desk.members_seen > answers)  # type: ignore[misc]
                if desk.group_owner == desk.me:
                    self.begin()

        desk.begin(work())

    def _end(self) -> None:
        desk = self._desk
        term, desk.term = desk.term, None
        if term is not None and self._run is not None:
            desk.end(self._run)
            term.close()
