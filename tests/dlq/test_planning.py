"""What a replay would write, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kconnect.cli.dlq.dropping import prefix
from kconnect.cli.dlq.retention import told
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.task.letter_headers import BROUGHT, CONTEXT, mark
from kconnect.dlq.letters import LETTER, REPLAYS, Letter
from kconnect.dlq.memory import Done
from kconnect.dlq.origins import Reporters, reporter
from kconnect.dlq.planning import Rules, plan
from kconnect.errors import BadRequestError, ConnectError
from kconnect.preview.preview import Done as Step
from kconnect.preview.preview import Outcome, Problem

from .letters import bare, letter

_TOPICS = {"orders": [0, 1, 2], "retry": [0], "orders-dead": [0]}


def sinks(*names: str, topics: str = "orders,gone,orders-dead") -> Reporters:
    return Reporters(reporter(name, "sink", {"topics": topics}, ()) for name in names)


def rules(**given: Any) -> Rules:
    given = {
        "reporters": sinks("sink"),
        "read_back": lambda *_: {},
        "internal": InternalTopics(frozenset(["configs"])),
        **given,
    }
    return Rules("orders-dead", given.pop("partitions", lambda topic: _TOPICS.get(topic, [])), **given)


def whys(*letters: Letter, **given: Any) -> list[str]:
    return [left.why for left in plan(letters, {}, rules(**given)).left]


def test_a_record_goes_where_it_came_from_as_it_was() -> None:
    (found,) = plan([letter(headers=(("trace", b"1"),))], {}, rules()).outgoing
    assert (found.topic, found.partition, found.key, found.value, found.timestamp) == ("orders", 2, b"k", b"poison", 1000)
    assert found.headers == (("trace", b"1"), (REPLAYS, b"1"), (LETTER, b"orders-dead-0@0"))


def test_by_the_key_if_asked_for_or_if_the_partition_is_no_more_or_in_another_topic() -> None:
    def partition(**given: Any) -> int:
        return plan([letter()], {}, rules(**given)).outgoing[0].partition

    assert partition() == 2
    assert partition(by_key=True) == -1
    assert partition(to_topic="retry") == -1
    fewer = rules(partitions=lambda topic: [0, 1])
    assert plan([letter()], {}, fewer).outgoing[0].partition == -1


def test_what_can_not_go_anywhere_stays_and_says_why() -> None:
    assert whys(bare()) == ["its headers do not name the topic that it came from: name one"]
    assert whys(bare(), to_topic="retry") == []
    assert whys(letter(topic="gone")) == ["the topic gone does not exist: create it, or name another"]
    assert whys(letter(topic="orders-dead")) == ["it would go to the queue itself: name another topic"]
    assert whys(letter(), to_topic="orders-dead") == ["it would go to the queue itself: name another topic"]
    source = Reporters([reporter("sink", "source", {}, ["orders"])])
    assert "let it go through the chain" in whys(letter(), reporters=source)[0]


def test_what_came_back_too_often_stays() -> None:
    back = letter(headers=((REPLAYS, b"3"),))
    assert whys(back) == ["it was replayed 3 times and came back"]
    assert whys(back, max_replays=4) == []


def test_what_was_replayed_is_passed_by_unless_it_is_to_go_again() -> None:
    letters = [letter(offset) for offset in range(4)]
    done = {0: Done(2)}
    made = plan(letters, done, rules())
    assert ([each.letter.offset for each in made.outgoing], made.passed_by) == ([2, 3], 2)
    assert len(plan(letters, done, rules(again=True)).outgoing) == 4


def test_the_limit_says_that_there_is_more() -> None:
    letters = [letter(offset) for offset in range(4)]
    made = plan(letters, {0: Done(1)}, rules(limit=2))
    assert ([each.letter.offset for each in made.outgoing], made.more) == ([1, 2], True)
    assert not plan(letters, {}, rules(limit=4)).more


def outcome(**given: Any) -> Outcome:
    return Outcome({}, **{"steps": (), "out": {"topic": "eu-orders"}, **given})


def test_through_the_chain_only_what_passes_goes_and_as_it_was_consumed() -> None:
    failing = Problem("TRANSFORMATION", "org.apache.kafka.connect.errors.DataException", "no\n such field", "cast", True)
    ways = {
        0: outcome(value=b"other"),
        1: outcome(out=None, error=failing),
        2: outcome(out=None, steps=(Step("filter", None, True, None),)),
    }

    def run(each: Letter) -> Outcome:
        if each.offset == 3:
            raise ConnectError("The connector sink is not there")
        return ways[each.offset]

    made = plan([letter(offset) for offset in range(4)], {}, rules(run=run))
    (passed,) = made.outgoing
    assert (passed.topic, passed.partition, passed.value) == ("orders", 2, b"poison"), "the sink converts it itself"
    assert [(left.letter.offset, left.why, left.failed) for left in made.left] == [
        (1, "still fails at cast: DataException: no such field", True),
        (2, "the chain would drop it: filter", False),
        (3, "The connector sink is not there", True),
    ]
    assert made.failed == 2


def test_a_sources_letter_goes_as_the_chain_makes_it() -> None:
    of_source = letter(source_partition="{}", source_offset="{}", timestamp=0)
    made = outcome(out={"topic": "retry"}, key=b"K", value=b"V", headers=(("h", b"1"),))
    source = Reporters([reporter("sink", "source", {}, ["retry"])])
    (found,) = plan([of_source], {}, rules(run=lambda _: made, reporters=source)).outgoing
    assert (found.topic, found.partition, found.key, found.value, found.timestamp) == ("retry", -1, b"K", b"V", 1)
    assert found.headers[0] == ("h", b"1")


def test_only_the_first_letters_can_be_dropped() -> None:
    places = [(offset, partition) for partition in (0, 1) for offset in (1, 2, 3)]
    letters = [letter(*place, stage="A" if sum(place) % 3 else "B") for place in places]
    found = prefix(letters, lambda each: each.stage == "A")
    assert (found.ends, found.count, found.beyond) == ({0: 3, 1: 2}, 3, 1)
    assert prefix(letters, lambda _: True).beyond == 0


def test_who_keeps_letters_longer_than_notes_is_warned() -> None:
    assert told("dead", str(7 * 86_400_000), "10080") is None
    assert told("dead", None, "10080") is None
    said = told("dead", "-1", "10080")
    assert said is not None and "7 days after the last replay" in said and "the letters for ever" in said
    assert "for 30 days" in (told("dead", str(30 * 86_400_000), "10080") or "")


def test_a_topic_that_only_the_letter_names_is_the_connector_s_own() -> None:
    assert whys(letter(topic="retry")) == ["retry is no topic that the connector sink reads: name the topic to write to"]
    assert whys(letter(topic="retry"), to_topic="retry") == []
    assert "is an internal topic of this Connect cluster" in whys(letter(topic="configs"))[0]
    everything = Reporters([reporter("sink", "sink", {"topics.regex": ".*"}, ())])
    assert "is an internal topic" in whys(letter(topic="configs"), reporters=everything)[0]
    assert "is one of Kafka's own" in whys(letter(topic="__consumer_offsets"), reporters=everything)[0]
    assert whys(letter(topic="retry"), reporters=everything) == []
    with pytest.raises(BadRequestError, match="configs is an internal topic"):
        rules(to_topic="configs")


def test_a_pattern_that_takes_too_long_matches_nothing() -> None:
    slow = Reporters([reporter("sink", "sink", {"topics.regex": "(a*)*(a*)*(a*)*b"}, ())])
    assert "is no topic that the connector sink reads" in whys(letter(topic="a" * 200), reporters=slow)[0]


def test_a_source_s_letter_goes_only_to_a_topic_that_the_source_has_written() -> None:
    source = Reporters([reporter("sink", "source", {"topics": "retry"}, ["orders"])])
    run = {"run": lambda _: outcome(), "reporters": source}
    assert "eu-orders is no topic that the connector sink has written" in whys(letter(), **run)[0]
    # A sink's queue is no place for letters of sources, whatever they say.
    forged = letter(source_partition="{}", source_offset="{}", topic="retry")
    assert "retry is no topic that the connector sink reads" in whys(forged, run=lambda _: outcome())[0]


def test_a_letter_of_a_connector_that_does_not_name_the_queue_stays() -> None:
    assert "which is gone, or has another queue now" in whys(letter(connector_name="other"))[0]
    assert "do not name its connector, and a, b all write" in whys(letter(connector_name=None), reporters=sinks("b", "a"))[0]
    assert whys(letter(connector_name=None)) == []


def test_a_letter_that_the_original_contradicts_stays() -> None:
    same, another = letter(headers=(("trace", b"1"),)), letter()
    originals = {17: Letter("orders", 2, 17, 1000, b"k", b"poison", (("trace", b"1"), ("__connect.errors.topic", b"x")))}
    asked = []

    def read_back(topic: str, partition: int, offsets: Sequence[int]) -> dict[int, Letter]:
        asked.append((topic, partition, list(offsets)))
        return originals

    made = plan([same], {}, rules(read_back=read_back))
    assert [row["origin"] for row in made.as_json()] == ["proven"]
    assert "the record at orders-2@17 is another one" in whys(another, read_back=read_back)[0]
    assert whys(another, read_back=read_back, to_topic="orders") == [], "the caller decides"
    assert [row["origin"] for row in plan([same], {}, rules()).as_json()] == ["claimed"]
    asked.clear()
    assert whys(letter(topic="configs"), read_back=read_back) and not asked, "no topic is read because a letter names it"
    for offset in ("9" * 19, "9" * 5000, "-1", "x"):
        nowhere = replace(letter(), headers=(*letter().headers, (CONTEXT + "offset", offset.encode())))
        assert whys(nowhere, read_back=read_back) == [] and not asked


def test_headers_that_a_record_brought_along_are_its_own_again() -> None:
    brought = mark([("__connect.errors.topic", b"configs"), ("trace", b"1"), (BROUGHT + "x", b"2")])
    (outgoing,) = plan([letter(headers=tuple(brought))], {}, rules()).outgoing
    assert outgoing.topic == "orders"
    assert outgoing.headers[:3] == (("__connect.errors.topic", b"configs"), ("trace", b"1"), (BROUGHT + "x", b"2"))
    bare_one = bare(headers=tuple(brought))
    assert (bare_one.topic, bare_one.brought) == (None, True)


@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_name_does_not_leave_the_topic_to_the_letters(empty: str) -> None:
    with pytest.raises(BadRequestError, match="has an empty name"):
        rules(to_topic=empty)
