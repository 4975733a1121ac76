"""
What the workers of a cluster say: whether they are healthy, of one version, on one Kafka cluster, and agree on the time.

A part of `kconnect doctor`, over REST only. A worker of Apache Kafka Connect tells less: it has no `/cluster`, so the other
ones are not known. Read next: `rest/client.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any

from kconnect.cli import selection
from kconnect.cli.checkup import run
from kconnect.cli.connection import Target
from kconnect.cli.findings import ERROR, OK, SKIPPED, WARNING, Finding, count
from kconnect.rest.client import ConnectClient, RestError

if TYPE_CHECKING:
    from kconnect.rest.answers import Health, Worker

CLUSTER = "The workers"

_VALID_S = 60.0
"""How far workers' clocks may differ: signatures of what they ask of each other are good for as long."""
_NOTABLE_S = 2.0


@dataclass(frozen=True)
class _Answers:
    url: str
    problem: str | None = None
    asks: bool = False
    """The problem is that it asks who that is, and must not be told."""
    root: Worker | None = None
    health: Health | None = None
    clock: tuple[float, float] | None = None


def check(target: Target, named: bool) -> Iterator[Finding]:
    """`named`: somebody said that there is a worker; if not, none need be there."""
    where = f"Worker {target.url.rstrip('/')}"
    try:
        with target.connect(run.LIMIT_S) as client:
            first = client.root()
            cluster = _cluster(client)
            statuses = _statuses(client)
            answers = _ask_all(client, cluster)
    except RestError as error:
        if not named and error.status is None:
            remedy = "name one with --url, to check its cluster"
            yield Finding(SKIPPED, "worker", where, "No worker answers there", remedy)
        else:
            yield Finding(ERROR, "worker", where, error.message, "start it, or correct --url" if error.status is None else "")
        return
    if cluster is None:
        message = (
            f"Version {first.get('version')}: not a kconnect worker, because it has no /cluster; the other workers are not "
            "known"
        )
        yield Finding(OK, "worker", where, message)
    for answer in answers:
        yield from _of_one(answer)
    yield from _together(answers)
    if cluster is not None:
        yield from _of_cluster(cluster)
    yield from _failed(statuses)


def _cluster(client: Any) -> dict[str, Any] | None:
    try:
        answer: dict[str, Any] = client.cluster()
    except RestError as error:
        if error.status == 404:
            return None
        raise
    return answer


def _statuses(client: Any) -> dict[str, Any]:
    try:
        answer = client.connectors("status")
    except RestError as error:
        if error.status is None:
            raise
        return {}
    return answer if isinstance(answer, dict) else {}


def _ask_all(client: ConnectClient, cluster: dict[str, Any] | None) -> list[_Answers]:
    """All workers of the cluster, or the one that is known."""
    listed = [] if cluster is None else [str(worker["url"]).rstrip("/") for worker in cluster["workers"] if worker["url"]]
    # One that has just been started is not in the group yet.
    urls = list(dict.fromkeys(listed)) or [client.url]
    answers = selection.of_each(urls, lambda url: _ask(client, url))
    return [answers[url] for url in urls]


def _ask(first: ConnectClient, url: str) -> _Answers:
    try:
        with first.at(url) as client:
            root, clock = client.root(), client.clock()
            try:
                health = client.health()
            except RestError as error:
                # Connect before 3.9 has none.
                if error.status != 404:
                    raise
                health = None
            return _Answers(url, root=root, health=health, clock=clock)
    except RestError as error:
        return _Answers(url, error.message, asks=error.status == 401)


def _of_one(answer: _Answers) -> Iterator[Finding]:
    where = f"Worker {answer.url}"
    if answer.asks:
        yield Finding(SKIPPED, "worker", where, answer.problem or "")
        return
    if answer.problem is not None or answer.root is None:
        remedy = "check whether it is stopping, and whether its rest.advertised.host.name is right on this machine"
        yield Finding(ERROR, "worker", where, answer.problem or "It does not answer", remedy)
        return
    version = _version(answer.root)
    if answer.health is None:
        yield Finding(OK, "worker", where, f"Version {version}")
    elif answer.health["status"] == "healthy":
        yield Finding(OK, "worker", where, f"Healthy, version {version}")
    else:
        message = f"It is {answer.health['status']}: {answer.health.get('message', '')}"
        yield Finding(WARNING if answer.health["status"] == "starting" else ERROR, "worker", where, message, "see its log")
    ahead = _surely(answer.clock)
    if answer.clock is None:
        yield Finding(SKIPPED, "clock", where, "It does not send its time")
    elif abs(ahead) >= _NOTABLE_S:
        message = f"Its clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's"
        yield Finding(WARNING, "clock", where, message, "synchronize both clocks with NTP")


