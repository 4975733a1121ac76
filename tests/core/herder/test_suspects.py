"""Who ends its host's process is found, and others are left alone: `core/herder/suspects.py`, over hosts only told of."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping

import pytest

from kconnect.core.herder.suspects import Suspects
from kconnect.core.state.assignment_records import Blame, Held, HostSpec
from kconnect.core.state.records import UnitId, Units

WORKER, LIFE = "w:1", "000001"
MINUTE = 60_000


class Cluster:
    """
    Hosts of one worker, each in its own process, that run what the suspects' groups say: units of group 0 on host 0. `bad`
    units end their process as soon as they run.
    """

    def __init__(
        self,
        units: list[UnitId],
        bad: set[UnitId] = frozenset(),  # type: ignore[assignment]
        restart_ms: int = 2000,
        names_brokers: Callable[[UnitId], bool] = lambda unit: False,
    ) -> None:
        self.suspects = Suspects(LIFE, lambda unit: self.offsets[unit], names_brokers)
        self.units, self.bad, self.restart_ms = units, bad, restart_ms
        self.now = 0
        self.offsets = dict.fromkeys(units, 1)
        self.hosts: dict[int, str] = {}
        self.texts: list[str] = []
        self._lives = itertools.count(1)
        self.start(0)
        self.start(1)

    def on(self, host: int) -> list[UnitId]:
        running = [unit for unit in self.units if unit not in self.suspects.verdicts]
        return [unit for unit in running if self.suspects.groups.get(unit, 0) == self.group(host)] if host != 1 else []

    def group(self, host: int) -> int:
        """Hosts 0 and 1 are plain, each other one has the number of its group, and 10 more."""
        return max(0, host - 10)

    def start(self, host: int) -> None:
        self.hosts[host] = f"{next(self._lives):06d}"
        self.say(host)

    def say(
        self,
        host: int,
        life: str = "",
        stuck: Units = frozenset(),
        blamed: Mapping[UnitId, Blame] | None = None,
        suspected: Units = frozenset(),
    ) -> None:
        units, life = frozenset(self.on(host)), life or self.hosts[host]
        held = Held(WORKER, host, units, 0, 0, life, LIFE, stuck=stuck, blamed=blamed or {}, suspected=suspected)
        self.texts += self.suspects.read(held, HostSpec(group=self.group(host)), self.now)

    def kill(self, host: int) -> None:
        """The process ends and another one comes up, which declares what it is to run."""
        self.start(host)

    def turn(self) -> bool:
        """Each host has come up and says what it runs; those with a bad one die. Whether any did."""
        self.now += self.restart_ms
        self.texts += self.suspects.reconcile(self.units, self.now)
        for group in set(self.suspects.groups.values()):
            if 10 + group not in self.hosts:
                self.start(10 + group)
        died = [host for host in self.hosts if self.bad & set(self.on(host))]
        for host in self.hosts:
            self.say(host)
        for host in died:
            self.kill(host)
        return bool(died)

    def turns(self, count: int = 100) -> int:
        """Until no host dies any more; gives how many turns some did."""
        for number in range(count):
            if not self.turn():
                return number
        raise AssertionError(f"hosts die for ever: {self.texts}")


def units(count: int) -> list[UnitId]:
    return [UnitId(f"c{number}", 0) for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 100])
def test_one_that_ends_its_host_is_found_among_any_number(count: int) -> None:
    everybody = units(count)
    culprit = everybody[count // 2]
    cluster = Cluster(everybody, {culprit})
    died = cluster.turns()
    assert set(cluster.suspects.verdicts) == {culprit}
    splits = next(number for number in range(9) if 4**number >= count)
    assert died <= 3 + 2 * splits + 4, "three deaths for the suspicion, two a further split, four for the verdict"
    reason = cluster.suspects.verdicts[culprit].reason
    assert f"has died {died} times within {(died - 1) * 2} s" in reason
    assert "tasks.isolation=dedicated with tasks.memory.max" in reason


def test_several_are_found_also_if_they_are_tasks_of_one_connector() -> None:
    bad = {UnitId("bad", task) for task in range(3)}
    everybody = [UnitId("good"), *(UnitId("good", task) for task in range(4)), UnitId("bad"), *sorted(bad)]
    cluster = Cluster(everybody, bad)
    cluster.turns()
    assert set(cluster.suspects.verdicts) == bad


def test_who_is_rid_of_a_bad_neighbour_is_not_disturbed_again() -> None:
    everybody = units(8)
    cluster = Cluster(everybody, {everybody[0]})
    cluster.turns()
    # All but one of them had left the bad one's host after three deaths, and that one after two more.
    assert [cluster.suspects.groups[unit] for unit in everybody] == [5, 6, 2, 2, 3, 3, 4, 4]


def test_whom_the_next_process_suspects_goes_to_a_host_of_its_own_at_once() -> None:
    everybody = units(8)
    cluster = Cluster(everybody)
    cluster.say(0)
    cluster.hosts[0] = "000009"
    cluster.say(0, suspected=frozenset({everybody[3]}))
    assert set(cluster.suspects.groups) == {everybody[3]}
    assert "Host 0 has died, perhaps for one of its units" in cluster.texts[-1]
    assert "c3-0 goes to a host of its own" in cluster.texts[-1]
    # In the same process nothing more comes of it, and nothing if it can't be one of those that ran there.
    cluster.say(0, suspected=frozenset({everybody[4]}))
    cluster.hosts[0] = "000010"
    cluster.say(0, suspected=frozenset({UnitId("stranger")}))
    assert set(cluster.suspects.groups) == {everybody[3]}


@pytest.mark.parametrize("count", [2, 8, 100])
def test_a_death_for_memory_that_came_at_once_disturbs_nobody_twice_beside_few(count: int) -> None:
    """All that ran there may have taken it: three deaths were waited for, of all of them."""
    everybody = units(count)
    culprit = everybody[count // 2]
    cluster = Cluster(everybody)
    deaths = 0
    while len(there := cluster.on(host := 10 + cluster.suspects.groups.get(culprit, -10))) > 1:
        cluster.hosts[host] = f"{900_000 + deaths}"
        cluster.say(host, suspected=frozenset(there))
        deaths += 1
        cluster.turn()
    assert deaths == next(number for number in range(9) if 4**number >= count)
    # Whoever is alone and goes on with it is known, see `host/main.py`.
    assert not cluster.suspects.verdicts


@pytest.mark.parametrize(("lives_ms", "is_condemned"), [(500, True), (29_000, True), (31_000, False)])
def test_how_long_a_host_takes_to_start_says_nothing_of_its_unit(lives_ms: int, is_condemned: bool) -> None:
    suspects = Suspects(LIFE, lambda unit: 1)
    [bad] = units(1)
    now = 0

    def say(host: int, life: int, *there: UnitId) -> None:
        spec = HostSpec(group=suspects.groups.get(bad, 0) if host else 0)
        held = Held(WORKER, host, frozenset(there), incarnation=f"{life:06d}", worker_incarnation=LIFE)
        suspects.read(held, spec, now)

    say(0, 0)  # The witness.
    for life in range(1, 30):
        # Three quick deaths make it a suspect.
        now += 40_000 if life > 4 else 1000
        say(1, life, bad)
        now += lives_ms if life > 4 else 1000
        suspects.reconcile([bad], now, {(WORKER, 1, f"{life:06d}")})
    assert suspects.groups
    assert (bad in suspects.verdicts) is is_condemned


def brokers_that_end_hosts(cluster: Cluster, bad: set[UnitId], every_ms: int, count: int) -> list[int]:
    """Have brokers end the hosts of `bad` so often, and return how many others each death has hit."""
    hit = []
    for _ in range(count):
        for _ in range(every_ms // MINUTE):
            cluster.now += MINUTE
            cluster.turn()
        for host in [host for host in list(cluster.hosts) if bad & set(cluster.on(host))]:
            hit.append(len(set(cluster.on(host)) - bad))
            cluster.kill(host)
        # Groups get their hosts.
        cluster.turn()
    return hit


@pytest.mark.parametrize("minutes", [1, 3, 9])
def test_brokers_that_only_a_config_names_end_the_hosts_of_others_once(minutes: int) -> None:
    """They can end a host when they like, so they do it more seldom than any other suspicion lasts."""
    everybody = units(6)
    bad = {everybody[2]}
    cluster = Cluster(everybody, names_brokers=bad.__contains__)
    hit = brokers_that_end_hosts(cluster, bad, minutes * MINUTE, 50)
    assert hit[0] == 5 and not any(hit[1:])
    assert set(cluster.suspects.groups) == bad
    assert "perhaps of what brokers answer that only a config names" in cluster.texts[0]
    # The control: without such a config, others go down each time.
    unknown = Cluster(everybody)
    assert minutes == 1 or all(brokers_that_end_hosts(unknown, bad, minutes * MINUTE, 10))


def test_who_waits_until_it_shares_a_host_again_has_to_wait_longer_each_time() -> None:
    everybody = units(6)
    bad = {everybody[2]}
    cluster = Cluster(everybody, names_brokers=bad.__contains__)
    assert brokers_that_end_hosts(cluster, bad, 11 * MINUTE, 50).count(5) == 2, "once more, after ten minutes"
    # A day of it.
    assert sum(map(bool, brokers_that_end_hosts(cluster, bad, 30 * MINUTE, 48))) < 5


def test_units_whose_configs_all_name_brokers_are_suspects_after_two_deaths() -> None:
    everybody = units(6)
    cluster = Cluster(everybody, names_brokers=lambda unit: True)
    hit = brokers_that_end_hosts(cluster, {everybody[2]}, 5 * MINUTE, 20)
    assert hit[:2] == [5, 5] and hit[2] < 5 and not any(hit[6:])


def test_two_deaths_are_nothing_and_three_far_apart_neither() -> None:
    cluster = Cluster(units(2))
    for _ in range(20):
        cluster.say(0)
        cluster.kill(0)
        cluster.now += MINUTE + 1
    assert cluster.suspects.groups == {} and cluster.texts == []
    for _ in range(2):
        cluster.now += 100
        cluster.kill(0)
    assert set(cluster.suspects.groups) == set(units(2)), "that was the third within two minutes"
    assert "Host 0 has died 3 times within 120 s" in cluster.texts[0]


def test_hosts_that_are_killed_at_random_have_nobody_condemned() -> None:
    for seed in range(40):
        draw = random.Random(seed)
        cluster = Cluster(units(5))
        # More than chaos does: a host dies every 20 to 60 seconds, for half an hour.
        while cluster.now < 30 * MINUTE:
            cluster.turn()
            cluster.kill(draw.choice(list(cluster.hosts)))
            cluster.now += draw.randrange(20_000, 60_000)
        assert not cluster.suspects.verdicts, seed


def test_when_all_hosts_die_together_nobody_is_condemned() -> None:
    """Spark's JVM, or the machine: as long as no host lives through it, no unit is to blame."""
    cluster = Cluster(units(4))
    for _ in range(40):
        cluster.turn()
        for host in list(cluster.hosts):
            cluster.kill(host)
    assert len(set(cluster.suspects.groups.values())) == 4, "they are all alone by now"
    assert not cluster.suspects.verdicts
    # A control: with one host that is spared, they are.
    for _ in range(10):
        cluster.turn()
        for host in list(cluster.hosts):
            if host != 1:
                cluster.kill(host)
    assert set(cluster.suspects.verdicts) == set(units(4))


