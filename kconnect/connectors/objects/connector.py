"""
ObjectStoreSinkConnector: whether a config can be used, and what the store says to it. The files: `task.py`.

pyarrow and obstore are imported where they are needed, so that without them all else works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kconnect.api import ConfigDef, ConfigError, SinkTask
from kconnect.connectors.common import CheckedSink
from kconnect.connectors.libraries import Informed
from kconnect.connectors.objects import settings

if TYPE_CHECKING:
    from kconnect.connectors.objects.stores import Store

PROBE_S = 5.0
INSTALL = "obstore and pyarrow are not installed here: pip install 'kconnect[objects]' on every machine of the cluster"


_OPTIONS = "a setting that begins with store.options. may do it, if obstore has one"


class ObjectStoreSinkConnector(Informed, CheckedSink):
    passthrough = (settings.PASSTHROUGH,)
    instead = {
        **dict.fromkeys(("s3.ssea.name", "s3.sse.customer.key", "s3.sse.kms.key.id", "s3.acl.canned"), _OPTIONS),
        **dict.fromkeys(("hdfs.url", "hadoop.conf.dir"), "store=webhdfs://host:9870/folder is the web address of HDFS"),
        **dict.fromkeys(("hdfs.authentication.kerberos", "connect.hdfs.principal"), f"{settings.TOKEN} has a delegation token"),
        "hive.integration": "no tables are made in Hive's metastore; IcebergSink makes tables",
        "s3.proxy.url": "store.options.proxy_url has the address of a proxy",
        "s3.object.tagging": "files get no tags",
        **dict.fromkeys(("store.kafka.keys", "store.kafka.headers"), "files have values only: a transform puts more into them"),
        "tombstone.encoded.partition": f"{settings.NULLS} is fail or ignore",
    }

    def task_class(self) -> type[SinkTask]:
        from kconnect.connectors.objects.task import ObjectStoreSinkTask

        return ObjectStoreSinkTask

    def config(self) -> ConfigDef:
        return settings.CONFIG

    def problems(self, config: Mapping[str, Any], props: Mapping[str, str]) -> list[tuple[str, str]]:
        return _mismatches(config) or _problems_of_store(config, props, self.worker)


def mismatches_of_store(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return contradictions in the settings of a sink's or a source's store."""
    problems = []
    if bool(config[settings.STORE]) == bool(config[settings.BUCKET]):
        problems.append((settings.STORE, f"Either {settings.STORE} or {settings.BUCKET} must say where files are."))
    if bool(config[settings.ACCESS_KEY].value) != bool(config[settings.SECRET_KEY].value):
        problems.append((settings.SECRET_KEY, f"{settings.ACCESS_KEY} and {settings.SECRET_KEY} belong together."))
    return problems


def _mismatches(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    problems = mismatches_of_store(config)
    kind = settings.simple(config[settings.PARTITIONER])
    if kind == "FieldPartitioner" and not config[settings.FIELDS]:
        problems.append((settings.FIELDS, f"{settings.PARTITIONER}={kind} needs the fields that make folders."))
    if kind == "TimeBasedPartitioner" and not config[settings.PATH]:
        problems.append((settings.PATH, f"{settings.PARTITIONER}={kind} needs the folder of a time."))
    return problems


def _problems_of_store(config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    try:
        from kconnect.connectors.objects import opening, partitioners, stores
    except ImportError:
        return [(settings.FORMAT, f"{INSTALL}.")]
    try:
        partitioners.Partitioner(config)
        store = opening.opened(config, props, worker, PROBE_S)
    except ConfigError as error:
        return [(error.name or settings.STORE, f"{error}.")]
    try:
        store.probe()
    except stores.ERRORS as error:
        return [problem_of_store(config, store, error)]
    return []


def problem_of_store(config: Mapping[str, Any], store: Store, error: Exception) -> tuple[str, str]:
    """The setting, and what the store says."""
    from kconnect.connectors.objects import stores

    name = store.setting_of(error)
    if name == settings.BUCKET and config[settings.STORE]:
        name = settings.STORE
    return name, f"{store.shown} can't be used: {stores.reason(error)}."
