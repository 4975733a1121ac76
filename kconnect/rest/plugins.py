"""`/connector-plugins`: what is installed, its settings (KIP-769), and validation of a config against them."""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.configs import ValidateConfig
from kconnect.core.herder.requests.plugins import GetPluginConfig, ListPlugins
from kconnect.errors import BadRequestError
from kconnect.rest.operation import Answer, Parameter, Role, refused
from kconnect.rest.resource import Call, ok


async def list_plugins(call: Call) -> Response:
    return ok(await call.ask(ListPlugins(call.flag("connectorsOnly", default=True))))


async def get_plugin_config(call: Call) -> Response:
    return ok(await call.ask(GetPluginConfig(call.path("plugin"), call.query("version"))))


async def validate_config(call: Call) -> Response:
    plugin = call.path("plugin")
    config = await call.config()
    named = config.get("connector.class")
    # A config without a class is the herder's to refuse, here as in a POST.
    if named is not None and not _simple(named).endswith(_simple(plugin)):
        raise BadRequestError(f"Included connector type {named} does not match request type {plugin}")
    return ok(await call.ask(ValidateConfig(plugin, config)))


def _simple(plugin: str) -> str:
    return plugin.removesuffix("Connector")


_CONNECTORS_ONLY = Parameter(
    "connectorsOnly", "False: list converters, transforms and predicates, too.", {"type": "boolean", "default": True}
)
_VERSION = Parameter("version", "An exact version, as `/connector-plugins` lists it. Default: the newest.", {"type": "string"})

OPERATIONS = (
    Role.READ.may(
        "GET /connector-plugins",
        list_plugins,
        "The installed plugins",
        Answer(200, "The plugins.", "Plugins"),
        query=(_CONNECTORS_ONLY,),
    ),
    Role.READ.may(
        "GET /connector-plugins/{plugin}/config",
        get_plugin_config,
        "The settings of a plugin (KIP-769)",
        Answer(200, "The settings: a connector's own first, then those that every connector has.", "ConfigKeys"),
        refused(400, "The plugin is of a kind that has no settings here, or the version is a range, or not there."),
        refused(404, "There is no such plugin."),
        query=(_VERSION,),
    ),
    Role.ADMIN.may(
        "PUT /connector-plugins/{plugin}/config/validate",
        validate_config,
        "Validate a config",
        Answer(200, "The findings, even if the config has errors: `error_count` is their number.", "ConfigInfos"),
        refused(400, "The body is malformed, or its `connector.class` is missing, unknown or not the plugin."),
        body="SubmittedConfig",
        notes="Runs the plugin's code, in a process of its own; changes nothing.",
        changes=False,
    ),
)
