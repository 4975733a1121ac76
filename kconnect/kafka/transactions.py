"""
The producer of one exactly-once source task: nobody sees what it sends before a transaction with it is committed.

Made by `units/source_task.py`, called by `core/task/delivery.py`, from the task's thread only; `replay_producer.py` derives
from it. A call that waits for brokers returns when `cancelled()`; whether a commit that nobody waited for came about, the next
producer of the same transactional id settles before it begins. Read next: `producer.py`, `late_ends.py`.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import confluent_kafka as ck

from kconnect.core.task.chain import Outgoing
from kconnect.core.task.ports import Refused
from kconnect.errors import ConnectError, NotAuthorizedError, StartAgainError, SupersededError
from kconnect.kafka import late_ends
from kconnect.kafka.codes import FENCED, FINAL, FORBIDDEN, LATE, OUT_OF_STEP, TOO_LARGE
from kconnect.kafka.liveness import Patience
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.refusals import Access

log = logging.getLogger(__name__)

_TURN_S = 1.0
_BROKERS_END_MS = 60_000
"""When brokers end a transaction by themselves: the client's own default."""
_TOLD_S = 30.0
_GLANCE_S = 0.05
_NAMED_S = 2.0
_APART: set[str] = set()
"""Transactional ids of tasks of this process whose records go one by one, each in a request of its own."""


