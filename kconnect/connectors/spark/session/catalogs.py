"""
Catalogs of the worker's file: what their services answer is looked at, as if somebody else had written it.

Iceberg merges what a REST catalog answers over the worker's own settings, and then asks the address that a property names, with
its logins, and loads the class that one names. Where a table's files are, each catalog says, and a folder of this machine is
opened as any other. So the merged properties are looked at as soon as the catalog is made, before anything is asked elsewhere,
and its files are never those of this machine unless the worker's own settings have it there. IcebergSink's are in
`iceberg/guard.py`, which can't be had here. Called by `iceberg.py`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from kconnect.connectors.addresses import origin_of
from kconnect.connectors.spark.session.stores import closed
from kconnect.connectors.spark.session.tables import ElsewhereError, java_name

_FILE = "file"
_WAREHOUSE = "warehouse"
_STORES = r"(?:s3|client|adls|gcs|hdfs|glue|dynamodb|hive|rest|rest\.client)\."
_ADDRESS = re.compile(
    rf"uri|oauth2-server-uri|{_STORES}(?:.*[.\-_])?(?:ur[il]|endpoint|host|hostname|authority|proxy|connection-string.*)",
    re.IGNORECASE,
)
_PATHS = frozenset(("s3.signer.endpoint", "rest.remote-signing.endpoint"))
"""Addresses by their names, but a path on a host that another property says."""
_LOADS = re.compile(r"(?:.*[.\-_])?impl|client\.factory|client\.credentials-provider|encryption\.kms-type", re.IGNORECASE)
_CLASSES = frozenset(
    f"org.apache.iceberg.{name}"
    for name in (
        *("io.ResolvingFileIO", "hadoop.HadoopFileIO", "aws.s3.S3FileIO", "gcp.gcs.GCSFileIO", "azure.adlsv2.ADLSFileIO"),
        *("metrics.LoggingMetricsReporter", "rest.RESTMetricsReporter"),
    )
)
"""What Iceberg itself brings: catalogs say by which of these their files are read."""
_IDENTITY = re.compile(
    r"credential|scope|token-exchange-enabled|rest\.(?:auth\..*|sigv4.*)|client\.assume-role\..*|(?:auth|ssl)\..*"
    r"|s3\.access-grants\..*|.*\.profile(?:-name)?",
    re.IGNORECASE,
)
"""Who the worker says it is, and how: a service may not choose that."""
_IN_HOSTS = re.compile(rf"{_STORES}(?:.*[.\-_])?(?:region|account-name)", re.IGNORECASE)
"""What becomes a part of a host's name."""
_OF_TABLES = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
_PROVIDER = "write.location-provider.impl"

Origin = tuple[str, str, int]


def opened(spark: Any, name: str) -> None:
    """
    Have a session make a catalog, if it has not: for its files those of this machine are none. ElsewhereError if its service
    has answered what leads elsewhere; then nothing is asked by it any more.
    """
    settings = _own(spark, name)
    with contextlib.nullcontext() if _is_local(settings.get(_WAREHOUSE, "")) else closed(spark, _FILE):
        plugin = spark._jsparkSession.sessionState().catalogManager().catalog(name)
    from py4j.java_gateway import is_instance_of

    if not is_instance_of(spark._sc._gateway, plugin, "org.apache.iceberg.spark.source.HasIcebergCatalog"):
        return
    catalog = _within(plugin.icebergCatalog())
    if str(catalog.getClass().getName()) != "org.apache.iceberg.rest.RESTCatalog":
        return
    try:
        _check(name, settings, {str(key): str(value) for key, value in catalog.properties().items()})
    except ElsewhereError:
        # Else it asked for new tokens by itself, in a thread.
        catalog.close()
        raise


def check_table(spark: Any, name: str, table: Any) -> None:
    """Raise ElsewhereError for a table that a catalog has elsewhere than the worker's settings allow."""
    settings = _own(spark, name)
    properties = {str(key): str(value) for key, value in table.properties().items()}
    places = [table.location(), table.operations().current().metadataFileLocation()]
    places += [properties[key] for key in _OF_TABLES if key in properties]
    for place in filter(None, map(str, places)):
        if _is_local(place) and not _is_below(settings.get(_WAREHOUSE, ""), place):
            raise ElsewhereError(
                "its catalog has it in a folder of this machine. If that is right, set "
                f"lake.spark.sql.catalog.{name}.{_WAREHOUSE} to a folder that it is in (file:///…), in the worker's file"
            )
    if properties.get(_PROVIDER):
        raise ElsewhereError(f"its property {_PROVIDER} names a class that would say where its files are")
    # What a catalog answers for this table alone is in the properties of its files.
    _check(name, settings, _of_files(table))


def _of_files(table: Any) -> dict[str, str]:
    """Return the properties of what opens a table's files; nothing for a class that tells none."""
    try:
        return {str(key): str(value) for key, value in table.io().properties().items()}
    except Exception as error:
        if "UnsupportedOperation" in java_name(error):
            return {}
        raise


def _own(spark: Any, name: str) -> dict[str, str]:
    """Return what the worker's settings say of a catalog, without the names' beginning."""
    prefix = f"spark.sql.catalog.{name}."
    every = spark.sparkContext.getConf().getAll()
    return {str(key).removeprefix(prefix): str(value) for key, value in every if str(key).startswith(prefix)}


def _within(catalog: Any) -> Any:
    """Return the catalog behind one that keeps tables."""
    while str(catalog.getClass().getSimpleName()) == "CachingCatalog":
        field = catalog.getClass().getDeclaredField("catalog")
        field.setAccessible(True)
        catalog = field.get(catalog)
    return catalog


def _check(catalog: str, settings: Mapping[str, str], merged: Mapping[str, str]) -> None:
    origins = {origin for value in settings.values() if (origin := origin_of(value)) is not None}
    for name, value in merged.items():
        if settings.get(name) == value or not value:
            continue
        why = ""
        if _LOADS.fullmatch(name) and value not in _CLASSES:
            why = "names a class that would be loaded"
        elif _IDENTITY.fullmatch(name):
            why = "says who logs in, and how, which the worker's settings alone do"
        elif _ADDRESS.fullmatch(name) and name not in _PATHS and origin_of(value) not in origins:
            why = "is another address than those of the worker's settings"
        elif _IN_HOSTS.fullmatch(name) and not re.fullmatch(r"[A-Za-z0-9_-]+", value):
            why = "is no part of a host's name, and would lead to another host"
        if why:
            setting = f"lake.spark.sql.catalog.{catalog}.{name}"
            raise ElsewhereError(f"its catalog has answered {name}, which {why}. If that is right, set {setting}")


def _is_local(place: str) -> bool:
    """Whether Hadoop, which has no scheme for a path alone, opens a file of this machine for it."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.\-]*):", place)
    return bool(place) and (place.startswith("/") or (scheme is not None and scheme[1].lower() == _FILE))


def _is_below(folder: str, place: str) -> bool:
    """Whether a local place is in a local folder."""
    parts = _path(place).split("/")
    return _is_local(folder) and ".." not in parts and f"{_path(place)}/".startswith(f"{_path(folder).rstrip('/')}/")


def _path(place: str) -> str:
    return "/" + re.sub(r"(?i)^file:", "", place).lstrip("/")
