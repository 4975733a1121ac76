"""
`/cluster`: members, leader, units by worker and host, and who is to run nothing. Kafka Connect has no such; see
`core/herder/requests/cluster.py`.
"""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.cluster import DrainWorker, GetCluster, GetDemand
from kconnect.rest.operation import Answer, Role, refused
from kconnect.rest.resource import Call, empty, ok


async def get_cluster(call: Call) -> Response:
    return ok(await call.ask(GetCluster()))


async def get_demand(call: Call) -> Response:
    return ok(await call.ask(GetDemand()))


async def drain_worker(call: Call) -> Response:
    await call.ask(DrainWorker(call.path("worker"), is_drained=True))
    return empty(202)


async def undrain_worker(call: Call) -> Response:
    await call.ask(DrainWorker(call.path("worker"), is_drained=False))
    return empty(202)


_UNKNOWN = refused(404, "Nobody knows such a worker.")

OPERATIONS = (
    Role.READ.may(
        "GET /cluster",
        get_cluster,
        "Workers, leader, and what runs on which host",
        Answer(200, "What the answering worker has read.", "Cluster"),
    ),
    Role.READ.may(
        "GET /cluster/demand",
        get_demand,
        "How many workers the load wants",
        Answer(200, "By what all task hosts take of processors.", "Demand"),
        notes="For whatever starts and ends workers: KEDA's `metrics-api` scaler reads it with `valueLocation: workers`.",
    ),
    Role.ADMIN.may(
        "PUT /cluster/{worker}/drain",
        drain_worker,
        "Have a worker run nothing",
        Answer(202, "All that it runs goes to others, one after the other; `GET /cluster` shows how far that is."),
        _UNKNOWN,
        refused(409, "No other worker could run it."),
        notes="It stays so when the worker is restarted, until it is taken back. Should no other worker be there any more, it "
        "runs what there is.",
    ),
    Role.ADMIN.may(
        "PUT /cluster/{worker}/undrain",
        undrain_worker,
        "Let a worker run something again",
        Answer(202, "It gets its share."),
        _UNKNOWN,
    ),
)
