"""A host's offset stores where no broker answers; tests/integration/test_offset_stores.py has the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.records import Topic
from kconnect.errors import ConnectError
from kconnect.kafka import clients, own_offsets
from kconnect.kafka.log import LogWriter
from kconnect.units.offsets import OffsetStores
from tests.integration.units import until
from tests.worker.test_main import PROPERTIES


class Unit:
    """One that opens its store in a thread of its own, as a task does."""

    def __init__(self, stores: OffsetStores) -> None:
        self.stopping, self.error = threading.Event(), ""
        self.store = stores.of("x", {"offsets.storage.topic": "mine"})
        self.thread = threading.Thread(target=self._open, daemon=True)
        self.thread.start()

    def ended(self) -> bool:
        return not self.thread.is_alive()

    def _open(self) -> None:
        try:
            self.store.open(self.stopping.is_set)
        except ConnectError as error:
            self.error = str(error)
        finally:
            self.store.close()


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[OffsetStores]:
    monkeypatch.setattr(own_offsets, "_STEP_S", 0.5)
    settings = WorkerSettings.from_properties(PROPERTIES, {})
    client = clients.internal(settings, "test")
    made = OffsetStores(settings, client, "o", LogWriter(client, {Topic.OFFSET: "o"}, 5), lambda: True)
    yield made
    made.close()


@pytest.fixture
def tries(stores: OffsetStores, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many units had opened their stores, each time that brokers were about to be asked for the topic."""
    found: list[int] = []
    ensure: Callable[..., None] = own_offsets.ensure

    def counted(*given: object) -> None:
        found.append(users(stores))
        ensure(*given)

    monkeypatch.setattr(own_offsets, "ensure", counted)
    return found


def users(stores: OffsetStores) -> int:
    return sum(each.users for each in stores._shared.values())


def test_one_that_waits_for_another_to_find_the_topic_can_be_stopped(stores: OffsetStores, tries: list[int]) -> None:
    first = Unit(stores)
    until(lambda: len(tries) == 1, 90)
    second = Unit(stores)
    until(lambda: users(stores) == 2, 90)
    second.stopping.set()
    until(second.ended, 90)
    assert second.error == "Stopped while looking for the offset topic mine"
    assert (first.ended(), len(tries)) == (False, 1)
    # Nor has a stop told anybody that the topic can't be reached.
    third = Unit(stores)
    until(lambda: users(stores) == 2, 90)
    first.stopping.set()
    until(lambda: len(tries) == 2, 90)
    assert not third.ended()
    third.stopping.set()
    until(lambda: first.ended() and third.ended(), 90)
    assert stores._shared == {}


def test_those_who_share_a_topic_do_not_wait_for_it_one_after_the_other(
    stores: OffsetStores, tries: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: Callable[..., None] = own_offsets.ensure

    def late(*given: object) -> None:
        until(lambda: users(stores) == 5, 60)
        counted(*given)

    monkeypatch.setattr(own_offsets, "ensure", late)
    monkeypatch.setattr(own_offsets, "AWAY_S", 2.0)
    units = [Unit(stores) for _ in range(5)]
    until(lambda: all(unit.ended() for unit in units), 60)
    assert tries == [5]
    assert {unit.error for unit in units} == {units[0].error}
    assert "no broker answered at 127.0.0.1:1 within 2 s" in units[0].error
