"""
What brokers refuse for good, and what a task does then: one table, by the codes of errors.

A client of librdkafka tries again for ever, whatever it was told: a wrong password looks like a broker that is away. `Access`
counts what one of a task's clients was refused. What was refused from the first try on fails the task, with the brokers' reason
and a remedy. What had worked is tried on and shown, because passwords and rights are changed in two steps. Made by
`units/sink_task.py`, `units/source_task.py`, `units/source_topics.py` and `units/reports.py`, asked by `consumer.py`,
`producer.py` and `asking.py`. Read next: `listeners.py`; for what is asked once, `failures.py`.
"""

from __future__ import annotations

import enum
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import confluent_kafka as ck

from kconnect.core.task.errors import Counts
from kconnect.errors import ConnectError
from kconnect.kafka import group_protocol, listeners
from kconnect.kafka.codes import sentence

log = logging.getLogger(__name__)

_TRIES, _TRIES_S = 3, 5.0
"""A broker that has only just begun may not know all of its users yet."""
_SILENCE_S = 30.0
"""A client that is refused a login tries again at least every second or so."""
SHOWN_S = 3.0
"""What brokers may take before it is worth to say so. Used qualified: tests wait for less."""
_SETTLED_S = 10.0
"""After so long in its group, a member has been allowed to read, or was told that it is not."""
_PROBE_S = 30.0
_MOST_KNOWN = 10_000
_THROTTLED_S = 1.0
"""What a quota of brokers may hold back before it is worth to say so."""
_TIMES = re.compile(r" \(after \d{1,20}ms[^()]{0,200}(?:\(s\)[^()]{0,100})?\)$")
_WHERE = re.compile(r"^(?:[a-z_]+://)?[^\s/]+:\d+(?:/(?:bootstrap|\d+))?: ")


class Outcome(enum.Enum):
    LOGIN = "logging in to Kafka"
    JOIN = "joining the group"
    RIGHTS = "reading from Kafka"


@dataclass(frozen=True)
class Row:
    """
    `patience_s` is for how long it may pass by itself, even from the first try on. What is `final` fails a task that had
    worked, too. What is said `once` is tried again in silence, and counts until brokers let the client in. `reason` stands for
    the brokers' own, where that says little.
    """

    outcome: Outcome
    remedy: str
    patience_s: float = _TRIES_S
    tries: int = _TRIES
    final: bool = False
    once: bool = False
    reason: str = ""


_LOGIN = (
    "Check {prefix}sasl.mechanism and {prefix}sasl.jaas.config, and that {prefix}security.protocol is that of the listener in "
    "{prefix}bootstrap.servers"
)
_TLS = (
    "Check {prefix}ssl.truststore.* and {prefix}ssl.keystore.*, that the name in {prefix}bootstrap.servers is in the broker's "
    "certificate, and that no certificate has expired"
)
_SESSION = (
    "Set {prefix}session.timeout.ms, now {session}, to a time between the brokers' group.min.session.timeout.ms and "
    "group.max.session.timeout.ms"
)
_RIGHTS = "Grant Read and Describe on {what} to the connector's user, or log in as one who has it ({prefix}sasl.jaas.config)"
_INSTANCE = "Give each consumer a {prefix}group.instance.id of its own, or leave the setting out"
_CLASSIC = "set {prefix}group.protocol=classic"
_SESSION_ENDS = 120.0
"""Members that were killed count until their session ends, which brokers may make as long as a minute."""
_ERROR = ck.KafkaError

