"""`/cluster`: members, leader, units by worker and host. Kafka Connect has no such; see `core/herder/requests/cluster.py`."""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.cluster import GetCluster
from kconnect.rest.operation import Answer, Role
from kconnect.rest.resource import Call, ok


async def get_cluster(call: Call) -> Response:
    return ok(await call.ask(GetCluster()))


OPERATIONS = (
    Role.READ.may(
        "GET /cluster",
        get_cluster,
        "Workers, leader, and what runs on which host",
        Answer(200, "What the answering worker has read.", "Cluster"),
    ),
)