def test_a_witness_that_is_dead_itself_is_none() -> None:
    everybody = units(1)
    suspects = Suspects(LIFE, lambda _: 1)

    def say(host: int, life: int, group: int, *held: UnitId) -> None:
        record = Held(WORKER, host, frozenset(held), incarnation=f"{life:06d}", worker_incarnation=LIFE)
        dead = {(WORKER, 1, "000001"), (WORKER, 0, "000005")}
        suspects.read(record, HostSpec(group=group), life * 1000, dead)

    say(1, 1, 0)
    for life in range(2, 6):
        say(0, life, 0, *everybody)
    for life in range(6, 12):
        say(2, life, 1, *everybody)
    assert suspects.groups == {everybody[0]: 1} and not suspects.verdicts
    say(0, 12, 0)
    for life in range(13, 18):
        say(2, life, 1, *everybody)
    assert suspects.verdicts


def test_who_has_failed_is_tried_again_when_somebody_wants_it_or_its_config_has_changed() -> None:
    everybody = units(3)
    cluster = Cluster(everybody, {everybody[0]})
    cluster.turns()
    before = cluster.suspects.groups[everybody[0]]
    cluster.suspects.clear(everybody[0], cluster.now)
    assert not cluster.suspects.verdicts and cluster.suspects.groups[everybody[0]] == before, "in a host of its own"
    assert cluster.turns() == 4
    assert set(cluster.suspects.verdicts) == {everybody[0]}
    assert "has died 4 times within 6 s" in cluster.suspects.verdicts[everybody[0]].reason
    cluster.offsets[everybody[0]] = 2
    cluster.bad = set()
    assert cluster.turns() == 0
    assert not cluster.suspects.verdicts


