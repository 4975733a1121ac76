"""
The settings of the HTTP source. How a service is reached is set as for the sink; what is asked for, and what of the answers are
records, is described here. Read by `source.py` and `pages.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, NonEmptyString, OneOf, Range, Width
from kconnect.connectors.http import growth, origins, settings
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, LONG, STRING, section

TOPIC, INTERVAL, BODY = "kafka.topic", "request.interval.ms", "request.body.template"
RECORDS, KEY, TIMESTAMP = "records.path", "key.path", "timestamp.path"
PAGES, CURSOR, FIRST, SIZE = "page.mode", "page.cursor.path", "page.first", "page.size"
SINCE, SINCE_FIRST, EQUAL = "since.path", "since.first", "since.max.equal.records"
ORIGINS, ORIGINS_INTERNAL = "page.other.origins", "page.other.origins.internal"
MAX_DEPTH, MAX_RECORDS = "http.response.max.depth", "http.response.max.records"

_WHAT, _PAGES = "Records", "Pages and what is new"
_SHOWN = 200


def compiled(name: str, text: str | None) -> Any:
    """The path, None if it is empty. ConfigError, naming the setting, if it is none."""
    if not text:
        return None
    try:
        import jmespath
    except ImportError:
        needed = "jmespath is not installed here: pip install 'kconnect[http]' on every machine of the cluster"
        raise ConfigError(name, text, needed) from None
    try:
        path = jmespath.compile(text)
        times = growth.of(path.parsed)
    except jmespath.exceptions.JMESPathError as error:
        raise ConfigError(name, text, f"It is no JMESPath: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ConfigError(name, text[:_SHOWN], "It is nested too deeply, or has too many parts one after the other") from None
    if times > growth.MOST:
        rule = f"It may make {times:.3g} times as much of an answer as there is in it, of which {growth.MOST} may be"
        raise ConfigError(name, text[:_SHOWN], rule)
    return path


def _path(name: str, value: Any) -> None:
    compiled(name, value)


def _mode_is(*modes: str) -> Any:
    return lambda name, values: (values.get(PAGES) or "").lower() in modes


def _has_since(name: str, values: Mapping[str, Any]) -> bool:
    return bool(values.get(SINCE))


_OF_SERVICE = (
    settings.HEADERS,
    settings.SEPARATOR,
    settings.AUTH,
    settings.USER,
    settings.PASSWORD,
    settings.TOKEN_URL,
    settings.CLIENT_ID,
    settings.CLIENT_SECRET,
    settings.SCOPE,
    settings.TOKEN_PROPERTY,
    settings.CLIENT_MODE,
    settings.RETRY_ON,
    settings.RETRIES,
    settings.BACKOFF,
    settings.MAX_WAIT,
    settings.RATE,
    settings.CONNECT_TIMEOUT,
    settings.TIMEOUT,
    settings.MAX_BYTES,
    settings.CA,
    settings.CERTIFICATE,
    settings.KEY,
    settings.PROXY,
)

CONFIG = ConfigDef(
    *section(
        "Service",
        STRING.high(
            settings.URL,
            doc="The address to ask. ${since}, ${cursor}, ${offset}, ${page} and ${size} stand for where the connector is, and "
            "are percent-encoded.",
            validator=NonEmptyString(),
            width=Width.LONG,
        ),
        STRING.medium(
            settings.METHOD, "GET", "The method of requests.", OneOf(("GET", "POST"), ignore_case=True), dependents=(BODY,)
        ),
        STRING.low(
            BODY,
            "",
            "With the method POST: the body of requests, in JSON. It may have ${…} as the address, which are put in as JSON.",
            order=5,
            width=Width.LONG,
            visible=lambda name, values: (values.get(settings.METHOD) or "").upper() == "POST",
        ),
    ),
    *[settings.CONFIG.keys[name] for name in _OF_SERVICE],
    *section(
        _WHAT,
        STRING.high(TOPIC, doc="The topic to write to.", validator=NonEmptyString()),
        LONG.high(INTERVAL, 15_000, "How long after the last page the service is asked again, in ms.", Range.at_least(0)),
        STRING.high(
            RECORDS,
            "@",
            "The JMESPath of the list of records in an answer, which is JSON. @ is all of it. A value that is no list is one "
            "record; null is none.",
            _path,
        ),
        STRING.medium(KEY, "", "The JMESPath of the key in a record.", _path),
        STRING.low(
            TIMESTAMP,
            "",
            "The JMESPath of the timestamp in a record: milliseconds since 1970, or a time in ISO 8601. By default the time of "
            "the answer.",
            _path,
        ),
    ),
    *section(
        _PAGES,
        STRING.high(
            PAGES,
            "none",
            "How the next page is found. cursor: the answer has what ${cursor} is next, or the next address, at "
            "page.cursor.path. link: its header Link has an address with rel=next. offset: ${offset} is how many records came "
            "before. page: ${page} is a number. The last two end with a page that has fewer than page.size records.",
            OneOf(("none", "cursor", "link", "offset", "page"), ignore_case=True),
            dependents=(CURSOR, FIRST, SIZE),
        ),
        STRING.medium(
            CURSOR,
            "",
            "The JMESPath of the cursor, or of the next address, in an answer. Where it finds null, there is no next page.",
            _path,
            visible=_mode_is("cursor"),
        ),
        INT.low(FIRST, 1, "The number of the first page.", Range.at_least(0), visible=_mode_is("page")),
        INT.medium(
            SIZE, 100, "How many records a page has, for ${size}.", Range.at_least(1), visible=_mode_is("offset", "page")
        ),
        STRING.high(
            SINCE,
            "",
            "The JMESPath, in a record, of what says how new it is, such as an updated_at or an id that grows. The greatest "
            "one that was seen is ${since} of the next round. Without it each round is all there is.",
            _path,
            dependents=(SINCE_FIRST, EQUAL),
        ),
        STRING.medium(SINCE_FIRST, "", "What ${since} is in the first round.", visible=_has_since),
        INT.low(
            EQUAL,
            5000,
            "How many records may be equally new. They are told from each other by marks that stand in the offset, since a "
            "service gives them once more. Beyond that the task fails.",
            Range(1, 50_000),
            visible=_has_since,
        ),
        LIST.low(
            ORIGINS,
            "",
            "Where else the address of a next page may be, as origins: https://pages.example.com. That of http.api.url is "
            "always allowed. Another one gets no login, none of the headers, no cookies and no certificate of the client, and "
            "GET requests only.",
            origins.are_origins,
            visible=_mode_is("cursor", "link"),
            dependents=(ORIGINS_INTERNAL,),
        ),
        BOOLEAN.low(
            ORIGINS_INTERNAL,
            False,
            "Whether these may have addresses that are not those of the internet: of private networks, or of this machine. It "
            "is needed, too, if they are reached by a proxy, which resolves their names by itself.",
            visible=_mode_is("cursor", "link"),
        ),
    ),
    *section(
        "Trouble and limits",
        INT.low(
            MAX_DEPTH,
            200,
            "How deeply objects and lists may be nested in an answer.",
            Range.between(1, 500),
            order=11,
        ),
        INT.low(
            MAX_RECORDS,
            250_000,
            "How many records an answer may have. All of them are in memory at once, each with a kilobyte or so beside its "
            "value.",
            Range.at_least(1),
            order=12,
        ),
    ),
)
