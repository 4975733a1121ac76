"""
Settings by which a config could run code, read the worker's files or have the worker ask others: one table for every client.

Whoever may create a connector reaches many Kafka clients: the task's own (`producer.override.*`), a reporter's, Debezium's
schema history, MirrorMaker's clusters, a registry's. Their settings have the same last parts, so the last part decides,
whatever stands before it. Asked by `overrides.py` for the task's clients and by `plugins/reach.py` for all of a config. The
rules for databases are in `database_rules.py`, those for Camel in `camel_rules.py`, for clouds in `cloud_rules.py` and for the
rest of Java in `java_rules.py`. Read next: `gates.py`, which closes the same doors in a JVM.

Settings that name a certificate, a key, a keytab or a store of these (`ssl.truststore.location`, `ssl.ca.location`,
`sasl.kerberos.keytab`) are not here: many people need them, and what such a file holds is never sent as data.
`connector.files.allowed.paths` limits them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kconnect.core.settings import camel_rules, cloud_rules, database_rules, java_rules, script_rules
from kconnect.core.settings.client_config import is_safe_for_shell
from kconnect.core.settings.rule import Rule, only_of

UNSAFE_ALLOWLIST = "connector.client.config.override.unsafe.allowlist"
IMPLEMENTATIONS = "connector.library.implementations.allowed"
"""The worker's list of what libraries of connectors may load by name: `connectors/libraries.py` has what is on it anyway."""

_KAFKAS = (
    "org.apache.kafka.",
    "io.confluent.",
    "io.debezium.",
    "software.amazon.msk.auth.iam.",
    "com.google.cloud.hosted.kafka.auth.",
)
"""Packages whose classes a Kafka client may be told to load: its own, and the logins of the managed services."""
MODULES = (
    "org.apache.kafka.common.security.plain.PlainLoginModule",
    "org.apache.kafka.common.security.scram.ScramLoginModule",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    "com.sun.security.auth.module.Krb5LoginModule",
    "com.ibm.security.auth.module.Krb5LoginModule",
    "software.amazon.msk.auth.iam.IAMLoginModule",
)
"""The classes that a login of Kafka may name: its own, Kerberos, and Amazon's."""
_SHADED = ("kafkashaded.", "shadedkafka.")
_LONGEST = 200
"""So much of a name's end is looked at: patterns would take long for the longest that a body can have."""
_OVERRIDE = re.compile(r"(producer|consumer|admin)\.override\.")
"""The task's own clients, which are librdkafka's: no setting makes these load a class of Java."""


_CLASS = "makes a Kafka client load a class that is not Kafka's own"
_ELSEWHERE = "sends the worker's requests wherever it says"
_FILES = "reads the worker's files"
_LONGEST_PATTERN, _MOST_CHOICES = 300, 10
_PLAIN = re.compile(r"(?:[\w:=,/\"@ .-]|\\[.$*+?|-])*")


def _is_quick(pattern: str) -> bool:
    """
    Return whether a pattern of Java's takes a time that grows with the text alone, however long that is: names and beginnings
    of names, or what contains one.
    """
    if len(pattern) > _LONGEST_PATTERN or pattern.count("|") >= _MOST_CHOICES:
        return False
    for choice in re.split(r"(?<!\\)\|", pattern):
        parts = choice.split(".*")
        # `.*name.*` is found in one pass. Of `a.*b.*c` each b could be the one.
        in_one_pass = len(parts) <= 2 or (len(parts) == 3 and not parts[2])
        if not in_one_pass or not all(map(_PLAIN.fullmatch, parts)):
            return False
    return True


_OF_CLIENT = r"(?<=producer\.)|(?<=consumer\.)|(?<=admin\.)|(?<=cluster\.)|(?<=reporter\.)|(?<=confluent\.topic\.)"

_RULES = (
    Rule(r"sasl\.oauthbearer\.(token|jwks)\.endpoint\.url", _ELSEWHERE),
    Rule(r"sasl\.oauthbearer\.metadata\.authentication\.type", "asks the cloud for the worker's own credentials"),
    Rule(r"sasl\.oauthbearer\..*file", _FILES),
    Rule(r"sasl\.kerberos\.kinit\.cmd", "runs a command on the worker's machine"),
    Rule(r"ssl\.engine\.(location|id)|ssl\.providers|plugin\.library\.paths", "loads native code into the worker's processes"),
    Rule(
        r"sasl\.kerberos\.(principal|keytab|service\.name)",
        "goes into a command line, and has characters that a shell heeds or a blank",
        is_safe_for_shell,
        # Of the task's own clients `client_config.unfit` says it, which no list overrides.
        java=True,
    ),
    Rule(r"internal\.termination\.signal", "may end the process, with all that runs in it", lambda value: value in ("", "0")),
    Rule(r"offset\.store\.path", "writes files on the worker's machine"),
    Rule(
        r"offset\.store\.method", "writes files on the worker's machine", lambda value: value.lower() in ("", "broker", "none")
    ),
    Rule(
        r"security\.providers|ssl\.engine\.factory\.class|sasl\.(client|login|server)\.callback\.handler\.class|sasl\.login\.class"
        r"|sasl\.oauthbearer\.jwt\.(retriever|validator)\.class|interceptor\.classes|metric\.reporters"
        r"|bearer\.auth\.custom\.provider\.class|rule\.(executors|actions)\.[^.]+\.class",
        _CLASS,
        only_of(*_KAFKAS),
        java=True,
    ),
    Rule(
        r"metrics\.jmx\.(include|exclude|(white|black)list)",
        "has Kafka's clients try a pattern while all others of the process wait, and may take as long as it likes; names of "
        "beans, with .* at an end, can't",
        _is_quick,
        java=True,
    ),
    # Connectors have settings of these names, too: they are a client's behind a client's prefix.
    Rule(
        rf"({_OF_CLIENT})(partitioner\.class|partition\.assignment\.strategy|(key|value)\.(de)?serializer)",
        _CLASS,
        only_of(*_KAFKAS),
        java=True,
    ),
    Rule(
        r"config\.providers(\.[^.]+\.class)?",
        "has a Kafka client read the worker's files and environment by itself",
        java=True,
    ),
)


