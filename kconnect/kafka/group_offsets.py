"""
Changes the offsets that a consumer group has committed, in a child process that can be thrown away.

Called by `worker/world.py` for connectors' requests (KIP-875). librdkafka's admin client may end its process when a group's
coordinator starts, moves or does not answer (see `admin.py`), and a worker must not die of a request about offsets: so each
change has a process of its own, for a fifth of a second. Read next: `group_offsets_child.py`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

import orjson

from kconnect import interpreter
from kconnect.api.record import TopicPartition
from kconnect.core.herder.effects import GroupInUseError
from kconnect.errors import ConnectError

LIMIT_S = 40.0
"""For the whole change: less than a request may take, so that it can say what went wrong."""


def alter(client: Mapping[str, Any], group_id: str, offsets: Mapping[TopicPartition, int | None]) -> None:
    """
    Commit these offsets, and forget those that are None; others stay as they are.

    Nothing is changed if the group has members (GroupInUseError), or if one of the partitions doesn't exist (ConnectError).
    After any other ConnectError those that are None may be forgotten; to do it again does no harm.
    """
    rows = [[*partition, offset] for partition, offset in offsets.items()]
    _ask({"call": "alter", "client": _plain(client), "group": group_id, "offsets": rows})


def reset(client: Mapping[str, Any], group_id: str) -> None:
    """Delete the group; one that does not exist is fine. GroupInUseError if it has members."""
    _ask({"call": "reset", "client": _plain(client), "group": group_id})


def _ask(order: dict[str, Any]) -> None:
    group = order["group"]
    # The order comes by a pipe: the client's settings have passwords, which no list of processes may show.
    command = interpreter.command("kconnect.kafka.group_offsets_child")
    try:
        process = subprocess.run(
            command, input=orjson.dumps(order), stdout=subprocess.PIPE, timeout=LIMIT_S + 5, start_new_session=True, check=False
        )
    except subprocess.TimeoutExpired:
        raise ConnectError(f"No broker answered for the group {group} within {LIMIT_S:.0f} s") from None
    try:
        answer = orjson.loads(process.stdout)
    except orjson.JSONDecodeError:
        raise ConnectError(
            f"The Kafka client ended with status {process.returncode} while it changed the offsets of the group {group}: the "
            "group's coordinator may be starting or moving. The request can be repeated safely."
        ) from None
    if answer.get("in_use"):
        raise GroupInUseError(answer["error"])
    if "error" in answer:
        raise ConnectError(answer["error"])


def _plain(client: Mapping[str, Any]) -> dict[str, Any]:
    """Without callbacks, which can't be sent: what goes wrong is in the answer."""
    return {name: value for name, value in client.items() if isinstance(value, str | int | float)}