TABLE: Mapping[int, Row] = {
    _ERROR._AUTHENTICATION: Row(Outcome.LOGIN, _LOGIN),
    _ERROR.SASL_AUTHENTICATION_FAILED: Row(Outcome.LOGIN, _LOGIN),
    _ERROR.UNSUPPORTED_SASL_MECHANISM: Row(Outcome.LOGIN, _LOGIN),
    _ERROR.ILLEGAL_SASL_STATE: Row(Outcome.LOGIN, _LOGIN),
    _ERROR._SSL: Row(Outcome.LOGIN, _TLS),
    _ERROR.INVALID_SESSION_TIMEOUT: Row(Outcome.JOIN, _SESSION),
    _ERROR.INVALID_GROUP_ID: Row(Outcome.JOIN, "Name another group in {prefix}group.id"),
    _ERROR.GROUP_MAX_SIZE_REACHED: Row(
        Outcome.JOIN,
        "Lower tasks.max, or raise the brokers' {size}; other consumers in the group count, too",
        _SESSION_ENDS,
    ),
    _ERROR.INCONSISTENT_GROUP_PROTOCOL: Row(
        Outcome.JOIN,
        "Set {prefix}group.protocol and {prefix}partition.assignment.strategy as the group's other members have them",
        0.0,
        1,
        True,
    ),
    _ERROR.UNSUPPORTED_ASSIGNOR: Row(Outcome.JOIN, "Set {prefix}{assignor} to one that the brokers know"),
    _ERROR.FENCED_INSTANCE_ID: Row(Outcome.JOIN, _INSTANCE, 0.0, 1, True),
    # A consumer of the classic protocol can't go on for that one reason, and is told so by this code.
    _ERROR._FATAL: Row(Outcome.JOIN, _INSTANCE, 0.0, 1, True),
    _ERROR.TOPIC_AUTHORIZATION_FAILED: Row(Outcome.RIGHTS, _RIGHTS.replace("{what}", "the topic"), 0.0, 1),
    _ERROR.GROUP_AUTHORIZATION_FAILED: Row(Outcome.JOIN, _RIGHTS.replace("{what}", "the group {group}"), 0.0, 1),
}
"""Errors that waiting alone does not mend. All others are the client's to get over."""

NEWER: Mapping[int, Row] = {
    _ERROR.UNRELEASED_INSTANCE_ID: Row(Outcome.JOIN, _INSTANCE, _SESSION_ENDS),
    _ERROR.UNSUPPORTED_VERSION: Row(
        Outcome.JOIN,
        f"Have brokers from 4.0 on, with the feature group.version (kafka-features.sh describe), or {_CLASSIC}",
        0.0,
        1,
        reason="the brokers do not take group.protocol=consumer",
    ),
    _ERROR.GROUP_ID_NOT_FOUND: Row(
        Outcome.JOIN,
        "Let the brokers' group.consumer.migration.policy be bidirectional or upgrade, end the group's members of the classic "
        f"protocol first, or {_CLASSIC}",
        _SESSION_ENDS,
        reason="the group is not one of group.protocol=consumer, or brokers do not know it any more",
    ),
}
"""The same of a member by the newer protocol (`group_protocol.py`), beside those above."""
_UNKNOWN = Row(Outcome.JOIN, f"Look into the log of the group's coordinator, or {_CLASSIC}", _SESSION_ENDS)
"""The row of a client of the newer protocol that can't go on for a reason which has no row."""
_NO_TOKEN = "OAUTHBEARER token"
"""In the text of an error whose code is that of all failed logins: the client has no token to log in with."""
_TOKEN = Row(Outcome.LOGIN, "Check {prefix}sasl.oauthbearer.* and {prefix}sasl.jaas.config", 30.0, 1, once=True)

_Key = tuple[Outcome, str]
_LOGGED_IN: set[int] = set()
"""Hashes of settings with which a client has logged in, in this process: that says something of the next task, too."""


@dataclass
class _Refusal:
    row: Row
    reason: str
    first_at: float
    last_at: float
    tries: int = 0
    final: bool = False


