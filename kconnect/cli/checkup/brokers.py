"""
Whether Kafka can be reached as a worker reaches it, stage by stage, and whether this user may do what a worker does.

A part of `kconnect doctor`. Nothing is written: what may be done is asked of the brokers (`authorized operations`). Read next:
`kafka/probe.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kconnect.cli.brokers import Brokers
from kconnect.cli.checkup import reaching, run
from kconnect.cli.findings import ERROR, OK, SKIPPED, WARNING, Finding, count
from kconnect.core.state.records import Topic
from kconnect.errors import ConnectError, ForbiddenError, NotFoundError, UnavailableError
from kconnect.internal_topics import reading
from kconnect.internal_topics import settings as topic_settings
from kconnect.internal_topics.findings import Severity
from kconnect.kafka import probe


def place(server: str) -> str:
    return f"Broker {server}"


def check_server(server: str, client: Mapping[str, Any]) -> Iterator[Finding]:
    """Check one of the bootstrap servers by itself: its name, its port, and whether it accepts the login of `client`."""
    where = place(server)
    host, _, port = server.rpartition(":")
    if not host or not port.isdecimal():
        yield Finding(ERROR, "broker", where, f"{server} is not host:port", "correct bootstrap.servers")
        return
    try:
        reaching.reach(host.strip("[]").rpartition("://")[2], int(port), run.LIMIT_S)
    except reaching.Unreachable as error:
        named = error.stage == reaching.DNS
        remedy = (
            "correct bootstrap.servers, or the name server" if named else ("start the broker, or let connections through to it")
        )
        yield Finding(ERROR, error.stage, where, str(error), remedy)
        return
    yield from _greeted(server, client)


def _greeted(server: str, client: Mapping[str, Any]) -> Iterator[Finding]:
    where, protocol = place(server), str(client.get("security.protocol", "PLAINTEXT")).upper()
    try:
        greeting = probe.greet(server, client, run.LIMIT_S)
    except probe.RefusedError as error:
        yield _refused(where, protocol, error)
        return
    description = f"{count(len(greeting.brokers), 'broker')}, cluster {greeting.cluster_id}"
    yield Finding(OK, "broker", where, f"It answers over {protocol}: {description}")
    for number, host, port in greeting.brokers:
        # What the brokers' `advertised.listeners` say must hold here, too.
        problem = reaching.problem(host, port, run.LIMIT_S)
        if problem is not None:
            message = f"It sends clients on to broker {number} at {host}:{port}: {problem}"
            remedy = "correct advertised.listeners of that broker, so that it names an address that this machine can reach"
            yield Finding(ERROR, "advertised", where, message, remedy)


def _refused(where: str, protocol: str, error: probe.RefusedError) -> Finding:
    kind, message, remedy = {
        probe.SETTINGS: ("protocol", f"The Kafka client can't be created ({error})", "correct the settings"),
        probe.LOGIN: (
            "sasl",
            f"The login over {protocol} was refused ({error})",
            "correct sasl.mechanism and sasl.jaas.config, or the user at the broker",
        ),
        probe.TLS: (
            "tls",
            f"The TLS handshake failed ({error})",
            "correct ssl.truststore.*, ssl.keystore.* and security.protocol, and check that the listener has TLS",
        ),
        probe.PROTOCOL: (
            "protocol",
            f"It accepts connections, but did not answer over {protocol} within {run.LIMIT_S:.0f} s ({error})",
            "correct security.protocol, and check that the port is that of the right Kafka listener",
        ),
    }[error.stage]
    return Finding(ERROR, kind, where, message, remedy)


# --- rights ---


def check_rights(brokers: Brokers) -> Iterator[Finding]:
    """Check what this user may do with the internal topics, the group, and the cluster if a topic is to be created."""
    where = "Rights"
    topics = brokers.topics.known()
    if not topics:
        message = "The workers' topics are not known"
        yield Finding(SKIPPED, "rights", where, message, "give a worker file that names them, to see what its user may do")
        return
    names = list(topics.values())
    if "config" in topics:
        names += [brokers.topics.assignment, brokers.topics.metrics]
    rights = probe.Rights(brokers.client_config("admin"), run.LIMIT_S)
    try:
        may_create = "Create" in rights.on_cluster()
        good = []
        for name, allowed in rights.on_topics(names).items():
            problems = list(_rights_of_topic(name, allowed, may_create))
            yield from problems
            good += [] if problems else [name]
        if good:
            yield Finding(OK, "rights", where, f"Read and Write on {', '.join(good)}")
        if "config" in topics:
            # It is made when somebody needs it.
            for name, allowed in rights.on_topics([brokers.topics.schemas]).items():
                if not isinstance(allowed, NotFoundError):
                    yield from _rights_of_topic(name, allowed, may_create)
            yield from _rights_of_lines(rights, brokers.topics.logs, may_create)
        yield from _policies(brokers)
        if (group := brokers.topics.known_group) is not None:
            yield _rights_of_group(rights, group)
            ids = f"connect-cluster-{group}, and for exactly-once sources {group}-*"
            message = f"Whether it may use the transactional ids can't be checked without writing: {ids}"
            yield Finding(SKIPPED, "rights", where, message, "it needs Write on these, if the brokers have ACLs")
    except ConnectError as error:
        yield Finding(SKIPPED, "rights", where, f"The brokers could not be asked ({error})", "see the findings on the brokers")


def _policies(brokers: Brokers) -> Iterator[Finding]:
    """Check how Kafka keeps the topics, by the checks of `kconnect topics check`; their records are not read."""
    where, names = "Topics", {Topic(role): name for role, name in brokers.topics.known().items()}
    if Topic.CONFIG in names:
        names |= {Topic.ASSIGNMENT: brokers.topics.assignment, Topic.SCHEMAS: brokers.topics.schemas}
    try:
        contents = reading.describe(brokers.client_config("admin"), names)
    except ConnectError as error:
        yield Finding(SKIPPED, "topics", where, str(error))
        return
    # That one is not there was said with the rights; notes are for those who look into one.
    problems = [problem for problem in topic_settings.check(contents) if problem.kind != "topic-missing"]
    problems = [problem for problem in problems if problem.severity is not Severity.NOTE]
    for problem in problems:
        yield Finding(ERROR if problem.severity is Severity.ERROR else WARNING, "topics", where, problem.text, problem.remedy)
    if contents.topics and not problems:
        names_kept = ", ".join(facts.name for facts in contents.topics.values())
        yield Finding(OK, "topics", where, f"Compacted, with the partitions and copies that they need: {names_kept}")


def _rights_of_topic(name: str, allowed: set[str] | ConnectError, may_create: bool) -> Iterator[Finding]:
    where = "Rights"
    if isinstance(allowed, NotFoundError):
        message = f"The topic {name} does not exist"
        if may_create:
            yield Finding(SKIPPED, "rights", where, f"{message} yet; a worker creates it")
        else:
            remedy = "allow the user to create it, or create it with cleanup.policy=compact"
            yield Finding(WARNING, "rights", where, f"{message}, and Create on the cluster is not allowed", remedy)
    elif isinstance(allowed, ConnectError):
        message = f"The user may not describe the topic {name}"
        yield Finding(ERROR, "rights", where, message, _allow("topic", name, "Read", "Write"))
    elif missing := [word for word in ("Read", "Write") if word not in allowed]:
        message = f"{' and '.join(missing)} on the topic {name}: not allowed"
        yield Finding(ERROR, "rights", where, message, _allow("topic", name, *missing))


def _rights_of_lines(rights: probe.Rights, topic: str, may_create: bool) -> Iterator[Finding]:
    """Workers do without the lines of logs."""
    for name, allowed in rights.on_topics([topic] if topic else []).items():
        for finding in _rights_of_topic(name, allowed, may_create):
            if finding.severity == SKIPPED:
                yield finding
            else:
                message = f"{finding.message}; `kconnect logs` reads files only"
                yield replace(finding, severity=WARNING, message=message)


def _rights_of_group(rights: probe.Rights, group: str) -> Finding:
    where = "Rights"
    try:
        if "Read" in rights.on_group(group):
            return Finding(OK, "rights", where, f"Read on the group {group}")
        return Finding(ERROR, "rights", where, f"Read on the group {group}: not allowed", _allow("group", group, "Read"))
    except ForbiddenError:
        return Finding(ERROR, "rights", where, f"The user may not describe the group {group}", _allow("group", group, "Read"))
    except UnavailableError as error:
        return Finding(SKIPPED, "rights", where, f"{error}, as in a cluster that has just been started", "ask again")
    except ConnectError as error:
        return Finding(WARNING, "rights", where, f"The group {group} can't be checked ({error})")


def _allow(kind: str, name: str, *operations: str) -> str:
    options = " ".join(f"--operation {operation}" for operation in operations)
    return f"kafka-acls.sh --bootstrap-server … --add --allow-principal User:… {options} --{kind} {name}"
