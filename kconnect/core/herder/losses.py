"""
What a worker does when an internal topic is no longer what it has read, and what it says of that. docs/design.md, "Topics that
were made anew", has the reasons.

Held by `herder.py`, which tells it; `worker/topic_watch.py` notices.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kconnect.core.herder import effects
from kconnect.core.herder.procedures import Procedure, Until
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.records import Entry, Topic
from kconnect.errors import ConnectError

if TYPE_CHECKING:
    from kconnect.core.herder.herder import Herder

KEPT = (Topic.CONFIG, Topic.OFFSET)
"""Their ids stand in the leader's record, so that a worker that starts knows them again."""
_RUNNING = {
    Topic.CONFIG: "What runs goes on, and reads are answered from memory; but nobody leads, and writes are refused",
    Topic.OFFSET: "The leader writes the offsets that it knows anew",
    Topic.STATUS: "Each worker writes the statuses of its units anew",
    Topic.ASSIGNMENT: "All units are assigned and started anew",
}
_STARTING = {
    Topic.CONFIG: "Nothing of it is run, and writes are refused",
    Topic.OFFSET: "Sources of which it says nothing begin from their start; `kconnect topics restore` puts a snapshot of it "
    "into a fresh topic, while no worker runs",
}


class Losses:
    def __init__(self, herder: Herder) -> None:
        self._herder = herder
        self._ids = dict(herder.identity.topic_ids)
        self.counts: Counter[Topic] = Counter()
        """How often each topic was found to be another one."""
        self.refusal: str | None = None
        """Why nothing is to be written, if that is so: nobody but a user can say what is to be in the config topic."""
        self.foreign = False
        """Whether the config topic was another one already when this worker began to read it."""
        self._assignment_at: int | None = None

    @property
    def ids(self) -> dict[str, str]:
        """As they are to be in the leader's record."""
        return {topic.value: self._ids[topic] for topic in KEPT if topic in self._ids}

    def started(self) -> None:
        """All has been read: compare with what the leader before had."""
        leader, ids = self._herder.assignment.leader, self.ids
        for topic in KEPT if leader is not None else ():
            before = leader.topics.get(topic.value) if leader is not None else None
            if before is not None and topic.value in ids and ids[topic.value] != before:
                problem = "is not the one with which workers ran before: it was deleted and made anew"
                self.foreign |= topic is Topic.CONFIG
                self._tell(topic, problem, _STARTING[topic])

    def remade(self, topic: Topic, id: str | None) -> None:
        herder = self._herder
        # Whoever waits for what was written into the topic before would wait for ever.
        self.counts[topic] += 1
        self._ids.pop(topic, None)
        if id is not None:
            self._ids[topic] = id
        self._tell(topic, "was deleted and made anew, or has lost its end", _RUNNING[topic])
        if topic is Topic.STATUS:
            herder.status.begin_again()
        elif topic is Topic.OFFSET:
            herder.offsets.begin_again()
        elif topic is Topic.ASSIGNMENT:
            self._assignment_at = herder.now
            herder.assignment = AssignmentState()

    def read_to_end(self, topic: Topic) -> Procedure:
        """Wait until all that is in the topic by now has been read."""
        since = self.counts.copy()
        ends = yield effects.FindEnds(topic)
        yield from self.until_read(ends, 0, since)

    def until_read(self, places: dict[tuple[Topic, int], int], behind: int, since: Counter[Topic]) -> Procedure:
        """Wait until that was read, and so many more; a ConnectError if these topics were made anew since `counts` was so."""
        wanted = {place: offset + behind for place, offset in places.items()}

        def others() -> bool:
            return any(self.counts[topic] != since[topic] for topic, _ in wanted)

        yield Until(lambda: others() or self._herder.has_read_up_to(wanted))
        if others():
            raise ConnectError("An internal topic was made anew meanwhile: the worker's log says which")

    def unsaid_offsets(self) -> Procedure:
        """What the leader is to write anew; gives a list of entries."""
        if not self._herder.offsets.unsaid():
            return []
        # Another one may have written more by now.
        yield from self.read_to_end(Topic.OFFSET)
        entries: list[Entry] = self._herder.offsets.unsaid()
        return entries

    @property
    def assignments_lost(self) -> bool:
        """Whether this worker was given units by an assignment topic that is no more. Its hosts end with it."""
        return self._assignment_at is not None

    @property
    def hosts_may_live(self) -> bool:
        """Whether hosts may still run what a lost assignment topic gave them: they stop within their session."""
        herder = self._herder
        return self._assignment_at is not None and herder.now - self._assignment_at < herder.identity.session_timeout_ms

    def _tell(self, topic: Topic, problem: str, consequence: str) -> None:
        names = self._herder.identity.topic_names
        text = f"The {topic.value} topic {names.get(topic, '')} {problem}. {consequence}."
        if topic is Topic.CONFIG:
            both = f"{names.get(topic, '')} and {names.get(Topic.ASSIGNMENT, '')}"
            text += (
                f" Keep what GET /connectors?expand=info answers, stop all workers, delete {both}, put a snapshot back "
                "(`kconnect topics restore FILE --create`) or create the connectors again later, and start the workers."
            )
            self.refusal = text
        self._herder.log("ERROR", text)
