"""Settings that nothing declares."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from kconnect.core.settings import unknown

KNOWN = ("connector.class", "tasks.max", "value.converter", "value.converter.schemas.enable", "file")
INFOS: dict[str, Any] = {
    "configs": [
        *({"definition": {"name": name}, "value": {"name": name}} for name in KNOWN),
        {"definition": {"name": "left.out"}, "value": None},
        {"definition": None, "value": {"name": "said.of", "errors": []}},
    ]
}


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("task.max", "did you mean tasks.max?"),
        ("value.convertor", "did you mean value.converter?"),
        ("value.converter.schema.enable", "did you mean value.converter.schemas.enable?"),
        ("no.such", "has no effect unless a plugin reads it"),
    ],
)
def test_one_that_nothing_knows_is_told_with_the_nearest(name: str, near: str) -> None:
    (said,) = unknown.told({"connector.class": "X", "file": "x", name: "secret"}, INFOS)
    assert said.startswith(f"The setting {name} is unknown") and near in said
    assert "secret" not in said


@pytest.mark.parametrize("name", [*KNOWN, "left.out", "said.of", "producer.override.acks", "value.converter.basic.auth.user"])
def test_what_somebody_knows_or_may_know_is_not(name: str) -> None:
    assert list(unknown.told({name: "x"}, INFOS)) == []


def test_names_that_are_all_alike_are_not_all_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The herder waits for this: of a thousand transforms with long names it took hours."""
    compared: list[float] = []

    class Counted(difflib.SequenceMatcher[str]):
        def ratio(self) -> float:
            compared.append(super().ratio())
            return compared[-1]

    monkeypatch.setattr(difflib, "SequenceMatcher", Counted)

    def infos(many: int) -> dict[str, Any]:
        names = ("connector.class", *(f"{'ab' * 45}{number:05}" for number in range(many)))
        return {"configs": [{"value": {"name": name}} for name in names]}

    config = {f"{'ba' * 45}{number:05}": "x" for number in range(10)}
    assert len(list(unknown.told(config, infos(900)))) == 10
    assert 0 < len(compared) <= 30
    compared.clear()
    assert len(list(unknown.told(config, infos(5000)))) == 10
    assert not compared


def test_ten_at_most() -> None:
    said = list(unknown.told({f"{number:04}" * 30: "x" for number in range(1000)}, INFOS))
    assert len(said) == 11
    assert said[-1] == "990 more settings are unknown"


def test_an_answer_that_does_not_tell_all_tells_nothing() -> None:
    assert list(unknown.told({"x": "y"}, {"configs": [{"value": {"name": "topic"}}]})) == []
    assert list(unknown.told({"x": "y"}, {"error_count": 0})) == []
