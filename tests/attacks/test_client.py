"""
Attacks on the command line and the operator by what answers as a worker: sizes, packing, drips. Over http that is whoever is on
the way, and `kconnect top` asks all workers that the cluster names.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kconnect.rest import client as rest_client
from kconnect.rest.client import ConnectClient, RestError
from tests.attacks.hostile import Hostile, Reply, bomb, given
from tests.attacks.test_late_heads import ANSWERS, LATE_S, endless

pytestmark = pytest.mark.process

ASKED: dict[str, Callable[[ConnectClient], object]] = {
    "a list": lambda client: client.connectors(),
    "the health": lambda client: client.health(),
    "metrics": lambda client: client.metrics(),
    "a change": lambda client: client.put_config("x", {}),
    "the clock": lambda client: client.clock(),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_without_an_end_takes_no_memory(monkeypatch: pytest.MonkeyPatch, asked: str, status: int) -> None:
    """A worker's address sends without an end, as fast as it is read, or a bomb: the command ends, and says why."""
    monkeypatch.setattr(rest_client, "MOST_BYTES", 2**20)
    with Hostile() as hostile, ConnectClient(hostile.url, timeout=LATE_S) as client:
        endless_answer = hostile.endless()
        hostile.default = lambda request: Reply(status, endless_answer(request).headers, endless_answer(request).body)
        with pytest.raises(RestError, match="answers with more than 1048576 bytes"):
            ASKED[asked](client)
        packed = bomb(2**24)(hostile.asked[0])
        hostile.default = lambda request: Reply(status, packed.headers, packed.body)
        with pytest.raises(RestError, match="answers packed"):
            ASKED[asked](client)
        assert {request.headers["accept-encoding"] for request in hostile.asked} == {"identity"}
        hostile.default = given(["x" * 2**19])
        assert client.connectors() == ["x" * 2**19], "the control"


@pytest.mark.parametrize("asked", ASKED)
def test_an_answer_that_drips_keeps_nobody(asked: str) -> None:
    """It sends a byte before each wait is over, for ever."""
    with Hostile() as hostile, ConnectClient(hostile.url, timeout=1.0) as client:
        hostile.default = hostile.dripping()
        began = time.monotonic()
        with pytest.raises(RestError, match="No answer"):
            ASKED[asked](client)
        assert time.monotonic() - began < LATE_S


@pytest.mark.parametrize("how", ANSWERS)
def test_an_answer_that_never_gets_to_what_it_says_keeps_nobody(how: str) -> None:
    """Its head, its interim answers, or the size of a chunk have no end."""
    with endless(*ANSWERS[how]) as port, ConnectClient(f"http://127.0.0.1:{port}", timeout=0.5) as client:
        began = time.monotonic()
        with pytest.raises(RestError):
            client.connectors()
        assert time.monotonic() - began < LATE_S
