"""
Which settings of a config name files of the worker's machine, for `connector.files.allowed.paths`.

The connectors in the box look at each file themselves when they open it (`connectors/host_files.py`). Here is what can be told
from a config alone, for Java's connectors above all: settings that are known to name files, and values that are addresses of
files. Asked by `plugins/reach.py`, which looks where the paths lead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from kconnect.core.settings import references

ALLOWED_PATHS = "connector.files.allowed.paths"

_NAMES = re.compile(
    r"(?:|.*\.)("
    # Data: Kafka's file connectors, Debezium's schema history, signals and offsets, SpoolDir.
    r"file|file\.(file)?name|filename|(input|finished|error)\.path|(spool|temp|tmp|work|working)\.?(dir|directory|folder|path)"
    # Certificates, keys and stores, of Kafka's clients in Java and C, registries, and databases.
    r"|ssl\.(key|trust)store(\.location)?|ssl\.(ca|certificate|key|crl)\.location|https\.ca\.location|sasl\.kerberos\.keytab"
    r"|(key|trust)store\.(location|path|file)|ssl(rootcert|cert|key|crl)|ssl\.(root\.?cert|cert|key|ca)(\.file|\.path)?"
    r")",
    re.IGNORECASE,
)
_SQLITE = re.compile(r"(?:jdbc:sqlite:|sqlite(?:\+\w+)?:/{3})(?P<path>[^?]*)", re.IGNORECASE)
_STORE_OPTION = re.compile(r"\b(?:keytab|ticketCache)\s*=\s*[\"']?(?P<path>[^\"'\s;]+)", re.IGNORECASE)


def named(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each setting of a config that names a file or a folder of this machine, with its path."""
    for setting, value in config.items():
        text = value.strip()
        if not text or setting in references.FOR_THE_WORKER:
            continue
        for path in _paths(setting.strip(), text):
            yield setting, path


def _paths(setting: str, text: str) -> Iterator[str]:
    sqlite = _SQLITE.match(text)
    if sqlite is not None:
        path = unquote(sqlite["path"])
        if path and not path.startswith(":memory:"):
            yield path.removeprefix("file:")
    elif re.match(r"file:", text, re.IGNORECASE):
        yield of_url(text)
    elif "://" not in text and _NAMES.fullmatch(setting) and not text.startswith("-----BEGIN"):
        yield text
    if setting.endswith("sasl.jaas.config"):
        for match in _STORE_OPTION.finditer(text):
            yield match["path"].removeprefix("file:")


def of_url(url: str) -> str:
    """The path of an address such as file:///var/data or file:/var/data, with its percent signs decoded."""
    return unquote(urlsplit(url).path)
