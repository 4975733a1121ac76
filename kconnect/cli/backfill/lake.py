"""
The sink into whose tables a backfill writes, as the config of the connector that reads has it. Called by `start.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kconnect.connectors.backfill import sinks
from kconnect.errors import BadRequestError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_LEFT_OUT = ("name", "tasks.max")


def sink_config(client: ConnectClient, sink: str) -> dict[str, str | None]:
    """Return the settings that name a sink. BadRequestError if its tables are not Spark's."""
    config = client.get_config(sink)
    class_name = config.get("connector.class") or ""
    if class_name not in sinks.CLASSES:
        raise BadRequestError(f"{sink} is a {class_name}: --into is for a SparkSink. Without it, rows go into the topics")
    own = {f"into.{name}": value for name, value in config.items() if name not in _LEFT_OUT}
    return {**own, "into.connector.class": "SparkSink", "backfill.into": sink}
