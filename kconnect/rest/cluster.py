"""`/cluster`: members, leader, units by worker and host. Kafka Connect has no such resource; see `core/herder/cluster.py`."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Route

from kconnect.core.herder import requests
from kconnect.rest.resource import Api, Call, ok, resource


def routes(api: Api) -> list[Route]:
    return [resource(api, "/cluster", GET=get_cluster)]


async def get_cluster(call: Call) -> Response:
    return ok(await call.ask(requests.GetCluster()))
