"""
Three brokers on machines of their own: KRaft, each broker and controller; replication 3, min.insync.replicas 2.

Clients log in by SASL_SSL with SCRAM-SHA-512, brokers know each other by certificates, and what no ACL allows is refused. Held
by `cluster.py`. Read next: `rights.py` for the ACLs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from kconnect.errors import ConnectError
from kconnect.jvm import jars, java
from tests.rig.machines import BROKERS
from tests.rig.machines.certificates import Certificates
from tests.rig.machines.hosts import Hosts, Process

ADMIN, WORKER = "admin", "worker"
"""Users of Kafka: one who may do everything, and the one that workers log in as."""
PASSWORDS = {ADMIN: "admin-password-Q7", WORKER: "worker-password-X93"}
PORT = 9093
SERVERS = ",".join(f"{name}:{PORT}" for name in BROKERS)
JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
)

_CLUSTER_ID = "AbCdEfGhIjKlMnOpQrStUg"
_ROUNDS = 4096
_ANSWER_S = 30.0
_OFFSETS = "__consumer_offsets"
_MAIN = "kafka.Kafka"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"


def login(user: str) -> str:
    """Return the `sasl.jaas.config` of a user."""
    return f'{_SCRAM} username="{user}" password="{PASSWORDS[user]}";'


class Brokers:
    """`start` is for one broker, for the first time and after any end; all of a broker's data is in the rig's folder `data`."""

    def __init__(self, directory: Path, hosts: Hosts, certificates: Certificates) -> None:
        self._directory, self._hosts, self._certificates = directory, hosts, certificates
        self._admin: AdminClient | None = None

    def start(self, name: str) -> None:
        """Start a broker, unless it runs. It is not waited for."""
        if self.processes(name):
            return
        self._file(name).write_text("".join(f"{key}={value}\n" for key, value in self._properties(name).items()), "utf-8")
        if not (self.data(name) / "meta.properties").exists():
            words = ["format", "-t", _CLUSTER_ID, "-c", str(self._file(name))]
            for user, password in PASSWORDS.items():
                words += ["--add-scram", f"SCRAM-SHA-512=[name={user},password={password}]"]
            self._hosts.run(name, self._java("200m", "kafka.tools.StorageTool", *words))
        self._hosts.start(name, self._java("400m", _MAIN, str(self._file(name))), name)

    def processes(self, name: str) -> list[Process]:
        return self._hosts.processes(name, _MAIN)

    def data(self, name: str) -> Path:
        return self._directory / "data" / name

    def _file(self, name: str) -> Path:
        return self._directory / f"{name}.properties"

    def _java(self, memory: str, main: str, *arguments: str) -> list[str]:
        return [java.checked(), f"-Xmx{memory}", *JVM, "-cp", jars.class_path(jars.kafka()), main, *arguments]

    def _properties(self, name: str) -> dict[str, str]:
        own = "listener.name"
        return {
            "process.roles": "broker,controller",
            "node.id": str(BROKERS.index(name) + 1),
            "controller.quorum.voters": ",".join(f"{number}@{broker}:9095" for number, broker in enumerate(BROKERS, 1)),
            "listeners": f"CLIENT://{name}:9093,INTERNAL://{name}:9094,CONTROLLER://{name}:9095",
            "advertised.listeners": f"CLIENT://{name}:9093,INTERNAL://{name}:9094",
            "listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:SSL,CONTROLLER:SSL",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "INTERNAL",
            f"{own}.client.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            f"{own}.client.scram-sha-512.sasl.jaas.config": f"{_SCRAM};",
            f"{own}.client.ssl.client.auth": "none",
            f"{own}.internal.ssl.client.auth": "required",
            f"{own}.controller.ssl.client.auth": "required",
            "ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._certificates.file(name)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._certificates.authority),
            "ssl.principal.mapping.rules": "RULE:^CN=([a-z0-9-]+).*$/$1/,DEFAULT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": ";".join(f"User:{user}" for user in (ADMIN, *BROKERS)),
            "allow.everyone.if.no.acl.found": "false",
            "auto.create.topics.enable": "false",
            "log.dirs": str(self.data(name)),
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
            "offsets.topic.replication.factor": "3",
            "offsets.topic.num.partitions": "6",
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "2",
            "transaction.state.log.num.partitions": "6",
            "share.coordinator.state.topic.replication.factor": "3",
            "share.coordinator.state.topic.min.isr": "2",
            # What three brokers on one machine need less of. Times are Kafka's defaults: they are what is measured.
            "log.cleaner.dedupe.buffer.size": "16777216",
            "num.network.threads": "2",
            "num.io.threads": "4",
        }

    # --- as the admin ---

    def client(self, user: str = ADMIN, **more: Any) -> dict[str, Any]:
        """Return the settings of librdkafka with which a user's client finds these brokers from any machine."""
        return {
            "bootstrap.servers": SERVERS,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self._certificates.authority),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": PASSWORDS[user],
            "log_level": 0,
            **more,
        }

    def admin(self) -> AdminClient:
        """
        Return a new client: one that has seen a fault may hold on to what was true before it. It is good until the next call,
        which ends it.
        """
        self._admin = AdminClient(self.client())
        return self._admin

    def ails(self) -> str | None:
        """Return what the brokers lack: one that is registered, or a replica that is in sync; None if all is well."""
        try:
            metadata = self.admin().list_topics(timeout=_ANSWER_S)
        except ck.KafkaException as error:
            return f"the brokers don't answer: {error.args[0].str()}"
        missing = set(range(1, len(BROKERS) + 1)) - set(metadata.brokers)
        if missing:
            return f"broker {', '.join(map(str, sorted(missing)))} is not there"
        for topic in metadata.topics.values():
            for partition in topic.partitions.values():
                if len(partition.isrs) < len(partition.replicas):
                    return f"{topic.topic}-{partition.id} has {len(partition.isrs)} replicas in sync"
        return None

    def coordinator(self, group: str) -> str:
        """Return the broker that coordinates a group of any kind: that of Kafka Connect's workers is none of consumers."""
        partitions = self.admin().list_topics(_OFFSETS, timeout=_ANSWER_S).topics[_OFFSETS].partitions
        return BROKERS[partitions[_hash(group) % len(partitions)].leader - 1]

    def controller(self) -> str:
        """Return the broker whose controller is active."""
        number = self.admin().describe_cluster(request_timeout=_ANSWER_S).result(_ANSWER_S).controller.id
        if number < 1:
            raise ConnectError("No controller is active")
        return BROKERS[number - 1]

    def elect_preferred(self) -> None:
        """Have each partition led by its first replica, as Kafka does by itself some minutes after a rolling restart."""
        self.admin().elect_leaders(ck.ElectionType.PREFERRED).result(_ANSWER_S)

    def set_password(self, user: str) -> None:
        """Give a user its password (back)."""
        scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ROUNDS)
        change = UserScramCredentialUpsertion(user, scram, PASSWORDS[user].encode())
        for future in self.admin().alter_user_scram_credentials([change]).values():
            future.result(_ANSWER_S)

    def take_password(self, user: str) -> None:
        """Take a user's password away: nobody can log in as this user any more. Connections that are open stay open."""
        change = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512)
        for future in self.admin().alter_user_scram_credentials([change]).values():
            future.result(_ANSWER_S)


def _hash(text: str) -> int:
    """Return the absolute value of Java's hash code, by which Kafka finds a group's partition of its offsets."""
    number = 0
    for character in text:
        number = (31 * number + ord(character)) & 0xFFFFFFFF
    return 0 if number == 1 << 31 else min(number, (1 << 32) - number)