_HANDLERS = ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
_TOKENS = (
    ("com.google.cloud.hosted.kafka.auth.", "Google", re.compile(r"([\w.-]+\.cloud\.goog(:\d+)?)?", re.IGNORECASE)),
    (
        # What it sends is good at every cluster of Amazon's; the signature of IAMLoginModule at the broker that is asked only.
        "software.amazon.msk.auth.iam.IAMOAuthBearer",
        "Amazon",
        re.compile(r"([\w.-]+\.kafka(-serverless)?\.[\w-]+\.amazonaws\.com(\.cn)?(:\d+)?)?", re.IGNORECASE),
    ),
)
"""Classes that log in by a token of the machine, whose it is, and the brokers that it is for."""


@dataclass(frozen=True)
class Danger:
    """A danger of a setting: `part` is the name by which the worker's allowlist allows it."""

    setting: str
    part: str
    reason: str


_COMPILED = tuple(
    (re.compile(rf"(?:|.*\.)(?P<part>{rule.name})", re.DOTALL), rule)
    for rule in (*_RULES, *database_rules.RULES, *java_rules.RULES)
)


def dangers(setting: str, value: str, allowed: Sequence[str] = ()) -> Iterator[Danger]:
    """
    Yield what is dangerous about a setting of a connector's config. `allowed` is the worker's list: of last parts, or of whole
    names.
    """
    if setting in allowed:
        return
    # No client takes names with blanks or capitals, but a connector may tidy them up before it hands them on.
    name, text = database_rules.plain(setting), value.strip()
    ours = _OVERRIDE.match(name) is not None
    name = name[-_LONGEST:]
    for pattern, rule in _COMPILED:
        match = pattern.fullmatch(name)
        if match is None or (rule.java and ours) or rule.harmless(text):
            continue
        part = match["part"]
        if part not in allowed:
            yield Danger(setting, part, rule.reason)
    if name == "sasl.jaas.config" or name.endswith(".sasl.jaas.config"):
        module = _strange_module(text, ours)
        if module and "sasl.jaas.config" not in allowed:
            yield Danger(setting, "sasl.jaas.config", module)
    plain = database_rules.plain(setting)
    for part, reason in (
        *database_rules.of_url(setting, value),
        *camel_rules.dangers(plain, value),
        *cloud_rules.dangers(plain, value),
        *java_rules.dangers(plain, value),
    ):
        if part not in allowed:
            yield Danger(setting, part, reason)


def of_config(config: Mapping[str, str], allowed: Sequence[str] = ()) -> Iterator[Danger]:
    """Yield what is dangerous in a config, whatever the prefix."""
    for setting, value in config.items():
        yield from dangers(setting, value, allowed)
    yield from _lent_tokens(config, allowed)
    for setting, part, reason in (
        *cloud_rules.of_config(config),
        *database_rules.of_config(config),
        *script_rules.of_config(config),
    ):
        if {part, setting}.isdisjoint(allowed):
            yield Danger(setting, part, reason)


def _lent_tokens(config: Mapping[str, str], allowed: Sequence[str]) -> Iterator[Danger]:
    """
    Yield the logins by a cloud's token of the machine that go to brokers which are not that cloud's. A client's brokers are
    those whose setting begins alike, as `target.cluster.bootstrap.servers` and `target.producer.sasl…`.
    """
    for setting, value in config.items():
        part = next((part for part in _HANDLERS if setting.strip().lower().endswith(part)), None)
        if part is None or not {part, setting}.isdisjoint(allowed):
            continue
        for classes, cloud, brokers in _TOKENS:
            if value.strip().startswith(classes) and not all(map(brokers.fullmatch, _servers_beside(setting, config))):
                yield Danger(setting, part, f"sends the machine's token of {cloud} to brokers that are not {cloud}'s")


def _servers_beside(setting: str, config: Mapping[str, str]) -> list[str]:
    servers = {name: text for name, text in config.items() if name.strip().lower().endswith("bootstrap.servers")}
    first = setting.partition(".")[0]
    alike = [text for name, text in servers.items() if name.partition(".")[0] == first] or list(servers.values())
    return [server.strip() for text in alike for server in text.split(",")]


def _strange_module(line: str, ours: bool) -> str | None:
    """
    Why a login line is dangerous, None if it is not. Java's clients take exactly one module, whose name comes first; a comment
    or a quotation mark before it is a trick.
    """
    words = line.split()
    if not words:
        return None
    module = words[0]
    short = re.search(r"\b(JndiLoginModule|LdapLoginModule)\b", line)
    if short is not None:
        return f"lets {short.group()} load code from elsewhere"
    for prefix in _SHADED:
        module = module.removeprefix(prefix)
    # librdkafka's clients know four modules by their last name, and refuse all others themselves.
    if module in MODULES or ours:
        return None
    return "names a login module that is not Kafka's own"
