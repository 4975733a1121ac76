"""
What must hold of every history: one checker an invariant, by the name under which it is reported.

`violations` asks all of `CHECKS` about a `History` that has been played. A checker yields what it found wrong, as text.
It looks at what was recorded: every record of the log, every answer, whatever a task did, and what runs at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from kconnect.core.settings.operation import Operation
from kconnect.core.state import records
from kconnect.core.state.assignment import AssignmentState
from kconnect.core.state.assignment_records import PLAIN, HostSpec
from kconnect.core.state.config import ConfigState
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import LogRecord, State, TargetState, Topic, UnitId
from kconnect.core.state.status import StatusState
from kconnect.errors import AlreadyExistsError, BadRequestError, ConflictError, NotFoundError
from tests.rig.histories.cluster import directories
from tests.rig.histories.histories import History
from tests.rig.histories.history_actors import REFUSAL
from tests.rig.histories.history_users import NAMES, SINK, SOURCES, Asked
from tests.rig.histories.memory import compacted

REFUSALS = (AlreadyExistsError, BadRequestError, ConflictError, NotFoundError)
_PRIVILEGED = (b"connector-", b"task-", b"commit-", b"session-key", b"restart-connector-", b"tasks-fencing-")


@dataclass
class Violation:
    name: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}"


class Folds(NamedTuple):
    """What a reader of all four topics holds."""

    config: ConfigState
    status: StatusState
    offsets: OffsetState
    assignment: AssignmentState


def fold(found: Iterable[LogRecord]) -> Folds:
    folds = Folds(ConfigState(), StatusState(), OffsetState(), AssignmentState())
    by_topic: dict[Topic, Any] = dict(zip((Topic.CONFIG, Topic.STATUS, Topic.OFFSET, Topic.ASSIGNMENT), folds, strict=True))
    for record in found:
        by_topic[record.topic].apply(record)
    return folds


def violations(history: History) -> list[Violation]:
    """All that is wrong with a history, each by the name of its invariant."""
    whole = fold(history.log.records)
    return [Violation(name, evidence) for name, check in CHECKS.items() for evidence in check(history, whole)]


# --- what tasks did ---------------------------------------------------------------------------------------------------


class _Stored(NamedTuple):
    key: UnitId
    seqno: int
    emitted: int
    altered: bool
    """Whether a user wanted it so (KIP-875): then it may go back."""


def _stored(history: History) -> Iterator[_Stored]:
    """Every offset that was ever stored, by a source or a sink, and how much had been sent or put by then."""
    emitted = 0
    for index, record in enumerate(history.log.records):
        while emitted < len(history.emitted) and history.emitted[emitted].log_length <= index:
            emitted += 1
        decoded = records.decode_offset(record) if record.topic is Topic.OFFSET else None
        if isinstance(decoded, records.SourceOffset):
            seqno = decoded.offset["seqno"] if decoded.offset is not None else 0
            altered = history.log.epochs[index] > 0
            yield _Stored(UnitId(decoded.connector, decoded.partition["task"]), seqno, emitted, altered)
    for committed in history.committed:
        yield _Stored(*committed)


def no_loss(history: History, whole: Folds) -> Iterator[str]:
    """I1: whatever a stored offset covers was sent; what a request was told to be written is in the log."""
    sent: dict[UnitId, set[int]] = {}
    for emitted in history.emitted:
        sent.setdefault(emitted.key, set()).add(emitted.seqno)
    last = {key: seqno for key, seqno, *_ in _stored(history)}
    for key, seqno in last.items():
        missing = set(range(1, seqno + 1)) - sent.get(key, set())
        if missing:
            yield f"{key} has stored {seqno} and never sent {sorted(missing)[:5]}"
    values = [record.value for topic in (Topic.CONFIG, Topic.OFFSET) for record in history.log.topics[topic] if record.value]
    for asked in history.asked:
        if asked.marker is not None and asked.answer.settled and asked.answer.error is None:
            mark = f'"{asked.marker}"'.encode()
            if not any(mark in value for value in values):
                yield f"{asked.request} was answered, and is not in the log"


def no_repeat(history: History, whole: Folds) -> Iterator[str]:
    """I2, at least once: only what lies behind the last stored offset comes again."""
    for emitted in history.emitted:
        if emitted.seqno <= emitted.stored:
            yield f"{emitted.key} sends {emitted.seqno} again, though {emitted.stored} was stored"


def exactly_once(history: History, whole: Folds) -> Iterator[str]:
    """I2, exactly once: nothing comes again, unless a user has altered the offset."""
    if not history.exactly_once:
        return
    highest: dict[UnitId, int] = {}
    altered = deque(sorted((each for each in _stored(history) if each.altered), key=lambda each: each.emitted))
    for at, emitted in enumerate(history.emitted):
        while altered and altered[0].emitted <= at:
            key, seqno, *_ = altered.popleft()
            highest[key] = seqno
        if emitted.key.connector in SOURCES and emitted.seqno <= highest.get(emitted.key, 0):
            yield f"{emitted.key} sends {emitted.seqno} again, though its transaction with it was committed"
        highest[emitted.key] = max(highest.get(emitted.key, 0), emitted.seqno)


def no_gap(history: History, whole: Folds) -> Iterator[str]:
    """I3: from 1 upwards, nothing is skipped; and nobody goes on from before the offset was altered."""
    highest: dict[UnitId, int] = {}
    altered = deque(sorted((each for each in _stored(history) if each.altered), key=lambda each: each.emitted))
    for at, emitted in enumerate(history.emitted):
        while altered and altered[0].emitted <= at:
            key, seqno, *_ = altered.popleft()
            highest[key] = seqno
        before = highest.get(emitted.key, 0)
        if emitted.seqno > before + 1:
            yield f"{emitted.key} goes from {before} to {emitted.seqno}"
        highest[emitted.key] = max(before, emitted.seqno)


def offsets_rise(history: History, whole: Folds) -> Iterator[str]:
    """I4: stored offsets don't go back, unless a user wants them to."""
    last: dict[UnitId, int] = {}
    for key, seqno, _, altered in _stored(history):
        if seqno < last.get(key, 0) and not altered:
            yield f"{key} stores {seqno} after {last[key]}"
        last[key] = seqno


