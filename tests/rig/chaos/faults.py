"""
The faults: each hurts the cluster once, at a point that the run's random numbers choose, and leaves it able to heal.

`FAULTS` is the table, by the ids that the issues use; a fault is called by `run.py` while data flows. It ends when the
cause is gone: whatever was suspended goes on, who was killed has been started again. Read next: `run.py`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

import confluent_kafka as ck
import psutil

from kconnect.core.state.assignment_records import Assignment, assignment
from kconnect.core.state.records import Topic, UnitId
from tests.rig.chaos.cluster import GROUP, INTERNAL, SOURCE, Member
from tests.rig.systems.proxy import Link

if TYPE_CHECKING:
    from tests.rig.chaos.run import ChaosRun

Fault = Callable[["ChaosRun"], None]

_SERVE_S = 60.0


def kill_leader(run: ChaosRun) -> None:
    _kill_worker(run, run.leader())


def kill_follower(run: ChaosRun) -> None:
    _kill_worker(run, run.victim(but=run.leader()))


def _kill_worker(run: ChaosRun, member: Member) -> None:
    tree = member.worker.tree()
    run.blow(f"kill -9 {member}, pid {member.worker.pid}", "worker")
    member.kill()
    if run.random.random() < 0.7:
        run.wait_whole("all runs on the others")
    for process in member.worker.wait_ended(tree):
        run.violation("outlived", str(member), f"{process} lives on after its worker was killed")
    run.say(f"start {member} again")
    member.start()


def kill_host_then_driver(run: ChaosRun) -> None:
    for _ in range(2):
        member = run.victim()
        hosts = run.cluster.hosts(member)
        if hosts:
            host = run.random.choice(hosts)
            run.blow(f"kill -9 a host of {member}, pid {host.pid}")
            _kill(host)
            run.pause(0.0, 2.0)
        name = run.random.choice(("driver", "jvm"))
        process = member.worker.driver() if name == "driver" else member.worker.jvm()
        if process is not None:
            run.blow(f"kill -9 the {name} of {member}, pid {process.pid}")
            _kill(process)
        run.pause(0.0, 6.0)


def kill_host(run: ChaosRun) -> None:
    member = run.victim()
    hosts = run.cluster.hosts(member)
    if hosts:
        host = run.random.choice(hosts)
        run.blow(f"kill -9 a host of {member}, pid {host.pid}", "host")
        _kill(host)


def kill_jvm(run: ChaosRun) -> None:
    """The Spark executor, with all hosts of a worker: in local mode it lives in the driver's JVM."""
    member = run.victim()
    process = member.worker.jvm()
    if process is not None:
        run.blow(f"kill -9 the jvm of {member}, pid {process.pid}", "executor")
        _kill(process)


def kill_broker(run: ChaosRun) -> None:
    _restart_broker(run, run.cluster.broker.kill, "kill -9", "broker")


def stop_broker(run: ChaosRun) -> None:
    _restart_broker(run, run.cluster.broker.stop, "stop")


def _restart_broker(run: ChaosRun, end: Callable[[], None], how: str, killed: str | None = None) -> None:
    began = time.monotonic()
    run.blow(f"{how} the broker", killed)
    end()
    run.pause(0.0, run.cluster.session_s * 1.5)
    run.cluster.broker.start()
    run.cluster.outages.append((began, time.monotonic()))
    run.say("the broker is up again")


def suspend_broker(run: ChaosRun) -> None:
    _suspend_broker(run, run.random.choice((5.0, run.cluster.session_s - 1, run.cluster.session_s + 1)))


def suspend_broker_for_long(run: ChaosRun) -> None:
    _suspend_broker(run, 60.0)


def _suspend_broker(run: ChaosRun, seconds: float) -> None:
    began = time.monotonic()
    run.blow(f"SIGSTOP the broker for {seconds:.0f} s")
    stopped = _suspend([psutil.Process(run.cluster.broker.pid)])
    run.pause(seconds, seconds)
    _resume(stopped)
    _await_leaders(run.cluster.broker.bootstrap_servers)
    run.cluster.outages.append((began, time.monotonic()))
    run.say("the broker serves again")


def _await_leaders(servers: str) -> None:
    """
    Until every partition has a leader. The controller, which was suspended too, fences a broker that it has not heard of for
    9 s: on a busy machine it takes until then, and nothing can be read or written before.
    """
    # Connections that come while the broker stands still may be lost in its backlog, which only their silence tells.
    settings = {"bootstrap.servers": servers, "log_level": 0, "socket.timeout.ms": 5000}
    client, end = ck.Producer(settings), time.monotonic() + _SERVE_S
    while time.monotonic() < end:
        try:
            topics = client.list_topics(timeout=2).topics.values()
        except ck.KafkaException:
            continue
        if topics and all(part.leader >= 0 for topic in topics for part in topic.partitions.values()):
            return
        time.sleep(0.1)


def suspend_worker(run: ChaosRun) -> None:
    """The worker's process alone: its driver and its hosts go on, and must obey the log."""
    member = run.victim()
    _suspend_member(run, member, member.worker.tree()[:1], "the process of")


def suspend_tree(run: ChaosRun) -> None:
    member = run.victim()
    _suspend_member(run, member, member.worker.tree(), "all processes of")


