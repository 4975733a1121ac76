"""The stages between a task and Kafka: what goes in, what comes out, and who is named when one fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.record import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.converters.string import StringConverter
from kconnect.core.task.batch import Records
from kconnect.core.task.chain import Converters, Outgoing, SinkChain, SourceChain
from kconnect.errors import ConnectError

from .records import Message, Text, TextHeaders, source


def no_headers() -> HeaderConverter:
    raise AssertionError("no header converter was needed")


def source_chain(key: Text | None = None, value: Text | None = None) -> SourceChain:
    return SourceChain(Converters(key or Text(), value or Text(), no_headers))


def sent(chain: SourceChain, records: Sequence[SourceRecord]) -> list[Outgoing]:
    """Where nothing is tolerated, each record becomes a message."""
    messages = [message for message in chain.apply(records) if message is not None]
    assert len(messages) == len(records)
    return messages


def received(converters: Converters, messages: Sequence[Message]) -> list[SinkRecord]:
    records = [record for record in SinkChain(converters).apply(messages) if record is not None]
    assert len(records) == len(messages)
    return records


def test_a_record_becomes_a_message_with_the_clients_arguments_in_order() -> None:
    record = SourceRecord(None, None, "t", partition=3, key="k", value="v", timestamp=99)
    assert sent(source_chain(), [record]) == [("t", b"v", b"k", 3, None, None, 99, None)]


def test_what_a_record_leaves_open_is_left_to_the_client() -> None:
    assert sent(source_chain(), [SourceRecord(None, None, "t", value="v")]) == [("t", b"v", None, -1, None, None, 0, None)]


def test_order_and_topics_are_kept() -> None:
    chain = source_chain()
    batch = [source(None, n, topic, value=str(n)) for n, topic in enumerate(("a", "b", "a", "a", "c"))]
    assert [(message[0], message[1]) for message in sent(chain, batch)] == [
        ("a", b"0"),
        ("b", b"1"),
        ("a", b"2"),
        ("a", b"3"),
        ("c", b"4"),
    ]
    assert set(chain.topics) == {"a", "b", "c"}


def test_partition_zero_is_a_partition() -> None:
    assert sent(source_chain(), [SourceRecord(None, None, "t", partition=0, value="v")])[0][3] == 0


def test_a_missing_key_is_converted_once_a_topic() -> None:
    key = Text(null=b"none")
    messages = sent(source_chain(key), [source(None, n, topic, value="v") for n, topic in enumerate("aabba")])
    assert [message[2] for message in messages] == [b"none"] * 5
    assert key.asked == 2


def test_a_null_value_is_a_tombstone() -> None:
    assert sent(source_chain(), [SourceRecord(None, None, "t", key="k", value=None)])[0][1] is None


def test_headers_are_converted_and_keep_their_order() -> None:
    chain = SourceChain(Converters(Text(), Text(), TextHeaders))
    record = SourceRecord(None, None, "t", value="v", headers=[Header("b", 1), Header("a", 2), Header("b", 3)])
    assert sent(chain, [record])[0][7] == [("b", b"1"), ("a", b"2"), ("b", b"3")]


def test_records_that_share_their_headers_are_converted_at_once_by_built_in_converters_only() -> None:
    headers = (Header("a", 1),)
    shared = [SourceRecord(None, None, "t", value=f"v{number}", headers=headers) for number in range(20)]
    each_own = [SourceRecord(None, None, "t", value=f"v{number}", headers=[Header("a", 1)]) for number in range(20)]

    def at_once(converter: Converter, records: list[SourceRecord]) -> Any:
        converter.configure({}, False)
        batch = Records.of(records, owned=False)
        assert batch is not None
        return SourceChain(Converters(converter, converter, TextHeaders)).at_once(batch)

    alone = sent(SourceChain(Converters(StringConverter(), StringConverter(), TextHeaders)), shared)
    assert list(at_once(StringConverter(), shared)) == alone
    assert at_once(StringConverter(), each_own) is None

    class Curious(StringConverter):
        """What it makes of a value may depend on the headers."""

    assert at_once(Curious(), shared) is None


def test_headers_that_are_none_are_told() -> None:
    chain = SourceChain(Converters(Text(), Text(), TextHeaders))
    a_map: Any = {"trace": 1}
    with pytest.raises(ConnectError, match="The headers of a source record hold a str: each must be a Header"):
        sent(chain, [SourceRecord(None, None, "t", value="v", headers=a_map)])


def test_a_failed_conversion_names_the_topic_and_the_cause_but_not_the_value() -> None:
    records = [source(None, 1, value="fine"), source(None, 2, value="bad")]
    with pytest.raises(ConnectError, match=r"Tolerance exceeded in error handler: .*topic t.*can't be text") as failure:
        sent(source_chain(), records)
    assert "2" in str(failure.value)
    assert "fine" not in str(failure.value)


def test_a_message_becomes_a_sink_record_that_knows_where_it_lies() -> None:
    [record] = received(Converters(Text(), Text(), no_headers), [Message(("t", 2, 40), b"v", b"k", (2, 1234))])
    assert (record.topic, record.partition, record.offset, record.key, record.value) == ("t", 2, 40, "k", "v")
    assert (record.original_topic, record.original_partition, record.original_offset) == ("t", 2, 40)
    assert (record.timestamp, record.timestamp_type) == (1234, TimestampType.LOG_APPEND_TIME)
    assert tuple(record.headers) == ()


def test_a_message_without_a_timestamp_has_none() -> None:
    [record] = received(Converters(Text(), Text(), no_headers), [Message(("t", 0, 1), time=(0, -1))])
    assert (record.timestamp, record.timestamp_type) == (None, TimestampType.NO_TIMESTAMP_TYPE)


def test_a_tombstone_reaches_the_task_as_none() -> None:
    [record] = received(Converters(Text(), Text(), no_headers), [Message(("t", 0, 1), None, b"k")])
    assert (record.key, record.value) == ("k", None)


def test_the_name_of_a_header_is_one_that_can_be_sent() -> None:
    """The client's process would die of half a surrogate pair."""
    record = SourceRecord(None, None, "t", value="v", headers=[Header("a\ud800é", 1)])
    assert sent(SourceChain(Converters(Text(), Text(), TextHeaders)), [record])[0][7] == [("a?é", b"1")]


def test_headers_reach_the_task_in_their_order() -> None:
    messages = [Message(("t", 0, 1), b"v", marks=[("b", b"1"), ("a", None), ("b", b"2")])]
    [record] = received(Converters(Text(), Text(), TextHeaders), messages)
    assert [(header.key, header.value) for header in record.headers] == [("b", "1"), ("a", None), ("b", "2")]


def test_a_message_that_can_not_be_converted_is_named_by_its_place() -> None:
    messages = [Message(("t", 0, 1), b"v"), Message(("u", 3, 17), b"bad")]
    with pytest.raises(ConnectError, match=r"Tolerance exceeded in error handler: .*u-3@17.*can't be read"):
        received(Converters(Text(), Text(), no_headers), messages)
