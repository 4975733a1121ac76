"""`/kconnect/connectors/{c}/dead-letters` on a real worker: what was refused is read, tried on the chain, and replayed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration import units
from tests.integration.dead_sink import JSON, LIMIT_S, Sink
from tests.support import wait_until


@pytest.fixture
def sink(worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], tmp_path: Path) -> Iterator[Sink]:
    with ConnectClient(worker.client.url) as client:
        made = Sink(client, bootstrap, unique("rest"), tmp_path)
        made.start()
        yield made
        made.delete()


def test_letters_are_read_tried_and_replayed_once(sink: Sink) -> None:
    client = sink.client
    found = client.dead_letters(sink.name)
    assert (found["queue"], found["more"], found["offsets"]) == (sink.queue, False, {"0": [0, 3]})
    letters = {each["key"]: each for each in found["letters"]}
    bad = letters["k1"]
    assert (bad["topic"], bad["original_partition"], bad["stage"], bad["class"]) == (sink.topic, 1, "VALUE_CONVERTER", JSON)
    assert bad["stacktrace"] and (bad["value"], bad["replayed"]) == ("bad-a", False)
    assert bad["headers"] == [{"name": "trace", "value": "t1"}]
    assert letters["k4"]["value_bytes"] == "/wA="
    newest = client.dead_letters(sink.name, limit=1)
    assert (newest["letters"], newest["more"]) == ([found["letters"][-1]], True)
    assert client.dead_letters(sink.name, limit=1, oldest="true")["letters"] == found["letters"][:1]
    assert [each["key"] for each in client.dead_letters(sink.name, contains="bad-b")["letters"]] == ["k3"]
    assert client.dead_letters(sink.name, stage="TRANSFORMATION")["letters"] == []

    chosen = [{"partition": 0, "offset": offset} for offset in range(4)]
    still: Any = client.replay_dead_letters(sink.name, chosen, through_chain=True)
    assert still["replayed"] == 0
    assert [(each["offset"], each["to"]) for each in still["letters"]] == [(offset, None) for offset in range(4)]
    assert all("still fails at VALUE_CONVERTER" in each["left"] for each in still["letters"][:3])
    assert still["letters"][0]["outcome"]["error"]["stage"] == "VALUE_CONVERTER"
    assert (still["letters"][3]["outcome"], "no such letter" in still["letters"][3]["left"]) == (None, True)
    assert sum(end for _, end in sink.ends(sink.topic)) == 5, "what would fail again is not written"

    sink.mend()
    dry: Any = client.replay_dead_letters(sink.name, chosen[:3], through_chain=True, dry_run=True)
    assert dry["replayed"] == 0
    assert [(each["to"], each["left"]) for each in dry["letters"]] == [(sink.topic, None)] * 3
    # They come from several partitions, so each may be the first.
    assert {each["outcome"]["out"]["value"]["payload"] for each in dry["letters"]} == {"bad-a", "bad-b", "\ufffd\x00"}
    assert sum(end for _, end in sink.ends(sink.topic)) == 5
    one = client.replay_dead_letters(sink.name, chosen[1:2])
    assert (one["replayed"], one["letters"][0]["outcome"]) == (1, None)

    def replayed() -> list[bool]:
        return [bool(each["replayed"]) for each in client.dead_letters(sink.name)["letters"]]

    # Brokers end a transaction a moment after they have said that it is committed.
    wait_until(lambda: sum(replayed()) == 1, LIMIT_S)
    rest = client.replay_dead_letters(sink.name, chosen[:3], through_chain=True)
    assert rest["replayed"] == 2
    assert rest["letters"][1]["left"] == "it has been replayed already"
    wait_until(lambda: all(replayed()), LIMIT_S)
    assert client.replay_dead_letters(sink.name, chosen[:3])["replayed"] == 0
    elsewhere: Any = client.replay_dead_letters(sink.name, chosen[:1], again=True, to_topic=sink.queue)
    assert "name another topic" in elsewhere["letters"][0]["left"]
    wait_until(lambda: len(sink.lines()) >= 5, LIMIT_S)
    assert len(units.read_all(sink.bootstrap, sink.topic)) == 8


def test_what_can_not_be_read(worker: WorkerProcess, unique: Callable[[str], str]) -> None:
    client, name = worker.client, unique("none")
    with pytest.raises(RestError, match="not found") as gone:
        client.dead_letters(name)
    assert gone.value.status == 404
    config = {"connector.class": "FileStreamSink", "topics": name, "file": "/dev/null"}
    client.create(name, config, initial_state="STOPPED")
    try:
        with pytest.raises(RestError, match=r"it does not set errors\.deadletterqueue\.topic\.name") as none:
            client.dead_letters(name)
        assert none.value.status == 404
        client.patch_config(name, {"errors.deadletterqueue.topic.name": f"{name}-dead"})
        with pytest.raises(RestError, match="no task has created that topic yet"):
            client.dead_letters(name)
    finally:
        client.delete(name)
