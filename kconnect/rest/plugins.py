"""`/connector-plugins`: what is installed, its settings (KIP-769), and validation of a config against them."""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Route

from kconnect.api.errors import BadRequestError
from kconnect.core.herder import requests
from kconnect.rest import bodies
from kconnect.rest.resource import Api, Call, ok, resource


def routes(api: Api) -> list[Route]:
    return [
        resource(api, "/connector-plugins", GET=list_plugins),
        resource(api, "/connector-plugins/{plugin}/config", GET=get_plugin_config),
        resource(api, "/connector-plugins/{plugin}/config/validate", PUT=validate_config),
    ]


async def list_plugins(call: Call) -> Response:
    return ok(await call.ask(requests.ListPlugins(call.flag("connectorsOnly", default=True))))


async def get_plugin_config(call: Call) -> Response:
    return ok(await call.ask(requests.GetPluginConfig(call.path("plugin"), call.query("version"))))


async def validate_config(call: Call) -> Response:
    plugin = call.path("plugin")
    config = bodies.config(call.body)
    named = config.get("connector.class")
    # A config without a class is the herder's to refuse, here as in a POST.
    if named is not None and not _simple(named).endswith(_simple(plugin)):
        raise BadRequestError(f"Included connector type {named} does not match request type {plugin}")
    return ok(await call.ask(requests.ValidateConfig(plugin, config)))


def _simple(plugin: str) -> str:
    return plugin.removesuffix("Connector")
