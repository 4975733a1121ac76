"""
Which settings of a config name files of the worker's machine, for `connector.files.allowed.paths`.

The connectors in the box look at each file themselves when they open it (`connectors/host_files.py`). Here is what can be told
from a config alone, for Java's connectors above all: settings that are known to name files, and values that are addresses of
files. Asked by `plugins/reach.py`, which looks where the paths lead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from urllib.parse import unquote

from kconnect import normal_forms
from kconnect.core.settings import references

ALLOWED_PATHS, LINKS = "connector.files.allowed.paths", "connector.files.links.follow"

_NAMES = re.compile(
    r"(?:|.*\.)("
    # Data: Kafka's file connectors, Debezium's schema history, signals and offsets, SpoolDir.
    r"file|file\.(file)?name|filename|(input|finished|error)\.path|(spool|temp|tmp|work|working)\.?(dir|directory|folder|path)"
    # Certificates, keys and stores, of Kafka's clients in Java and C, registries, and databases.
    r"|ssl\.(key|trust)store(\.location)?|ssl\.(ca|certificate|key|crl)\.location|https\.ca\.location|sasl\.kerberos\.keytab"
    r"|(key|trust)store\.(location|path|file)|ssl(rootcert|cert|key|crl)|ssl\.(root\.?cert|cert|key|ca)(\.file|\.path)?"
    # Keys of clouds, and Camel's folders.
    r"|credentials\.(file|path|location)|keyfile|directory\.?name"
    # Whatever says so itself, such as Debezium's openlineage.integration.config.file.path.
    r"|(\w+\.)?(file|directory|folder)\.?path|import_files|cloudsqlgooglecredentialspath|ccdt\.(file|url)"
    r")",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r".*(key.?tab|(key|trust).?store|private.?key|cert(ificate)?s?|credentials?|wallet|known.?hosts|service.?account.?key|ssl.?key"
    r"|tns.?admin|krb5|(conf|buffer|state|backend).?dir|descriptor|[._-]key.?path|json.?file|schemas.?location|profile.?path)"
    r"([._-]?(file|path|dir|location|conf|chain|json))*s?",
    re.IGNORECASE,
)
"""Names of settings with words of keys, certificates and the like, which name a file if the value is a path."""
_PATH = re.compile(r"(/|~|\.\.?/)")
_SQLITE = re.compile(r"(?:jdbc:sqlite:|sqlite(?:\+\w+)?:/{3})(?P<path>[^?]*)", re.IGNORECASE)
_EMBEDDED = re.compile(
    # What is at an address, or in memory, is left out.
    r"jdbc:(?:h2:(?!mem:|tcp:|ssl:)|derby:(?!//|memory:)|hsqldb:(?!mem:|hsqls?:|https?:|res:)|duckdb:(?!:memory:|$))"
    r"(?:\w+:)*(?P<path>[^;?]*)",
    re.IGNORECASE,
)
"""Databases in files of the process that opens them."""
_NO_PATH = ("-----BEGIN", "{")
"""A certificate or a key may be written where its file could be named."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.\-]*://", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![\w+.\-])file:(?=[/\\])", re.IGNORECASE)
"""An address of a file within a text: in a list, or behind `url:` and `jar:`, which Java's own addresses may begin with."""
_MOST = 50
_LONGEST = 200
_BEHIND = re.compile(r"[\s,;!\"']")
_BETWEEN = re.compile(r"[?&;,()]")
_IGNORED = re.compile(r"[\t\n\r]|^[\x00-\x20]+|[\x00-\x20]+$")
"""Parsers of addresses drop these, so that what begins with `fi<tab>le:` is a file."""
_KERBEROS_LINE = re.compile(r"""\s*[\w.$]+\s+\w+(?P<options>(?:\s+\w+\s*=\s*(?:"[^"\\\r\n]*"|[\w.@-]+))*)\s*;\s*""")
_KERBEROS_OPTION = re.compile(r"""(?<!\w)(\w+)\s*=\s*(?:"([^"]*)"|([\w.@-]+))""")
"""A login line as people write it. Java's reader knows comments, two kinds of quotation marks, and letters by their numbers."""
_KERBEROS_FILES = ("keytab", "ticketcache")
_UNREADABLE = 'of a login line that is written in an unusual way: write keyTab="/…" and the like, without escapes and comments'


def named(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each setting of a config that names a file or a folder of this machine, with its path."""
    for setting, value in config.items():
        text = value.strip()
        if not text or setting in references.FOR_THE_WORKER:
            continue
        for path in dict.fromkeys(_paths(setting.strip(), text)):
            yield setting, path


def _paths(setting: str, text: str) -> Iterator[str]:
    address = _IGNORED.sub("", text)
    database = _SQLITE.match(address) or _EMBEDDED.match(address)
    if database is not None:
        yield from _of_database(database["path"])
    elif address[:5].lower() == "file:":
        yield of_url(address)
    elif not _SCHEME.match(text) and not text.startswith(_NO_PATH) and _is_named_as_file(setting, text):
        yield text
    if database is None:
        yield from _within(address)
        if address[:5].lower() == "jdbc:":
            yield from _of_parameters(address)
    if setting.endswith("sasl.jaas.config"):
        yield from _of_login(text)


def _of_login(line: str) -> Iterator[str]:
    """Yield the files of a Kerberos login. A line that could be read in two ways names one that is not allowed."""
    words = line.split(maxsplit=1)
    if not words or not words[0].endswith("Krb5LoginModule"):
        return
    match = _KERBEROS_LINE.fullmatch(line)
    if match is None:
        yield _UNREADABLE
        return
    for name, quoted, bare in _KERBEROS_OPTION.findall(match["options"]):
        if name.lower() in _KERBEROS_FILES and (path := (quoted or bare).removeprefix("file:").removeprefix("FILE:")):
            yield path


def _is_named_as_file(setting: str, text: str) -> bool:
    if _NAMES.fullmatch(setting):
        return True
    return _PATH.match(text) is not None and _KEYS.fullmatch(setting[-_LONGEST:]) is not None


def _within(text: str) -> Iterator[str]:
    """The paths of addresses that do not begin the text: up to what may end one, and to the text's end."""
    for match in islice(_ADDRESS.finditer(text, 1), _MOST + 1):
        rest = text[match.start() :]
        yield of_url(rest)
        yield of_url(_BEHIND.split(rest, maxsplit=1)[0])
    if sum(1 for _ in islice(_ADDRESS.finditer(text, 1), _MOST + 1)) > _MOST:
        # Nobody looks at all of them, and no such path is allowed.
        yield ""


def _of_parameters(url: str) -> Iterator[str]:
    """Yield the files that parameters of a database's URL name, such as keys and certificates."""
    for part in _BETWEEN.split(unquote(url)):
        name, _, path = part.partition("=")
        if _NAMES.fullmatch(name.strip()) and path.strip().startswith("/"):
            yield path.strip()


def _of_database(path: str) -> Iterator[str]:
    """The path as it is and as it may be decoded: by who reads the URL, and by SQLite. In an address, # ends it."""
    for _ in range(3):
        if path and not path.startswith(":memory:"):
            yield re.sub("^//[^/]*", "", path[5:].partition("#")[0]) if path.startswith("file:") else path
        if (decoded := unquote(path)) == path:
            break
        path = decoded


def of_url(url: str) -> str:
    """
    The path of an address such as file:///var/data or file:/var/data, with its percent signs decoded; the text itself, which is
    no absolute path, if it can't be read.
    """
    try:
        return unquote(normal_forms.split(url).path)
    except ValueError:
        return url
