"""`kconnect edit` with an editor that is a script, against a worker of kconnect and one of Apache Kafka Connect."""

from __future__ import annotations

import json
import shlex
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconnect.rest.client import ConnectClient
from tests.cli.calls import Called, call

LIMIT = "4m"


class Desk:
    """A connector, and an editor that does one of `steps` each time it opens; `seen` are the texts that it was shown."""

    def __init__(self, url: str, name: str, directory: Path) -> None:
        self.client = ConnectClient(url, patience=120)
        self.name = name
        self._url = url
        self._directory = directory
        self.config = {"connector.class": "FileStreamSource", "file": f"{directory}/in", "topic": name, "tasks.max": "1"}

    def edit(self, *steps: dict[str, str] | int, arguments: tuple[str, ...] = ()) -> Called:
        """A step replaces texts, or ends the editor with an exit status; to open more often than there are steps fails."""
        for place in range(len(self.seen)):
            (self._directory / f"seen-{place}").unlink()
        script = self._directory / "editor.py"
        script.write_text(
            "import json, pathlib, sys\n"
            f"directory = pathlib.Path({str(self._directory)!r})\n"
            f"steps = json.loads({json.dumps(json.dumps(steps))})\n"
            "file = pathlib.Path(sys.argv[1]); text = file.read_text()\n"
            "place = len(list(directory.glob('seen-*')))\n"
            "(directory / f'seen-{place}').write_text(text)\n"
            "if isinstance(steps[place], int): sys.exit(steps[place])\n"
            "for old, new in steps[place].items():\n"
            "    assert old in text\n"
            "    text = text.replace(old, new)\n"
            "file.write_text(text)\n"
        )
        editor = shlex.join([sys.executable, str(script)])
        return call("edit", self.name, *arguments, env={"KCONNECT_URL": self._url, "EDITOR": editor, "VISUAL": ""})

    @property
    def seen(self) -> list[str]:
        return [file.read_text() for file in sorted(self._directory.glob("seen-*"))]


@pytest.fixture
def desk(cluster_url: str, unique: Callable[[str], str], tmp_path: Path) -> Iterator[Desk]:
    made = Desk(cluster_url, unique("edit"), tmp_path)
    (tmp_path / "in").write_text("a line\n")
    made.client.create(made.name, made.config, "PAUSED")
    made.client.wait_for(made.name, "PAUSED", timeout=240)
    yield made
    made.client.delete(made.name)
    made.client.close()


def test_what_is_saved_is_applied_and_nothing_else(desk: Desk) -> None:
    before = {"name": desk.name, **desk.config}
    same = desk.edit({})
    assert (same.status, same.out, same.err) == (0, "", f"unchanged {desk.name}\n")
    assert "state: paused\n" in desk.seen[0] and f"  topic: {desk.name}\n" in desk.seen[0]
    failed = desk.edit(3)
    assert (failed.status, failed.out, "Editing failed" in failed.err) == (1, "", True), failed
    assert desk.client.get_config(desk.name) == before

    changes = {"tasks.max: '1'": "batch.size: 7\n  tasks.max: '1'", "state: paused": "state: running"}
    done = desk.edit(changes, arguments=("--wait", "--timeout", LIMIT))
    # What takes longer than a second is said to be waited for.
    assert done.status == 0 and all(line.startswith("Waiting for ") for line in done.err.splitlines()), done
    told = [f"changed {desk.name}", "    + batch.size: 7", "    - state: paused", "    + state: running"]
    assert done.out.splitlines() == told
    assert desk.client.get_config(desk.name) == {**before, "batch.size": "7"}
    assert desk.client.status(desk.name)["connector"]["state"] == "RUNNING"


def test_what_the_worker_refuses_is_opened_again_and_kept(desk: Desk) -> None:
    before = {"name": desk.name, **desk.config}
    wrong = {"tasks.max: '1'": "tasks.max: many"}
    for last, status in (({}, 2), ({"Invalid value": "A value"}, 2), (1, 1)):
        # Saved again as it is, by a script that changes what it is told, and an editor that is left with an error.
        refused = desk.edit(wrong, last)
        assert (refused.status, refused.out) == (status, ""), refused
        assert status == 1 or "Invalid value many for configuration tasks.max" in refused.err
        kept = Path(refused.err.split()[-1])
        try:
            assert "tasks.max: many" in kept.read_text()
            assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        finally:
            kept.unlink()
        first, second = desk.seen
        assert "# !" not in first and "tasks.max: '1'" in first
        assert second.startswith("# ! ") and "tasks.max: many" in second
        assert "Invalid value many for configuration tasks.max" in second.partition("# The connector")[0]
        assert desk.client.get_config(desk.name) == before

    mended = desk.edit(wrong, {"tasks.max: many": "tasks.max: 2"})
    assert (mended.status, mended.out.splitlines()[0]) == (0, f"changed {desk.name}"), mended
    assert desk.client.get_config(desk.name) == {**before, "tasks.max": "2"}
