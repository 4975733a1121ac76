"""Attacks by whoever may write to a queue on how a replay of its letters is asked for, and on what it shows."""

from __future__ import annotations

import pytest

from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq.letters import Letter
from kconnect.dlq.origins import Reporters, reporter
from kconnect.dlq.planning import Plan, Rules, plan
from kconnect.errors import BadRequestError


def forged(topic: str) -> Letter:
    """Return a letter that says that it came from any topic."""
    headers = {"topic": topic, "partition": "0", "offset": "0", "connector.name": "orders-sink"}
    told = tuple((CONTEXT + name, text.encode()) for name, text in headers.items())
    return Letter("orders-dead", 0, 0, 1, b"connector-evil", b"{}", told)


def planned(letter: Letter, to_topic: str | None) -> Plan:
    known = Reporters([reporter("orders-sink", "sink", {"topics": "orders"}, ())])
    internal = InternalTopics(frozenset(["configs"]))
    return plan([letter], {}, Rules("orders-dead", lambda topic: [0], known, lambda *_: {}, internal, to_topic))


@pytest.mark.parametrize("topic", ["configs", "somebody-elses"])
@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_name_leaves_nothing_to_the_letters(topic: str, empty: str) -> None:
    """Whoever may write to a queue forges letters, and a script replays them with a variable that is empty: refused."""
    assert planned(forged(topic), "retry").targets == {"retry": 1}, "the control: the caller names a topic"
    assert not planned(forged(topic), None).outgoing
    with pytest.raises(BadRequestError, match="has an empty name: name it, or leave it out"):
        planned(forged(topic), empty)