def offsets_not_ahead(history: History, whole: Folds) -> Iterator[str]:
    """I5: at no point is an offset stored whose record was not sent before."""
    sent: dict[UnitId, int] = {}
    highest, at = [], 0
    for emitted in history.emitted:
        sent[emitted.key] = max(sent.get(emitted.key, 0), emitted.seqno)
        highest.append(sent[emitted.key])
    for key, seqno, at, _ in _stored(history):
        before = next((high for e, high in zip(history.emitted[:at][::-1], highest[:at][::-1]) if e.key == key), 0)
        if seqno > before:
            yield f"{key} stores {seqno}, sent is {before}"


def stopped_is_stopped(history: History, whole: Folds) -> Iterator[str]:
    """I11: nothing comes from a connector whose status says STOPPED with no tasks."""
    for emitted in history.emitted:
        if emitted.stopped:
            yield f"{emitted.key} sends {emitted.seqno} after its status said STOPPED"


def topics_in_use(history: History, whole: Folds) -> Iterator[str]:
    """KIP-558: a source's topic is announced only once there is a record of it. A sink's has one, or nothing could be read."""
    first: dict[str, int] = {}
    for emitted in history.emitted:
        first.setdefault(emitted.key.connector, emitted.log_length)
    for index, record in enumerate(history.log.records):
        decoded = records.decode_status(record) if record.topic is Topic.STATUS and record.value is not None else None
        if isinstance(decoded, records.TopicUse) and decoded.connector in SOURCES:
            at = first.get(decoded.connector)
            if at is None or at > index:
                yield f"{decoded.connector} uses {decoded.topic} by the log, and has emitted nothing yet"


