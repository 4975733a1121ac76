"""
How far connectors' configs may reach: files that are open to all who may create connectors, and configs that the rules refuse.

A part of `kconnect doctor`. The rules are those of `plugins/reach.py`. A running connector that they refuse fails at its next
start, so this tells of it beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from kconnect.api.config import Password
from kconnect.cli.checkup import run
from kconnect.cli.connection import Target
from kconnect.cli.findings import OK, WARNING, Finding
from kconnect.connectors import passthrough
from kconnect.connectors.host_files import HostFiles
from kconnect.core.settings import lent_logins
from kconnect.core.settings.client_config import unfit
from kconnect.core.settings.host_paths import ALLOWED_PATHS
from kconnect.core.settings.worker import WorkerSettings, for_plugins
from kconnect.errors import ConfigError
from kconnect.plugins.reach import Reach
from kconnect.rest.client import RestError

_USERS = "rest.authentication.file"


def check_files(settings: WorkerSettings, where: str) -> Iterator[Finding]:
    """Say whether a worker's file has users but leaves the machine's files open to those of them who create connectors."""
    if not settings.rest_authentication_file:
        return
    if settings.connector_files_allowed_paths:
        yield Finding(OK, "files of connectors", where, f"{ALLOWED_PATHS} limits the files that configs may name")
        return
    message = f"{_USERS} names users, but those who may create connectors can read and write every file that the worker can"
    yield Finding(
        WARNING, "files of connectors", where, message, f"name the folders that connectors may use in {ALLOWED_PATHS}"
    )


def check_configs(target: Target, settings: WorkerSettings | None) -> Iterator[Finding]:
    """Say which connectors of a cluster have a config that the rules refuse. `settings` are the worker's, if they are known."""
    reach = Reach() if settings is None else Reach.of_settings(settings)
    try:
        with target.connect(run.LIMIT_S) as client:
            connectors = client.connectors("info")
    except RestError:
        return  # The check of the workers says so.
    if not isinstance(connectors, dict):
        return
    for name, about in sorted(connectors.items()):
        config = {setting: value for setting, value in about["info"]["config"].items() if value is not None}
        limits = {} if settings is None else for_plugins(settings.raw)
        problems = [*reach.problems(config), *reach.internal.problems(config)]
        lent = () if settings is None else _of_logins(config, settings)
        for message in (*(text for _, text in problems), *_of_libraries(config, limits), *_of_clients(config), *lent):
            remedy = "correct its config, or allow the setting, before the connector is started again"
            yield Finding(WARNING, "configs", f"Connector {name}", f"It would be refused. {message}", remedy)


def _of_clients(config: Mapping[str, str]) -> Iterator[str]:
    """Yield what no Kafka client in Python may be given."""
    for name, value in config.items():
        _, _, setting = name.partition(".override.")
        if setting and (reason := unfit(setting, value)):
            yield f"{name}: {reason}."


def _of_logins(config: Mapping[str, str], settings: WorkerSettings) -> Iterator[str]:
    if lent_logins.SERVERS in settings.override_policy.unsafe:
        return
    for kind in ("producer", "consumer", "admin"):
        override = f"{kind}.override."
        overrides = {name[len(override) :]: text for name, text in config.items() if name.startswith(override)}
        refusal = lent_logins.problem(settings.raw, f"{kind}.", overrides)
        if refusal is not None:
            yield f"{refusal}."


def _of_libraries(config: Mapping[str, str], limits: Mapping[str, str]) -> Iterator[str]:
    """
    Yield what connectors in the box say of drivers, classes and options in a config. What a reference stands for is not known
    here, and a library that is not installed here says nothing.
    """
    url = config.get("connection.url") or config.get("iceberg.catalog.uri") or ""
    checks: list[Callable[[], object]] = []
    with suppress(ImportError):
        if config.get("connector.class", "").endswith(("SqlSink", "SqlSource", "SqlSinkConnector", "SqlSourceConnector")):
            from kconnect.connectors.sql import settings as sql
            from kconnect.connectors.sql.urls import url_of

            login = {"connection.url": url, "connection.user": "", "connection.password": Password("")}
            checks.append(lambda: url_of({**dict.fromkeys(sql.CONFIG.keys, ""), **login}, limits))
        if config.get("connector.class", "").endswith(("IcebergSink", "IcebergSinkConnector")):
            from kconnect.connectors.iceberg import guard
            from kconnect.connectors.iceberg import settings as iceberg

            properties = passthrough.given(config, iceberg.PASSTHROUGH)
            checks.append(lambda: guard.Rules(properties.get("type", "rest"), properties, limits).check_own(properties))
        if any(setting.startswith("store.options.") for setting in config):
            from kconnect.connectors.objects import options

            is_delta = config.get("connector.class", "").endswith(("DeltaSink", "DeltaSinkConnector"))
            unknown = options.UNKNOWN_TO_DELTA if is_delta else ()
            checks.append(lambda: options.given(config, HostFiles(limits), unknown))
    for check in checks:
        try:
            check()
        except ConfigError as error:
            if "${" not in str(error.value):
                yield f"{error}."
