"""
OpenSearchSinkConnector: whether a config can be used, and what the cluster says to it. The documents: `task.py`.

opensearch-py is imported where a cluster is needed, so that without it all else works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, ConnectError, SinkTask
from kconnect.connectors.common import CheckedSink
from kconnect.connectors.search import settings

_PROBE_S = 5.0
_INSTALL = "opensearch-py is not installed here: pip install 'kconnect[search]' on every machine of the cluster"


class OpenSearchSinkConnector(CheckedSink):
    instead = settings.INSTEAD

    def task_class(self) -> type[SinkTask]:
        from kconnect.connectors.search.task import OpenSearchSinkTask

        return OpenSearchSinkTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        topics = [topic.strip() for topic in props.get("topics", "").split(",") if topic.strip()]
        return _mismatches(config) or _problems_of_cluster(config, topics)


def _mismatches(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    problems = []
    stream, nulls = config[settings.STREAM].lower() != "none", config[settings.NULLS].lower()
    if stream and config[settings.METHOD].lower() == "upsert":
        problems.append((settings.METHOD, "A data stream takes new documents only: it can't be upsert."))
    if stream and config[settings.INDEX_FIELD]:
        problems.append((settings.INDEX_FIELD, f"It names indexes, but {settings.STREAM} is {config[settings.STREAM]}."))
    if nulls == "delete" and (config[settings.KEY_IGNORE] or stream):
        text = (
            f"Documents can be deleted if their ids are keys: {settings.KEY_IGNORE} is to be false, and {settings.STREAM} none."
        )
        problems.append((settings.NULLS, text))
    if config[settings.VERSION] and config[settings.METHOD].lower() == "upsert":
        problems.append((settings.VERSION, f"Versions need {settings.METHOD}=insert."))
    return problems


def _problems_of_cluster(config: Mapping[str, Any], topics: list[str]) -> list[tuple[str, str]]:
    try:
        from opensearchpy.exceptions import OpenSearchException, TransportError

        from kconnect.connectors.search import service
        from kconnect.connectors.search.actions import Maker
        from kconnect.connectors.search.indices import Indices
    except ImportError:
        return [(settings.URLS, f"{_INSTALL}.")]
    try:
        client = service.made_client(config, _PROBE_S)
    except ConfigError as error:
        return [(error.name or settings.URLS, f"{error}.")]
    try:
        client.info()
        if not config[settings.CREATE] and not config[settings.INDEX_FIELD]:
            maker, indices = Maker(config), Indices(client, config)
            for topic in topics:
                indices.ensure(maker.target(topic), None)
    except ConnectError as error:
        return [(settings.CREATE, f"{error}.")]
    except OpenSearchException as error:
        status = error.status_code if isinstance(error, TransportError) else None
        place = settings.PASSWORD if status == 401 else settings.USER if status == 403 else settings.URLS
        return [(place, f"The cluster can't be used: {service.reason(error)}.")]
    finally:
        client.close()
    return []
