"""
The rights of the workers' user: exactly what the table in `docs/operating.md` says, by exactly its commands.

`commands` reads the table; `grant` has `acl_commands.py` run the commands, on a machine, by the class that is behind
`kafka-acls.sh`. Faults take rights away and give them back with `Rights`. Held by `cluster.py`. Read next: `acl_commands.py`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from tests.rig.machines import CLIENT
from tests.rig.machines.brokers import ADMIN, SERVERS, WORKER, Brokers, login
from tests.rig.machines.certificates import Certificates
from tests.rig.machines.hosts import ROOT, Hosts
from tests.rig.systems import kafkas_tools

GROUP = "connect-cluster"
"""The group of the workers, as the page names it. So are the internal topics, `connect-configs` and so on."""
PAGE = ROOT / "docs" / "operating.md"

_FIRST = "| the internal topics: "
_SHORT = "A "
_CODE = re.compile(r"`([^`]+)`")
_FOR_SINKS = "--group connect- "
"""In the place of each sink's own group."""
_ANSWER_S = 30.0


def commands(page: str) -> Iterator[list[str]]:
    """
    Yield the arguments of each command of the page's table, without those about servers and users.

    A row has one command or several in short form: a text in code without the `A ` is a topic for the same command, or further
    arguments of it. A row that is optional counts, too.
    """
    rows = page[page.index(_FIRST) :].partition("\n\n")[0].splitlines()
    for row in rows:
        first, *more = _CODE.findall(row.split("|")[2])
        words = first.removeprefix(_SHORT).split()
        if more and all(text.startswith("--operation") for text in more):
            words = [*more[-1].split(), *words]
        yield words
        for text in more:
            if text.startswith(_FOR_SINKS):
                yield ["--operation", "Read", *text.split()]
            elif not text.startswith("--") and "<" not in text:
                yield [*words[:-1], text]


class Rights:
    """What the user `worker` may do."""

    def __init__(self, directory: Path, hosts: Hosts, certificates: Certificates, brokers: Brokers) -> None:
        self._file, self._hosts, self._certificates, self._brokers = directory / "acls.json", hosts, certificates, brokers

    def grant(self, data_topics: list[str], read_topics: list[str], sinks: list[str]) -> None:
        """Run the page's commands, with these topics in the place of `orders`, and the groups of these sinks."""
        calls: list[list[str]] = []
        for words in commands(PAGE.read_text("utf-8")):
            names = {
                "orders": read_topics if "Read" in words else data_topics,
                "connect-my-sink": (f"connect-{s}" for s in sinks),
            }
            calls += [[*words[:-1], name] for name in names[words[-1]]] if words[-1] in names else [words]
        properties = {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._certificates.authority),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": login(ADMIN),
        }
        command_config = self._file.with_name("admin.properties")
        command_config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), "utf-8")
        begin = ["--bootstrap-server", SERVERS, "--command-config", str(command_config)]
        user = ["--add", "--allow-principal", f"User:{WORKER}"]
        self._file.write_text(json.dumps([[*begin, *user, *words] for words in calls]), "utf-8")
        tools = str(kafkas_tools.resolve())
        self._hosts.run(CLIENT, [sys.executable, "-m", "tests.rig.machines.acl_commands", tools, str(self._file)])

    def given(self) -> list[AclBinding]:
        """Return the ACLs of the user."""
        anything: Any = None
        place = (ResourceType.ANY, anything, ResourcePatternType.ANY, f"User:{WORKER}", anything)
        acls = AclBindingFilter(*place, AclOperation.ANY, AclPermissionType.ANY)
        return list(self._brokers.admin().describe_acls(acls).result(_ANSWER_S))

    def take(self, acls: Iterable[AclBinding]) -> None:
        """Take ACLs away."""
        filters = [
            AclBindingFilter(
                *(acl.restype, acl.name, acl.resource_pattern_type, acl.principal, acl.host, acl.operation, acl.permission_type)
            )
            for acl in acls
        ]
        for future in self._brokers.admin().delete_acls(filters).values():
            future.result(_ANSWER_S)

    def give(self, acls: Iterable[AclBinding]) -> None:
        """Give back what `take` has taken."""
        for future in self._brokers.admin().create_acls(list(acls)).values():
            future.result(_ANSWER_S)
