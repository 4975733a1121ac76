"""`kconnect apply` and its like against a worker of kconnect and one of Apache Kafka Connect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kconnect.rest.client import ConnectClient, RestError
from tests.cli.calls import Called, call
from tests.support import wait_until

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


class Cluster:
    """A worker, the files of one test, and the names of its connectors."""

    def __init__(self, url: str, prefix: str, directory: Path) -> None:
        self.client = ConnectClient(url, patience=120)
        self.url = url
        self.prefix = prefix
        self.directory = directory

    def name(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def write(self, name: str, state: str | None = None, offsets: Any = None, **config: Any) -> dict[str, str]:
        """A file of its own, with a connector that reads a file of its own."""
        lines = self.directory / f"{name}.txt"
        if not lines.exists():
            lines.write_text("one\ntwo\nthree\n")
        found = {"connector.class": SOURCE, "file": str(lines), "topic": self.prefix, "tasks.max": "1", **config}
        body = {"name": self.name(name), "config": found, "state": state, "offsets": offsets}
        (self.directory / f"{name}.yaml").write_text(yaml.safe_dump({k: v for k, v in body.items() if v is not None}))
        return found

    def run(self, *arguments: str) -> Called:
        return call(*arguments, env={"KCONNECT_URL": self.url})

    def apply(self, *arguments: str) -> Called:
        return self.run("apply", "-f", str(self.directory), *arguments)


@pytest.fixture
def cluster(cluster_url: str, unique: Callable[[str], str], tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(cluster_url, unique("apply"), tmp_path)
    yield made
    for name in made.client.connectors():
        if name.startswith(f"{made.prefix}-"):
            made.client.delete(name)
    made.client.close()


def test_a_directory_is_made_so_and_only_what_differs_is_touched(cluster: Cluster) -> None:
    a, b = cluster.name("a"), cluster.name("b")
    cluster.write("a")
    stored = cluster.write("b", state="paused")
    told = cluster.run("diff", "-f", str(cluster.directory))
    assert told.status == 2 and f"    + file: {stored['file']}" in told.out
    assert not {a, b} & set(cluster.client.connectors())
    done = cluster.apply("--wait", "--timeout", "5m")
    assert (done.status, done.out) == (0, f"created {a}\ncreated {b}\n"), done
    assert cluster.client.status(b)["connector"]["state"] == "PAUSED"
    assert cluster.client.get_config(b) == {"name": b, **stored}
    again = cluster.apply()
    assert (again.status, again.out, again.err) == (0, "", "created 0, changed 0, unchanged 2, failed 0\n")
    cluster.write("a", None, None, **{"batch.size": 7, "errors.tolerance": "none"})
    cluster.write("b", state="running")
    cluster.write("c", **{"tasks.max": "many"})
    checked = cluster.apply("--dry-run")
    invalid = f"kconnect: {cluster.name('c')}: Invalid value many for configuration tasks.max"
    assert checked.status == 1 and invalid in checked.err
    done = cluster.apply("--diff", "--wait", "--timeout", "5m")
    assert done.status == 1
    assert f"~ {a}" in done.out and "    + batch.size: 7" in done.out and "    + state: running" in done.out
    assert f"changed {a}\n" in done.out and f"changed {b}\n" in done.out
    assert f"kconnect: {cluster.name('c')}: " in done.err and "Invalid value many" in done.err
    assert done.err.endswith("created 0, changed 2, unchanged 0, failed 1\n")
    assert cluster.client.get_config(a)["batch.size"] == "7"
    assert cluster.client.wait_for(b, "RUNNING", tasks=1, timeout=300)


def test_it_begins_at_its_offsets(cluster: Cluster) -> None:
    a = cluster.name("a")
    partition = {"filename": cluster.write("a")["file"]}
    # Behind the last line: what it would have committed by itself is something else until it has read all.
    cluster.write("a", state="stopped", offsets=[{"partition": partition, "offset": {"position": 4}}])
    done = cluster.apply("--wait", "--timeout", "5m")
    assert (done.status, done.out) == (0, f"created {a}\n"), done
    assert cluster.client.status(a)["connector"]["state"] == "STOPPED"
    # Connect, too, shows what was written a moment later.
    wait_until(lambda: cluster.client.offsets(a) == [{"partition": partition, "offset": {"position": 4}}])
    cluster.write("a", state="running", offsets=[{"partition": partition, "offset": {"position": 0}}])
    done = cluster.apply("--diff", "--wait", "--timeout", "5m")
    assert done.out.splitlines()[1:] == ["    - state: stopped", "    + state: running", f"changed {a}"], done
    # Offsets that the connector refuses leave nothing behind.
    cluster.write("b", offsets=[{"partition": {"no": "file"}, "offset": {"position": 4}}])
    done = cluster.apply()
    assert done.status == 1 and f"kconnect: {cluster.name('b')}: " in done.err and "created 0" in done.err
    with pytest.raises(RestError) as gone:
        cluster.client.get_config(cluster.name("b"))
    assert gone.value.status == 404


def test_what_an_apply_that_was_killed_left_without_offsets_gets_them(cluster: Cluster) -> None:
    a = cluster.name("a")
    config = cluster.write("a")
    offsets = [{"partition": {"filename": config["file"]}, "offset": {"position": 4}}]
    cluster.write("a", state="stopped", offsets=offsets)
    cluster.client.create(a, config, "STOPPED")
    cluster.client.wait_for(a, "STOPPED", tasks=0, timeout=240)
    done = cluster.apply("--diff")
    assert (done.status, done.out.splitlines()[1:]) == (
        2,
        [f'    + offset: {json.dumps(offsets[0]["partition"])} {{"position": 4}}', f"changed {a}"],
    ), done
    wait_until(lambda: cluster.client.offsets(a) == offsets)
    again = cluster.apply()
    told, counted = again.err.splitlines()
    assert (again.status, counted) == (0, "created 0, changed 0, unchanged 1, failed 0"), again
    assert told.startswith(f"{a}: the offsets in ") and " are ignored, " in told


def test_prune_create_and_patch(cluster: Cluster) -> None:
    a, b = cluster.name("a"), cluster.name("b")
    cluster.write("a")
    cluster.write("b")
    files = [str(cluster.directory / f"{name}.yaml") for name in ("a", "b")]
    done = cluster.run("create", "-f", files[0], "-f", files[1])
    assert (done.status, done.out) == (0, f"created {a}\ncreated {b}\n"), done
    assert cluster.run("create", "-f", files[0]).status == 5
    done = cluster.run("patch", b, "batch.size=9", "tasks.max-")
    assert (done.status, done.out.splitlines()[0]) == (0, f"changed {b}"), done
    changed = cluster.client.get_config(b)
    assert changed["batch.size"] == "9" and "tasks.max" not in changed
    only = ["-f", files[0], "--prune-only", f"{cluster.prefix}-*"]
    assert cluster.run("apply", *only).status == 2, "there is no terminal to ask on"
    told = cluster.run("diff", *only, "-o", "json")
    assert [(row["name"], row["action"]) for row in json.loads(told.out)] == [(a, "unchanged"), (b, "delete")]
    done = cluster.run("apply", *only, "--yes")
    assert (done.status, done.out) == (0, f"deleted {b}\n"), done
    printed = cluster.run("get", "connector", a, "-o", "yaml")
    (cluster.directory / "a.yaml").write_text(printed.out)
    told = cluster.run("diff", "-f", files[0])
    assert (told.status, told.out) == (0, ""), told
