"""
What is wrong with a parsed config, beyond single values: settings that do not fit each other, a service that can't be reached.

Called by `sink.py` and `source.py` when a config is validated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from kconnect.api import ConfigError, ConnectError
from kconnect.connectors.http import requests, settings
from kconnect.connectors.http.address import Address
from kconnect.connectors.http.answers import Answers
from kconnect.connectors.http.login import LoginError
from kconnect.connectors.http.requests import Request
from kconnect.connectors.http.service import Service
from kconnect.connectors.libraries import UNSAFE

_PROBE_S = 5.0


def problems(config: Mapping[str, Any], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return settings, and what is wrong with them. `worker` is what the connector is told of its worker's settings."""
    return _mismatches(config) or _problems_of_service(config, worker)


def _mismatches(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    mismatches = []
    needed = {"BASIC": [settings.USER], "OAUTH2": [settings.TOKEN_URL, settings.CLIENT_ID, settings.CLIENT_SECRET]}
    for name in needed.get(config[settings.AUTH].upper(), ()):
        value = config[name]
        if not (value if isinstance(value, str) else value.value):
            mismatches.append((name, f"{name} is missing: {settings.AUTH} is {config[settings.AUTH]}."))
    for name in (settings.URL, settings.TOKEN_URL):
        try:
            url = httpx.URL(config[name])
        except httpx.InvalidURL as error:
            mismatches.append((name, f"It is no URL: {error}."))
            continue
        if config[name] and (url.scheme not in ("http", "https") or not url.host):
            mismatches.append((name, "It is no address of HTTP: it must begin with http:// or https:// and a host."))
    try:
        Address(settings.URL, config[settings.URL])
    except ConfigError as error:
        mismatches.append((settings.URL, f"{error}."))
    try:
        requests.headers_of(config)
    except ConfigError as error:
        mismatches.append((settings.HEADERS, str(error)))
    return mismatches


def _problems_of_service(config: Mapping[str, Any], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is wrong with the service, by a HEAD request. Any answer will do, but that the user is unknown."""
    if not Address(settings.URL, config[settings.URL]).is_constant:
        return []
    try:
        service = Service({**config, settings.RETRY_ON: ""}, worker, longest_s=_PROBE_S)
    except ConnectError as error:
        return [(next(name for name in (settings.CA, settings.CERTIFICATE, settings.PROXY) if name in str(error)), f"{error}.")]
    try:
        answer = service.send(Request([], "HEAD", config[settings.URL], requests.headers_of(config), None), keep=False)
    except LoginError as error:
        return [(settings.CLIENT_SECRET, f"{error}.")]
    finally:
        service.close()
    if answer.passing or UNSAFE in answer.problem:
        return [(settings.TOKEN_URL if "gives tokens" in answer.problem else settings.URL, f"{answer.problem}.")]
    if " answers 401 " in answer.problem:
        return [(settings.AUTH, f"{answer.problem}: check the login.")]
    return []


def problems_of_answers(config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is wrong with the settings of a sink that keeps answers."""
    if not config[settings.ANSWERS]:
        return []
    if not config[settings.BROKERS]:
        return [(settings.BROKERS, f"It is missing: {settings.ANSWERS} is {config[settings.ANSWERS]}.")]
    try:
        Answers(config, props).probe(_PROBE_S)
    except ConnectError as error:
        return [(settings.BROKERS, f"{error}.")]
    return []