def _version(root: Worker) -> str:
    """kconnect's own is in `commit`: all of its versions may keep the API of one Connect."""
    commit = str(root.get("commit"))
    return f"{root.get('version')} ({commit})" if commit.startswith("kconnect-") else str(root.get("version"))


def _surely(clock: tuple[float, float] | None) -> float:
    """Return how far a clock is ahead at least, negative if it is behind; 0 if it may be right."""
    if clock is None:
        return 0.0
    least, most = clock
    return least if least > 0 else min(most, 0.0)


def _together(answers: Sequence[_Answers]) -> Iterator[Finding]:
    reached = [answer for answer in answers if answer.root is not None]
    versions = sorted({_version(answer.root) for answer in reached if answer.root is not None})
    clusters = sorted({str(answer.root.get("kafka_cluster_id")) for answer in reached if answer.root is not None})
    if len(versions) > 1:
        message = f"They have different versions: {', '.join(versions)}"
        yield Finding(WARNING, "versions", CLUSTER, message, "this is normal during a rolling upgrade")
    if len(clusters) > 1:
        message = f"They are on different Kafka clusters: {', '.join(clusters)}"
        yield Finding(ERROR, "versions", CLUSTER, message, "correct bootstrap.servers of one of them")
    clocks = [(answer.url, answer.clock) for answer in reached if answer.clock is not None]
    apart = max(
        ((clock_ahead[0] - clock_behind[1], ahead, behind) for ahead, clock_ahead in clocks for behind, clock_behind in clocks),
        default=None,
    )
    if apart is None or len(clocks) < 2:
        return
    seconds, ahead, behind = apart
    if seconds >= _NOTABLE_S:
        severity = ERROR if seconds >= _VALID_S else WARNING
        refused = ", and workers refuse each other's requests from 60 s on"
        message = f"The clock of {ahead} is {seconds:.0f} s ahead of that of {behind}{refused}"
        yield Finding(severity, "clock", CLUSTER, message, "synchronize both clocks with NTP")
    else:
        yield Finding(OK, "clock", CLUSTER, f"The clocks of {len(clocks)} workers agree to the second")


def _of_cluster(cluster: dict[str, Any]) -> Iterator[Finding]:
    if cluster["leader"] is None:
        message = "Nobody leads: an election is under way, or no worker reaches the group"
        yield Finding(WARNING, "cluster", CLUSTER, message, "ask again in a moment; if it stays so, see the workers' logs")
    else:
        yield Finding(OK, "cluster", CLUSTER, f"{count(len(cluster['workers']), 'worker')}, led by {cluster['leader']}")
    for worker in cluster["workers"]:
        stuck = sum(host["stuck"] for host in worker["hosts"])
        if stuck:
            message = f"{worker['worker_id']} has {stuck} that do not stop"
            remedy = "they get another host; see the executor's log for where they hang"
            yield Finding(WARNING, "cluster", CLUSTER, message, remedy)
        if worker["url"] and not worker["hosts"] and not worker.get("resting"):
            message = f"{worker['worker_id']} has no task host: nothing runs on it"
            remedy = "unless it has just started, see its log for Spark's messages"
            yield Finding(WARNING, "cluster", CLUSTER, message, remedy)


def _failed(statuses: dict[str, Any]) -> Iterator[Finding]:
    failed = []
    for name, entry in statuses.items():
        units = [entry["status"]["connector"], *entry["status"]["tasks"]] if "status" in entry else []
        if any(unit["state"] == "FAILED" for unit in units):
            failed.append(name)
    if failed:
        names = ", ".join(sorted(failed)[:5]) + (f" and {len(failed) - 5} more" if len(failed) > 5 else "")
        message = f"{count(len(failed), 'connector')} of {len(statuses)} failed, or a task of it: {names}"
        yield Finding(WARNING, "connectors", CLUSTER, message, f"kconnect describe connector {quote(sorted(failed)[0])}")