def test_a_group_that_lives_quietly_for_ten_minutes_is_over() -> None:
    everybody = units(4)
    cluster = Cluster(everybody, {everybody[0]})
    cluster.turns()
    cluster.now += 10 * MINUTE
    cluster.turn()
    assert set(cluster.suspects.groups) == {everybody[0]}, "who has failed stays where it is"
    assert any("c3-0 has run for 10 minutes" in text for text in cluster.texts), cluster.texts
    # What was is forgotten: it takes as much as ever to be suspected.
    cluster.kill(0)
    cluster.now += 1000
    cluster.kill(0)
    assert set(cluster.suspects.groups) == {everybody[0]}


def test_a_group_without_a_host_goes_back_where_it_came_from() -> None:
    cluster = Cluster(units(4), {units(4)[0]})
    for _ in range(3):
        cluster.say(0)
        cluster.kill(0)
    assert set(cluster.suspects.groups) == set(units(4))
    cluster.now += MINUTE - 1
    assert cluster.suspects.reconcile(cluster.units, cluster.now) == []
    cluster.now += 1
    texts = cluster.suspects.reconcile(cluster.units, cluster.now)
    assert not cluster.suspects.groups
    assert all("got no other host within a minute" in text for text in texts) and len(texts) == 4


def test_who_has_left_the_worker_is_forgotten() -> None:
    everybody = units(2)
    cluster = Cluster(everybody, {everybody[0]})
    cluster.turns()
    cluster.suspects.reconcile([], cluster.now)
    assert not cluster.suspects.verdicts and not cluster.suspects.groups


