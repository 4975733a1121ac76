"""
The table of rights in docs/operating.md: with its commands and nothing else everything works, and without a row one sees what
the row says.

The commands are turned into ACLs by what the rig of several machines has for that; the broker denies whatever is not allowed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.integration.secured import Secured
from tests.rig.machines.rights import PAGE, commands
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

USER, GROUP = "alice", "rights"
_KINDS = {
    "--topic": ResourceType.TOPIC,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
    "--cluster": ResourceType.BROKER,
}
_STARTED_S = 120


class Rights:
    """What the user may do, by the page's commands."""

    def __init__(self, secured: Secured) -> None:
        self._admin = AdminClient({"bootstrap.servers": secured.broker.bootstrap_servers})
        self.all = [acl for words in commands(PAGE.read_text("utf-8")) for acl in _acls(words)]

    def give(self, acls: list[AclBinding]) -> None:
        for future in self._admin.create_acls(acls).values():
            future.result(60)
        self._wait(lambda known: known >= {str(acl) for acl in acls})

    def take(self, acls: list[AclBinding]) -> None:
        assert acls, "such a right is in the table"
        for future in self._admin.delete_acls([_filter(acl) for acl in acls]).values():
            future.result(60)
        self._wait(lambda known: known.isdisjoint(str(acl) for acl in acls))

    @contextmanager
    def without(self, kind: ResourceType, name: str, *operations: AclOperation) -> Iterator[None]:
        acls = self.some(kind, name, *operations)
        self.take(acls)
        try:
            yield
        finally:
            self.give(acls)

    def some(self, kind: ResourceType, name: str, *operations: AclOperation) -> list[AclBinding]:
        return [
            acl
            for acl in self.all
            if (acl.restype, acl.name) == (kind, name) and (not operations or acl.operation in operations)
        ]

    def _wait(self, holds: Callable[[set[str]], bool]) -> None:
        """The controller has answered, and the broker reads of it."""
        everything = AclBindingFilter(
            *(ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{USER}", None),  # type: ignore[arg-type]
            *(AclOperation.ANY, AclPermissionType.ANY),
        )
        wait_until(lambda: holds({str(acl) for acl in self._admin.describe_acls(everything).result(60)}), 60)


def _acls(words: list[str]) -> Iterator[AclBinding]:
    """The ACLs of a command, with this test's names in the place of the page's."""
    options = dict(zip(words[::2], words[1::2])) if "--cluster" not in words else {"--cluster": "kafka-cluster"}
    operations = [after for before, after in itertools.pairwise(words) if before == "--operation"]
    [(kind, name)] = [(_KINDS[option], value) for option, value in options.items() if option in _KINDS]
    for theirs, ours in (("connect-cluster", GROUP), *((f"connect-{topic}", f"{GROUP}-{topic}") for topic in _TOPICS)):
        name = name.replace(theirs, ours) if name.startswith(theirs) else name
    if kind is ResourceType.TRANSACTIONAL_ID and name == f"{GROUP}-{GROUP}":
        name = f"connect-cluster-{GROUP}"
    prefixed = "prefixed" in words
    pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
    for operation in operations:
        by_name = AclOperation["DESCRIBE_CONFIGS" if operation == "DescribeConfigs" else operation.upper()]
        yield AclBinding(kind, name, pattern, f"User:{USER}", "*", by_name, AclPermissionType.ALLOW)


_TOPICS = ("configs", "offsets", "status")


def _filter(acl: AclBinding) -> AclBindingFilter:
    return AclBindingFilter(
        *(acl.restype, acl.name, acl.resource_pattern_type, acl.principal, acl.host, acl.operation, acl.permission_type)
    )


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    secured = Secured(tmp_path_factory.mktemp("secured"), auto_create=False)
    secured.broker.start()
    try:
        yield secured
    finally:
        secured.broker.stop()


@pytest.fixture(scope="module")
def rights(secured: Secured) -> Rights:
    rights = Rights(secured)
    rights.give(rights.all)
    admin = AdminClient({"bootstrap.servers": secured.broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic("orders", 1, 1)]).values():
        future.result(60)
    return rights


def worker_of(secured: Secured, directory: Path) -> WorkerProcess:
    login = {name.removeprefix("x.override."): text for name, text in secured.client("x", USER).items()}
    servers = login.pop("bootstrap.servers")
    return WorkerProcess(directory, servers, GROUP, properties={**QUICK, **login, "exactly.once.source.support": "enabled"})


@pytest.fixture(scope="module")
def worker(secured: Secured, rights: Rights, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    worker = worker_of(secured, tmp_path_factory.mktemp("worker"))
    try:
        yield worker.start()
    finally:
        worker.stop()


@pytest.fixture
def source(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "orders.txt"
    file.write_text("".join(f"{number}\n" for number in range(20)))
    return {"connector.class": "FileStreamSource", "file": str(file), "topic": "orders", "tasks.max": "1"}


@pytest.fixture
def sink(tmp_path: Path) -> dict[str, str]:
    return {
        "connector.class": "FileStreamSink",
        "file": str(tmp_path / "sunk.txt"),
        "topics": "orders",
        "tasks.max": "1",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": "orders-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
    }


def failure(worker: WorkerProcess, name: str) -> str:
    """Wait until a task of the connector has failed, and return why."""

    def trace() -> str | None:
        tasks = worker.client.status(name)["tasks"]
        return next((str(task["trace"]) for task in tasks if task["state"] == "FAILED"), None)

    return str(wait_until(trace, _STARTED_S))


@contextmanager
def connector(worker: WorkerProcess, name: str, config: dict[str, str]) -> Iterator[str]:
    worker.client.create(name, config)
    try:
        yield name
    finally:
        worker.client.delete(name)


def test_with_the_table_s_rights_and_none_else_everything_works(
    worker: WorkerProcess, source: dict[str, str], sink: dict[str, str]
) -> None:
    client = worker.client
    with connector(worker, "orders-source", source), connector(worker, "my-sink", sink):
        wait_until(lambda: Path(sink["file"]).exists() and Path(sink["file"]).read_text().endswith("19\n"), _STARTED_S)
        wait_until(lambda: client.offsets("my-sink"), _STARTED_S)
        for name in ("orders-source", "my-sink"):
            client.stop(name)
            client.wait_for(name, "STOPPED", tasks=0, timeout=_STARTED_S)
            client.reset_offsets(name)
    log = worker.log.read_text("utf-8", "replace")
    assert "uthorization failed" not in log, [line for line in log.splitlines() if "uthorization failed" in line][:3]


def test_without_the_leader_s_id_changes_are_refused(worker: WorkerProcess, rights: Rights, source: dict[str, str]) -> None:
    with rights.without(ResourceType.TRANSACTIONAL_ID, f"connect-cluster-{GROUP}"):
        with pytest.raises(RestError) as refused:
            worker.client.create("refused", source)
        assert (refused.value.status, "Transactional Id authorization failed" in str(refused.value)) == (500, True)


@pytest.mark.parametrize(
    ("kind", "name", "operations", "of_sink", "expected"),
    [
        pytest.param(
            ResourceType.TRANSACTIONAL_ID, f"{GROUP}-", (), False, ("transactional id", f"{GROUP}-"), id="exactly once"
        ),
        pytest.param(ResourceType.TOPIC, "orders", (AclOperation.WRITE, AclOperation.CREATE), False, ("orders",), id="source"),
        pytest.param(ResourceType.TOPIC, "orders", (AclOperation.READ,), True, ("opic authorization failed",), id="sink"),
        pytest.param(ResourceType.GROUP, "connect-", (), True, ("roup authorization failed",), id="group"),
        pytest.param(ResourceType.TOPIC, "orders-dead", (), True, ("orders-dead",), id="dead letters"),
    ],
)
def test_what_a_task_says_that_lacks_a_right(
    worker: WorkerProcess,
    rights: Rights,
    source: dict[str, str],
    sink: dict[str, str],
    kind: ResourceType,
    name: str,
    operations: tuple[AclOperation, ...],
    of_sink: bool,
    expected: tuple[str, ...],
) -> None:
    # Some rights are there twice: on the group by its name, too, and to create the queue's topic on the cluster.
    twice = {
        "connect-": rights.some(ResourceType.GROUP, "connect-my-sink", AclOperation.READ),
        "orders-dead": rights.some(ResourceType.BROKER, "kafka-cluster"),
    }
    own = twice.get(name, [])
    if own:
        rights.take(own)
    try:
        with rights.without(kind, name, *operations):
            given = ("my-sink", sink) if of_sink else ("orders-source", source)
            with connector(worker, *given):
                trace = failure(worker, given[0])
    finally:
        if own:
            rights.give(own)
    assert all(text in trace for text in expected), trace


def test_without_delete_a_sink_s_offsets_are_not_reset(worker: WorkerProcess, rights: Rights, sink: dict[str, str]) -> None:
    client = worker.client
    with connector(worker, "my-sink", sink):
        wait_until(lambda: client.offsets("my-sink"), _STARTED_S)
        client.stop("my-sink")
        client.wait_for("my-sink", "STOPPED", tasks=0, timeout=_STARTED_S)
        with rights.without(ResourceType.GROUP, "connect-my-sink", AclOperation.DELETE):
            with pytest.raises(RestError) as refused:
                client.reset_offsets("my-sink")
            assert (refused.value.status, "roup authorization failed" in str(refused.value)) == (500, True)
        with (
            rights.without(ResourceType.GROUP, "connect-", AclOperation.READ),
            rights.without(ResourceType.GROUP, "connect-my-sink"),
            pytest.raises(RestError) as unread,
        ):
            client.offsets("my-sink")
        assert "Grant the connector's user the operation Read on the group" in str(unread.value)


@pytest.mark.parametrize(
    ("kind", "name", "operations", "expected"),
    [
        pytest.param(ResourceType.TOPIC, f"{GROUP}-status", (), "opic authorization failed", id="an internal topic"),
        pytest.param(ResourceType.GROUP, GROUP, (), "Group authorization failed", id="the group"),
    ],
)
def test_a_worker_without_a_right_never_becomes_ready_and_says_which(
    secured: Secured,
    rights: Rights,
    tmp_path: Path,
    kind: ResourceType,
    name: str,
    operations: tuple[AclOperation, ...],
    expected: str,
) -> None:
    with rights.without(kind, name, *operations):
        worker = worker_of(secured, tmp_path)
        try:
            worker.start(wait=False)
            wait_until(lambda: expected in worker.log.read_text("utf-8", "replace"), _STARTED_S)
            # It may have ended by now.
            with contextlib.suppress(RestError):
                assert worker.client.health()["status"] != "healthy"
        finally:
            worker.stop()


def test_the_page_s_commands_are_known_to_this_test() -> None:
    """Each of its rows has a command that became an ACL."""
    acls = [list(_acls(words)) for words in commands(PAGE.read_text("utf-8"))]
    assert all(acls) and len(acls) >= 11, json.dumps([len(each) for each in acls])
