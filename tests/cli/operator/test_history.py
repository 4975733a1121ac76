"""
What holds whatever happens: random histories of a resource, a worker, people at both, and an operator that dies.

Nothing is deleted that is not the resource's own. Once nothing more happens, it comes to rest, and another look changes
nothing.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kconnect.cli.operator import resource as resources
from kconnect.cli.operator import status as statuses
from kconnect.cli.operator.decision import Apply, AutoRestart, Delete, Observed, Unreachable, decide
from kconnect.cli.operator.status import Outcome
from tests.cli.operator.bodies import connector, later
from tests.support import examples

_SETTLED = 12
"""So many looks are enough to come to rest."""


class World:
    """A resource in an API server, and a connector on a worker."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.body: dict[str, Any] | None = connector(**spec)
        self.config: dict[str, str | None] | None = None
        self.state = "RUNNING"
        self.has_failed = False
        self.is_away = False
        self.is_foreign = False
        """Whether somebody else has created the connector, and nobody has told the resource to take it over."""
        self.was_own = False
        """Whether the resource has ever created a connector, or taken one over."""
        self.minutes = 0.0
        self.actions = 0

    # -- people -------------------------------------------------------------------------------------------------------

    def do(self, what: str) -> None:
        getattr(self, what)()

    def edit(self) -> None:
        if self.body is not None:
            self.body["spec"]["config"] = {"file": f"{self.minutes}", "topic": "t"}
            self.body["metadata"]["generation"] += 1

    def pause(self) -> None:
        if self.body is not None:
            self.body["spec"]["state"] = "paused"
            self.body["metadata"]["generation"] += 1

    def annotate_adopt(self) -> None:
        if self.body is not None:
            self.body["metadata"]["annotations"]["kconnect.dev/adopt"] = "true"

    def annotate_restart(self) -> None:
        if self.body is not None:
            self.body["metadata"]["annotations"]["kconnect.dev/restart"] = "true"

    def lose_status(self) -> None:
        if self.body is not None:
            self.body["status"] = {}

    def delete_resource(self) -> None:
        if self.body is not None:
            self.body["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z"

    def toggle_protection(self) -> None:
        if self.body is not None:
            self.body["spec"]["deletionProtection"] = not self.body["spec"].get("deletionProtection", False)

    def change_by_hand(self) -> None:
        if self.config is not None:
            self.config["file"] = "by hand"

    def resume_by_hand(self) -> None:
        self.state = "RUNNING"

    def delete_by_hand(self) -> None:
        self.config = None

    def create_by_hand(self) -> None:
        if self.config is None:
            self.config = {"connector.class": "X", "by": "hand", "name": "orders"}
            # In place of one that was the resource's own it can't be told from that.
            self.is_foreign = self.body is None or resources.read(self.body).owner != "owned" or not self.was_own

    def fail(self) -> None:
        self.has_failed = self.config is not None

    def leave(self) -> None:
        self.is_away = not self.is_away

    def wait(self) -> None:
        self.minutes += 3

    # -- the operator -------------------------------------------------------------------------------------------------

    def look(self) -> None:
        self._look()

    def look_and_die_before_writing(self) -> None:
        self._look(writes=False)

    def look_at_what_is_old(self) -> None:
        old = deepcopy(self.body)
        self._look()
        self._look(old)

    def _look(self, body: dict[str, Any] | None = None, writes: bool = True) -> bool:
        """Whether anything has changed."""
        body = body or self.body
        if self.body is None or body is None:
            return False
        found = resources.read(body)
        observed = self._observed()
        decision = decide(found, observed, later(self.minutes))
        assert not (isinstance(observed, Unreachable) and decision.actions)
        done, failure = 0, None
        for action in decision.actions:
            if not self._perform(action):
                failure = "The connector exists already"
                break
            done += 1
        self.actions += done
        outcome = Outcome(done, failure)
        after = statuses.status(found, observed, decision, outcome, later(self.minutes))
        annotations = dict(self.body["metadata"]["annotations"])
        owner = decision.owner if failure is None else found.owner
        if owner != found.owner:
            annotations.pop(resources.OWNER, None)
            if (value := resources.owner_annotation(found, owner)) is not None:
                annotations[resources.OWNER] = value
        if done and found.requests:
            annotations.pop("kconnect.dev/restart", None)
        changed = bool(done) or after != self.body["status"] or annotations != self.body["metadata"]["annotations"]
        if not writes:
            return True
        if found.is_deleted and decision.released:
            self.body = None
            return True
        self.body["status"], self.body["metadata"]["annotations"] = after, annotations
        if resources.read(self.body).adopts and owner == "owned":
            self.is_foreign, self.was_own = False, True
        return changed

    def _perform(self, action: Any) -> bool:
        if isinstance(action, Delete):
            assert not self.is_foreign, "deleted what somebody else had created"
            self.config, self.has_failed = None, False
        elif isinstance(action, Apply):
            assert action.step.manifest is not None
            if action.step.action == "create":
                if self.config is not None:
                    return False
                self.state, self.has_failed, self.is_foreign, self.was_own = "RUNNING", False, False, True
            assert not self.is_foreign, "changed what somebody else had created"
            self.config = {**action.step.manifest.config, "name": "orders"}
            self.state = action.step.state or self.state
        elif isinstance(action, AutoRestart):
            self.has_failed = False
        return True

    def _observed(self) -> Observed | Unreachable:
        if self.is_away:
            return Unreachable("No worker answers")
        if self.config is None:
            return Observed()
        row = {"state": self.state, "worker_id": "w"}
        tasks = [] if self.state == "STOPPED" else [{"id": 0, **row, "state": "FAILED" if self.has_failed else self.state}]
        return Observed(dict(self.config), {"name": "orders", "connector": row, "tasks": tasks})

    # -- rest ---------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """AssertionError if it does not come to rest, or not where the resource says."""
        self.is_away = False
        for _ in range(_SETTLED):
            if not self._look():
                break
        else:
            raise AssertionError(f"it does not come to rest: {self.body}")
        actions = self.actions
        self._look()
        assert self.actions == actions, "it was at rest, and yet it did something"
        if self.body is None:
            return
        found = resources.read(self.body)
        reason = self.body["status"]["conditions"][0]["reason"]
        if found.is_deleted:
            assert reason == "DeletionProtected"
        elif found.owner != "owned":
            assert reason == "NotAdopted" and self.config is not None
        elif found.drift == "correct":
            assert self.config == {**found.manifest.config, "name": "orders"}
            assert found.manifest.state in (None, self.state)
            assert not found.requests


_HAPPENINGS = [
    *("edit", "pause", "annotate_adopt", "annotate_restart", "lose_status", "delete_resource", "toggle_protection"),
    *("change_by_hand", "resume_by_hand", "delete_by_hand", "create_by_hand", "fail", "leave", "wait"),
    *("look",) * 8,
    *("look_and_die_before_writing",) * 2,
    "look_at_what_is_old",
]


@given(
    spec=st.fixed_dictionaries(
        {
            "drift": st.sampled_from(["correct", "report"]),
            "deletionPolicy": st.sampled_from(["delete", "keep"]),
            "autoRestart": st.fixed_dictionaries({"enabled": st.booleans()}),
        }
    ),
    happenings=st.lists(st.sampled_from(_HAPPENINGS), max_size=40),
)
@settings(max_examples=examples(400))
def test_it_comes_to_rest_and_deletes_nothing_but_its_own(spec: dict[str, Any], happenings: list[str]) -> None:
    world = World(spec)
    for happening in happenings:
        world.do(happening)
    world.settle()


def test_the_history_can_fail() -> None:
    world = World({"owner": "owned"})
    world.create_by_hand()
    world.is_foreign = True
    world.delete_resource()
    try:
        world.settle()
    except AssertionError as error:
        assert "somebody else" in str(error)
    else:
        raise AssertionError("the history does not see what it is there for")
