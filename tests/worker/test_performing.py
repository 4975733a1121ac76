"""Every effect has who performs it: in a worker, and in a cluster in memory."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from kconnect.core.herder import effects
from kconnect.core.herder.effects import Effect
from kconnect.core.herder.performing import Lane, performers, performs
from kconnect.worker.loop import Loop
from kconnect.worker.world import World
from tests.rig.histories.cluster import MemoryWorker

EFFECTS = {each for each in vars(effects).values() if inspect.isclass(each) and issubclass(each, Effect)} - {Effect}
ROOT = Path(__file__).parents[2]


def unmade(kind: type) -> Any:
    """Enough to be asked for its methods."""
    return object.__new__(kind)


@pytest.mark.parametrize("owners", [(Loop, World), (MemoryWorker,)], ids=["worker", "memory"])
def test_each_effect_is_performed(owners: tuple[type, ...]) -> None:
    assert performers(*map(unmade, owners)).keys() == EFFECTS


def test_who_only_looks_keeps_nobody_out_who_changes_something() -> None:
    """Readers may ask for these as often as they like: each reads whole topics, or asks brokers that may not answer."""
    lanes = {kind: performer.lane for kind, performer in performers(unmade(World)).items()}
    looks = (effects.ReadChanges, effects.PlanMoves, effects.ShowGroupOffsets, effects.ShowOwnOffsets)
    assert {lanes[kind] for kind in looks} == {Lane.LOOK}
    changes = (effects.AlterGroup, effects.WriteOwnOffsets, effects.GroupOffsets, effects.ReadOwnOffsets)
    assert {lanes[kind] for kind in changes} == {Lane.CLIENT}
    # The code of plugins takes a process, of which the sandbox has few.
    assert {lanes[kind] for kind in (effects.ListPlugins, effects.PluginConfig)} == {Lane.SHOW}
    assert lanes[effects.Validate] is Lane.PLUGIN


def test_nobody_is_before_who_asks_for_the_group_s_members() -> None:
    """Without an answer for 15 seconds a worker says that it is not well, and a leader does not see who is gone."""
    lanes = {kind: performer.lane for kind, performer in performers(unmade(Loop), unmade(World)).items()}
    assert [kind for kind, lane in lanes.items() if lane is Lane.GROUP] == [effects.FindMembers]


def test_no_effect_is_performed_twice() -> None:
    assert not performers(unmade(Loop)).keys() & performers(unmade(World)).keys()


def test_each_effect_is_wanted_by_somebody() -> None:
    sources = [path.read_text("utf-8") for path in (ROOT / "kconnect" / "core" / "herder").rglob("*.py")]
    calls = [node.func for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    made = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}
    assert sorted({each.__name__ for each in EFFECTS} - made) == []


def test_a_subclass_performs_in_its_own_way() -> None:
    class Base:
        @performs(effects.ListPlugins, Lane.PLUGIN)
        def plugins(self, effect: effects.ListPlugins) -> list[effects.Body]:
            return [{"class": "base"}]

    class Special(Base):
        def plugins(self, effect: effects.ListPlugins) -> list[effects.Body]:
            return [{"class": "special"}]

    lane, perform = performers(Special())[effects.ListPlugins]
    assert (lane, perform(effects.ListPlugins(True))) == (Lane.PLUGIN, [{"class": "special"}])
