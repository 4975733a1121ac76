"""
Whether Kafka can be reached as a worker reaches it, stage by stage, and whether this user may do what a worker does.

A part of `kconnect doctor`. Nothing is written: what may be done is asked of the brokers (`authorized operations`). Read next:
`kafka/admin.py`, for what a worker itself does at its start.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AclOperation, AdminClient

from kconnect.cli.brokers import Brokers
from kconnect.cli.checkup import reaching, run
from kconnect.cli.findings import ERROR, OK, SKIPPED, WARNING, Finding, count
from kconnect.cli.topics import reading
from kconnect.cli.topics import settings as topic_settings
from kconnect.cli.topics.findings import Severity
from kconnect.core.state.records import Topic
from kconnect.errors import ConnectError
from kconnect.kafka.codes import STARTING

_NEVER_S = 3600
_PATIENCE_S = 1.0

_NEEDED = {AclOperation.READ: "Read", AclOperation.WRITE: "Write"}


def place(server: str) -> str:
    return f"Broker {server}"


def check_server(server: str, client: Mapping[str, Any]) -> Iterator[Finding]:
    """One of the bootstrap servers by itself: its name, its port, and what it makes of the login of `client`."""
    where = place(server)
    host, _, port = server.rpartition(":")
    if not host or not port.isdecimal():
        yield Finding(ERROR, "broker", where, f"{server} is no host:port", "correct bootstrap.servers")
        return
    try:
        reaching.reach(host.strip("[]").rpartition("://")[2], int(port), run.LIMIT_S)
    except reaching.Unreachable as error:
        named = error.stage == reaching.DNS
        remedy = "correct bootstrap.servers, or the name server" if named else "start the broker, or open the way"
        yield Finding(ERROR, error.stage, where, str(error), remedy)
        return
    yield from _greeted(server, client)


def _greeted(server: str, client: Mapping[str, Any]) -> Iterator[Finding]:
    where, protocol = place(server), str(client.get("security.protocol", "PLAINTEXT")).upper()
    errors: list[ck.KafkaError] = []
    # What goes wrong is told here, not in the log.
    quiet = {"error_cb": errors.append, "log_level": 0, "bootstrap.servers": server}
    try:
        producer = ck.Producer({**client, **quiet})
    except ck.KafkaException as error:
        yield Finding(ERROR, "protocol", where, f"Its client can't be made ({error.args[0].str()})", "correct the settings")
        return
    end = time.monotonic() + run.LIMIT_S
    while True:
        try:
            found = producer.list_topics(timeout=_PATIENCE_S)
            break
        except ck.KafkaException as error:
            last = error.args[0]
        producer.poll(0)
        # What would go on for ever is not waited for: librdkafka tries again whatever it is told.
        if time.monotonic() > end or _hopeless(errors):
            yield _refused(where, protocol, errors, last)
            return
    known = f"{count(len(found.brokers), 'broker')}, cluster {found.cluster_id}"
    yield Finding(OK, "broker", where, f"It answers over {protocol}: {known}")
    yield from _advertised(where, found.brokers.values())


def _refused(where: str, protocol: str, errors: Sequence[ck.KafkaError], last: ck.KafkaError) -> Finding:
    error = _hopeless(errors)
    if error is not None and error.code() == ck.KafkaError._AUTHENTICATION:
        return Finding(
            ERROR,
            "sasl",
            where,
            f"The login over {protocol} was refused ({_reason(error)})",
            "correct sasl.mechanism and sasl.jaas.config, or the user at the broker",
        )
    if error is not None:
        return Finding(
            ERROR,
            "tls",
            where,
            f"No TLS with it ({_reason(error)})",
            "correct ssl.truststore.*, ssl.keystore.* and security.protocol; is it a listener with TLS?",
        )
    said = [error for error in errors if error.code() != ck.KafkaError._ALL_BROKERS_DOWN] or [last]
    message = f"It accepts connections, but does not speak {protocol} with us within {run.LIMIT_S:.0f} s ({_reason(said[0])})"
    return Finding(ERROR, "protocol", where, message, "correct security.protocol, or the port: is it Kafka, and this listener?")


def _hopeless(errors: Sequence[ck.KafkaError]) -> ck.KafkaError | None:
    """The first that tells of a login or of TLS; a handshake that broke off has the code of a lost connection."""
    codes = (ck.KafkaError._AUTHENTICATION, ck.KafkaError._SSL)
    return next((error for error in errors if error.code() in codes or "SSL handshake" in error.str()), None)


def _reason(error: ck.KafkaError) -> str:
    """Without the name of the thread that librdkafka begins with."""
    return " ".join(error.str().rpartition("/bootstrap: ")[2].split())


def _advertised(where: str, brokers: Any) -> Iterator[Finding]:
    """Where clients are sent to from there: what the brokers' `advertised.listeners` say must hold here, too."""
    for broker in brokers:
        problem = reaching.problem(broker.host, broker.port, run.LIMIT_S)
        if problem is not None:
            message = f"It sends clients on to broker {broker.id} at {broker.host}:{broker.port}: {problem}"
            remedy = "correct advertised.listeners of that broker, so that it names an address that is good here"
            yield Finding(ERROR, "advertised", where, message, remedy)


# --- rights ---


