"""
Whether the end of a transaction may still be on its way when the next one begins (fault F8).

librdkafka sends the request that commits or aborts once more when it had no answer, and speaks no version of it that KIP-890
protects: if the first one was only late, the broker takes it for the end of whatever transaction of that epoch is open by
then. A late commit makes half of one visible; a late abort takes away what was sent, and the commit that follows is
nevertheless acknowledged. Only a new client helps: its `init_transactions` raises the epoch, and what is late is refused.

Used by whoever ends transactions with one client again and again: `log.py`, and the loop of exactly-once tasks. The section
"Late ends" in `docs/design/exactly-once.md` has what was measured; `tests/integration/test_late_end.py` shows both.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import confluent_kafka as ck

_UNANSWERED = "EndTxn returned _"
"""How the client's line begins that says how a request ended; names of its own errors, unlike a broker's, have a dash first."""


class Ends:
    """The ends of transactions that a transactional client reports in its log."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger
        self._unanswered = False
        self.failure: ck.KafkaError | None = None
        """Why the client can't go on, once it has said so while it was asked."""

    def in_doubt(self, producer: ck.Producer) -> bool:
        """
        True once the client has ever sent an end for which no answer came: make a new one, with `init_transactions`, before
        the next transaction begins. To be asked after each `commit_transaction` and `abort_transaction`.
        """
        try:
            # Lines wait in the client until it is polled; that of a request was there before the call that sent it returned.
            producer.poll(0)
        except ck.KafkaException as error:
            # A client that is fenced, or has a fatal error, raises it wherever it is asked next, and may raise it only here.
            self.failure = error.args[0]
        return self._unanswered or self.failure is not None

    def log(self, level: int, text: str, *values: Any) -> None:
        """The client calls this as it would that of a `logging.Logger`."""
        if level > logging.DEBUG:
            if self._logger is not None:
                self._logger.log(level, text, *values)
        elif _UNANSWERED in text % values:
            self._unanswered = True


def watched(client: Mapping[str, Any]) -> tuple[ck.Producer, Ends]:
    """A transactional producer, and what tells of its ends. The second holds no reference to the first."""
    ends = Ends(client.get("logger"))
    debug = ",".join(filter(None, (client.get("debug"), "eos")))
    # Some twenty lines a transaction, whatever its size: 0.2 ms, and nothing else tells of a request that was sent again.
    return ck.Producer({**client, "logger": ends, "debug": debug}), ends
