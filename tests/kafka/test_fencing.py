"""Fencing takes the client of any task's producer. No broker is in sight: on a real one it is tried in tests/integration."""

from __future__ import annotations

import confluent_kafka as ck
import psutil
import pytest

from kconnect.errors import ConnectError, RetriableError
from kconnect.kafka import fencing
from tests.support import wait_until

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "linger.ms": 20}


@pytest.mark.parametrize(
    "own",
    [
        {"delivery.timeout.ms": "120000"},
        {"message.timeout.ms": 2147483647},
        {"linger.ms": "900000"},
        {"socket.timeout.ms": "300000"},
        {"max.in.flight": "9"},
        {"message.send.max.retries": "0"},
        {"acks": "1", "enable.idempotence": False},
    ],
    ids=str,
)
def test_what_a_connector_sets_of_its_producer_is_no_obstacle(own: dict[str, object]) -> None:
    """All that fails is that nobody answers."""
    with pytest.raises(ConnectError, match="The transactional id c-0 was not fenced: ") as failure:
        fencing.fence({**NOBODY, **own}, ["c-0"], 0.1)
    assert isinstance(failure.value.__cause__, ck.KafkaException)
    assert failure.value.__cause__.args[0].code() == ck.KafkaError._TIMED_OUT, str(failure.value)


def test_brokers_whose_transactions_may_not_last_a_minute_fence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """They refuse an id to who wants more, which would be tried again for ever."""
    made: list[dict[str, object]] = []

    def producer(settings: dict[str, object]) -> ck.Producer:
        made.append(settings)
        raise ck.KafkaException(ck.KafkaError(ck.KafkaError._TIMED_OUT))

    monkeypatch.setattr(ck, "Producer", producer)
    with pytest.raises(RetriableError):
        fencing.fence({**NOBODY, "transaction.timeout.ms": "900000"}, ["c-0"], 0.1)
    assert [settings.get("transaction.timeout.ms", 60_000) for settings in made] == [10_000]


def test_a_client_that_gave_up_asks_no_longer() -> None:
    """Else it would fence whoever has the id once brokers can be reached again, even while somebody looks at the error."""

    def threads() -> int:
        return psutil.Process().num_threads()

    before = threads()
    with pytest.raises(RetriableError):
        fencing.fence(NOBODY, ["c-0", "c-1"], 0.1)
    with pytest.raises(RetriableError) as kept:
        fencing.fence(NOBODY, ["c-0", "c-1"], 0.1)
    wait_until(lambda: threads() <= before)
    assert kept.value.__traceback__ is not None


def test_brokers_that_can_never_be_found_are_not_asked_again() -> None:
    with pytest.raises(ConnectError, match="No broker can be found") as failure:
        fencing.fence({**NOBODY, "bootstrap.servers": "no..host:1"}, ["c-0"], 0.1)
    assert not isinstance(failure.value, RetriableError)