class Access:
    """
    The refusals that one task's consumer has met, or one consumer after the other. `client` are their settings, `counts` where
    it is shown that they try again, `prefix` that of the connector's settings. `clock` gives seconds of any steady clock, which
    is that of `counts`. `mismatch` asks a listener. From one thread only.
    """

    def __init__(
        self,
        client: Mapping[str, Any],
        counts: Counts,
        clock: Callable[[], float],
        prefix: str = "consumer.override.",
        mismatch: Callable[[Mapping[str, Any]], str | None] = listeners.mismatch,
    ) -> None:
        self._client, self._counts, self._clock, self._prefix, self._mismatch = client, counts, clock, prefix, mismatch
        texts = {name: str(value) for name, value in client.items() if isinstance(value, str | int | float)}
        self._login = hash(frozenset(pair for pair in texts.items() if pair[0] != "client.id"))
        self._log: Callable[[ck.KafkaError], object] = client.get("error_cb", lambda error: None)
        self._allowed: set[_Key] = set()
        self._refusals: dict[_Key, _Refusal] = {}
        self._down: _Refusal | None = None
        self._probe_at = 0.0
        self._joined_at: float | None = None
        self._waits: tuple[float, str, str] | None = None
        """Since when something is waited for that was not refused, what, and why."""
        self._throttled_until = 0.0
        self._shown = False

    def heard(self, error: ck.KafkaError, topic: str | None = None) -> bool:
        """
        Take an error that comes in place of a message of a topic, which may be empty, or that the client reports by itself: as
        its `error_cb`, which then logs, too. Return whether the table has it, so that it is settled here: by `failure`, or by
        waiting.
        """
        now, row = self._clock(), self._row(error)
        if row is not None and row.outcome is Outcome.LOGIN and _NO_TOKEN in error.str():
            row = _TOKEN
        if topic is None:
            self._log(error)
        if row is None:
            self._heard_of_brokers(error, now)
            return False
        key = (row.outcome, topic or "" if row.outcome is Outcome.RIGHTS else "")
        if key == (Outcome.RIGHTS, ""):
            # It comes a second time, with the topic.
            return True
        reason = row.reason or _reason(error)
        if key not in self._refusals:
            log.warning("%s was refused: %s", _begun(row.outcome.value), reason)
            self._refusals[key] = _Refusal(row, reason, now, now)
        refusal = self._refusals[key]
        refusal.row, refusal.reason, refusal.last_at, refusal.tries = row, reason, now, refusal.tries + 1
        refusal.final = row.final or error.fatal()
        if row.outcome is Outcome.RIGHTS and self._joined_at is not None and now - self._joined_at >= _SETTLED_S:
            self._let_in(key)
        return True

    def _row(self, error: ck.KafkaError) -> Row | None:
        code, is_fatal = group_protocol.code_of(error), error.code() == _ERROR._FATAL
        if not group_protocol.is_new(self._client):
            return TABLE.get(code, TABLE[_ERROR._FATAL] if is_fatal else None)
        row = NEWER.get(code) or (TABLE.get(code) if code != _ERROR._FATAL else None)
        return row or (_UNKNOWN if is_fatal else None)

    def knows_no_protocol(self) -> None:
        """Take it that the coordinator does not know the protocol by which the client wants to join."""
        self.heard(ck.KafkaError(_ERROR.UNSUPPORTED_VERSION), "")

    @property
    def callbacks(self) -> dict[str, Any]:
        """Settings that have a client report to this one."""
        return {"error_cb": self.heard, "throttle_cb": self.throttled}

    def throttled(self, event: Any) -> None:
        """Take a client's report that brokers hold its answers back, by a quota: as its `throttle_cb`."""
        now, for_s = self._clock(), float(event.throttle_time)
        if for_s >= _THROTTLED_S:
            self._throttled_until = max(self._throttled_until, now + for_s + _SILENCE_S)
            self.waits("Kafka's answers", f"brokers hold them back for {for_s:.0f} s, by a quota for the user or the client.id")

    def waits(self, what: str, reason: str) -> None:
        """Show that this is waited for, until `answered`, or until it has not been throttled for a while."""
        since = self._clock() if self._waits is None else self._waits[0]
        self._waits = (since, what, reason)
        self._show()

    def waits_long(self, what: str, began: float) -> bool:
        """
        Show that a call waits for brokers, without an error of theirs, once it has done so for long; until `answered`. Return
        whether it has.
        """
        is_long = self._clock() - began >= SHOWN_S
        if is_long:
            self.waits(*(self._waits or (began, what, "brokers have not answered yet"))[1:])
        return is_long

    def answered(self) -> None:
        """Brokers have answered what they are only asked by a client that has logged in."""
        self._down = None
        self._let_in((Outcome.LOGIN, ""))
        self._refusals.pop((Outcome.LOGIN, ""), None)
        if self._clock() >= self._throttled_until:
            self._waits = None
        self._show()

    def joined(self) -> None:
        """Brokers have given the member its partitions, so it has logged in, and may use the group."""
        self._joined_at, self._down, self._waits = self._clock(), None, None
        self.is_member()
        self._refusals.clear()
        self._show()

    def is_member(self) -> None:
        """The client says that it is in its group, perhaps without a partition."""
        for outcome in (Outcome.LOGIN, Outcome.JOIN):
            self._let_in((outcome, ""))

    def read(self, messages: Sequence[ck.Message]) -> None:
        """Records have come."""
        if self._refusals:
            going_on = {(outcome, "") for outcome in Outcome} | {
                (Outcome.RIGHTS, message.topic() or "") for message in messages
            }
            # Of several topics a heartbeat does not say which one is refused.
            going_on |= {key for key in self._refusals if ", " in key[1]}
            for key in going_on & self._refusals.keys():
                del self._refusals[key]
                self._let_in(key)
            self._show()

    def failure(self) -> ConnectError | None:
        """Return what the task fails with, if it is no use to try on. Otherwise show what it waits for, if that is anything."""
        now = self._clock()
        login = self._refusals.get((Outcome.LOGIN, ""))
        if login is not None and not login.row.once and now - login.last_at > _SILENCE_S:
            del self._refusals[Outcome.LOGIN, ""]
        if self._throttled_until and now >= self._throttled_until:
            self._waits, self._throttled_until = None, 0.0
        for key, refusal in self._refusals.items():
            lasted_s = (now if refusal.row.once else refusal.last_at) - refusal.first_at
            is_over = refusal.tries >= refusal.row.tries and lasted_s >= refusal.row.patience_s
            if is_over and (refusal.final or not self._was_let_in(key)):
                return self._failure(key[0], refusal)
        if self._down is not None and (problem := self._wrong_protocol(now)) is not None:
            return ConnectError(
                f"{_begun(Outcome.LOGIN.value)} fails: {problem}. A connector's settings for this begin with {self._prefix}. "
                "Then restart the task"
            )
        self._show()
        return None

    def _failure(self, outcome: Outcome, refusal: _Refusal) -> ConnectError:
        client = self._client
        is_new = group_protocol.is_new(client)
        names = {
            "group": client.get("group.id"),
            "session": client.get("session.timeout.ms"),
            "assignor": group_protocol.ASSIGNOR if is_new else "partition.assignment.strategy",
            "size": "group.consumer.max.size" if is_new else "group.max.size",
        }
        remedy = refusal.row.remedy.format(prefix=self._prefix, **names)
        tries = f", {refusal.tries} times in {refusal.last_at - refusal.first_at:.0f} s" if refusal.row.tries > 1 else ""
        return ConnectError(
            f"{_begun(outcome.value)} was refused{tries}: {refusal.reason}. {remedy}. What the connector does not set is the "
            "worker file's. Then restart the task"
        )

    def _heard_of_brokers(self, error: ck.KafkaError, now: float) -> None:
        if error.code() in (ck.KafkaError._TRANSPORT, ck.KafkaError._ALL_BROKERS_DOWN):
            self._down = self._down or _Refusal(TABLE[ck.KafkaError._AUTHENTICATION], _reason(error), now, now)
            self._down.last_at, self._down.tries = now, self._down.tries + 1

    def _wrong_protocol(self, now: float) -> str | None:
        """Return what a listener proves to be wrong, once no broker has answered for a while. None while nothing is proved."""
        down = self._down
        if down is None or self._was_let_in((Outcome.LOGIN, "")) or now < self._probe_at:
            return None
        if down.tries < _TRIES or down.last_at - down.first_at < _TRIES_S:
            return None
        self._probe_at = now + _PROBE_S
        return self._mismatch(self._client)

    def _let_in(self, key: _Key) -> None:
        self._allowed.add(key)
        if key[0] is Outcome.LOGIN:
            if len(_LOGGED_IN) >= _MOST_KNOWN:
                _LOGGED_IN.clear()
            _LOGGED_IN.add(self._login)

    def _was_let_in(self, key: _Key) -> bool:
        return key in self._allowed or (key[0] is Outcome.LOGIN and self._login in _LOGGED_IN)

    def _show(self) -> None:
        """Show the refusal that has lasted longest; what the task itself tries again is not touched."""
        refusal = min(self._refusals.items(), key=lambda item: item[1].first_at, default=None)
        if refusal is None and self._waits is None:
            if self._shown:
                self._counts.goes_on()
            self._shown = False
        elif self._shown or self._counts.retrying is None or self._counts.waits:
            if refusal is not None:
                (outcome, topic), cause = refusal
                since, what, reason = cause.first_at, f"reading {topic}" if topic else outcome.value, cause.reason
            else:
                assert self._waits is not None
                since, what, reason = self._waits
            self._counts.tries_again(what, ConnectError(reason), since)
            self._shown = True


def _begun(text: str) -> str:
    """Return a text as a sentence begins."""
    return text[0].upper() + text[1:]


def _reason(error: ck.KafkaError) -> str:
    """Return the brokers' reason alone: what differs each time would be news each time."""
    text = _TIMES.sub("", _WHERE.sub("", sentence(error))).rstrip(". ")
    code = group_protocol.code_of(error)
    # Else it says everything twice.
    return text if code == error.code() else ck.KafkaError(code).str()