class TransactionalProducer(TaskProducer):
    """
    ConnectError if brokers or the client refuse something: the transaction that is open can't be committed any more. It is a
    StartAgainError if brokers took too long for it.

    `may_work()` is asked before the id is taken, and `confirmed()` after it: False if by now it may be somebody else's.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        cancelled: Callable[[], bool],
        may_work: Callable[[], bool],
        confirmed: Callable[[], bool],
        reports: bool = False,
        access: Access | None = None,
    ) -> None:
        self._id: str = client["transactional.id"]
        self._may_work, self._confirmed = may_work, confirmed
        self._open = self._may_send = self._refuses = False
        self._opened_at = 0.0
        self._longest_s = int(client.get("transaction.timeout.ms", _BROKERS_END_MS)) / 1000
        super().__init__(client, cancelled, reports, access)
        # One that fails fails with its transaction.
        self._reports.splits = False

    @property
    def open(self) -> bool:
        """Whether anything was sent since the last commit or abort."""
        return self._open

    def begin(self, stops: Callable[[], bool]) -> bool:
        """
        Fence whoever used this transactional id before, and end what was open under it: committed or not, it is settled when
        this returns. Once, before anything is sent. False if it is to stop before.
        """
        self._may_send = False
        self._may_send = self._may_work() and self._until_done("init_transactions", stops) and self._confirmed()
        return self._may_send

    def send(self, messages: Iterable[Outgoing]) -> bool:
        if not self._open:
            self._poll(0)
            if self._ends.in_doubt(self._client()):
                log.warning("The end of a transaction of %s had to be sent again: a new client goes on", self._id)
                self._begin_anew()
            # Once it was not confirmed, never: whoever stops has more to send than one call's.
            if not self._may_send:
                return False
            self._call("begin_transaction")
            self._open, self._opened_at = True, time.monotonic()
        return super().send(messages)

    def commit(self) -> bool:
        """Once all that was sent is acknowledged. False: it gave up before it heard whether that happened."""
        if not self._until_done("commit_transaction", self._cancelled):
            return False
        self._open = False
        self.check()
        return True

    def refusals(self, timeout: float) -> list[Refused]:
        # A transaction that has failed holds back what it still has, for ever; but the failure may be known before the message.
        deadline = time.monotonic() + timeout
        while self._refuses and not any(refusal.lasting for refusal in self._reports.refused) and time.monotonic() < deadline:
            with contextlib.suppress(ConnectError):
                self._poll(_GLANCE_S)
        return super().refusals(0)

    def abort(self, stops: Callable[[], bool] | None = None) -> bool:
        """
        Abort the open transaction: nobody will see what was sent since the last commit. Return False if the producer stopped
        before the brokers confirmed it.
        """
        if not self._open:
            return True
        stops = stops or self._cancelled
        # What fails from now on, or has failed, is for nobody.
        self._reports.closed, self._reports.failure = True, None
        # The client ends a transaction also at a broker that has not heard yet that it began, which is an error for ever.
        # One that has failed sends nothing more, so what waits in the client waits for ever.
        stuck = self._refuses and not self._reports.local
        while len(self._client()) and not stuck and not stops():
            self.flush(_TURN_S)
        is_aborted = self._until_done("abort_transaction", stops)
        self._reports.closed = False
        self._open, self._refuses = not is_aborted, False
        return is_aborted

    def _make(self) -> ck.Producer:
        apart = {"batch.num.messages": 1} if self._id in _APART else {}
        client, self._ends = late_ends.watched({**self._settings, **apart})
        return client

    def _renew(self) -> None:
        if not self._open:
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._producer = self._make()
        self.begin(self._cancelled)

    def _until_done(self, call: str, stops: Callable[[], bool], *arguments: Any) -> bool:
        began = time.monotonic()
        patience = Patience(_TOLD_S, began)
        while not stops():
            if self._call(call, *arguments, _TURN_S):
                if self._access is not None:
                    self._access.is_member()
                    self._access.answered()
                return True
            if self._access is not None:
                self._access.waits_long(call.replace("_", " "), began)
            if call == "init_transactions":
                self._poll(0)
                self._check_access()
            if patience.is_over(time.monotonic()):
                patience.renew(time.monotonic())
                log.warning("Brokers have not answered yet: still waiting for %s of %s", call, self._id)
                if call == "init_transactions":
                    # Nothing of this client is under way; for the reason see `liveness.py`.
                    self._producer = self._make()
        return False

    def _call(self, name: str, *arguments: Any) -> bool:
        """False if it may be called again."""
        try:
            getattr(self._client(), name)(*arguments)
        except ck.KafkaException as error:
            cause: ck.KafkaError = error.args[0]
            if cause.retriable() and not cause.txn_requires_abort():
                return False
            if cause.code() in FENCED:
                # Whoever has fenced it has ended its transaction, too. After a commit that failed so, librdkafka (2.16) takes
                # that for still in progress, and refuses an abort for ever.
                self._open = False
            raise self._failed(cause, None) from error
        return True

    def _failed(self, error: ck.KafkaError, topic: str | None) -> ConnectError:
        cause = self._cause(error)
        if cause is not error:
            # What the client does not take since its transaction has failed is not what that failed for.
            error, topic = cause, None
        if error.code() == ck.KafkaError._INCONSISTENT and self._reports.failure is not None:
            # A commit that says no more than that messages failed.
            error, topic = self._reports.failure
        # What follows one that was refused is out of order, and may be heard of first.
        self._refuses = error.code() in (*FINAL, ck.KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
        if error.code() in FENCED:
            # After that time the brokers have ended it, and taken the epoch for it; before, somebody else has.
            timed_out = time.monotonic() - self._opened_at >= self._longest_s
            return (StartAgainError if timed_out and self._opened_at else SupersededError)(
                f"The producer of the transactional id {self._id} is fenced: a newer set of this connector's tasks has taken "
                "over, or a transaction was open for longer than the producer's transaction.timeout.ms. The newer task sends "
                f"the records of the open transaction again. ({error.str()})"
            )
        if error.code() in FORBIDDEN:
            return NotAuthorizedError(
                f"The transactional id {self._id} may not be used: grant the connector's user the operations Write and "
                "Describe on it, best on all ids that begin with the worker's group.id, and restart the task. "
                f"({error.str()})"
            )
        if error.code() in TOO_LARGE and self._id not in _APART and not self._reports.local:
            _APART.add(self._id)
            return StartAgainError(
                f"The transaction of {self._id} has failed, since brokers refuse a request of several records as too large. "
                "Each of them may be small enough, so the task sends them again, one by one. Set the "
                f"connector's producer.override.batch.size to less than the topic's max.message.bytes. ({error.str()})"
            )
        if error.code() == ck.KafkaError.INVALID_TRANSACTION_TIMEOUT:
            return ConnectError(
                "The brokers' transaction.max.timeout.ms is below the producer's transaction.timeout.ms: set the connector's "
                f"producer.override.transaction.timeout.ms to at most that. ({error.str()})"
            )
        text = f"The transaction of {self._id} has failed, so the task sends its records again: {error.str()}"
        if error.code() == ck.KafkaError.TOPIC_AUTHORIZATION_FAILED and (topics := self._refused_topics()):
            return NotAuthorizedError(f"{text} (of these topics: {', '.join(topics)})", *topics)
        where = "" if topic is None else f" (topic {topic})"
        # Out of step is also what follows a message that was refused for good: that one is the failure then.
        is_late = error.code() in LATE or (
            error.code() in OUT_OF_STEP and not any(refusal.lasting for refusal in self._reports.refused)
        )
        return (StartAgainError if is_late else ConnectError)(f"{text}{where}")

    def _refused_topics(self) -> list[str]:
        """
        The topics of which one may not be written to: brokers say that of the transaction's new partitions together, and the
        transaction may fail before its messages do.
        """
        deadline = time.monotonic() + _NAMED_S
        while (len(self._client()) or not self._reports.refused) and time.monotonic() < deadline:
            with contextlib.suppress(ck.KafkaException):
                self._client().poll(_GLANCE_S)
        return sorted({refused.message[0] for refused in self._reports.refused})

    def _cause(self, error: ck.KafkaError) -> ck.KafkaError:
        """Why the client refuses everything: the first call that fails for it may have a text that says only that."""
        if self._open:
            try:
                # With a transaction open it does nothing but say what ails that one.
                self._client().begin_transaction()
            except ck.KafkaException as told:
                cause: ck.KafkaError = told.args[0]
                if cause.fatal() or cause.txn_requires_abort():
                    return cause
        return error
