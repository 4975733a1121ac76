"""A connector's own offset topic as requests write it, over the cluster that librdkafka plays by itself."""

from __future__ import annotations

import gc

import confluent_kafka as ck
import pytest

from kconnect.core.state import records
from kconnect.core.state.records import Entry
from kconnect.errors import BadRequestError, ConnectError
from kconnect.kafka import own_offsets
from kconnect.kafka.own_offsets import OwnTopic

_PLAYED = {"test.mock.num.brokers": 1, "log_level": 0}


def entry(number: int, text: str = "") -> Entry:
    return records.source_offset(records.offset_key("c", {"p": number}), {"n": text})


@pytest.mark.parametrize("transactional_id", [None, "g-c"])
def test_more_offsets_than_the_client_takes_at_once_are_written(transactional_id: str | None) -> None:
    own = OwnTopic("mine", {**_PLAYED, "queue.buffering.max.messages": 10}, _PLAYED, _PLAYED)
    own_offsets.write(own, [entry(number) for number in range(200)], transactional_id, 60)


@pytest.mark.parametrize("transactional_id", [None, "g-c"])
def test_one_that_is_too_large_is_the_requests_fault(transactional_id: str | None) -> None:
    own = OwnTopic("mine", _PLAYED, _PLAYED, _PLAYED)
    with pytest.raises(BadRequestError, match="larger than the internal topic mine accepts"):
        own_offsets.write(own, [entry(0), entry(1, "x" * 2_000_000)], transactional_id, 60)


def test_no_client_lives_on_in_an_error() -> None:
    """It would go on asking for its transactional id, and fence whoever repeats the request."""
    away = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    before = producers()
    with pytest.raises(ConnectError) as failed:
        own_offsets.write(OwnTopic("mine", away, away, away), [entry(0)], "g-c", 0.5)
    assert producers() <= before
    assert failed.value.__traceback__ is not None


def producers() -> set[int]:
    return {id(each) for each in gc.get_objects() if isinstance(each, ck.Producer)}