def fenced_first(history: History, whole: Folds) -> Iterator[str]:
    """No exactly-once task sends before all of earlier task sets are fenced (KIP-618), and none of those sends after it."""
    yield from history.producers.unfenced


# --- what stands in the log -------------------------------------------------------------------------------------------


def one_leader(history: History, whole: Folds) -> Iterator[str]:
    """I6: what only leaders may write comes from leaders, in the order of their epochs; a generation has one leader."""
    newest = 0
    by_generation: dict[int, tuple[str, int]] = {}
    for index, (record, epoch) in enumerate(zip(history.log.records, history.log.epochs, strict=True)):
        key = record.key or b""
        if epoch:
            if epoch < newest:
                yield f"epoch {epoch} writes {key!r} after epoch {newest}"
            newest = max(newest, epoch)
        elif record.topic is Topic.CONFIG and key.startswith(_PRIVILEGED) and index not in history.junk:
            yield f"{key!r} was not written as leader"
        if record.topic is Topic.ASSIGNMENT and key == b"leader" and record.value is not None:
            body = orjson.loads(record.value)
            first = by_generation.setdefault(body["generation"], (body["worker"], epoch))
            if first != (body["worker"], epoch):
                yield f"generation {body['generation']} is {first}'s and {body['worker']}'s"


def replay_is_a_function(history: History, whole: Folds) -> Iterator[str]:
    """I8: who read the log record by record, and who reads it now, compacted or not, hold the same."""
    told = _told(whole, _moved(whole))
    readers = {"a reader of the compacted log": fold(compacted(history.log.records))}
    for worker in history.workers.values():
        herder = worker.herder
        readers[worker.name] = Folds(herder.log.config, herder.log.status, herder.log.offsets, herder.log.assignment)
    for reader, folds in readers.items():
        for what, mine in _told(folds, _moved(whole)).items():
            if mine != told[what]:
                yield f"{reader} has other {what}: {mine} instead of {told[what]}"


def unknown_survives(history: History, whole: Folds) -> Iterator[str]:
    """I9: what nobody can read changes nothing, and is logged once by each that meets it, without its value."""
    if not history.junk:
        return
    clean = fold(record for index, record in enumerate(history.log.records) if index not in history.junk)
    told = _told(whole)
    for what, mine in _told(clean).items():
        if mine != told[what]:
            yield f"without the garbage there are other {what}: {mine} instead of {told[what]}"


def _told(folds: Folds, but_tasks_of: Iterable[str] = ()) -> dict[str, Any]:
    config, status, offsets, assignment = folds
    names = sorted(config.connectors)
    sets = {name: list(map(config.task_config, (UnitId(name, t) for t in config.task_ids(name)))) for name in names}
    return {
        "connectors": [(name, config.connectors[name].properties) for name in names],
        "task sets": {name: tasks for name, tasks in sets.items() if name not in but_tasks_of},
        "target states": [(name, config.target_state(name)) for name in names],
        "statuses": sorted((str(unit), known.state.value, known.worker_id) for unit, known in status.units.items()),
        "offsets": [sorted(str((o.partition, o.offset)) for o in offsets.of(name)) for name in NAMES],
        "topics": [(name, status.topics_of(name), assignment.topic_resets.get(name)) for name in NAMES],
        "leader": assignment.leader,
        "assignments": sorted((worker, sorted(map(str, a.units or ()))) for worker, a in assignment.assignments.items()),
        "placements": sorted((worker, p.revision, p.incarnation) for worker, p in assignment.placements.items()),
        "held": sorted((key, sorted(map(str, held.units or ()))) for key, held in assignment.held.items()),
    }


def _moved(whole: Folds) -> set[str]:
    """
    Connectors whose config is newer than their tasks: who reads the compacted topic finds no tasks of them until these are
    written anew (KAFKA-17719), which a paused connector's instance does when it is resumed.
    """
    return {name for name, known in whole.config.connectors.items() if known.offset > known.tasks_offset}


# --- answers ----------------------------------------------------------------------------------------------------------