def test_deaths_that_are_no_mystery_do_not_count() -> None:
    unit = units(1)[0]
    cluster = Cluster(units(1))
    for _ in range(10):
        # It could not be stopped, and its host ended itself.
        cluster.say(0, stuck=frozenset({unit}))
        cluster.kill(0)
    assert not cluster.suspects.groups
    for run in range(10):
        # It crashes, is blamed, and restarted.
        cluster.say(0)
        cluster.hosts[0] = f"{100 + run:06d}"
        cluster.say(0, blamed={unit: Blame(1, run, "SIGSEGV")})
    for _ in range(10):
        # It is still blamed, and so does not run, when somebody kills its host.
        cluster.say(0, blamed={unit: Blame(1, 9, "SIGSEGV")})
        cluster.hosts[0] = f"{int(cluster.hosts[0]) + 1:06d}"
        cluster.say(0, blamed={unit: Blame(1, 9, "SIGSEGV")})
    assert not cluster.suspects.groups
    cluster._lives = itertools.count(500)
    for _ in range(3):
        cluster.say(0)
        cluster.kill(0)
    assert cluster.suspects.groups, "the control"


def test_empty_hosts_and_other_lives_of_the_worker_do_not_count() -> None:
    cluster = Cluster([])
    for _ in range(10):
        cluster.kill(0)
    suspects = Suspects(LIFE, lambda _: 1)
    for life in range(10):
        held = Held(WORKER, 0, frozenset(units(1)), incarnation=f"{life:06d}", worker_incarnation="000000")
        suspects.read(held, HostSpec(), life)
    assert not cluster.suspects.groups and not suspects.groups


def test_a_record_in_the_place_of_a_dead_host_is_no_life() -> None:
    cluster = Cluster(units(1))
    first = cluster.hosts[0]
    cluster.kill(0)
    for _ in range(10):
        cluster.say(0, life=first)
        cluster.say(0)
    assert not cluster.suspects.groups


def test_a_dedicated_task_has_a_host_of_its_own_already() -> None:
    unit = units(1)[0]
    suspects = Suspects(LIFE, lambda _: 1)

    def say(host: int, life: int, spec: HostSpec, *held: UnitId) -> list[str]:
        record = Held(WORKER, host, frozenset(held), incarnation=f"{life:06d}", worker_incarnation=LIFE)
        return suspects.read(record, spec, life * 1000)

    say(0, 1, HostSpec())
    texts = [text for life in range(2, 10) for text in say(3, life, HostSpec(unit=unit, memory=2**28), unit)]
    assert set(suspects.verdicts) == {unit}
    assert len(texts) == 2
