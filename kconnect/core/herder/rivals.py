"""
Who else takes itself for this worker, or this worker's group for its own cluster's.

None of them starts while it can see the other (`kafka/group.py`). This is for those that could not: two that were started at
once, one that was suspended, an older kconnect. Of two lives of one id the later has the work, and the earlier yields, for
mostly it is the one that was given up; but it takes the work back once the later one is gone. Held by `herder.py`.
"""

from __future__ import annotations

from kconnect.core.herder.desk import Desk
from kconnect.core.state.assignment_records import Placement


class Rivals:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._conflict: str | None = None
        self._conflict_since = 0
        self._told = False
        self._heard_at = 0
        self._alone_since: int | None = None
        """Since when the coordinator has named nobody else; None if it has yet to be asked."""

    def heard(self, conflict: str | None) -> None:
        """Process the coordinator's last answer. A worker that was killed stands in it until its session is over."""
        desk = self._desk
        self._heard_at = desk.now
        if conflict is None:
            self._conflict, self._told = None, False
            self._alone_since = desk.now if self._alone_since is None else self._alone_since
            return
        self._conflict_since = desk.now if self._conflict is None else self._conflict_since
        self._conflict, self._alone_since = conflict, None
        if not self._told and self._lasts:
            self._told = True
            desk.say("ERROR", conflict)

    def read(self, placement: Placement) -> None:
        """Process a placement record of this worker's id."""
        if placement.hosts is None or placement.incarnation <= self._desk.identity.incarnation:
            return
        if self._alone_since is not None and self._desk.started:
            self._desk.say("ERROR", self._yields)
        self._alone_since = None

    @property
    def have_the_work(self) -> bool:
        """Whether a later life of this worker's id has it, and was there within the session's time."""
        desk = self._desk
        placement = desk.log.assignment.placements.get(desk.me)
        if placement is None or placement.incarnation <= desk.identity.incarnation:
            return False
        return self._alone_since is None or self._heard_at - self._alone_since < desk.identity.session_timeout_ms

    @property
    def trouble(self) -> str | None:
        """Why this worker is not healthy."""
        return self._yields if self.have_the_work else self._conflict if self._lasts else None

    @property
    def _lasts(self) -> bool:
        return self._conflict is not None and self._heard_at - self._conflict_since > self._desk.identity.session_timeout_ms

    @property
    def _yields(self) -> str:
        me = self._desk.me
        return (
            f"Another process, started later, is also the worker {me}, so this one runs nothing until the other has ended. End "
            "one of them, or give each its own `rest.advertised.host.name` and `rest.advertised.port`."
        )
