"""
When a host has last read the log to its end, and so what it may still believe to be its own.

Asked by `host/main.py`, and through it by everything that others can see. A host whose lease is not held does nothing, and
goes on where it stood when it has read the log again; one whose lease is lost gives its units up. Read next: "A host that
can't read the log pauses before it stops" in docs/design/handover.md.
"""

from __future__ import annotations

from collections import deque

_SHORTEST_PAUSE_S = 1.0
"""The log's end is asked for three times as often, which less would make costly."""
_REMEMBERED_S = 300.0
_FIRST_REST_S, _LONGEST_REST_S = 0.5, 15.0
_ELECTION_S = 9.0
"""
After how long Kafka has another leader in the place of one that is cut off (`broker.session.timeout.ms`). Before, nobody can
write that something is to leave a host; and for a moment longer a host that is healthy may have to wait for its own writes,
since all replicas have to have them.
"""


def paused_after_s(session_s: float, grace_s: float) -> float:
    """Return for how long a host that reads nothing new may go on: no longer than the leader waits for it."""
    return min(session_s * 0.75, max(grace_s, _SHORTEST_PAUSE_S))


def stopped_after_ms(session_ms: int, grace_ms: int) -> int:
    """
    Return after how long without the log a host has asked its units to stop, however it lost the log.

    It is more than the 9 s (`broker.session.timeout.ms`) after which Kafka elects another leader for a broker that was killed:
    until then nobody can read the log. No other worker can be given the units much earlier, because their worker has to be
    silent for its session, and the leader then waits for the grace.
    """
    return session_ms + int(paused_after_s(session_ms / 1000, grace_ms / 1000) * 1000)


class Lease:
    """
    All times are seconds of one monotonic clock. `grace_s` is for how long the leader waits for hosts that it has told to leave
    (`handover.grace.ms`) before it gives what they had to others, whether they have read that or not.
    """

    def __init__(self, session_s: float, grace_s: float, now: float) -> None:
        self.sends_for_s = session_s * 0.75
        """Do not send what has waited for longer: by then it may be somebody else's to say."""
        self.limit_s = stopped_after_ms(int(session_s * 1000), int(grace_s * 1000)) / 1000
        self._pause_s = paused_after_s(session_s, grace_s)
        self._proof_s = max(0.0, _ELECTION_S + 1.0 - self._pause_s)
        self.turn_s = min(session_s / 8, self._pause_s / 3)
        """Ask this often where the log ends."""
        self.seen_at = now
        """The log has been read up to where it ended then. Set by the host, once it has done what follows from that."""

    def seen(self, read_at: float, heard_at: float) -> float:
        """
        Return up to when the log counts as read. `read_at`: it has been read up to where its leader said that it ended then.
        `heard_at`: a write was sent then that all replicas of its partition have. A leader that is cut off from the others says
        for ever that nothing is new, and takes no such write; one second after these have another one a host waits.
        """
        return min(read_at, heard_at + self._proof_s)

    def is_held(self, now: float) -> bool:
        """Whether nothing that ran here can be somebody else's yet. Otherwise wait: for this, or until it is lost."""
        return self.is_recent(self.seen_at, now)

    def is_recent(self, seen_at: float, now: float) -> bool:
        """Whether the lease is held once it is renewed with `seen_at`."""
        return now - seen_at < self._pause_s

    def is_lost(self, now: float) -> bool:
        """Whether all that runs here is to be given up."""
        return now - self.seen_at >= self.limit_s


class Rest:
    """
    The pause of a host that has lost its lease, before it starts its units again.

    Each start makes clients anew, by TLS and SCRAM, and all hosts lose the log at the same time: if they all came back at once,
    again and again, they would keep slow brokers slow. The rest doubles with each loss of the last minutes.
    """

    def __init__(self) -> None:
        self._losses: deque[float] = deque()
        self._until = 0.0

    def lost(self, now: float, chance: float) -> None:
        """`chance` is a random number from 0 to 1, which keeps hosts apart."""
        while self._losses and now - self._losses[0] > _REMEMBERED_S:
            self._losses.popleft()
        rest = min(_LONGEST_REST_S, _FIRST_REST_S * 2 ** len(self._losses))
        self._losses.append(now)
        self._until = now + rest * (0.5 + chance / 2)

    def is_over(self, now: float) -> bool:
        return now >= self._until
