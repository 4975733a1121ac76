"""Where in a plugin an error began, as `owners.place` tells it for the first line of a failed unit's status."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.units import owners


def module(name: str, file: str, code: str, **given: Any) -> dict[str, Any]:
    made = {"__name__": name, **given}
    exec(compile(code, file, "exec"), made)
    return made


LIBRARY = module("wires", "/p/orders-1/wires/__init__.py", "def send():\n  raise OSError('no route')")
SINK = module("orders.sink", "/p/orders-1/orders/sink.py", "\n\n\ndef put(send):\n  send()")
ENGINE = module("kconnect.units.sink_task", "/k/worker/sink_task.py", "def deliver(put, send):\n  put(send)")
CHAIN = module(
    "kconnect.core.task.errors",
    "/k/core/task/errors.py",
    "def handle(call, *given):\n  try:\n    call(*given)\n  except Exception as error:\n    raise RuntimeError from error",
)


def failure(call: Any, *given: Any) -> BaseException:
    with pytest.raises(Exception) as raised:
        call(*given)
    # From here on, as in a unit.
    return raised.value.with_traceback(raised.value.__traceback__.tb_next)  # type: ignore[union-attr]


@pytest.mark.parametrize("given", [(ENGINE["deliver"],), (CHAIN["handle"], ENGINE["deliver"])])
def test_the_plugins_own_line_is_told_rather_than_that_of_a_library(given: tuple[Any, ...]) -> None:
    error = failure(*given, SINK["put"], LIBRARY["send"])
    assert owners.place(error, {"orders"}) == "orders/sink.py:5"
    # As a transform's, whose modules are not those of the connector.
    assert owners.place(error, {"other"}) == "wires/__init__.py:2"


def test_an_error_of_ours_has_no_place() -> None:
    registry = module("kconnect.converters.avro", "/k/converters/avro.py", "def register(send):\n  send()")
    client = module("httpx._client", "/v/site-packages/httpx/_client.py", "def send():\n  raise OSError('no route')")
    assert owners.place(failure(CHAIN["handle"], registry["register"], client["send"]), {"orders"}) is None
    assert owners.place(failure(client["send"]), {"httpx"}) == "httpx/_client.py:2", "a plugin that is installed beside it"
