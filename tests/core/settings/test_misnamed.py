"""What to do about settings of a worker file that nobody knows."""

from __future__ import annotations

import pytest

from kconnect.core.settings import misnamed


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("gruop.id", "did you mean group.id?"),
        ("rest.port", "Kafka Connect had it until 3.0: set listeners, such as listeners=http://:PORT"),
        ("rest.host.name", "Kafka Connect had it until 3.0: set listeners, such as listeners=http://HOST:8083"),
        ("internal.key.converter", "Kafka Connect had it until 3.0: take it out"),
        ("internal.value.converter.schemas.enable", "Kafka Connect had it until 3.0: take it out"),
        ("acme.no.such.setting", "take it out, or see docs/operating.md for what there is"),
    ],
)
def test_the_remedy(name: str, remedy: str) -> None:
    assert misnamed.remedy(name) == remedy
