"""`kconnect dlq replay` ended by SIGKILL between its steps: whoever reads what is committed gets each record once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import confluent_kafka as ck

from kconnect.cli.brokers import Brokers
from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq.memory import Done
from kconnect.dlq.queue import Queue
from kconnect.local.broker import free_port
from tests.cli.calls import call
from tests.integration import units

_LETTERS = 8
_LIMIT_S = 240
_REPLAY = """
import os, signal, sys
from kconnect.cli import main
from kconnect.dlq import sending
from kconnect.kafka.transactions import TransactionalProducer

end, step, until_done = int(sys.argv.pop(1)), 0, TransactionalProducer._until_done

def counted(self, *call):
    global step
    if step == end:
        os.kill(os.getpid(), signal.SIGKILL)
    step += 1
    return until_done(self, *call)

TransactionalProducer._until_done, sending._BATCH = counted, 3
main.main(sys.argv[1:])
"""


def replay(bootstrap: str, queue: str, topic: str) -> list[str]:
    """Without a worker, which would tell which topics are its connectors' own, the caller says where letters go."""
    nobody = f"http://127.0.0.1:{free_port()}"
    return ["dlq", "replay", queue, "--bootstrap-server", bootstrap, "--url", nobody, "--to-topic", topic, "--yes"]


def killed(command: list[str], end: int) -> None:
    """It writes batches of three letters, and ends itself before that step. Step 0 begins, then each batch has two."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KCONNECT_")}
    done = subprocess.run(
        [sys.executable, "-c", _REPLAY, str(end), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment,
        timeout=_LIMIT_S,
    )
    assert done.returncode == -signal.SIGKILL, done.stdout


def write_letters(bootstrap: str, queue: str, topic: str) -> None:
    """Each in a transaction of its own, so that every other offset of the queue holds none."""
    producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": queue})
    producer.init_transactions(_LIMIT_S)
    for number in range(_LETTERS):
        told = {"topic": topic, "partition": "0", "offset": str(number), "connector.name": "gone"}
        headers: list[Any] = [(CONTEXT + name, text.encode()) for name, text in told.items()]
        producer.begin_transaction()
        producer.produce(queue, b"letter %d" % number, b"key", headers=headers)
        producer.commit_transaction(_LIMIT_S)


def test_whatever_is_killed_each_record_is_written_once(bootstrap: str, topic: str) -> None:
    queue = f"{topic}-dead"
    units.create(bootstrap, topic)
    units.create(bootstrap, queue)
    write_letters(bootstrap, queue, topic)
    once = [f"letter {number}" for number in range(_LETTERS)]

    # The first batch is committed; of the second one all is there but its end, which would make it count.
    killed(replay(bootstrap, queue, topic), 4)
    done = call(*replay(bootstrap, queue, topic))
    assert done.status == 0, done.err
    assert "Replayed 5 letters" in done.err, "the first batch was there with its note"

    # Brokers end a transaction a moment after they have said that it is committed.
    units.until(lambda: len(units.values(bootstrap, topic)) >= _LETTERS)
    assert units.values(bootstrap, topic) == once
    # Those who don't ask for what is committed see the records of batches that were given up, too, and nothing else.
    seen = units.values(bootstrap, topic, "read_uncommitted")
    assert len(seen) > len(once)
    assert set(seen) == set(once)
    with Queue(Brokers(bootstrap).client_config, queue) as read:
        # Markers of transactions are no letters that are still to be replayed.
        assert read.replayed(settled=True) == {0: Done(2 * _LETTERS - 1)}
