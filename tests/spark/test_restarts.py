"""A stream of `format("kconnect")` that is stopped or killed at random loses and doubles nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka as ck
import pytest
from pyspark.sql import SparkSession

from tests.spark import streamer
from tests.spark.sessions import patiently, session, topic
from tests.support import seed

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1500)]


@contextmanager
def written(bootstrap: str, name: str, dice: random.Random) -> Iterator[set[int]]:
    """Write records in transactions, of which some are aborted, until the end. Yield the committed ids, which grow."""
    producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(60)
    committed: set[int] = set()
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            producer.begin_transaction()
            batch = range(number, number + dice.randrange(1, 10))
            for each in batch:
                producer.produce(name, json.dumps({"id": each}), partition=dice.randrange(3))
            number = batch.stop
            producer.flush(60)
            if dice.random() < 0.2:
                producer.abort_transaction(60)
            else:
                producer.commit_transaction(60)
                committed.update(batch)
            time.sleep(0.2)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield committed
    finally:
        over.set()
        thread.join()


def require_each_once(spark: SparkSession, bootstrap: str, name: str, folder: Path, committed: set[int]) -> None:
    """Let the stream read the rest, and compare all of it."""

    def run() -> None:
        query = streamer.start(spark, bootstrap, name, folder)
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    patiently(run)
    counts = Counter(row["id"] for row in spark.read.parquet(str(folder / "out")).select("id").collect())
    assert committed - counts.keys() == set(), "lost"
    assert counts.keys() - committed == set(), "never committed"
    assert {each for each, count in counts.items() if count > 1} == set(), "doubled"


@pytest.mark.long
def test_a_stream_that_is_stopped_at_random_has_each_record_once(
    bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name, dice = topic(bootstrap, unique("stops"), 3), random.Random(seed("KCONNECT_RESTARTS_SEED"))
    with session(tmp_path) as spark:
        with written(bootstrap, name, dice) as committed:
            for _ in range(4):
                query = streamer.start(spark, bootstrap, name, tmp_path, **streamer.LIMITS)
                time.sleep(dice.uniform(1, 8))
                query.stop()
        assert committed
        require_each_once(spark, bootstrap, name, tmp_path, committed)


@pytest.mark.long
def test_a_stream_that_is_stopped_and_killed_at_random_has_each_record_once(
    bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name, dice = topic(bootstrap, unique("kills"), 3), random.Random(seed("KCONNECT_RESTARTS_SEED"))
    starts = kills = 0
    with written(bootstrap, name, dice) as committed:
        while starts < 20 or kills < 4:
            arguments = (bootstrap, name, str(tmp_path), str(dice.randrange(1000)))
            with (tmp_path / "streamer.log").open("ab") as log:
                child = subprocess.Popen(
                    [sys.executable, "-m", "tests.spark.streamer", *arguments],
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            try:
                assert child.stdout is not None
                for _ in range(dice.randrange(3, 7)):
                    assert child.stdout.readline() == b"started\n", (tmp_path / "streamer.log").read_text()[-5000:]
                    starts += 1
                time.sleep(dice.uniform(0, 8))
            finally:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
            kills += 1
    assert committed
    with session(tmp_path) as spark:
        require_each_once(spark, bootstrap, name, tmp_path, committed)