def refused_wrote_nothing(history: History, whole: Folds) -> Iterator[str]:
    """I12: a request that was refused has written nothing."""
    refused = {f'"{asked.marker}"'.encode() for asked in history.asked if asked.marker is not None and _is_refused(asked)}
    both = [*history.log.topics[Topic.CONFIG], *history.log.topics[Topic.OFFSET]]
    for record in both if refused else ():
        for marker in refused:
            if record.value is not None and marker in record.value:
                yield f"{record.key!r} holds what the refused request {marker!r} wanted"
    for asked, written in history.refused_last:
        if not isinstance(asked.answer.error, REFUSALS):
            yield f"{asked.request} was not refused: {asked.answer.value}, {asked.answer.error!r}"
        elif written:
            yield f"{asked.request} was refused, and {written} records were written"


def _is_refused(asked: Asked) -> bool:
    return isinstance(asked.answer.error, REFUSALS) or REFUSAL in str(asked.answer.error)


def all_is_answered(history: History, whole: Folds) -> Iterator[str]:
    """Each request has its answer by the time the cluster is at rest, and no read is refused for want of a leader."""
    for asked in history.asked:
        if not asked.answer.settled:
            yield f"{asked.request} has no answer, though the cluster is at rest"
        elif not asked.request.writes and isinstance(asked.answer.error, ConflictError):
            yield f"{asked.request} was refused: {asked.answer.error}"


# --- the end ----------------------------------------------------------------------------------------------------------


def one_owner(history: History, whole: Folds) -> Iterator[str]:
    """I7: nothing runs twice at any time, by what runs and not by status; at rest what is to run runs, on live workers."""
    yield from history.overlaps
    config = whole.config
    held = {unit: key for key, host in history.hosts.items() for unit in host.threads}
    asleep = _asleep(history, whole)
    wanted = {u for u in config.units() if config.target_state(u.connector) is not TargetState.STOPPED} - asleep
    found = held.keys() - asleep
    if found != wanted:
        missing, extra = sorted(map(str, wanted - found)), sorted(map(str, found - wanted))
        yield f"not running: {missing}; running for nobody: {extra}"
    for unit in held:
        where = [key for key, host in history.hosts.items() if unit in host.threads]
        if len(where) != 1 or where[0][0] not in history.workers:
            yield f"{unit} runs on {where}"


def no_host_too_many(history: History, whole: Folds) -> Iterator[str]:
    """
    At rest each worker has its plain hosts, and others only for what they run, or one for what others run; and none at all if
    it rests, for nobody has anything to run.
    """
    config = whole.config
    connectors = [name for name in config.connectors if config.target_state(name) is not TargetState.STOPPED]
    shared = {HostSpec(directories(config.connectors[name].properties)) for name in connectors}
    standby = shared if len(history.workers) > 1 else set()
    for name, worker in history.workers.items():
        hosts = [host for (owner, _), host in sorted(history.hosts.items()) if owner == name]
        plain, wanted = [host for host in hosts if host.spec == PLAIN], worker.herder.placing._count.hosts
        if worker.is_asleep and (connectors or hosts):
            yield f"{name} rests, with {len(hosts)} hosts and {len(connectors)} connectors to run"
        if not worker.is_asleep and not worker.herder.desk.leaving and len(plain) < wanted:
            yield f"{name} has {len(plain)} plain hosts instead of {wanted}"
        for host in hosts:
            if host.spec in standby and sum(other.spec == host.spec for other in hosts) == 1:
                continue
            if not host.threads and (host.spec != PLAIN or len(plain) > wanted):
                yield f"{host} is for {host.spec}, and runs nothing"


def _asleep(history: History, whole: Folds) -> set[UnitId]:
    """Tasks that some hosts may not know of, see `_moved`: those of connectors that are paused."""
    if not history.log.compacted:
        return set()
    paused = {name for name in _moved(whole) if whole.config.target_state(name) is TargetState.PAUSED}
    return {unit for unit in whole.config.units() if unit.connector in paused and not unit.is_connector}


