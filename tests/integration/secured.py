"""A broker with users and rights, beside the one that the tests share: another cluster for a connector's clients."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from kconnect.local.broker import Broker, free_port
from tests.support import wait_until


class Secured:
    """A broker whose topics nobody may touch without a right, for users who log in; ANONYMOUS may do all."""

    def __init__(self, directory: Path, auto_create: bool = True) -> None:
        plain, self.port, controller = free_port(), free_port(), free_port()
        module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL://127.0.0.1:{self.port}"
        self.broker = Broker(
            directory,
            plain,
            {
                "controller.quorum.voters": f"1@127.0.0.1:{controller}",
                "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": listeners,
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
                "sasl.enabled.mechanisms": "PLAIN",
                "listener.name.sasl.plain.sasl.jaas.config": f'{module} user_alice="alice-secret" user_bob="bob-secret";',
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
                "auto.create.topics.enable": str(auto_create).lower(),
            },
        )

    def allow(self, user: str, prefix: str, *operations: AclOperation) -> None:
        """Rights on all topics whose names begin so."""
        self._allow(ResourceType.TOPIC, user, prefix, *operations)

    def allow_group(self, user: str, prefix: str, *operations: AclOperation) -> None:
        """Rights on all groups whose names begin so; all rights, if none is named."""
        self._allow(ResourceType.GROUP, user, prefix, *(operations or (AclOperation.ALL,)))

    def allow_transactions(self, user: str, prefix: str) -> None:
        self._allow(ResourceType.TRANSACTIONAL_ID, user, prefix, AclOperation.ALL)

    def forbid_transactions(self, user: str, prefix: str) -> None:
        """Take back what `allow_transactions` gave."""
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        place = (ResourceType.TRANSACTIONAL_ID, prefix, ResourcePatternType.PREFIXED, f"User:{user}", "*")
        given = AclBindingFilter(*place, AclOperation.ALL, AclPermissionType.ALLOW)
        for future in admin.delete_acls([given]).values():
            assert future.result()
        # The controller has answered, and the broker reads of it.
        wait_until(lambda: not admin.describe_acls(given).result())

    def _allow(self, kind: ResourceType, user: str, prefix: str, *operations: AclOperation) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        place = (kind, prefix, ResourcePatternType.PREFIXED, f"User:{user}", "*")
        for future in admin.create_acls([AclBinding(*place, each, AclPermissionType.ALLOW) for each in operations]).values():
            future.result()
        given = AclBindingFilter(*place, AclOperation.ANY, AclPermissionType.ALLOW)
        wait_until(lambda: {found.operation for found in admin.describe_acls(given).result()} >= set(operations))

    def client(self, kind: str, user: str) -> dict[str, str]:
        """What has a connector's client of that kind log in here, with Java's settings."""
        login = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{user}" password="{user}-secret";'
        settings = {
            "bootstrap.servers": f"127.0.0.1:{self.port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": login,
        }
        return {f"{kind}.override.{name}": value for name, value in settings.items()}
