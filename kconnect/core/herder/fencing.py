"""
Zombie fencing of exactly-once sources (KIP-618): the producers of an earlier task set must not write once a new one starts.

`Fencing` is the leader's, run by `leader.py`: hosts say in their held records which tasks wait for it, and for which set.
`fence_before` does it for `PUT /connectors/{c}/fence`, called by `requests/tasks.py`; `requests/offsets.py` fences by itself.
How many tasks there are to fence is in the config topic, in `tasks-fencing-<connector>`. Read next: `cluster/host.py` for
how a task waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kconnect.core.herder import effects
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import FencedError
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.settings import lent_logins
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import FencingFailed, Held
from kconnect.core.state.records import Entry
from kconnect.errors import ConnectError, RetriableError

_AT_ONCE = 8
"""How many connectors are fenced beside each other: clusters that don't answer take no more threads of the worker's."""
_ELSEWHERE = 4
"""How many of these may have brokers that only their configs name: the others' tasks start, whatever becomes of those."""
_BACKOFF_MS, _LONGEST_MS = 500, 60_000


def fence(desk: Desk, name: str, tasks: int) -> Procedure[None]:
    """End the transactional producers of a connector's first `tasks` tasks; ConnectError unless all are."""
    if tasks:
        yield from ask(effects.Fence(name, dict(desk.log.config.connectors[name].properties), tasks))


def to_fence(desk: Desk, name: str) -> int:
    """Return how many tasks of earlier sets must be fenced before the newest set of a connector may start."""
    before, now = desk.log.config.fencing.get(name, 0), desk.log.config.connectors[name].task_count
    # A lone task that follows a lone task fences it by itself: both have the same transactional id.
    return 0 if (before, now) == (1, 1) else before


def fence_before(desk: Desk, name: str) -> Procedure[None]:
    """
    Let the newest task set of an existing source connector start. The leader calls this.

    A set is waited for by all its tasks, and the first that asks has it done for all. The connector is not written about
    meanwhile, so the set that is recorded in the end is the one that was asked for.
    """
    if desk.log.config.connectors[name].pending_fencing:
        yield from fence(desk, name, to_fence(desk, name))
        yield from _record(desk, name)


def _record(desk: Desk, name: str) -> Procedure[None]:
    yield from desk.write_as_leader([records.tasks_fencing(name, desk.log.config.connectors[name].task_count)])


@dataclass
class _Set:
    """A task set that is waited for, as a leader remembers it."""

    tasks_offset: int
    since: int
    attempts: int = 0
    next_at: int = 0