def honest_status(history: History, whole: Folds) -> Iterator[str]:
    """I10, at rest: RUNNING or PAUSED is what runs there, FAILED what failed there, and nothing else says so."""
    config, status = whole.config, whole.status
    held = {unit: (key[0], host) for key, host in history.hosts.items() for unit in host.threads}
    for unit in sorted((status.units.keys() | held.keys()) - _asleep(history, whole)):
        said = status.units.get(unit)
        target = config.target_state(unit.connector)
        if unit in held:
            worker, host = held[unit]
            expected = State.PAUSED if target is TargetState.PAUSED else State.RUNNING
            if unit in host.failed:
                expected = State.FAILED
                configs = config.connectors[unit.connector].properties, host.threads[unit].connector_config
                if all(Operation.of(known).max_attempts for known in configs):
                    yield f"{unit} failed on {host} and is not started again"
            if said is None or (said.state, said.worker_id) != (expected, worker):
                yield f"{unit} runs on {host}, to be {expected.value}, and its status says {said}"
        elif unit not in config.units():
            yield f"{unit} does not exist, and its status says {said}"
        elif target is TargetState.STOPPED and (said is None or said.state is not State.STOPPED):
            yield f"{unit} is stopped, and its status says {said}"
        elif said is not None and said.state in (State.RUNNING, State.PAUSED, State.RESTARTING):
            yield f"{unit} does not run, and its status says {said}"


def is_tidy(history: History, whole: Folds) -> Iterator[str]:
    """At rest nothing is known of what connectors that are gone have used, nor of what a sink reads no longer (KIP-558)."""
    config, status, _, assignment = whole
    for name in [*status.connectors_with_topics(), *assignment.topic_resets]:
        if name not in config.connectors:
            yield f"{name} is gone; topics: {status.topics_of(name)}, forgotten: {assignment.topic_resets.get(name)}"
    sink = config.connectors.get(SINK)
    for topic in status.topics_of(SINK):
        if sink is not None and topic != sink.properties["topics"]:
            yield f"{SINK} has used {topic}, and reads {sink.properties['topics']}"


def levels_arrive(history: History, whole: Folds) -> Iterator[str]:
    """Each worker has set all levels that came after its start (KIP-976)."""
    found = (records.decode_config(record) for record in history.log.topics[Topic.CONFIG])
    wanted = [(each.namespace, each.level) for each in found if isinstance(each, records.LoggerLevel)]
    for worker in history.workers.values():
        if not history.log.compacted and worker.levels != wanted[len(wanted) - len(worker.levels) :]:
            yield f"{worker.name} has set {worker.levels}, asked for was {wanted}"


def comes_to_rest(history: History, whole: Folds) -> Iterator[str]:
    """Once no more happens, nobody goes on writing, and no herder has stumbled."""
    if history.restless:
        yield f"the cluster does not come to rest: {history.lines[-3:]}"
    for line in history.lines:
        if "failed and starts over" in line and "no answer in time" not in line:
            yield line


CHECKS: dict[str, Callable[[History, Folds], Iterator[str]]] = {
    "I1 no loss": no_loss,
    "I2 no repeat": no_repeat,
    "I2 exactly once": exactly_once,
    "I3 no gap": no_gap,
    "I4 offsets rise": offsets_rise,
    "I5 offsets not ahead": offsets_not_ahead,
    "I6 one leader": one_leader,
    "I7 one owner": one_owner,
    "hosts": no_host_too_many,
    "I8 replay is a function": replay_is_a_function,
    "I9 unknown survives": unknown_survives,
    "I10 honest status": honest_status,
    "I11 stopped is stopped": stopped_is_stopped,
    "I12 refused wrote nothing": refused_wrote_nothing,
    "topics": topics_in_use,
    "fenced first": fenced_first,
    "answered": all_is_answered,
    "tidy": is_tidy,
    "levels": levels_arrive,
    "rest": comes_to_rest,
}
