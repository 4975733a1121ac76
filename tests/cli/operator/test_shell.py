"""What the layer around kopf computes: which of two resources has a connector, and patches of a status."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.cli.operator import resource as resources
from tests.cli.operator.bodies import connector

# It needs Python 3.11.
pytest.importorskip("kopf")


def patched(target: Any, patch: Any) -> Any:
    """RFC 7386, as it stands there."""
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = patched(found.get(key), value)
    return found


_VALUES = st.recursive(
    st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)


@given(before=_OBJECTS, after=_OBJECTS)
def test_a_patch_makes_the_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    from kconnect.cli.operator.shell import merge_patch

    gone = dict.fromkeys(key for key in before if key not in after)
    assert patched(before, merge_patch(before, {**after, **gone})) == after
    assert merge_patch(after, after) == {}


def test_of_two_resources_the_older_one_has_the_connector() -> None:
    from kconnect.cli.operator.shell import Rivals

    def made(name: str, second: int, owner: str | None) -> dict[str, Any]:
        body = connector(name, f"uid-of-{name}", owner, **{"class": "X"})
        body["spec"]["name"] = "the-same"
        body["metadata"]["creationTimestamp"] = f"2026-11-30T12:00:0{second}Z"
        return body

    first, second, third = made("first", 1, "claimed"), made("second", 2, "claimed"), made("third", 3, None)
    rivals = Rivals()
    for body in (first, second, third):
        rivals.note(body)
    assert rivals.of(resources.read(first)) is None
    assert rivals.of(resources.read(second)) == rivals.of(resources.read(third)) == "data/first"
    rivals.note(first, is_gone=True)
    assert rivals.of(resources.read(second)) is None
    assert rivals.of(resources.read(third)) == "data/second"


def test_a_resource_of_a_list_counts_until_an_event_would_have_told_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from kconnect.cli.operator import shell

    listed, other = connector("orders", "u1", "owned"), connector("orders", "u2", "owned")
    listed["metadata"]["creationTimestamp"], other["metadata"]["creationTimestamp"] = (
        "2026-11-30T12:00:01Z",
        "2026-11-30T12:00:09Z",
    )
    rivals = shell.Rivals()
    rivals.foretell(listed)
    rivals.note(other)
    assert rivals.of(resources.read(other)) == "data/orders"
    monkeypatch.setattr(shell, "_UNSEEN_S", -1.0)
    rivals.foretell(listed)
    assert rivals.of(resources.read(other)) is None, "it was deleted before the watch began"
    rivals.note(listed)
    assert rivals.of(resources.read(other)) == "data/orders"
