"""
REST as one worker serves it: the regular listeners, those of `admin.listeners`, and what asks other workers.

`main.py` opens it first, so that a taken port or a wrong keystore is told before anything else is started, and stops it last.
Read next: `rest/server.py` and `rest/app.py`.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Scope

from kconnect.core.settings import browsers
from kconnect.core.settings.worker import WorkerSettings
from kconnect.kafka import clients
from kconnect.processes import log_lines
from kconnect.rest import app, audit, authentication
from kconnect.rest.connections import limit
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.forward import Forwarder
from kconnect.rest.host_names import HostNames
from kconnect.rest.notes import noted
from kconnect.rest.server import Server, parse_listener
from kconnect.rest.starting import Starting
from kconnect.tls.settings import Settings

log = logging.getLogger(__name__)

_MAIN, _ADMIN = "listeners.https.", "admin.listeners.https."


class Traces(Protocol):
    """Who follows requests, if telemetry is on: `telemetry/requests.py`."""

    def around(self, app: ASGIApp, notes: Callable[[Scope], dict[str, Any]]) -> ASGIApp:
        """Return the application with a span around each request that is traced. `notes` is `notes.noted`."""
        ...

    def context(self) -> str | None:
        """Return the trace context of the request that is being answered, as the header `traceparent` has it."""
        ...


class Rest:
    """`open`, then `start`; `stop` may be called at any time. ConfigError for a TLS setting that can't be used."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        main = Settings.of_listeners(settings.raw, _MAIN)
        self._connections = connections = limit(2 if settings.admin_listeners else 1)
        tls = _server_tls(settings.listeners, main)
        self._main_app, self._admin_app = Starting(), Starting()
        self._main = Server(self._main_app, settings.listeners, settings.access_log_file, tls=tls, connections=connections)
        self._admin: Server | None = None
        if settings.admin_listeners:
            self._admin = Server(
                self._admin_app,
                settings.admin_listeners,
                settings.access_log_file,
                tls=_server_tls(settings.admin_listeners, Settings.of_listeners(settings.raw, _ADMIN)),
                setting="admin.listeners",
                connections=connections,
            )
        # For asking other workers: with the regular listeners' own settings, as Connect has it.
        self._client_tls = _client_tls(main) if main.prefix or _has_https(settings.listeners) else None
        self._gate, self._audit_file = _access(settings)
        self._stopping = threading.Event()

    @property
    def port(self) -> int:
        """The real port of the first regular listener; known once bound."""
        return self._main.port

    def open(self) -> None:
        """Take the ports and answer who asks whether the worker lives: other requests wait until `start`."""
        # All of them first: what is told of one that is taken is then told before anybody was answered.
        for server in self._servers():
            server.bind()
        for server in self._servers():
            server.start()

    def start(self, herder: app.Herder, log_levels: app.Loggers, traces: Traces | None = None) -> None:
        settings = self._settings
        if self._gate is not None:
            self._gate.file.watch(self._stopping)
        rest_settings = app.RestSettings(
            settings.advertised_url,
            verification_algorithms=tuple(settings.inter_worker_verification_algorithms),
            max_record_bytes=int(clients.internal(settings, "rest")["message.max.bytes"]),
            admin=settings.admin_listeners is None,
            cors=browsers.cors(settings.access_control_allow_origin, settings.access_control_allow_methods),
            response_headers=browsers.header_rules("response.http.headers.config", settings.response_http_headers_config),
            gate=self._gate,
            audit_file=self._audit_file,
            host_names=_host_names(settings),
            connections=self._connections,
            read_logs=partial(log_lines.read, settings),
            console=settings.console_enable,
        )
        if traces is None:
            forwarder = Forwarder(settings.inter_worker_signature_algorithm, tls=self._client_tls)
        else:
            forwarder = Forwarder(settings.inter_worker_signature_algorithm, tls=self._client_tls, trace=traces.context)
        self._main_app.become(_traced(app.build(herder, rest_settings, log_levels, forwarder), traces))
        if self._admin is not None:
            self._admin_app.become(_traced(app.build_admin(herder, rest_settings, log_levels), traces))

    def stop(self) -> None:
        self._stopping.set()
        for application in (self._main_app, self._admin_app):
            application.end()
        for server in self._servers():
            server.stop()

    def _servers(self) -> list[Server]:
        return [self._main] if self._admin is None else [self._main, self._admin]


def _traced(application: ASGIApp, traces: Traces | None) -> ASGIApp:
    return application if traces is None else traces.around(application, noted)


def _access(settings: WorkerSettings) -> tuple[authentication.Gate | None, audit.AuditFile | None]:
    """Return the gate that authenticates callers, and the audit log. Warnings for an operator are logged."""
    path, methods = settings.rest_authentication_file, tuple(settings.rest_authentication_methods)
    gate = None if path is None else authentication.Gate(CredentialsFile(path, methods), methods)
    for text in authentication.warnings([*settings.listeners, *(settings.admin_listeners or ())], gate is not None):
        log.warning("%s", text)
    return gate, None if settings.audit_log_file is None else audit.open_file(settings.audit_log_file)


def _host_names(settings: WorkerSettings) -> HostNames:
    """Every name by which this machine, the advertised address and the listeners are known."""
    listeners = [parse_listener(url).host for url in [*settings.listeners, *(settings.admin_listeners or ())]]
    advertised = urlsplit(settings.advertised_url).hostname or ""
    return HostNames([*settings.rest_hosts_allowed, *listeners, advertised, socket.gethostname()])


def _server_tls(listeners: list[str], settings: Settings) -> ssl.SSLContext | None:
    """
    Return the TLS context of REST. None without an https listener: `ssl.*` is for Kafka's clients then, which may read what
    REST can't.
    """
    if not _has_https(listeners):
        return None
    from kconnect.tls import contexts

    return contexts.server(settings)


def _client_tls(settings: Settings) -> ssl.SSLContext:
    from kconnect.tls import contexts

    return contexts.client(settings)


def _has_https(listeners: list[str]) -> bool:
    return any(listener.lower().startswith("https:") for listener in listeners)
