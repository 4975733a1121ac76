"""
kill -9 of each kind of process in the middle of a transfer: no line is lost, and what comes again had not been committed.

Each test first waits until data flows (its control); `test_without_a_fault` is the control of the checker itself. For nights:
`test_chaos.py` kills each of them, too, with less data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.integration.transfer import Transfer

# Setting up, flowing, healing and checking have limits of their own.
pytestmark = [pytest.mark.timeout(900), pytest.mark.long]

LINES = 500_000
GROUP = "faults"


@pytest.fixture(scope="module")
def victim(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker that may be hurt; started again by its user, or by itself, it goes on."""
    # Who starves for 3 s of a session of 4 s has lost touch, and lines come again without a fault.
    properties = {**QUICK, "session.timeout.ms": "15000"}
    worker = WorkerProcess(tmp_path_factory.mktemp("victim"), broker.bootstrap_servers, GROUP, properties=properties)
    try:
        yield worker.start()
    finally:
        worker.stop()


@pytest.fixture
def transfer(victim: WorkerProcess, broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> Iterator[Transfer]:
    made = Transfer(victim, broker.bootstrap_servers, tmp_path, unique("fault"), LINES)
    made.begin()
    yield made
    made.delete()


def finish(transfer: Transfer, committed_before: int) -> tuple[int, int]:
    transfer.wait_done()
    return transfer.check_source(f"{GROUP}-offsets"), transfer.check_sink(committed_before)


def test_without_a_fault_every_line_comes_once(transfer: Transfer) -> None:
    assert finish(transfer, 0) == (0, 0)


def test_kill_the_hosts(transfer: Transfer, victim: WorkerProcess) -> None:
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    hosts = victim.hosts()
    assert hosts
    for host in hosts:
        host.kill()
    finish(transfer, committed)


def test_kill_the_jvm_of_the_spark_driver(transfer: Transfer, victim: WorkerProcess) -> None:
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    jvm = victim.jvm()
    assert jvm is not None
    jvm.kill()
    finish(transfer, committed)


def test_kill_the_worker_and_start_it_again(transfer: Transfer, victim: WorkerProcess) -> None:
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    tree = victim.tree()
    victim.kill()
    assert victim.wait_ended(tree) == [], "processes of the worker outlived it"
    victim.start()
    finish(transfer, committed)


def test_kill_the_broker_and_start_it_again(transfer: Transfer, broker: Broker) -> None:
    transfer.wait_for_share(0.3)
    committed = transfer.committed()
    broker.kill()
    broker.start()
    finish(transfer, committed)
