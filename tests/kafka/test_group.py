"""Who may join a worker's group, by what the coordinator says of it: `kconnect/kafka/group.py`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kconnect.errors import ConnectError
from kconnect.kafka.group import Entrance, Member, urls

ME, OTHER = "http://n1:8083/", "http://n2:8083/"
OURS = frozenset({"assignments"})
NONE: frozenset[str] = frozenset()


class Door:
    """An entrance that is asked every half second; the session is 10 s."""

    def __init__(self, *members: Member) -> None:
        self.members = list(members)
        self.asked = 0
        self.now = 0.0
        self.entrance = Entrance(self._find, "g", ME, "assignments", 10_000)

    def _find(self) -> list[Member]:
        self.asked += 1
        return self.members

    def is_open(self, after: float = 0.5, is_predecessor_dead: bool = False) -> bool:
        self.now += after
        return self.entrance.is_open(is_predecessor_dead, self.now)


@pytest.mark.parametrize("members", [(), (Member(OTHER, OURS),), (Member(OTHER, OURS), Member("http://n3:8083/", NONE))])
def test_an_empty_group_and_that_of_its_cluster_are_open(members: tuple[Member, ...]) -> None:
    door = Door(*members)
    assert door.is_open()
    assert door.entrance.is_ours is bool(members)


def test_beside_a_live_worker_of_its_id_it_does_not_start() -> None:
    door = Door(Member(ME, OURS))
    assert not door.is_open()
    assert not door.is_open(12)
    with pytest.raises(ConnectError, match=r"Another live worker of the group g has the same URL, http://n1:8083/"):
        door.is_open(2)


def test_one_that_was_killed_is_waited_for() -> None:
    door = Door(Member(ME, OURS))
    assert not door.is_open()
    assert not door.is_open(9)
    door.members = []
    assert door.is_open()


def test_one_that_is_seen_dead_is_not_waited_for() -> None:
    assert Door(Member(ME, OURS)).is_open(is_predecessor_dead=True)
    # There are two: only one of them can be the dead one.
    assert not Door(Member(ME, OURS), Member(ME, NONE)).is_open(is_predecessor_dead=True)


def test_in_the_group_of_another_cluster_it_does_not_start() -> None:
    door = Door(Member(OTHER, frozenset({"others"})))
    assert not door.is_open(is_predecessor_dead=True)
    with pytest.raises(ConnectError) as refused:
        door.is_open(14)
    text = str(refused.value)
    assert all(part in text for part in (OTHER, "others", "assignments", "connect-cluster-g", "`group.id`"))


def test_while_it_is_being_settled_who_leads_it_can_t_be_seen_whose_group_it_is() -> None:
    door = Door(Member(OTHER, NONE))
    assert not door.is_open()
    door.members = [Member(OTHER, frozenset({"others"}))]
    assert not door.is_open()
    door.members = [Member(OTHER, NONE)]
    # Whoever is there, it is not settled for as long as a session: the group itself has to tell.
    assert door.is_open(14)


def test_it_is_not_asked_all_the_time() -> None:
    door = Door(Member(ME, OURS))
    assert [door.is_open(0.1) for _ in range(10)] == [False] * 10
    assert door.asked == 2


def test_beside_others_than_kconnect_s_workers_it_does_not_start() -> None:
    door = Door(Member("connect-1", NONE, is_ours=False))
    assert not door.is_open()
    with pytest.raises(ConnectError, match="The group g has members that are not kconnect workers"):
        door.is_open(14)


def test_after_others_than_kconnect_s_workers_it_starts() -> None:
    door = Door(Member("connect-1", NONE, is_ours=False))
    assert not door.is_open()
    door.members = []
    assert door.is_open()


def test_a_coordinator_that_does_not_answer_is_asked_again() -> None:
    door = Door()
    door.entrance = Entrance(raising(ConnectError("No broker answered")), "g", ME, "assignments", 10_000)
    assert [door.is_open(20) for _ in range(3)] == [False] * 3


def raising(error: Exception) -> Callable[[], list[Member]]:
    def find() -> list[Member]:
        raise error

    return find


@pytest.mark.parametrize("twin", ["http://n1:8083/", "http://n1:8083", "ftp://n1:8083/", "n1:8083"])
def test_a_stranger_in_the_group_has_no_worker_asked_without_tls(twin: str) -> None:
    """Whoever may join the group calls itself a worker that is there, but at an address whose requests others can read."""
    safe = "https://n1:8083/"
    members = [Member(safe, OURS), Member(twin, NONE), Member(OTHER, NONE)]
    for order in (members, members[::-1]):
        assert urls(order) == {"n1:8083": safe, "n2:8083": OTHER}
