"""
What a worker does when an internal topic is no longer what it has read, and what it says of that. "Topics that were recreated"
in docs/design/handover.md has the reasons.

Held by `herder.py`, which tells it; `worker/topic_watch.py` notices.
"""

from __future__ import annotations

from kconnect.core.herder.desk import Desk
from kconnect.core.herder.procedures import Procedure
from kconnect.core.state.records import Entry, Topic

KEPT = (Topic.CONFIG, Topic.OFFSET)
"""Their ids stand in the leader's record, so that a worker that starts knows them again."""
_RUNNING = {
    Topic.CONFIG: "Running tasks continue, and reads are answered from memory, but no worker leads, and writes are refused",
    Topic.OFFSET: "The leader writes the offsets that it knows again",
    Topic.STATUS: "Each worker writes the statuses of its units again",
    Topic.ASSIGNMENT: "All units are assigned and started again",
}
_STARTING = {
    Topic.CONFIG: "No unit runs, and writes are refused",
    Topic.OFFSET: "Sources without an offset in it start over; while no worker runs, `kconnect topics restore` can restore a "
    "snapshot of it into a new topic",
}


class Losses:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._ids = dict(desk.identity.topic_ids)
        self.foreign = False
        """Whether the config topic was another one already when this worker began to read it."""
        self._assignment_at: int | None = None

    @property
    def ids(self) -> dict[str, str]:
        """The topics' ids for the leader's record."""
        return {topic.value: self._ids[topic] for topic in KEPT if topic in self._ids}

    def started(self) -> None:
        """All has been read: compare with what the leader before had."""
        leader, ids = self._desk.log.assignment.leader, self.ids
        for topic in KEPT if leader is not None else ():
            before = leader.topics.get(topic.value) if leader is not None else None
            if before is not None and topic.value in ids and ids[topic.value] != before:
                problem = "is not the one that workers used before: it was deleted and recreated"
                self.foreign |= topic is Topic.CONFIG
                self._tell(topic, problem, _STARTING[topic])
        self._desk.is_foreign = self.foreign

    def remade(self, topic: Topic, id: str | None) -> None:
        """The log begins again with that topic."""
        self._ids.pop(topic, None)
        if id is not None:
            self._ids[topic] = id
        self._tell(topic, "was deleted and recreated, or has lost its end", _RUNNING[topic])
        if topic is Topic.ASSIGNMENT:
            self._assignment_at = self._desk.now

    def unsaid_offsets(self) -> Procedure[list[Entry]]:
        """Return the offsets that the leader must write again."""
        if not self._desk.log.offsets.unsaid():
            return []
        # Another one may have written more by now.
        yield from self._desk.read_to_end(Topic.OFFSET)
        entries: list[Entry] = self._desk.log.offsets.unsaid()
        return entries

    @property
    def assignments_lost(self) -> bool:
        """Whether this worker was given units by an assignment topic that is no more. Its hosts end with it."""
        return self._assignment_at is not None

    @property
    def hosts_may_live(self) -> bool:
        """Whether hosts may still run what a lost assignment topic gave them: they stop within a while."""
        desk = self._desk
        return self._assignment_at is not None and desk.now - self._assignment_at < desk.identity.hosts_stop_after_ms

    def _tell(self, topic: Topic, problem: str, consequence: str) -> None:
        names = self._desk.identity.topic_names
        text = f"The {topic.value} topic {names.get(topic, '')} {problem}. {consequence}."
        if topic is Topic.CONFIG:
            both = f"{names.get(topic, '')} and {names.get(Topic.ASSIGNMENT, '')}"
            text += (
                f" Save the answer of GET /connectors?expand=info, stop all workers, and delete {both}. Then either restore "
                "that topic of a snapshot (`kconnect topics restore FILE --topic config --create`) and start the workers, or "
                "start them and create the connectors again."
            )
            # Nobody but a user can say what is to be in the config topic.
            self._desk.refusal = text
        self._desk.say("ERROR", text)