class Fencing:
    """
    Lets task sets start, in one term of leadership.

    A set is fenced for once all that hosts hold of the connector's tasks waits: then what ran before has ended in order, and
    no last transaction is cut off. What has not ended within `Identity.task_grace_ms` after the first task waited may be
    anywhere, and is fenced all the same.
    """

    def __init__(self, desk: Desk, deposed: Callable[[], None]) -> None:
        """`deposed` is called when a write shows that another worker leads."""
        self._desk, self._deposed = desk, deposed
        self._sets: dict[str, _Set] = {}
        self._under_way: dict[str, Procedure[None]] = {}

    def begin(self) -> None:
        """Fence for all that can be now. What is begun goes on by itself, and ends with `close`."""
        waiting = self._waiting()
        self._sets = {name: task_set for name, task_set in self._sets.items() if self._is_pending(name, task_set.tasks_offset)}
        if len(self._under_way) >= _AT_ONCE:
            return
        due = [name for name in waiting if name not in self._desk.busy and self._is_due(name)]
        elsewhere = {name for name in (*self._under_way, *due) if self._is_elsewhere(name)}
        # Who has been tried least: those that are tried again and again keep nobody from the first time.
        for name in sorted(due, key=lambda name: self._sets[name].attempts):
            if name in elsewhere and len(elsewhere & self._under_way.keys()) >= _ELSEWHERE:
                continue
            procedure = self._desk.exclusively(name, self._fence(name, waiting[name]))
            self._under_way[name] = procedure
            self._desk.begin(procedure)
            if len(self._under_way) >= _AT_ONCE:
                return

    def _is_elsewhere(self, name: str) -> bool:
        connector = self._desk.log.config.connectors.get(name)
        return connector is not None and lent_logins.names_brokers(connector.properties)

    def close(self) -> None:
        """This worker leads no longer."""
        for procedure in list(self._under_way.values()):
            self._desk.end(procedure)

    def forgotten(self) -> list[Entry]:
        """Tombstones for failures that say nothing any more."""
        failed = self._desk.log.assignment.failed_fencings
        return [
            assignment_records.fencing_failed(FencingFailed(name, None))
            for name in sorted(failed)
            if not self._is_pending(name, failed[name].tasks_offset)
        ]

    def _is_pending(self, name: str, tasks_offset: int) -> bool:
        connector = self._desk.log.config.connectors.get(name)
        return connector is not None and connector.pending_fencing and connector.tasks_offset == tasks_offset

    def _waiting(self) -> dict[str, list[Held]]:
        """The hosts on which tasks wait that were not answered yet, by connector."""
        state = self._desk.log.assignment
        by_connector: dict[str, list[Held]] = {}
        for held in state.held.values():
            for unit, wait in held.waiting.items():
                failed = state.failed_fencings.get(unit.connector)
                answered = failed is not None and failed.answers(held.worker, held.host, held.incarnation, wait)
                if not answered and self._is_pending(unit.connector, wait.tasks_offset):
                    hosts = by_connector.setdefault(unit.connector, [])
                    if held not in hosts:
                        hosts.append(held)
        return by_connector

    def _is_due(self, name: str) -> bool:
        desk = self._desk
        tasks_offset = desk.log.config.connectors[name].tasks_offset
        task_set = self._sets.setdefault(name, _Set(tasks_offset, desk.now))
        if desk.now < task_set.next_at:
            return False
        # Once it has been tried, all waited already; those who failed of it since wait no longer.
        if task_set.attempts or not to_fence(desk, name) or desk.now - task_set.since >= desk.identity.task_grace_ms:
            return True
        return all(
            unit in held.waiting and held.waiting[unit].tasks_offset == tasks_offset
            for held in desk.log.assignment.held.values()
            for unit in held.units or ()
            if unit.connector == name and not unit.is_connector
        )

    def _fence(self, name: str, hosts: list[Held]) -> Procedure[None]:
        desk, task_set = self._desk, self._sets.get(name)
        try:
            if task_set is None or not self._is_pending(name, task_set.tasks_offset):
                return
            task_set.attempts += 1
            try:
                yield from fence(desk, name, to_fence(desk, name))
            except RetriableError:
                raise
            except Exception as error:  # noqa: BLE001 - rights, settings: asked again, the answer would be the same
                yield from self._tell(name, task_set.tasks_offset, hosts, error)
                return
            yield from _record(desk, name)
        except FencedError:
            del self._under_way[name]
            self._deposed()
        except ConnectError as error:
            assert task_set is not None
            backoff = min(_LONGEST_MS, _BACKOFF_MS * 2 ** min(task_set.attempts, 10))
            task_set.next_at = desk.now + backoff
            desk.say(
                "WARNING",
                f"The tasks of connector {name} wait, because the producers of its previous tasks could not be fenced. The "
                f"next attempt is in {backoff / 1000:.0f} s. {error}",
            )
        finally:
            self._under_way.pop(name, None)

    def _tell(self, name: str, tasks_offset: int, hosts: list[Held], error: Exception) -> Procedure[None]:
        """Have the tasks fail that wait on `hosts`, as they were read: who waits anew has it tried again."""
        text = (
            f"The producers of connector {name}'s previous tasks could not be fenced, so they might still write records "
            f"(KIP-618). {error} Fix the cause, then restart the task."
        )
        before = self._desk.log.assignment.failed_fencings.get(name)
        # A host that was answered before may not have read that yet, and would be taken for one that waits anew.
        answered = {} if before is None or before.tasks_offset != tasks_offset else dict(before.hosts)
        answered.update({(held.worker, held.host): (held.incarnation, held.sequence) for held in hosts})
        self._desk.say("ERROR", f"The tasks of connector {name} fail: {error}")
        yield from self._desk.write(
            [assignment_records.fencing_failed(FencingFailed(name, text, tasks_offset, answered))], as_leader=True
        )