def check_rights(brokers: Brokers) -> Iterator[Finding]:
    """What this user may do with the internal topics, the group, and the cluster if a topic is to be created."""
    where = "Rights"
    known = brokers.topics.known()
    if not known:
        message = "Nothing says which topics the workers use"
        yield Finding(SKIPPED, "rights", where, message, "give --worker-file, to see whether its user may use them")
        return
    names = list(known.values())
    if "config" in known:
        names += [brokers.topics.assignment, brokers.topics.metrics]
    admin = AdminClient({**brokers.client_config("admin"), "log_level": 0})
    try:
        may_create = _may_create(admin)
        topics, limit = ck.TopicCollection(names), run.LIMIT_S
        asked = admin.describe_topics(topics, include_authorized_operations=True, request_timeout=limit)
        good = []
        for name in names:
            found = list(_rights_of_topic(name, asked[name], may_create))
            yield from found
            good += [] if found else [name]
        if good:
            yield Finding(OK, "rights", where, f"Read and Write on {', '.join(good)}")
        yield from _policies(brokers)
        if (group := brokers.topics.known_group) is not None:
            yield from _rights_of_group(brokers, group)
            message = f"Whether it may use the transactional id connect-cluster-{group} can't be asked without writing"
            yield Finding(SKIPPED, "rights", where, message, "it needs Write and Describe there, if the brokers have ACLs")
    except ck.KafkaException as error:
        yield Finding(SKIPPED, "rights", where, f"No broker tells ({error.args[0].str()})", "see what is said of the brokers")


def _policies(brokers: Brokers) -> Iterator[Finding]:
    """How Kafka keeps the topics, by the checks of `kconnect topics check`; what stands in them is not read."""
    where, names = "Topics", {Topic(role): name for role, name in brokers.topics.known().items()}
    if Topic.CONFIG in names:
        names[Topic.ASSIGNMENT] = brokers.topics.assignment
    try:
        contents = reading.describe(brokers.client_config("admin"), names)
    except ConnectError as error:
        yield Finding(SKIPPED, "topics", where, str(error))
        return
    # That one is not there was said with the rights; notes are for those who look into one.
    told = [each for each in topic_settings.check(contents) if each.kind != "topic-missing"]
    told = [each for each in told if each.severity is not Severity.NOTE]
    for each in told:
        yield Finding(ERROR if each.severity is Severity.ERROR else WARNING, "topics", where, each.text, each.remedy)
    if contents.topics and not told:
        kept = ", ".join(facts.name for facts in contents.topics.values())
        yield Finding(OK, "topics", where, f"Compacted, with as many partitions and copies as they need: {kept}")


def _may_create(admin: AdminClient) -> bool:
    found = admin.describe_cluster(include_authorized_operations=True, request_timeout=run.LIMIT_S).result()
    return bool({AclOperation.CREATE, AclOperation.ALL} & set(found.authorized_operations or ()))


def _rights_of_topic(name: str, asked: Any, may_create: bool) -> Iterator[Finding]:
    try:
        allowed = set(asked.result().authorized_operations or ())
    except ck.KafkaException as error:
        code = error.args[0].code()
        if code == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
            message = f"The topic {name} is not there"
            if may_create:
                yield Finding(SKIPPED, "rights", "Rights", f"{message} yet; a worker creates it")
            else:
                remedy = "allow the user to create it, or create it with cleanup.policy=compact"
                yield Finding(WARNING, "rights", "Rights", f"{message}, and Create on the cluster is not allowed", remedy)
        elif code == ck.KafkaError.TOPIC_AUTHORIZATION_FAILED:
            message = f"No right to describe the topic {name}"
            yield Finding(ERROR, "rights", "Rights", message, _allow("topic", name, "Read", "Write"))
        else:
            raise
        return
    missing = [word for operation, word in _NEEDED.items() if not {operation, AclOperation.ALL} & allowed]
    if missing:
        message = f"{' and '.join(missing)} on the topic {name}: not allowed"
        yield Finding(ERROR, "rights", "Rights", message, _allow("topic", name, *missing))


def _rights_of_group(brokers: Brokers, group: str) -> Iterator[Finding]:
    try:
        allowed = _operations_on_group(brokers, group)
    except ck.KafkaException as error:
        if error.args[0].code() == ck.KafkaError.GROUP_AUTHORIZATION_FAILED:
            yield Finding(ERROR, "rights", "Rights", f"No right to describe the group {group}", _allow("group", group, "Read"))
        else:
            yield Finding(WARNING, "rights", "Rights", f"The group {group} can't be asked about ({error.args[0].str()})")
        return
    if allowed is None:
        message = f"No broker told of the group {group} within {run.LIMIT_S:.0f} s, as in a cluster that has just been started"
        yield Finding(SKIPPED, "rights", "Rights", message, "ask again")
    elif {AclOperation.READ, AclOperation.ALL} & allowed:
        yield Finding(OK, "rights", "Rights", f"Read on the group {group}")
    else:
        yield Finding(ERROR, "rights", "Rights", f"Read on the group {group}: not allowed", _allow("group", group, "Read"))


def _operations_on_group(brokers: Brokers, group: str) -> set[AclOperation] | None:
    """None while no broker coordinates the group."""
    end = time.monotonic() + run.LIMIT_S
    while time.monotonic() < end:
        # librdkafka must not be the one that gives up, and the client goes with the request: see Admin._describe in
        # kafka/admin.py.
        admin = AdminClient({**brokers.client_config("admin"), "log_level": 0})
        asked = admin.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=_NEVER_S)[group]
        try:
            return set(asked.result(min(run.LIMIT_S, 5.0)).authorized_operations or ())
        except futures.TimeoutError:
            continue
        except ck.KafkaException as error:
            if error.args[0].code() not in STARTING:
                raise
        time.sleep(0.2)
    return None


def _allow(kind: str, name: str, *operations: str) -> str:
    each = " ".join(f"--operation {operation}" for operation in operations)
    return f"kafka-acls.sh --bootstrap-server … --add --allow-principal User:… {each} --{kind} {name}"
