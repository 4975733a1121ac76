"""
The settings of the HTTP sink. Names are those of the HTTP sink that people know, as far as it has them.

Read by `sink.py`, which checks them against each other, and by `requests.py` and `service.py`, which do what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, NonEmptyString, OneOf, Range, Width
from kconnect.connectors.common import Patience
from kconnect.connectors.passthrough import CheckedBy, Passthrough
from kconnect.connectors.setting_rows import DOUBLE, INT, LONG, SECRET, STRING, retry_keys, section

URL, METHOD, HEADERS, SEPARATOR = "http.api.url", "request.method", "headers", "header.separator"
FORMAT, TEMPLATE, NULLS = "request.body.format", "request.body.template", "behavior.on.null.values"
BATCH, PREFIX, SUFFIX, BETWEEN = "batch.max.size", "batch.prefix", "batch.suffix", "batch.separator"
AUTH, USER, PASSWORD = "auth.type", "connection.user", "connection.password"
TOKEN_URL, CLIENT_ID, CLIENT_SECRET = "oauth2.token.url", "oauth2.client.id", "oauth2.client.secret"
SCOPE, TOKEN_PROPERTY, CLIENT_MODE = "oauth2.client.scope", "oauth2.token.property", "oauth2.client.auth.mode"
ON_ERROR, RETRIES, BACKOFF, RETRY_ON = "behavior.on.error", "max.retries", "retry.backoff.ms", "retry.on.status.codes"
RATE, CONNECT_TIMEOUT, TIMEOUT = "requests.per.second", "http.connect.timeout.ms", "http.request.timeout.ms"
ANSWERS, BROKERS = "reporter.result.topic.name", "reporter.bootstrap.servers"
PASSTHROUGH = Passthrough("reporter.producer.", "librdkafka", CheckedBy.POLICY)
MAX_WAIT, MAX_BYTES = "retry.wait.max.ms", "http.response.max.bytes"
PROXY, CA, CERTIFICATE, KEY = "http.proxy.url", "ssl.ca.location", "ssl.certificate.location", "ssl.key.location"

_WHERE, _WHAT, _LOGIN, _TROUBLE, _TLS = "Service", "Requests", "Login", "Trouble and limits", "TLS and proxy"
_ANSWERS = "Answers"


def codes(text: str) -> list[range]:
    """
    Parse codes such as `408,429,500-`: single codes, and ranges whose end may be open. Raise ConfigError if it is anything
    else.
    """
    ranges = []
    for part in filter(None, (entry.strip() for entry in text.split(","))):
        first, dash, last = part.partition("-")
        try:
            ranges.append(range(int(first), 600 if dash and not last else int(last or first) + 1))
        except ValueError:
            raise ConfigError(RETRY_ON, text, "Codes are numbers and ranges, such as 408,429,500-") from None
    return ranges


def patience(config: Mapping[str, Any]) -> Patience:
    """Return the patience with the service of a parsed config."""
    return Patience(RETRIES, config[RETRIES], config[BACKOFF])


def _are_codes(name: str, value: Any) -> None:
    codes(value or "")


def _auth_is(*types: str) -> Any:
    return lambda name, values: (values.get(AUTH) or "").upper() in types


def _has_headers(name: str, values: Mapping[str, Any]) -> bool:
    return bool(values.get(HEADERS))


CONFIG = ConfigDef(
    *section(
        _WHERE,
        STRING.high(
            URL,
            doc="The address that requests go to. ${topic}, ${partition}, ${offset}, ${key} and fields of the value, such as "
            "${id} or ${address.city}, stand for those of the record; records of one request have the same address.",
            validator=NonEmptyString(),
            width=Width.LONG,
        ),
        STRING.high(
            METHOD,
            "POST",
            "The method of requests. What is deleted by behavior.on.null.values=delete is so by DELETE.",
            OneOf(("POST", "PUT", "PATCH", "DELETE"), ignore_case=True),
        ),
        SECRET.medium(
            HEADERS,
            "",
            "Headers of each request, as name:value, separated by header.separator. They may have ${…}, as the address.",
            width=Width.LONG,
            dependents=(SEPARATOR,),
        ),
        STRING.low(SEPARATOR, "|", "What is between two headers.", NonEmptyString(), visible=_has_headers),
    ),
    *section(
        _WHAT,
        STRING.medium(
            FORMAT,
            "json",
            "json: the value as a JSON document. string: a text or bytes as they are, anything else as Connect shows it.",
            OneOf(("json", "string"), ignore_case=True),
        ),
        STRING.medium(
            TEMPLATE,
            "",
            "A text with ${…} in place of the value: ${value} is all of it, the rest as in http.api.url. With the format json, "
            "what is put in is JSON, quotes included.",
            width=Width.LONG,
        ),
        STRING.medium(
            NULLS,
            "ignore",
            "What a record without a value does: nothing, a DELETE request without a body, or it is refused as a bad record.",
            OneOf(("ignore", "delete", "fail"), ignore_case=True),
        ),
        INT.high(
            BATCH,
            1,
            "How many records one request has at most. From 2 on, its body is batch.prefix, the records with batch.separator "
            "between them, and batch.suffix, for single records, too.",
            Range.between(1, 100_000),
            dependents=(PREFIX, SUFFIX, BETWEEN),
        ),
        STRING.low(
            PREFIX,
            None,
            "What a body of several records begins with. By default [ with the format json.",
            visible=lambda name, values: (values.get(BATCH) or 1) > 1,
        ),
        STRING.low(
            BETWEEN, ",", "What is between two records of a body.", visible=lambda name, values: (values.get(BATCH) or 1) > 1
        ),
        STRING.low(
            SUFFIX,
            None,
            "What a body of several records ends with. By default ] with the format json.",
            visible=lambda name, values: (values.get(BATCH) or 1) > 1,
        ),
    ),
    *section(
        _LOGIN,
        STRING.high(
            AUTH,
            "NONE",
            "How requests are authenticated. OAUTH2 gets a token by client credentials, and a new one when that is over.",
            OneOf(("NONE", "BASIC", "OAUTH2"), ignore_case=True),
            dependents=(USER, PASSWORD, TOKEN_URL, CLIENT_ID, CLIENT_SECRET, SCOPE, TOKEN_PROPERTY, CLIENT_MODE),
        ),
        STRING.medium(USER, "", "The user.", visible=_auth_is("BASIC")),
        SECRET.medium(PASSWORD, "", "The password.", visible=_auth_is("BASIC")),
        STRING.medium(TOKEN_URL, "", "Where tokens come from.", visible=_auth_is("OAUTH2")),
        STRING.medium(CLIENT_ID, "", "The client.", visible=_auth_is("OAUTH2")),
        SECRET.medium(CLIENT_SECRET, "", "Its secret.", visible=_auth_is("OAUTH2")),
        STRING.medium(SCOPE, "", "The scope to ask for; by default none is asked for.", visible=_auth_is("OAUTH2")),
        STRING.low(
            TOKEN_PROPERTY,
            "access_token",
            "The property of the answer that is the token.",
            NonEmptyString(),
            visible=_auth_is("OAUTH2"),
        ),
        STRING.low(
            CLIENT_MODE,
            "header",
            "Whether client and secret are sent in the header of the request for a token, as HTTP Basic has it, or in its "
            "body.",
            OneOf(("header", "url"), ignore_case=True),
            visible=_auth_is("OAUTH2"),
        ),
    ),
    *section(
        _TROUBLE,
        STRING.medium(
            ON_ERROR,
            "fail",
            "What follows when the service refuses a request for good. fail: its records go to the dead letter queue if there "
            "is one, else the task fails. log, ignore: they are passed over, with a line in the log or without.",
            OneOf(("fail", "log", "ignore"), ignore_case=True),
        ),
        STRING.medium(
            RETRY_ON,
            "408,425,429,500-",
            "The status codes after which a request is made again: numbers and ranges, separated by commas. It is made again "
            "also when the service can't be reached.",
            _are_codes,
        ),
        *retry_keys(
            "a request is made again",
            heeds=" A Retry-After of the service is heeded if it asks for longer.",
            dependents=(MAX_WAIT,),
        ),
        LONG.low(
            MAX_WAIT,
            3_600_000,
            "How long a Retry-After of the service may make the task wait, in ms. If the service asks for longer, it is asked "
            "again after this time.",
            Range.between(0, 7 * 24 * 3_600_000),
            order=8,
        ),
        INT.medium(
            MAX_BYTES,
            32 * 1024 * 1024,
            "How many bytes an answer may have, unpacked. In memory a document in JSON takes up to 20 times as much. The "
            "source fails on a longer one; the sink cuts what it keeps of one.",
            Range.between(1024, 1024 * 1024 * 1024),
            order=9,
        ),
        DOUBLE.medium(
            RATE, 0.0, "How many requests a second each task makes at most. 0: no limit.", Range.at_least(0), order=5
        ),
        INT.low(CONNECT_TIMEOUT, 10_000, "How long it may take to connect, in ms.", Range.at_least(1), order=6),
        INT.low(
            TIMEOUT,
            30_000,
            "How long the service may take for all of its answer, in ms: from the begin of the request to the last byte.",
            Range.at_least(1),
            order=7,
        ),
    ),
    *section(
        _TLS,
        STRING.low(
            CA,
            "",
            "A file in PEM with the certificates that the service's must be signed by. By default those that httpx brings "
            "along.",
        ),
        STRING.low(CERTIFICATE, "", "A file in PEM with the client's certificate."),
        STRING.low(KEY, "", "A file in PEM with its key, if that is not in the same file. It has no passphrase."),
        STRING.low(PROXY, "", "The URL of an HTTP proxy."),
    ),
    *section(
        _ANSWERS,
        STRING.medium(
            ANSWERS,
            "",
            "A topic for the answers of the service, one for each request that it took. Empty: they are not kept.",
            width=Width.MEDIUM,
            dependents=(BROKERS,),
        ),
        STRING.medium(
            BROKERS,
            "",
            "The brokers for that. What begins with reporter.producer. is the producer's, by librdkafka's names, such as "
            "reporter.producer.security.protocol.",
            width=Width.MEDIUM,
            visible=lambda name, values: bool(values.get(ANSWERS)),
        ),
    ),
)
