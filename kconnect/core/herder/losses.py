"""
What a worker does when an internal topic is no longer what it has read, and what it says of that. docs/design.md, "Topics that
were made anew", has the reasons.

Held by `herder.py`, which tells it; `worker/topic_watch.py` notices.
"""

from __future__ import annotations

from kconnect.core.herder.desk import Desk
from kconnect.core.herder.procedures import Procedure
from kconnect.core.state.records import Entry, Topic

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
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._ids = dict(desk.identity.topic_ids)
        self.foreign = False
        """Whether the config topic was another one already when this worker began to read it."""
        self._assignment_at: int | None = None

    @property
    def ids(self) -> dict[str, str]:
        """As they are to be in the leader's record."""
        return {topic.value: self._ids[topic] for topic in KEPT if topic in self._ids}

    def started(self) -> None:
        """All has been read: compare with what the leader before had."""
        leader, ids = self._desk.log.assignment.leader, self.ids
        for topic in KEPT if leader is not None else ():
            before = leader.topics.get(topic.value) if leader is not None else None
            if before is not None and topic.value in ids and ids[topic.value] != before:
                problem = "is not the one with which workers ran before: it was deleted and made anew"
                self.foreign |= topic is Topic.CONFIG
                self._tell(topic, problem, _STARTING[topic])

    def remade(self, topic: Topic, id: str | None) -> None:
        """The log begins again with that topic."""
        self._ids.pop(topic, None)
        if id is not None:
            self._ids[topic] = id
        self._tell(topic, "was deleted and made anew, or has lost its end", _RUNNING[topic])
        if topic is Topic.ASSIGNMENT:
            self._assignment_at = self._desk.now

    def unsaid_offsets(self) -> Procedure[list[Entry]]:
        """What the leader is to write anew."""
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
        """Whether hosts may still run what a lost assignment topic gave them: they stop within their session."""
        desk = self._desk
        return self._assignment_at is not None and desk.now - self._assignment_at < desk.identity.session_timeout_ms

    def _tell(self, topic: Topic, problem: str, consequence: str) -> None:
        names = self._desk.identity.topic_names
        text = f"The {topic.value} topic {names.get(topic, '')} {problem}. {consequence}."
        if topic is Topic.CONFIG:
            both = f"{names.get(topic, '')} and {names.get(Topic.ASSIGNMENT, '')}"
            text += (
                f" Keep what GET /connectors?expand=info answers, stop all workers, delete {both}, put a snapshot back "
                "(`kconnect topics restore FILE --create`) or create the connectors again later, and start the workers."
            )
            # Nobody but a user can say what is to be in the config topic.
            self._desk.refusal = text
        self._desk.say("ERROR", text)
