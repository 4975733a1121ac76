"""A client that no broker answers is replaced and leaves nothing: `kconnect/kafka/end_asker.py`. Answers: `test_log.py`."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import confluent_kafka as ck
import pytest

from kconnect.kafka import end_asker
from kconnect.kafka.end_asker import EndAsker

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "group.id": "readers", "log_level": 0}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_client_that_nobody_answers_is_replaced_and_is_gone_with_that(
    monkeypatch: pytest.MonkeyPatch, no_collector: None
) -> None:
    monkeypatch.setattr(end_asker, "_LOST_S", 0.0)
    asker = EndAsker(NOBODY)
    with pytest.raises(ck.KafkaException, match="Timed out"):
        asker.end("configs", 0, 1)
    assert asker._client is None
    first = asker._opened()
    assert asker._opened() is first
    client = weakref.ref(first)
    del first
    with pytest.raises(ck.KafkaException, match="Timed out"):
        asker.end("configs", 0, 1)
    assert client() is None


def test_a_question_that_never_has_an_answer_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(end_asker, "_LATE_S", 0.0)
    monkeypatch.setattr(end_asker, "_LOST_S", 0.0)
    asker = EndAsker(NOBODY)
    client = asker._opened()
    # Brokers that are away do not answer before librdkafka's limit, which is an hour here.
    ask = client.list_offsets
    monkeypatch.setattr(client, "list_offsets", lambda what, **more: ask(what, **{**more, "request_timeout": 3600}))
    with pytest.raises(ck.KafkaException, match=r"[Tt]imed out"):
        asker.end("configs", 0, 0.2)
    assert asker._client is None


def test_a_client_that_is_young_is_kept() -> None:
    asker = EndAsker(NOBODY)
    with pytest.raises(ck.KafkaException, match="Timed out"):
        asker.end("configs", 0, 1)
    assert asker._client is not None
    asker.close()
    with pytest.raises(RuntimeError, match="closed"):
        asker.end("configs", 0, 1)


def test_a_client_whose_answer_cannot_be_is_replaced_once_it_is_a_second_old(monkeypatch: pytest.MonkeyPatch) -> None:
    asker = EndAsker(NOBODY)
    asker.doubt()
    first = asker._opened()
    asker.doubt()
    assert asker._opened() is first, "several questions are open at a time"
    monkeypatch.setattr(end_asker, "_MOVED_S", 0.0)
    asker.doubt()
    assert asker._opened() is not first
