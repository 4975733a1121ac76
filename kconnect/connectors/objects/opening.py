"""
Opens the store that a config names: one that obstore knows, or HDFS. Called by the tasks and the connectors.

Read next: `stores.py`, `hadoop.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigError
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.objects import settings
from kconnect.connectors.objects.stores import Store


def opened(
    config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str], longest_s: float = float("inf")
) -> Store:
    """
    The store of a parsed config; `props` are all its settings, with those of the store itself. `worker` has the worker's
    limits.
    """
    url: str = config[settings.STORE]
    files = HostFiles(worker)
    if config[settings.SPOOL]:
        files.check(settings.SPOOL, config[settings.SPOOL])
    if url.startswith("hdfs://"):
        text = "HDFS is reached by its web address: webhdfs://host:9870/folder with the name node's host and HTTP port"
        raise ConfigError(settings.STORE, url, text)
    if url.startswith(("webhdfs://", "swebhdfs://")):
        # Here, for its library is needed by those who have such a store only.
        from kconnect.connectors.objects.hadoop import HadoopStore

        return HadoopStore(config, longest_s)
    return Store(config, props, longest_s, files)