def _suspend_member(run: ChaosRun, member: Member, processes: list[psutil.Process], what: str) -> None:
    leads = " (the leader)" if member is run.cluster.leader() else ""
    member.up = False
    stopped = _suspend(processes)
    seconds = run.random.uniform(run.cluster.session_s + 1, run.cluster.session_s + 6)
    run.blow(f"SIGSTOP {what} {member}{leads} for {seconds:.1f} s")
    run.pause(seconds, seconds)
    run.random.shuffle(stopped)
    _resume(stopped)
    run.say(f"SIGCONT {member}")
    member.worker.wait_healthy()
    member.up = True


def cut(run: ChaosRun) -> None:
    _partition(run, Link.CUT)


def half_open(run: ChaosRun) -> None:
    _partition(run, Link.HALF_OPEN)


def one_way(run: ChaosRun) -> None:
    _partition(run, run.random.choice((Link.ONLY_THERE, Link.ONLY_BACK)))


def slow(run: ChaosRun) -> None:
    _partition(run, Link.SLOW)


def _partition(run: ChaosRun, link: Link) -> None:
    member = run.victim()
    leads = " (the leader)" if member is run.cluster.leader() else ""
    seconds = run.random.uniform(run.cluster.session_s - 1, run.cluster.session_s + 5)
    run.blow(f"the link of {member}{leads} to the broker is {link.value}, for {seconds:.1f} s")
    member.sees = False
    member.kafka.set(link)
    run.pause(seconds, seconds)
    member.kafka.set(Link.OPEN)
    run.say("the link is open again")
    run.wait_sees(member)


def cut_rest(run: ChaosRun) -> None:
    """The leader can't be asked by the other workers; nothing else may suffer from it."""
    leader = run.leader()
    link = run.random.choice((Link.CUT, Link.HALF_OPEN, Link.SLOW))
    seconds = run.random.uniform(2, 8)
    run.blow(f"the link of the others to REST of {leader} (the leader) is {link.value}, for {seconds:.1f} s")
    leader.rest.set(link)
    run.pause(seconds, seconds)
    leader.rest.set(Link.OPEN)


def rival(run: ChaosRun) -> None:
    """
    A stranger fences the leader, and may leave a transaction open that gives all units to itself. Once the cluster has a
    leader again, nothing of that may count, and the stranger can write no more.
    """
    run.blow("a rival claims leadership: init_transactions from outside")
    producer = ck.Producer(
        {
            "bootstrap.servers": run.cluster.broker.bootstrap_servers,
            "transactional.id": f"connect-cluster-{GROUP}",
            "transaction.timeout.ms": 10_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(120)
    producer.begin_transaction()
    if run.random.random() < 0.5:
        run.say("the rival writes an assignment, and does not commit it")
        _seize(producer)
        producer.flush(10)
    run.wait_written("the cluster takes writes again")
    try:
        _seize(producer)
        producer.commit_transaction(10)
    except ck.KafkaException as error:
        run.say(f"the rival was refused: {error.args[0].name()}")
        return
    run.violation("two-leaders", "rival", "it wrote an assignment after another leader had been at work")


def _seize(producer: ck.Producer) -> None:
    entry = assignment(Assignment("rival:1", frozenset({UnitId(SOURCE, 0)}), 1_000_000))
    producer.produce(INTERNAL[Topic.ASSIGNMENT], entry.value, entry.key)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "F1": (kill_leader,),
    "F2": (kill_follower,),
    "F3": (kill_host_then_driver,),
    "F4": (kill_broker, stop_broker),
    "F5": (suspend_broker,),
    "F6": (suspend_worker, suspend_tree),
    "F7": (cut, half_open, one_way, slow, cut_rest),
    "F12": (rival,),
}
LONG: tuple[tuple[str, Fault], ...] = (("F5", suspend_broker_for_long),)
"""Only worth their time in a long run."""


KILLS: dict[str, tuple[Fault, ...]] = {
    "host": (kill_host,),
    "executor": (kill_jvm,),
    "worker": (kill_leader, kill_follower),
    "broker": (kill_broker,),
}
"""Each ends one kind of process, at a random point."""


def kill_some(run: ChaosRun) -> None:
    """Two to four kills of any kind, the next one perhaps before all runs again after the one before."""
    for _ in range(run.random.randint(2, 4)):
        name = run.random.choice(list(KILLS))
        run.random.choice(KILLS[name])(run)
        run.pause(0.0, 8.0)


KILL_BURSTS: tuple[tuple[str, Fault], ...] = (("kills", kill_some),)

EXACTLY_ONCE: tuple[tuple[str, Fault], ...] = (
    *KILL_BURSTS * 3,
    *(("suspend", suspend_tree), ("suspend", suspend_broker)),
)
"""What exactly-once sources must survive: processes that end, and those that sleep and wake up late."""

EVERYTHING = (*((name, fault) for name, faults in FAULTS.items() for fault in faults), *LONG)


def mix(
    seed: int, only: Collection[str] | None = None, faults: Collection[tuple[str, Fault]] = EVERYTHING
) -> Iterable[tuple[str, Fault]]:
    """All faults, or those of some ids, in rounds of which each is in another order, without an end."""
    order = random.Random(seed)
    chosen = [(name, fault) for name, fault in faults if only is None or name in only]
    while True:
        order.shuffle(chosen)
        yield from chosen


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def _suspend(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    stopped = []
    for process in processes:
        try:
            process.suspend()
            stopped.append(process)
        except psutil.NoSuchProcess:
            continue
    return stopped


def _resume(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        try:
            process.resume()
        except psutil.NoSuchProcess:
            continue
